"""What the grader remarks on files and learners, in Chinese. In tables and on the command line it speaks English.

A remark is made deep down, as one English line; where a page in Chinese shows it, the line is looked up here, as
gettext does it. PHRASES holds the English of every remark with what varies in {braces}:

count most files learners of  numbers            why     another remark, or what a system said
problem                       another remark     others  anything: paths, names, kinds of things

`[s]` stands where a plural may have its s. tests/test_grading_remarks.py finds remarks that are missing here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from fp8lab.course.text import Text, known_language

NOT_LISTED = "not on the roster"
SHOWN_NAMES = 8  # in a line; tables have them all
NUMBERS = ("count", "most", "files", "learners", "of")
LONGEST = 2000  # characters of a remark that is looked up
PHRASES = (
    # notebooks
    Text("JSON that is nested too deeply", "JSON 嵌套过深"),
    Text("cut off or damaged: no valid JSON (line {count})", "文件不完整或已损坏：JSON 无效（第 {count} 行）"),
    Text("cut off or damaged: no valid JSON ({why})", "文件不完整或已损坏：JSON 无效（{why}）"),
    Text("not a notebook: no valid JSON (line {count})", "不是笔记本：JSON 无效（第 {count} 行）"),
    Text("not a notebook: no valid JSON ({why})", "不是笔记本：JSON 无效（{why}）"),
    Text("not a notebook: the file holds a JSON {kind}", "不是笔记本：文件内容是 JSON {kind}"),
    Text("not a notebook: the file has no list of cells", "不是笔记本：文件里没有单元格列表"),
    Text("{count} cells; at most {most} are read", "有 {count} 个单元格，最多读取 {most} 个"),
    Text("{count} bytes; at most {most} are read", "有 {count} 字节，最多读取 {most} 字节"),
    Text("more than {most} bytes", "超过 {most} 字节"),
    Text("empty file", "空文件"),
    Text("nothing but blanks in the file", "文件里只有空白"),
    Text("holds no exercise of this course", "里面没有本课程的练习"),
    # files and folders
    Text("no file", "没有文件"),
    Text("nothing to be read", "没有可读的内容"),
    Text("a symbolic link", "是符号链接"),
    Text("not a regular file", "不是普通文件"),
    Text("cannot be read: {why}", "无法读取：{why}"),
    Text("a folder with the name of a notebook", "是文件夹，名字却像笔记本"),
    Text("a folder that cannot be read: {why}", "文件夹无法读取：{why}"),
    Text("a folder {count} deep; {most} are looked into", "文件夹深达 {count} 层，只看 {most} 层"),
    Text("changed while grading: {why}", "评分过程中发生了变化：{why}"),
    Text("its content is another now", "内容已经不同"),
    Text("{path}: marks of an earlier run, not looked into", "{path}：以前评分的输出，没有查看"),
    # archives
    Text("an archive in an archive in an archive; unpack it first", "压缩包套了三层，请先解压"),
    Text("an archive with {count} members; at most {most} are read", "压缩包里有 {count} 个成员，最多读取 {most} 个"),
    Text("beyond what an archive may hold when it is unpacked", "解压后的总量超过上限"),
    Text("{count} folders deep; {most} are looked into", "深达 {count} 层文件夹，只看 {most} 层"),
    Text("a path that leads out of the archive", "路径指向压缩包之外"),
    Text("a path with a drive letter", "路径带有盘符"),
    Text("an absolute path", "是绝对路径"),
    Text("a path without a name", "路径里没有文件名"),
    Text("a name of {count} characters", "名字长达 {count} 个字符"),
    Text("encrypted", "已加密"),
    Text(
        "compressed by method {count} ({kind}); deflate is read, and what is not compressed",
        "使用了压缩方法 {count}（{kind}）；只能读取 deflate 和未压缩的成员",
    ),
    Text("the archive has changed while it was read", "读取过程中压缩包发生了变化"),
    Text(
        "{count} bytes packed into {of}; at most {most} to 1 is read",
        "{of} 字节解压成 {count} 字节，压缩比上限为 {most}",
    ),
    Text("damaged in the archive: {count} of {of} bytes", "在压缩包中已损坏：{of} 字节中只有 {count} 字节"),
    Text("damaged in the archive: {why}", "在压缩包中已损坏：{why}"),
    Text(
        "a directory of {count} bytes in the archive; at most {most} are read",
        "压缩包的目录有 {count} 字节，最多读取 {most} 字节",
    ),
    Text("not a zip, or cut off", "不是 zip，或者不完整"),
    Text("damaged zip: {why}", "zip 已损坏：{why}"),
    Text("a {kind} archive; only .zip is read: unpack it", "{kind} 压缩包；只能读取 .zip，请先解压"),
    Text(
        "{count} notebooks in it; at most {most} of one learner are read",
        "里面有 {count} 个笔记本，一名学员最多读取 {most} 个",
    ),
    Text("no notebook in it", "里面没有笔记本"),
    Text("no notebook in it; {names} is not looked into", "里面没有笔记本；没有查看 {names}"),
    Text("more than one file of this name in the archive: {path}", "压缩包里有同名文件：{path}"),
    # whose it is
    Text(
        "{place}: {problem}: {files} file[s], {learners} learner[s]",
        "{place}：{problem}：{files} 个文件，{learners} 名学员",
    ),
    Text("a Canvas download", "Canvas 下载包"),
    Text("a Moodle download", "Moodle 下载包"),
    Text("a Blackboard download", "Blackboard 下载包"),
    Text("a file or a folder per learner", "每名学员一个文件或文件夹"),
    Text(
        "looks like a download of a class beside learners' own work; keep downloads in a folder of their own",
        "像是全班的下载包，却与学员自己的作业放在一起；请把下载包单独放进一个文件夹",
    ),
    Text("{path}: taken for the work of one learner", "{path}：当作一名学员的作业"),
    Text(
        "without Blackboard's .txt files nobody can tell the user names in {names}",
        "缺少 Blackboard 的 .txt 文件，无法判断用户名：{names}",
    ),
    Text("names that differ only in case: {names}", "只有大小写不同的名字：{names}"),
    Text(NOT_LISTED, "不在名单上"),
    Text("{name}: not on the roster", "{name}：不在名单上"),
    Text(
        "{name}: fits {names} on the roster as {others} do; not guessed whose it is",
        "{name}：与 {others} 一样，都对得上名单里的 {names}；不猜是谁的",
    ),
    Text("{name}: fits {names} on the roster; not guessed whose it is", "{name}：对得上名单里的 {names}；不猜是谁的"),
    Text("the file's own time", "文件时间"),
    Text("its time in the zip", "zip 中的时间"),
    Text("Blackboard's attempt", "Blackboard 的提交时间"),
    Text("deadline: time not known of {count} hand-in[s]", "截止时间：有 {count} 份作业的提交时间不明"),
    Text(
        "deadline: time not known of {count} hand-in[s] ({names} downloads do not tell)",
        "截止时间：有 {count} 份作业的提交时间不明（{names} 的下载包里没有）",
    ),
    # answers
    Text("took more than {count} s", "运行超过 {count} 秒"),
    Text(
        "not finished: the answers of this notebook together took more than {count} s",
        "没有运行完：这份笔记本的答案合计用时超过 {count} 秒",
    ),
    Text("the kernel died", "内核已退出"),
    Text("used more than {count} GiB of memory", "占用内存超过 {count} GiB"),
    Text("started more than {count} processes", "启动了超过 {count} 个进程"),
    Text("sent more output than is read", "输出量超过上限"),
    Text("evidence came back {count} times instead of once", "结果返回了 {count} 次，应当只有一次"),
    Text("no evidence came back", "没有返回结果"),
    Text("the evidence is not the answer to the grader's question (nonce)", "返回的不是评分器所问的结果（校验码不符）"),
    Text("the evidence is malformed: {why}", "返回的结果格式有误：{why}"),
    Text("blocked by nothing", "没有说明被哪一题挡住"),
    Text("the evidence is that of exercise {key}", "返回的是练习 {key} 的结果"),
    Text("evidence cannot be compared: {why}", "返回的结果无法比较：{why}"),
    Text("no cell of this exercise in the notebook", "笔记本里没有这道练习的单元格"),
    Text("not handed in", "没有提交"),
    Text("the cell does not define {name}", "单元格里没有定义 {name}"),
    Text("the grader failed, which is no fault of the learner's: {why}", "评分程序出错，与学员无关：{why}"),
    Text(
        "defined more than once: graded cell {places}, not cell {others}",
        "重复定义：评的是第 {places} 个单元格，不是第 {others} 个",
    ),
    Text("not run: it uses {names}, which no answer needs", "没有运行：它用到了答案不需要的 {names}"),
    Text("code recovered from a Markdown cell", "代码取自 Markdown 单元格"),
    Text("for review: uses {names}", "待复核：用到 {names}"),
    Text("for review: tried to reach {names}", "待复核：试图访问 {names}"),
    Text("changes its input {names}", "改动了输入 {names}"),
    # what follows is about any remark, so it comes last
    Text("{path} ({problem})", "{path}（{problem}）"),
)


def translated(remark: str, lang: str) -> str:
    """A remark in `lang`; one that is not among PHRASES stays as it is.

    >>> translated("cut off or damaged: no valid JSON (line 1)", "zh")
    '文件不完整或已损坏：JSON 无效（第 1 行）'
    """
    if known_language(lang) == "en":
        return remark
    if (found := _chinese(remark)) is not None:
        return found
    parts = remark.split("; ")
    return "；".join(_chinese(part) or part for part in parts) if any(map(_chinese, parts)) else remark


def _chinese(remark: str) -> str | None:
    if len(remark) > LONGEST:
        return None
    for pattern, chinese in _patterns():
        found = pattern.fullmatch(remark)
        values = found.groupdict() if found else {}
        if "problem" in values:
            values["problem"] = _chinese(values["problem"])
        if "why" in values:
            values["why"] = _chinese(values["why"]) or values["why"]
        if found and None not in values.values():
            return chinese.format(**values)
    return None


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((_pattern(phrase.en), phrase.zh) for phrase in PHRASES)


def _pattern(english: str) -> re.Pattern[str]:
    """The expression that finds what stands in the braces."""
    whole = ""
    for piece in re.split(r"(\{\w+\}|\[s\])", english):
        if piece == "[s]":
            whole += "s?"
        elif piece.startswith("{"):
            name = piece[1:-1]
            whole += f"(?P<{name}>{'[0-9][0-9,.]*' if name in NUMBERS else '.+?'})"
        else:
            whole += re.escape(piece)
    return re.compile(whole, re.DOTALL)


def counted(number: int, noun: str, more: str = "") -> str:
    """A number with its noun, in the plural where it is one.

    >>> counted(1, "learner"), counted(0, "file"), counted(1200, "notebook")
    ('1 learner', '0 files', '1,200 notebooks')
    """
    return f"{number:,} {noun if number == 1 else more or noun + 's'}"


def some(learners: Sequence[str], most: int = SHOWN_NAMES) -> str:
    """Names in a line, the first of many.

    >>> some(["ann", "bob", "cem"], most=2)
    'ann, bob, +1'
    """
    more = [f"+{len(learners) - most}"] if len(learners) > most else []
    return ", ".join([*learners[:most], *more])
