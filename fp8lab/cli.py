"""The console command `fp8lab`. Each subcommand is a module with `add_arguments(parser)` and `run(args) -> int`.

Only the module of the subcommand that is called is imported: `fp8lab --help` answers without loading torch.
Exit codes: 0 done, 1 something is missing or failed, 2 usage, 130 stopped with Ctrl-C; `fp8lab grade` adds its own.
"""

from __future__ import annotations

import argparse
import difflib
import importlib
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from fp8lab import __version__


@dataclass(frozen=True)
class Command:
    """One subcommand: where it lives, what it does, what it looks like when used, which extra its imports come from."""

    module: str
    summary: str
    examples: tuple[str, ...]
    extra: str | None = None


COMMANDS = {
    "lab": Command(
        "fp8lab.lab",
        "open JupyterLab on the learner notebooks",
        ("fp8lab lab", "fp8lab lab --lang zh --port 8899", "fp8lab lab --no-browser --dir ~/fp8"),
        "lab",
    ),
    "progress": Command(
        "fp8lab.course.progress",
        "show which exercises are right so far",
        ("fp8lab progress", "fp8lab progress --lang zh", "fp8lab progress --json"),
    ),
    "grade": Command(
        "fp8lab.grading.command",
        "grade a folder of submitted notebooks",
        ("fp8lab grade submissions/ --out marks/",),
        "grade",
    ),
    "build": Command(
        "fp8lab.course.build",
        "generate the notebooks from the lesson sources in solutions/",
        ("fp8lab build", "fp8lab build --check"),
        "author",
    ),
    "doctor": Command(
        "fp8lab.doctor",
        "say what this machine has, what it lacks, and how to get it",
        ("fp8lab doctor", "fp8lab doctor --strict", "fp8lab doctor --json"),
    ),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run `fp8lab ARGV` and return its exit code (argparse itself exits for --help, --version and usage errors)."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    name = next((a for a in arguments if not a.startswith("-")), None)
    if name is not None and name not in COMMANDS:
        print(unknown(name), file=sys.stderr)
        return 2
    try:
        parser = top_parser()
        module = None
        if name is not None:
            module = importlib.import_module(COMMANDS[name].module)
            module.add_arguments(parser.commands[name])
        parsed = parser.parse_args(arguments)
        if module is None:
            parser.print_help()
            return 0
        return int(module.run(parsed) or 0)
    except ModuleNotFoundError as problem:
        return missing_module(name, problem)
    except KeyboardInterrupt:
        print(f"\nfp8lab {name}: stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:  # `fp8lab progress | head`: the reader has gone, and that is no error
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


class TopParser(argparse.ArgumentParser):
    """The parser of `fp8lab`, which knows its subcommands' parsers by name."""

    commands: dict[str, argparse.ArgumentParser]


def top_parser() -> TopParser:
    """The parser with all subcommands, none of them imported and so none with its own arguments yet."""
    parser = TopParser(
        prog="fp8lab",
        description="FP8 from eight bits to a grouped KV cache: course, grader, oracle.",
        epilog="fp8lab COMMAND --help tells more about one.\n\n" + examples(COMMANDS["lab"], COMMANDS["grade"]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"fp8lab {__version__}")
    group = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=argparse.ArgumentParser)
    parser.commands = {
        name: group.add_parser(
            name,
            help=command.summary,
            description=command.summary[0].upper() + command.summary[1:] + ".",
            epilog=examples(command),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        for name, command in COMMANDS.items()
    }
    return parser


def examples(*commands: Command) -> str:
    """The examples of some commands, as they stand at the end of a help text."""
    return "\n".join(["examples:", *(f"  {line}" for command in commands for line in command.examples)])


def unknown(name: str) -> str:
    """What to say about a command that does not exist.

    >>> print(unknown("grde"))
    fp8lab: there is no command 'grde'; did you mean 'grade'?
    commands: lab, progress, grade, build, doctor (fp8lab --help tells what they do)
    """
    close = difflib.get_close_matches(name, COMMANDS, n=1)
    guess = f"; did you mean {close[0]!r}?" if close else ""
    return (
        f"fp8lab: there is no command {name!r}{guess}\n"
        f"commands: {', '.join(COMMANDS)} (fp8lab --help tells what they do)"
    )


def missing_module(name: str | None, problem: ModuleNotFoundError) -> int:
    """Say which extra brings the package that a subcommand could not import. A missing part of fp8lab raises."""
    package = (problem.name or "").split(".")[0]
    if name is None or package in ("", "fp8lab"):
        raise problem
    extra = COMMANDS[name].extra
    wanted = f"fp8lab[{extra}]" if extra else "fp8lab"
    print(
        f"fp8lab {name} needs the package {package!r}, which is not installed here.\n"
        f'Install it with:  {sys.executable} -m pip install "{wanted}"\n'
        f'In a checkout:    {sys.executable} -m pip install -e ".{wanted.removeprefix("fp8lab")}"',
        file=sys.stderr,
    )
    return 1


if __name__ == "__main__":
    sys.exit(main())
