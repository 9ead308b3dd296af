"""What is on this machine: one probe per thing, each a Finding. `fp8lab doctor` prints them.

Nothing is assumed: which overflow policy torch's FP8 cast follows differs between releases (NaN up to 2.12, saturating
from 2.13), so values are cast and looked at; bubblewrap is not only found but tried.
"""

from __future__ import annotations

import importlib.metadata
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass

from fp8lab.course.text import Text

MIN_PYTHON = (3, 10)
NATIVE_FP8 = (8, 9)  # CUDA compute capability of the first GPUs with FP8 hardware (Ada; Hopper is 9.0)
NATIVE_FP8_AMD = ("gfx94", "gfx95", "gfx12")  # gfx942 computes in the FNUZ formats, the later ones in OCP's
KNOWN = {0x01: 2.0**-9, 0x08: 2.0**-6, 0x78: 256.0, 0x7E: 448.0, 0xF8: -256.0}  # OCP OFP8 v1.0, E4M3
CJK_FONTS = ("Noto Sans CJK", "Source Han Sans", "WenQuanYi", "Droid Sans Fallback", "PingFang", "Microsoft YaHei")


@dataclass(frozen=True)
class Finding:
    """One line of the report. state is "ok", "missing" or "note"; only a missing *required* thing is a failure."""

    group: str
    name: str
    state: str
    value: str
    advice: str = ""
    required: bool = False


def examine(lang: str) -> list[Finding]:
    """Every finding about this machine, in the order of the report."""
    findings = [python_version(lang), *packages(lang)]
    if any(f.name == "torch" and f.state == "ok" for f in findings):
        findings += [device(lang), own_codec(lang), *overflow_policies(lang)]
    return [*findings, *tools(lang), font(lang)]


def python_version(lang: str) -> Finding:
    """The running Python against the oldest that fp8lab supports."""
    good = sys.version_info[:2] >= MIN_PYTHON
    advice = Text("fp8lab needs Python 3.10 or newer", "fp8lab 需要 Python 3.10 或更高版本").get(lang)
    return Finding("versions", "Python", "ok" if good else "missing", platform.python_version(), advice, True)


def packages(lang: str) -> list[Finding]:
    """fp8lab, what it requires, and the packages of its extras, each with its version or how to get it."""
    optional = {"jupyterlab": "lab", "nbval": "grade", "jupytext": "author", "triton": "gpu", "transformers": "hf"}
    required = ("fp8lab", "torch", "numpy", "matplotlib", "ipywidgets")
    return [package(name, lang) for name in required] + [package(n, lang, extra) for n, extra in optional.items()]


def package(name: str, lang: str, extra: str | None = None) -> Finding:
    """One distribution: "ok" with its version, or "missing" with the pip command. `extra` marks an optional one."""
    wanted = f"fp8lab[{extra}]" if extra else {"torch": "torch>=2.4", "ipywidgets": "ipywidgets!=8.1.9"}.get(name, name)
    advice = f'{sys.executable} -m pip install "{wanted}"'
    if name == "triton" and platform.system() != "Linux":
        return Finding("versions", name, "note", Text("Linux only", "仅限 Linux").get(lang))
    try:
        version = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return Finding("versions", name, "missing", "-", advice, required=extra is None)
    reason = unsuitable(name, version)
    if reason:
        return Finding("versions", name, "missing", version, f"{reason.get(lang)}: {advice}", required=extra is None)
    return Finding("versions", name, "ok", version, required=extra is None)


def unsuitable(name: str, version: str) -> Text | None:
    """Why an installed version will not do, or None.

    >>> unsuitable("ipywidgets", "8.1.9").en
    'ipywidgets 8.1.9 draws nothing in VS Code'
    """
    numbers = tuple(int(n) for n in re.findall(r"\d+", version)[:2])
    if name == "torch" and numbers < (2, 4):
        return Text("torch 2.4 or newer is needed", "需要 torch 2.4 或更高版本")
    if name == "ipywidgets" and version == "8.1.9":
        return Text("ipywidgets 8.1.9 draws nothing in VS Code", "ipywidgets 8.1.9 在 VS Code 中不显示任何内容")
    if name == "ipywidgets" and numbers < (7, 7):
        return Text("ipywidgets 7.7 or newer is needed", "需要 ipywidgets 7.7 或更高版本")
    return None


def device(lang: str) -> Finding:
    """The device that torch sees, and whether FP8 is native on it."""
    import torch

    native = Text("FP8 native", "原生支持 FP8").get(lang)
    codec = Text("no FP8 hardware: all through the codec", "没有 FP8 硬件：全部由软件编解码完成").get(lang)
    if not torch.cuda.is_available():
        mps = getattr(torch.backends, "mps", None)
        name = "CPU + Apple MPS" if mps is not None and mps.is_available() else "CPU"
        return Finding("device", name, "ok", codec)
    if torch.version.hip:
        architecture = torch.cuda.get_device_properties(0).gcnArchName.split(":")[0]
        known = architecture.startswith(NATIVE_FP8_AMD)
        return Finding("device", f"{torch.cuda.get_device_name()} ({architecture})", "ok", native if known else codec)
    major, minor = torch.cuda.get_device_capability()
    text = native if (major, minor) >= NATIVE_FP8 else codec
    return Finding("device", f"{torch.cuda.get_device_name()} (sm_{major}{minor})", "ok", text)


