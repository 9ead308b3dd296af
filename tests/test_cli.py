"""The console command: help, usage errors, laziness, the report of the doctor, and where the notebooks come from."""

from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
import sys

import pytest

from fp8lab import __version__, cli, doctor, lab, machine, workspace
from fp8lab.course.text import preferred_language


def fp8lab(*arguments: str, **options) -> subprocess.CompletedProcess:
    """Run the command as a person does, in a process of its own."""
    line = [sys.executable, "-m", "fp8lab", *arguments]
    return subprocess.run(line, capture_output=True, text=True, encoding="utf-8", timeout=120, **options)


def test_help_lists_every_command_with_examples():
    done = fp8lab("--help")
    assert done.returncode == 0
    for name, command in cli.COMMANDS.items():
        assert re.search(rf"^ +{name} +{re.escape(command.summary)}$", done.stdout, re.M)
    assert "examples:" in done.stdout


def test_help_loads_neither_torch_nor_a_notebook_library():
    """One second of `import torch` before a help text is one second too much."""
    probe = (
        "import sys\nfrom fp8lab.cli import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        "heavy = {'torch', 'numpy', 'matplotlib', 'IPython', 'nbformat'}\n"
        "print('LOADED', sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip().endswith("LOADED []"), done.stdout + done.stderr


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_each_command_explains_itself_and_shows_examples_that_parse(name, capsys):
    with pytest.raises(SystemExit) as end:
        cli.main([name, "--help"])
    assert end.value.code == 0
    text = capsys.readouterr().out
    for example in cli.COMMANDS[name].examples:
        assert example in text
        parser = cli.top_parser()
        cli.importlib.import_module(cli.COMMANDS[name].module).add_arguments(parser.commands[name])
        parser.parse_args(example.split()[1:])  # SystemExit if the example is wrong


def test_version_is_the_packages():
    assert fp8lab("--version").stdout.strip() == f"fp8lab {__version__}"


def test_no_command_shows_the_help():
    done = fp8lab()
    assert done.returncode == 0 and "commands:" in done.stdout


def test_unknown_command_is_a_usage_error_with_a_guess():
    done = fp8lab("dcotor")
    assert done.returncode == 2
    assert "there is no command 'dcotor'; did you mean 'doctor'?" in done.stderr
    assert "Traceback" not in done.stderr


def test_missing_extra_is_named(monkeypatch, capsys):
    def run(args):
        raise ModuleNotFoundError("No module named 'jupytext'", name="jupytext")

    monkeypatch.setattr(cli.importlib.import_module(cli.COMMANDS["build"].module), "run", run)
    assert cli.main(["build"]) == 1
    said = capsys.readouterr().err
    assert "'jupytext'" in said and "fp8lab[author]" in said


def test_a_missing_part_of_fp8lab_itself_is_not_explained_away(monkeypatch):
    def run(args):
        raise ModuleNotFoundError("No module named 'fp8lab.gone'", name="fp8lab.gone")

    monkeypatch.setattr(doctor, "run", run)
    with pytest.raises(ModuleNotFoundError):
        cli.main(["doctor"])


def test_ctrl_c_ends_quietly(monkeypatch, capsys):
    def run(args):
        raise KeyboardInterrupt

    monkeypatch.setattr(doctor, "run", run)
    assert cli.main(["doctor"]) == 130
    assert "stopped" in capsys.readouterr().err


def test_progress_runs_in_both_languages(tmp_path):
    for lang, word in (("en", "exercises right"), ("zh", "道练习")):
        done = fp8lab("progress", "--lang", lang)
        assert done.returncode == 0 and word in done.stdout, done.stderr


def test_languages_follow_the_environment():
    assert preferred_language({"LANG": "en_US.UTF-8"}) == "en"
    assert preferred_language({"LANG": "C.UTF-8"}) == "en"
    assert preferred_language({}) == "en"
    assert preferred_language({"LANG": "zh"}) == "zh"
    assert preferred_language({"LANG": "zh_TW.UTF-8", "LC_MESSAGES": ""}) == "zh"


# --- doctor -------------------------------------------------------------------------------------------------------


def test_doctor_reports_this_machine():
    import torch

    done = fp8lab("doctor", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    findings = {finding["name"]: finding for finding in json.loads(done.stdout)}
    assert findings["torch"]["value"] == importlib.metadata.version("torch")
    assert findings["fp8lab"]["value"] == __version__
    largest = torch.tensor([1e6]).to(torch.float8_e4m3fn).float().item()
    assert f"overflow → {largest:g}," in findings["torch float8_e4m3fn (cpu)"]["value"]
    assert all(finding["advice"] for finding in findings.values() if finding["state"] == "missing")


def test_doctor_speaks_chinese():
    done = fp8lab("doctor", "--lang", "zh")
    assert done.returncode == 0 and "已就绪" in done.stdout


def test_doctor_fails_for_a_missing_requirement_and_says_how_to_get_it(monkeypatch, capsys):
    real = machine.importlib.metadata.version

    def version(name):
        if name == "ipywidgets":
            raise machine.importlib.metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(machine.importlib.metadata, "version", version)
    assert cli.main(["doctor", "--lang", "en"]) == 1
    text = capsys.readouterr().out
    assert re.search(r"✗ ipywidgets +-\n +→ .* -m pip install \"ipywidgets!=8.1.9\"", text)
    assert "Not ready: ipywidgets." in text


def test_doctor_strict_counts_optional_things(monkeypatch):
    monkeypatch.setattr(machine.shutil, "which", lambda name: None)
    assert cli.main(["doctor"]) == 0
    assert cli.main(["doctor", "--strict"]) == 1


@pytest.mark.parametrize(
    ("lang", "needs", "optional"),
    [
        ("en", "Ready: every lesson can run.\nGrading needs nbval, bubblewrap: see → above.\n", "Optional, not here: "),
        ("zh", "已就绪：所有课程都可以运行。\n评分还需要 nbval, bubblewrap：见上面的 →。\n", "可选项，尚缺："),
    ],
)
def test_doctor_says_what_grading_needs(lang, needs, optional):
    found = [machine.Finding("versions", "torch", "ok", "2.13.0", required=True)]
    found += [machine.Finding("tools", name, "missing", "-", "get it") for name in ("nbval", "bubblewrap", "Chromium")]
    assert doctor.render(found, lang).endswith(f"{needs}{optional}Chromium{'.' if lang == 'en' else '。'}")
    assert "Grading" not in doctor.render(found[:1], "en")


def test_doctor_notices_a_broken_codec(monkeypatch, capsys):
    import fp8lab

    monkeypatch.setattr(fp8lab, "encode", lambda values: fp8lab.codec.encode(values, overflow="nan") ^ 1, raising=False)
    assert cli.main(["doctor", "--lang", "en"]) == 1
    assert "Not ready: fp8lab's codec." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "version", "suitable"),
    [
        ("torch", "2.3.1", False),
        ("torch", "2.4.0", True),
        ("torch", "2.13.0+cpu", True),
        ("ipywidgets", "7.6.5", False),
        ("ipywidgets", "7.7.1", True),
        ("ipywidgets", "8.1.9", False),
        ("ipywidgets", "8.1.10", True),
    ],
)
def test_doctor_knows_which_versions_will_do(name, version, suitable):
    assert (machine.unsuitable(name, version) is None) is suitable


