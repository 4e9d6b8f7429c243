"""Text as terminals and pages show it and do not obey it.

Control characters, also those of C1, marks of the direction of writing, line separators, characters
without width, and bytes of file names that are not UTF-8 are escaped as Python and JSON do it:
``\\x1b``, ``\\u202e``, ``\\udcff``.
"""

from __future__ import annotations

import json
import re

__all__ = ["escaped", "escaped_json"]

#: Control characters, soft hyphen, format characters, line and paragraph separators, surrogates.
UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\ud800-\udfff\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)

#: The same without those that JSON has as whitespace, and never inside of a string.
UNSAFE_IN_JSON = re.compile(UNSAFE.pattern.replace("\x00-\x1f", ""))


def escaped(text: str) -> str:
    """One line of text that moves no cursor, hides nothing and can be written as UTF-8."""
    return UNSAFE.sub(_as_python, text)


def escaped_json(text: str) -> str:
    """JSON text with such characters of its strings escaped: it means the same."""
    if text.isascii() and "\x7f" not in text:
        return text
    return UNSAFE_IN_JSON.sub(_as_json, text)


def _as_python(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode()


def _as_json(match: re.Match[str]) -> str:
    return "\\u007f" if match[0] == "\x7f" else json.dumps(match[0])[1:-1]
