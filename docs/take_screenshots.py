"""Take the pictures in docs/screenshots again: python docs/take_screenshots.py [NAME …]

Needs what the browser tests need (JupyterLab, Playwright, Chromium); for the Chinese ones a font with Chinese glyphs.
Every picture is taken from a real JupyterLab page, at 1.5 pixels per page pixel, reduced to 256 colours.
"""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from browser import CHROMIUM_FLAGS, Lab, Learner, chromium_path, one_cell  # noqa: E402

EXPLORERS = {
    "bit-explorer": "from fp8lab.explore import bit_explorer\nbit_explorer(0x78{lang})",
    "rounding-explorer": "from fp8lab.explore import rounding_explorer\nrounding_explorer(464, overflow='nan'{lang})",
    "histogram-explorer": "from fp8lab.explore import histogram_explorer\n"
    "e = histogram_explorer(axis='log'{lang})\ne.state.data = 'outlier channels'\ne",
    "group-size-explorer": "from fp8lab.explore import groupsize_explorer\n"
    "groupsize_explorer(way='int8', place=64{lang})",
    "outlier-map": "from fp8lab.explore import outlier_explorer\noutlier_explorer(strength=20.0{lang})",
}
IN_BOTH_LANGUAGES = ("group-size-explorer", "outlier-map")
IEEE_HABIT = """if exponent == 15:
        return math.nan if mantissa else (-1) ** sign * math.inf
    if exponent == 0:
        return subnormal_value(sign, mantissa)
    return normal_value(sign, exponent, mantissa)"""


def explorer_shot(learner: Learner, source: str, theme: str, lang: str) -> bytes:
    """An explorer, cut out of its page."""
    argument = f", lang={lang!r}" if lang != "en" else ""
    page = learner.open(one_cell(source.replace("{lang}", argument)), theme=theme, size=(1060, 1500))
    page.run_all()
    page.wait_theme(theme)
    page.page.locator(".fp8-explorer svg").wait_for()
    page.page.wait_for_timeout(500)
    box = page.page.locator(".fp8-explorer").bounding_box()
    clip = {"x": box["x"], "y": box["y"], "width": min(box["width"], 900), "height": box["height"]}
    return page.page.screenshot(clip=clip)


def lesson_shot(learner: Learner, theme: str, lang: str) -> bytes:
    """Lesson 01 at the moment when the wrong belief is named."""
    from fp8lab.course.build import packaged

    lesson = ROOT / "notebooks" / lang / "01_decode.ipynb"
    page = learner.open(lesson, name=f"01_decode_{lang}_{theme}.ipynb", theme=theme, size=(1180, 940))
    page.run_all()
    page.wait_theme(theme)
    for key in ("1.1", "1.2", "1.3"):
        page.write(f"exercise-{key.replace('.', '-')}", packaged("01_decode").worked_answer(key, lang)[0])
        page.run(f"exercise-{key.replace('.', '-')}")
        page.run(f"check-{key.replace('.', '-')}")
    page.replace_line("exercise-1-4", "raise NotImplementedError", IEEE_HABIT)
    page.run("exercise-1-4")
    page.run("check-1-4")
    page.page.keyboard.press("Escape")
    page.cell("check-1-4").locator(".jp-OutputArea").evaluate("area => area.scrollIntoView({block: 'end'})")
    page.page.wait_for_timeout(700)
    return page.page.screenshot()


def shots() -> dict:
    """Name -> how it is taken."""
    wanted = {}
    for theme in ("light", "dark"):
        for name, source in EXPLORERS.items():
            wanted[f"{name}-{theme}"] = lambda someone, s=source, t=theme: explorer_shot(someone, s, t, "en")
            if name in IN_BOTH_LANGUAGES:
                wanted[f"{name}-zh-{theme}"] = lambda someone, s=source, t=theme: explorer_shot(someone, s, t, "zh")
        wanted[f"lesson-01-{theme}"] = lambda someone, t=theme: lesson_shot(someone, t, "en")
    wanted["bit-explorer-zh-light"] = lambda someone: explorer_shot(someone, EXPLORERS["bit-explorer"], "light", "zh")
    wanted["lesson-01-zh-dark"] = lambda someone: lesson_shot(someone, "dark", "zh")
    return wanted


def main(names: list[str]) -> int:
    wanted = shots()
    unknown = set(names) - set(wanted)
    if unknown:
        print(f"no picture is called {', '.join(sorted(unknown))}; there are {', '.join(wanted)}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as home, sync_playwright() as tool:
        lab = Lab(Path(home))
        browser = tool.chromium.launch(executable_path=chromium_path(), args=CHROMIUM_FLAGS)
        try:
            for name in names or wanted:
                learner = Learner(lab, browser)
                picture = Image.open(io.BytesIO(wanted[name](learner))).convert("RGB")
                learner.close()
                path = ROOT / "docs" / "screenshots" / f"{name}.png"
                # a map's loudest pixels are few, and are to keep their colours
                method = Image.Quantize.MAXCOVERAGE if "map" in name else Image.Quantize.MEDIANCUT
                picture.quantize(256, method, dither=Image.Dither.NONE).save(path, optimize=True)
                print(f"{path.relative_to(ROOT)}: {picture.width} x {picture.height}, {path.stat().st_size // 1024} KB")
        finally:
            browser.close()
            lab.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
