"""What tests of pictures share: what an SVG holds."""

from __future__ import annotations

import re
from collections import Counter


def shapes(svg: str) -> Counter[str]:
    """Every outline, glyph and image drawn, whatever the order; clip paths, definitions and paper do not count."""
    drawn = re.sub(r'<defs>.*?</defs>|<g id="patch_1">.*?</g>', "", svg, flags=re.S)
    return Counter(re.findall(r'(?:\sd|xlink:href)="([^"]+)"', drawn))
