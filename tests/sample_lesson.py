"""A small but complete lesson, in both languages, with its exercise records: what the builder's tests build.

It is its own lesson 99_sample, so that these tests do not rest on the text of a real one.
"""

from __future__ import annotations

import shutil
from pathlib import Path

NAME = "99_sample"
POINTS = {"99.1": 2, "99.2": 3, "99.3": 1}
REPOSITORY = Path(__file__).resolve().parents[1]

TEXT = '''\
---
jupytext:
  notebook_metadata_filter: all
kernelspec:
  display_name: Python 3
  language: python
  name: python3
fp8lab:
  lesson: 99_sample
  title:
    en: Twice and thrice
    zh: 两倍与三倍
---

+++ {"lang": "en"}

# Twice and thrice

What is twice a number?

+++ {"lang": "zh"}

# 两倍与三倍

一个数的两倍是多少？

+++ {}

$2x = x + x$

```{code-cell}
import math

print(f"{math.pi:.3f}")
```

+++ {"lang": "en"}

The double of a number is next.

```diff
+++ a diff line is no cell break
```

+++ {"lang": "zh"}

接下来求两倍。

```{code-cell}
# exercise 99.1
def double(x):
    """Twice x."""
    # TODO 99.1: twice the number / 这个数的两倍
    ### BEGIN SOLUTION 99.1: a number, "two" times x
    doubled_number = x + x
    return doubled_number
    ### END SOLUTION
```

```{code-cell}
# check 99.1
check("99.1", double)
```

+++ {"lang": "en", "answer": "99.1"}

Adding a number to itself doubles it, exactly, in every binary format.

+++ {"lang": "zh", "answer": "99.1"}

一个数加上自己就是它的两倍，在任何二进制格式里都是精确的。

```{code-cell}
# exercise 99.2-99.3
class Machine:
    def triple(self, x):
        # TODO 99.2: three times the number / 这个数的三倍
        ### BEGIN SOLUTION 99.2: a number
        return double(x) + x
        ### END SOLUTION

    def negative(self, x):
        # TODO 99.3: the number with its sign changed / 变号
        ### BEGIN SOLUTION 99.3: a number
        return -x
        ### END SOLUTION
```

```{code-cell}
# check 99.2
check("99.2", Machine)
```

```{code-cell}
# check 99.3
check("99.3", Machine)
```

+++ {"lang": "en", "answer": "99.2, 99.3"}

A triple is a double and one more; the sign bit alone makes the negative.

+++ {"lang": "zh", "answer": "99.2, 99.3"}

三倍就是两倍再加一倍；只改符号位就得到相反数。

```{code-cell}
:tags: [picture]

import base64
from IPython.display import Image, display

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
display(Image(base64.b64decode(PIXEL)))
check.demo("99.1", lambda: print("double of 4 is", double(4)))
```

```{code-cell}
:tags: [widget]

import ipywidgets

ipywidgets.HTML(value="<b>8</b>")
```
'''

DRIVING = """\
from fp8lab.course.drive import Drive


def _numbers(seed):
    return {"x": [seed, 1, 2.5]}


DRIVES = {
    "99.1": Drive("99.1", "double", _numbers, lambda f, i: {"y": [f(x) for x in i["x"]]}),
    "99.2": Drive("99.2", "Machine", _numbers, lambda f, i: {"y": [f().triple(x) for x in i["x"]]}, {"double": "99.1"}),
    "99.3": Drive("99.3", "Machine", _numbers, lambda f, i: {"y": [f().negative(x) for x in i["x"]]}),
}
"""

EXERCISES = """\
from fp8lab.course.exercise import Exercise, Misconception
from fp8lab.course.lessons.l99_sample.driving import DRIVES
from fp8lab.course.text import Text


class Machine:
    def triple(self, x):
        return 3 * x

    def negative(self, x):
        return -x


def _machine(f):
    return type("Machine", (), {"triple": lambda self, x: f(x), "negative": lambda self, x: f(x)})


WRONG = {"same": lambda x: x, "plus one": lambda x: x + 1, "square": lambda x: x * x}


def _exercise(key, points, reference, make):
    mistakes = [Misconception(name, make(f), Text(f"That is: {name}.", f"这是 {name}。")) for name, f in WRONG.items()]
    hints = (Text("Think.", "想一想。"), Text("Add.", "加。"), Text("x + x.", "x + x。"))
    title = Text(f"Number {key}", f"第 {key} 题")
    return Exercise(DRIVES[key], points, title, hints, reference, tuple(mistakes))


EXERCISES = (
    _exercise("99.1", 2, lambda x: 2 * x, lambda f: f),
    _exercise("99.2", 3, Machine, _machine),
    _exercise("99.3", 1, Machine, _machine),
)
"""


def write_lesson(folder: Path, text: str = TEXT, name: str = NAME) -> Path:
    """The lesson's source as a file in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.md"
    path.write_text(text, encoding="utf-8")
    return path


def make_checkout(root: Path, text: str = TEXT) -> Path:
    """A checkout in `root` that holds this lesson only: the package as it is here, the lesson's text and records."""
    lessons = root / "fp8lab" / "course" / "lessons"
    ignored = shutil.ignore_patterns("__pycache__", "data", "l[0-9]*")
    shutil.copytree(REPOSITORY / "fp8lab", root / "fp8lab", ignore=ignored)
    shutil.copy(REPOSITORY / "pyproject.toml", root)
    records = lessons / f"l{NAME}"
    records.mkdir()
    (records / "__init__.py").write_text('"""Records of the sample lesson."""\n', encoding="utf-8")
    (records / "driving.py").write_text(DRIVING, encoding="utf-8")
    (records / "exercises.py").write_text(EXERCISES, encoding="utf-8")
    write_lesson(root / "solutions", text)
    return root


def build_learner_edition(root: Path) -> Path:
    """Build all of the checkout that needs no kernel, in this process."""
    from fp8lab.course.build import build

    build(root, execute=False, report=lambda line: None, records=lambda name: POINTS)
    return root
