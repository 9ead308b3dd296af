"""Inputs on their way into a kernel: plain data in the text of a driver cell."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any


def pack(inputs: dict[str, Any]) -> str:
    """Inputs as a short text of harmless characters. They are what JSON holds: numbers, texts, lists, dicts of these.

    >>> unpack(pack({"x": [0.1, float("inf")], "names": ["one"]}))
    {'x': [0.1, inf], 'names': ['one']}

    Raises TypeError for anything else, ValueError for what would come back as something else.
    """
    text = json.dumps(inputs)
    if repr(json.loads(text)) != repr(inputs):
        raise ValueError("the inputs would not come back as they are: tuples, or keys that are no texts")
    return base64.b64encode(zlib.compress(text.encode("ascii"))).decode("ascii")


def unpack(text: str) -> dict[str, Any]:
    """The inputs that `pack` was given, made anew."""
    return json.loads(zlib.decompress(base64.b64decode(text)))
