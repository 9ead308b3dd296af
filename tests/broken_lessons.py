"""Ways to break the sample lesson, one for every rule of the builder.

name: (what is replaced, by what, the text whose line is reported, a pattern of the message)
"""

from __future__ import annotations

BROKEN = {
    "hole not closed": (
        "    ### END SOLUTION\n```\n\n```{code-cell}\n# check 99.1",
        "```\n\n```{code-cell}\n# check 99.1",
        "### BEGIN SOLUTION 99.1",
        "without an END SOLUTION",
    ),
    "end without begin": (
        '    """Twice x."""',
        '    """Twice x."""\n    ### END SOLUTION # 0',
        "END SOLUTION # 0",
        "is not a marker",
    ),
    "stray end": ("def double(x):", "### END SOLUTION\ndef double(x):", "### END SOLUTION\ndef", "without a BEGIN"),
    "nested holes": (
        "    doubled_number = x + x",
        "    ### BEGIN SOLUTION 99.1: nested",
        "99.1: nested",
        "a second BEGIN SOLUTION",
    ),
    "marker without key": (
        "### BEGIN SOLUTION 99.3: a number",
        "### BEGIN SOLUTION",
        "### BEGIN SOLUTION\n",
        "is not a marker",
    ),
    "marker in small letters": (
        "### BEGIN SOLUTION 99.3: a number",
        "# begin solution 99.3",
        "# begin solution",
        "is not a marker",
    ),
    "end indented otherwise": (
        "    return doubled_number\n    ###",
        "    return doubled_number\n  ###",
        "  ### END SOLUTION\n```\n\n```{code-cell}\n# check 99.1",
        "not indented like",
    ),
    "hole in the margin": ("    doubled_number = x + x", "  # x\n    doubled_number = x + x", "  # x", "indented less"),
    "key of the region": (
        "BEGIN SOLUTION 99.1: a number",
        "BEGIN SOLUTION 99.2: a number",
        '99.2: a number, "two"',
        "first line says 99.1",
    ),
    "hole in an unmarked cell": (
        "# exercise 99.1\n",
        "",
        "### BEGIN SOLUTION 99.1",
        "first line is not `# exercise 99.1`",
    ),
    "key without hole": (
        "# exercise 99.2-99.3",
        "# exercise 99.2-99.4",
        "# exercise 99.2-99.4",
        "99.4 has no `### BEGIN SOLUTION 99.4",
    ),
    "seven lines": (
        "    doubled_number = x + x",
        "\n".join(f"    y{n} = x" for n in range(6)),
        "### BEGIN SOLUTION 99.1",
        "has 7 lines; at most 6",
    ),
    "empty hole": (
        "    doubled_number = x + x\n    return doubled_number\n",
        "\n",
        "### BEGIN SOLUTION 99.1",
        "is empty",
    ),
    "solution syntax": ("return -x", "return -", "return -\n", "solution edition of this cell does not parse"),
    "learner syntax": (
        "    return doubled_number\n    ### END SOLUTION",
        "    return doubled_number\n    ### END SOLUTION\n    if x:\n    ### BEGIN SOLUTION 99.1: last\n"
        "        return 2\n    ### END SOLUTION",
        "# exercise 99.1",
        "learner edition of this cell",
    ),
    "magic": ("import math", "%matplotlib inline", "%matplotlib", "no % magics"),
    "hole at top level": (
        'def double(x):\n    """Twice x."""',
        "for x in ():",
        "# exercise 99.1",
        "outside a function",
    ),
    "no TODO": ("    # TODO 99.1: twice the number / 这个数的两倍\n", "", "# exercise 99.1", "no line `# TODO 99.1:"),
    "TODO in English only": ("twice the number / 这个数的两倍", "twice the number", "# TODO 99.1", "not bilingual"),
    "TODO in Chinese only": ("twice the number / 这个数的两倍", "这个数 / 的两倍", "# TODO 99.1", "not bilingual"),
    "exercise twice": (
        "```{code-cell}\n# check 99.1",
        "```{code-cell}\n# exercise 99.1\ndef again(x):\n"
        "    # TODO 99.1: more / 更多\n    ### BEGIN SOLUTION 99.1: x\n    return x\n    ### END SOLUTION\n"
        "```\n\n```{code-cell}\n# check 99.1",
        "# exercise 99.1\ndef again",
        "exercise 99.1 stands here again",
    ),
    "check twice": (
        '# check 99.3\ncheck("99.3", Machine)',
        '# check 99.2\ncheck("99.2", 3)',
        '# check 99.2\ncheck("99.2", 3)',
        "check 99.2 stands here again",
    ),
    "exercise without check": (
        '```{code-cell}\n# check 99.1\ncheck("99.1", double)\n```\n',
        "",
        "# exercise 99.1",
        "no cell whose first line is `# check 99.1`",
    ),
    "check without exercise": (
        '# check 99.3\ncheck("99.3"',
        '# check 99.8\ncheck("99.8"',
        "# check 99.8",
        "check 99.8 without a cell `# exercise 99.8`",
    ),
    "check of another key": (
        'check("99.3", Machine)',
        'check("99.2", Machine, 0)',
        "# check 99.3",
        "the first line says check 99.3, the cell checks 99.2",
    ),
    "key of another lesson": (
        '# check 99.3\ncheck("99.3"',
        '# check 9.3\ncheck("9.3"',
        "# check 9.3",
        "key 9.3 does not belong to lesson 99_sample",
    ),
    "almost a marker": ("# check 99.3", "# Check 99.3", "# Check 99.3", "is not a marker"),
    "no worked answer": (
        '"answer": "99.2, 99.3"',
        '"answer": "99.2"',
        "# exercise 99.2-99.3",
        "99.3 has no worked answer",
    ),
    "answer of nothing": ('"answer": "99.2, 99.3"', '"answer": "99.2-99.4"', "A triple is", "answer 99.4 without"),
    "answer not a key": ('"en", "answer": "99.1"', '"en", "answer": 99.1', "Adding a number", "a key in quotes"),
    "answer in one language": ('"zh", "answer": "99.1"', '"zh"', "一个数加上自己", "does not match the English one"),
    "English alone": (
        '+++ {"lang": "zh"}\n\n接下来求两倍。\n',
        "",
        "The double of a number",
        "not followed by its Chinese",
    ),
    "Chinese alone": ("+++ {}\n\n$2x", '+++ {"lang": "zh"}\n\n独自 $2x', "独自", "does not follow an English one"),
    "languages swapped": ("接下来求两倍。", "Next comes the double.", "Next comes", "marked zh and has no Chinese"),
    "English cell in Chinese": (
        "What is twice a number?",
        "一个数的两倍是多少？一个数的两倍",
        "# Twice and thrice\n",
        "most of it is Chinese",
    ),
    "unknown language": ('{"lang": "zh"}\n\n接下', '{"lang": "cn"}\n\n接下', "接下来求两倍", "lang is 'cn'"),
    "unknown option": ("{}\n\n$2x", '{"Lang": "en"}\n\n$2x', '+++ {"Lang"', r"unknown cell options \['Lang'\]"),
    "tags not a list": (":tags: [picture]", ":tags: picture", "```{code-cell}\n:tags: picture", "tags must be a list"),
    "bare block break": (
        "The double of a number is next.",
        "The double\n\n+++\n\nof a number",
        "+++\n\nof a number",
        "a bare \\+\\+\\+ splits",
    ),
    "broken cell options": ("+++ {}\n\n$2x", "+++ {lang}\n\n$2x", "+++ {lang}", "cannot be read"),
    "cell not closed": (
        'ipywidgets.HTML(value="<b>8</b>")\n```',
        'ipywidgets.HTML(value="<b>8</b>")',
        "```{code-cell}\n:tags: [widget]",
        "not closed",
    ),
    "cell inside a cell": (
        'print(f"{math.pi:.3f}")\n```',
        'print(f"{math.pi:.3f}")',
        "```{code-cell}\nimport math",
        "not closed",
    ),
    "indented cell": (
        '```{code-cell}\nimport math\n\nprint(f"{math.pi:.3f}")\n```',
        "- a\n\n  ```{code-cell}\n  import math\n  ```",
        "  ```{code-cell}\n  import",
        "inside another block",
    ),
    "not a code cell": (
        "```{code-cell}\nimport math",
        "```{code-block} python\nimport math",
        "{code-block}",
        "not a cell",
    ),
    "no heading": ("# Twice and thrice\n\n", "Twice and thrice\n\n", "Twice and thrice\n\nWhat", "# heading"),
    "leak of a solution": (
        "接下来求两倍。",
        "接下来：`doubled_number = x + x`，然后 `return doubled_number`。\n\n"
        "```\ndoubled_number = x + x\nreturn doubled_number\n```",
        "接下来：",
        "shows the solution of 99.1, which is at line",
    ),
    "leak of an answer": (
        "The double of a number is next.",
        "Adding a number to itself doubles it, exactly, in\nevery binary format.",
        "Adding a number to itself doubles it, exactly, in\nevery",
        "shows the worked answer of 99.1",
    ),
    "another lesson's front matter": (
        "lesson: 99_sample",
        "lesson: 98_sample",
        "---\njupytext",
        "says lesson '98_sample'",
    ),
    "no title": (
        "  title:\n    en: Twice and thrice\n    zh: 两倍与三倍\n",
        "",
        "---\njupytext",
        "the front matter needs",
    ),
    "title in one language": ("    zh: 两倍与三倍\n", "", "---\njupytext", "one in zh"),
    "kernel": ("  name: python3", "  name: my-env", "---\njupytext", "'my-env'; every platform has python3"),
    "no kernel name": ("  display_name: Python 3\n", "", "---\njupytext", "no notebook: 'display_name'"),
    "front matter not YAML": (
        "  lesson: 99_sample",
        "  lesson: 99_sample: x",
        "  lesson: 99_sample: x",
        "makes no notebook",
    ),
}
