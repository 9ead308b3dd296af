"""The learner's door: exercises, checks, hints, and the builder of the notebooks.

from fp8lab.course import start
check = start(lesson="01_decode", lang="en")
"""


def __getattr__(name: str):
    if name == "start":  # late, so that `fp8lab.course.drive` in a grading kernel imports no exercises
        from fp8lab.course.check import start

        return start
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