def test_doctor_tells_gpus_with_fp8_from_those_without(monkeypatch):
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "a GPU")
    for capability, word in [((7, 5), "codec"), ((8, 6), "codec"), ((8, 9), "native"), ((9, 0), "native")]:
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda c=capability: c)
        assert word in machine.device("en").value


# --- lab: where the notebooks come from -----------------------------------------------------------------------------


def test_in_a_checkout_the_notebooks_are_the_checkouts(root):
    assert workspace.checkout_notebooks(root / "tests", "zh") == root / "notebooks" / "zh"


def test_elsewhere_they_are_written(tmp_path):
    assert workspace.checkout_notebooks(tmp_path, "en") is None
    done = workspace.unpack(tmp_path / "w", {"00_start.ipynb": "one", "01_decode.ipynb": "two"})
    assert done.written == ("00_start.ipynb", "01_decode.ipynb")
    assert (tmp_path / "w" / "01_decode.ipynb").read_text() == "two"


def test_what_a_learner_typed_is_never_lost(tmp_path):
    workspace.unpack(tmp_path, {"a.ipynb": "first", "b.ipynb": "first"})
    (tmp_path / "a.ipynb").write_text("mine")

    again = workspace.unpack(tmp_path, {"a.ipynb": "first", "b.ipynb": "first"})
    assert not (again.written or again.renewed or again.beside)

    newer = workspace.unpack(tmp_path, {"a.ipynb": "second", "b.ipynb": "second"})
    assert newer.renewed == ("b.ipynb",) and (tmp_path / "b.ipynb").read_text() == "second"
    assert newer.beside == (("a.ipynb", f"a.new-{__version__}.ipynb"),)
    assert (tmp_path / "a.ipynb").read_text() == "mine"
    assert (tmp_path / f"a.new-{__version__}.ipynb").read_text() == "second"

    (tmp_path / f"a.new-{__version__}.ipynb").write_text("mine too")
    assert not workspace.unpack(tmp_path, {"a.ipynb": "second", "b.ipynb": "second"}).beside
    third = workspace.unpack(tmp_path, {"a.ipynb": "third", "b.ipynb": "third"})
    assert third.beside == (("a.ipynb", f"a.new-{__version__}-2.ipynb"),)
    assert (tmp_path / "a.ipynb").read_text() == "mine"
    assert (tmp_path / f"a.new-{__version__}.ipynb").read_text() == "mine too"


