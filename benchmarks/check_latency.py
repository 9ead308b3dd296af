"""How long a learner waits for an answer: every exercise of a lesson, checked with right, wrong and untouched answers.

    python benchmarks/check_latency.py [LESSON ...]     default: every lesson that is installed

A wrong answer costs most: it is compared with the outputs of every known misconception, and named. Timed is what a
check cell does, from the call to the HTML that it shows. The first check of an exercise is cold (it works out what each
misconception returns), and is timed apart; the first one of a kernel also imports the lesson. Goal: each under 0.3 s.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

from fp8lab.course.check import Check
from fp8lab.course.exercise import Exercise
from fp8lab.course.progress import Progress
from fp8lab.course.registry import LESSONS, lesson_exercises

GOAL_SECONDS = 0.3
REPEATS = 5
FIRST = """
import time
from fp8lab.course import start
check = start(lesson={lesson!r}, lang="en")
began = time.perf_counter()
check({key!r}, lambda *args, **kwargs: None)._repr_html_()
print(time.perf_counter() - began)
"""


IMPORT = "import torch, time; t = time.perf_counter(); import fp8lab; {names}; print(time.perf_counter() - t)"


def import_seconds() -> float:
    """What `import fp8lab` and every public name cost beyond `import torch`: the best of five new processes."""
    script = IMPORT.format(names="[getattr(fp8lab, name) for name in fp8lab.__all__]")
    runs = [
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True) for _ in range(5)
    ]
    return min(float(run.stdout) for run in runs)


def answers(exercise: Exercise) -> Iterator[tuple[str, object]]:
    """(what it is, answer) of every answer whose verdict is known, and one that fits no misconception."""
    yield "right", exercise.reference
    for number, variant in enumerate(exercise.variants, 1):
        yield f"right, variant {number}", variant
    for misconception in exercise.misconceptions:
        yield misconception.name, misconception.answer
    yield "returns None", lambda *args, **kwargs: None


def timed(run: Callable[[], object]) -> float:
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def first_check(lesson: str, key: str) -> float:
    """The first check in a new process, after the setup cell."""
    script = FIRST.format(lesson=lesson, key=key)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return float(done.stdout.splitlines()[-1])


def measure(lesson: str) -> list[float]:
    """Print one line per exercise, and return the times of all checks, the cold ones among them."""
    check, every = Check("en", Progress(None)), []
    print(f"{lesson}: milliseconds per check (cold: the first wrong one; the others: median of {REPEATS})")
    for exercise in lesson_exercises(lesson):
        runs = {
            what: lambda answer=answer, key=exercise.key: check(key, answer)._repr_html_()
            for what, answer in answers(exercise)
        }
        cold = timed(runs["returns None"])
        times = {what: statistics.median(timed(run) for _ in range(REPEATS)) for what, run in runs.items()}
        worst = max(times, key=times.get)
        print(
            f"  {exercise.key:<5} cold {cold * 1e3:7.1f}   right {times['right'] * 1e3:7.1f}   "
            f"worst of {len(times):2} answers {times[worst] * 1e3:7.1f}  ({worst})"
        )
        every += [cold, *times.values()]
    key = lesson_exercises(lesson)[0].key
    first = first_check(lesson, key)
    print(f"  first check of a kernel, wrong ({key}): {first * 1e3:.0f}")
    return [*every, first]


def main(lessons: list[str]) -> int:
    """Measure and print; the exit code says only whether it ran, since speed depends on the machine."""
    print(f"import fp8lab, every public name: {import_seconds() * 1e3:.1f} ms beyond torch")
    every = [t for lesson in lessons for t in measure(lesson)]
    verdict = "met" if max(every) < GOAL_SECONDS else "MISSED"
    print(
        f"{len(every)} checks: median {statistics.median(every) * 1e3:.1f} ms, worst {max(every) * 1e3:.1f} ms; "
        f"goal {GOAL_SECONDS * 1e3:.0f} ms each: {verdict}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or list(LESSONS)))