def own_codec(lang: str) -> Finding:
    """fp8lab's own codec on four bytes of the OCP OFP8 text and one tie: a broken install shows here."""
    name = Text("fp8lab's codec", "fp8lab 编解码").get(lang)
    advice = Text("reinstall fp8lab", "请重新安装 fp8lab").get(lang)
    try:
        from fp8lab import decode, encode

        values = decode(list(KNOWN)).tolist()
        tie = encode([464.0]).tolist()  # between 448 and the 480 that the format does not have: goes to 448
    except Exception as problem:  # whatever is broken in the install is a finding, not a crash
        return Finding("fp8", name, "missing", f"{type(problem).__name__}: {problem}", advice, True)
    good = values == list(KNOWN.values()) and tie == [0x7E]
    shown = ", ".join(f"0x{code:02X} = {value:g}" for code, value in zip(KNOWN, values))
    return Finding("fp8", name, "ok" if good else "missing", shown, advice, True)


def overflow_policies(lang: str) -> list[Finding]:
    """What torch's own cast does with values above the largest, per format and device, as probed now."""
    import torch

    devices = ["cpu"] + (["cuda"] if torch.cuda.is_available() else [])
    names = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz")
    return [overflow_policy(name, where, lang) for where in devices for name in names]


def overflow_policy(name: str, where: str, lang: str) -> Finding:
    """Cast a value far above the largest, and inf, to torch's dtype `name` on the device `where`; say what came out."""
    import torch

    label = f"torch {name} ({where})"
    dtype = getattr(torch, name, None)
    if dtype is None:
        return Finding("fp8", label, "note", Text("this torch lacks it", "当前 torch 没有该类型").get(lang))
    try:
        cast = torch.tensor([1e6, float("inf")], device=where).to(dtype).to(torch.float32).tolist()
    except (RuntimeError, NotImplementedError) as problem:
        return Finding("fp8", label, "note", str(problem).splitlines()[0][:80])
    text = Text("overflow → {above}, inf → {infinite}", "上溢 → {above}，inf → {infinite}")
    return Finding("fp8", label, "ok", text.format(above=f"{cast[0]:g}", infinite=f"{cast[1]:g}").get(lang))


@dataclass(frozen=True)
class Tool:
    """A program outside Python that some part uses: its names, what for, how to get it."""

    name: str
    commands: tuple[str, ...]
    purpose: Text
    advice: Text
    systems: tuple[str, ...] = ("Linux", "Darwin", "Windows")
    works: Callable[[str], bool] = lambda path: True


def sandbox_works(path: str) -> bool:
    """Whether bubblewrap can make a namespace here: in many containers it is installed and forbidden."""
    line = [path, "--unshare-net", "--unshare-pid", "--ro-bind", "/", "/", "--proc", "/proc", "true"]
    try:
        return subprocess.run(line, capture_output=True, timeout=20).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


TOOLS = (
    Tool(
        "bubblewrap",
        ("bwrap",),
        Text("the grader's sandbox", "评分沙箱"),
        Text(
            "apt-get install bubblewrap, in a container that allows user namespaces; else grade with --no-sandbox",
            "apt-get install bubblewrap，容器须允许 user namespace；否则请用 --no-sandbox 评分",
        ),
        ("Linux",),
        sandbox_works,
    ),
    Tool(
        "C++ compiler",
        ("c++", "g++", "clang++"),
        Text(
            "compiled=True and fp8lab.codec_compiled on a CPU", "在 CPU 上使用 compiled=True 和 fp8lab.codec_compiled"
        ),
        Text(
            "apt-get install g++ (macOS: xcode-select --install)",
            "apt-get install g++（macOS：xcode-select --install）",
        ),
    ),
    Tool(
        "Chromium",
        ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"),
        Text("the browser tests", "浏览器测试"),
        Text("apt-get install chromium", "apt-get install chromium"),
    ),
)


def tools(lang: str) -> list[Finding]:
    """The programs outside Python; none of them is needed to learn."""
    found = []
    for tool in TOOLS:
        if platform.system() not in tool.systems:
            continue
        path = next((p for p in map(shutil.which, tool.commands) if p), None)
        good = path is not None and tool.works(path)
        advice = "" if good else f"{tool.purpose.get(lang)}: {tool.advice.get(lang)}"
        value = f"{path or '-'} ({tool.purpose.get(lang)})"
        found.append(Finding("tools", tool.name, "ok" if good else "missing", value, advice))
        if tool.name == "bubblewrap" and good:
            found.append(warm_kernels(lang))
    return found


def warm_kernels(lang: str) -> Finding:
    """Whether the grader's kernels can be copies of a template that join a sandbox: tried, with a copy."""
    name = Text("warm kernels", "预热内核").get(lang)
    try:
        from fp8lab.grading.ready import cold_because

        why = cold_because()
    except ImportError as problem:
        why = str(problem)
    if not why:
        return Finding("tools", name, "ok", Text("the grader's speed", "评分速度").get(lang))
    slow = Text("every grading kernel starts anew, which takes longer: {why}", "每个评分内核都要从头启动，较慢：{why}")
    return Finding("tools", name, "note", slow.format(why=why).get(lang))


def font(lang: str) -> Finding:
    """A font with Chinese glyphs that matplotlib can see. The lessons' own pictures are labelled in English."""
    name = Text("Chinese font", "中文字体").get(lang)
    try:
        from matplotlib import font_manager
    except ImportError:
        return Finding("tools", name, "note", "matplotlib -")
    families = sorted({f.name for f in font_manager.fontManager.ttflist if f.name.startswith(CJK_FONTS)})
    if families:
        return Finding("tools", name, "ok", families[0])
    advice = Text(
        "only for Chinese labels in your own figures: apt-get install fonts-noto-cjk",
        "仅在你自己的图中使用中文标签时需要：apt-get install fonts-noto-cjk",
    )
    return Finding("tools", name, "missing", "-", advice.get(lang))