def test_without_its_memory_unpack_is_more_careful_not_less(tmp_path):
    workspace.unpack(tmp_path, {"a.ipynb": "first"})
    (tmp_path / workspace.LEDGER).write_text("{ broken")
    workspace.unpack(tmp_path, {"a.ipynb": "second"})
    assert (tmp_path / "a.ipynb").read_text() == "first"
    assert (tmp_path / f"a.new-{__version__}.ipynb").read_text() == "second"


def test_a_file_that_cannot_be_written_is_said_in_a_sentence(tmp_path, monkeypatch, capsys):
    (tmp_path / "wall").write_text("a file where a folder should be")
    monkeypatch.chdir(tmp_path)
    assert cli.main(["lab", "--dir", str(tmp_path / "wall" / "deep")]) == 1
    said = capsys.readouterr().err
    assert "cannot write the notebooks" in said and "--dir" in said


def test_a_browser_is_opened_only_where_there_is_a_screen():
    assert lab.has_screen({"WAYLAND_DISPLAY": "wayland-0"}, "linux")
    assert not lab.has_screen({"DISPLAY": ":0", "SSH_CONNECTION": "1"}, "linux")
    assert not lab.has_screen({"CI": "true"}, "darwin")
    assert lab.has_screen({}, "win32")


def test_a_taken_port_is_said_before_anything_starts(capsys):
    import socket

    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        with pytest.raises(lab.LabError, match=f"port {port}.*choose another"):
            lab.choose_port("127.0.0.1", port)


@pytest.mark.parametrize("port", ["0", "65536", "-1", "8888.0", "eight", "٨٨٨٨"])
def test_a_port_that_is_none_is_a_usage_error(port, capsys):
    with pytest.raises(SystemExit) as end:
        cli.main(["lab", f"--port={port}"])
    assert end.value.code == 2
    assert "is not a number from 1 to 65535" in capsys.readouterr().err
