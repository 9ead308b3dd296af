"""The first plugin of a grading pytest: keeps out what costs time there and is not needed.

jsonschema, which nbformat imports, tries the optional package rfc3987_syntax for the format of URLs, and that one
builds a grammar for a second. Our notebooks have no such field; without the package jsonschema leaves the check out.
"""

import os
import sys

from fp8lab.grading import SETTINGS

if SETTINGS in os.environ:  # in a grading process, and nowhere else
    sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
