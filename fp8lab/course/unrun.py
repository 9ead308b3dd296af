"""What a bare `NameError` under a check means: the exercise's cell did not run.

`check("2.2", nearest)` fails before it is called when `nearest` does not exist, which is what a syntax error in its
cell leaves behind. So after such a cell IPython (7 and later) tells us, and a line is printed under the traceback.
"""

from __future__ import annotations

import re
import sys

from fp8lab.course.registry import lesson_exercises
from fp8lab.course.text import Text

FIRST_LINE = re.compile(r"\s*#\s*check\s+(\d[\d.]*)")
LINE = Text(
    "⧗ `{name}` does not exist: the cell of exercise {key} did not run. Run it first, then this one; "
    "a syntax error in it has the same effect.",
    "⧗ `{name}` 不存在：练习 {key} 的单元格没有运行成功。请先运行它，再运行本单元格；它有语法错误时也会这样。",
)


def explanation(source: str, error: BaseException | None, lesson: str, lang: str) -> str | None:
    """The line for a cell with this source that raised `error`; None unless a check missed an exercise's own object.

    >>> error = NameError("name 'fields' is not defined", name="fields")
    >>> explanation('# check 1.1\\ncheck("1.1", fields)', error, "01_decode", "en").split(".")[0]
    '⧗ `fields` does not exist: the cell of exercise 1'
    >>> explanation("fields(3)", error, "01_decode", "en")
    """
    first = FIRST_LINE.match(source)
    if not (first and isinstance(error, NameError)):
        return None
    name = getattr(error, "name", None)
    keys = [exercise.key for exercise in lesson_exercises(lesson) if exercise.name == name]
    if not keys:
        return None
    return LINE.format(name=name, key=first[1] if first[1] in keys else keys[0]).get(lang)


def watch(lesson: str, lang: str) -> None:
    """Have the line printed from now on, in a kernel; nothing happens elsewhere. Called again, the last call holds."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    events = getattr(shell, "events", None)
    if events is None:
        return

    def after(result) -> None:
        line = explanation(getattr(result.info, "raw_cell", None) or "", result.error_in_exec, lesson, lang)
        if line:
            print(line)

    for earlier in [f for f in events.callbacks["post_run_cell"] if getattr(f, "__module__", "") == __name__]:
        events.unregister("post_run_cell", earlier)
    events.register("post_run_cell", after)
