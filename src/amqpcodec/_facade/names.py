"""Names of columns in one text, with commas between them."""

from __future__ import annotations

import re

__all__ = ["split_names"]

#: The comma of a type: that between the digits of ``headers.price:decimal(10,2)``.
_TYPE = re.compile(r":\s*decimal\s*\(\s*[0-9]+\s*(,)\s*[0-9]+\s*\)\s*(?=,|$)", re.IGNORECASE)


def split_names(text: str) -> list[str]:
    """The names, without spaces around them; empty where there is nothing between two commas.

    The comma within a column's type, as of ``headers.price:decimal(10,2)``, divides no names.
    """
    inside = {match.start(1) for match in _TYPE.finditer(text)}
    ends = [at for at, letter in enumerate(text) if letter == "," and at not in inside]
    starts = [0, *(at + 1 for at in ends)]
    return [text[start:end].strip() for start, end in zip(starts, [*ends, len(text)], strict=True)]
