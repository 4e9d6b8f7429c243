"""`python -m tests.layers.growing`: functions of the core that let memory grow by hand.

`wire/block.h` and `wire/buffer.h` have functions that reserve, let memory grow by one rule, and
tell a checked build what was reserved. A function that does it by itself is seen by none of that.
"""

from __future__ import annotations

import re

from tests.layers.dispatchers import functions

#: What only a function has that keeps bytes while their memory grows, or that counts what there is.
GROWING = re.compile(
    r"\bblock_room(?:_tight)?\s*\((?!\s*[^,]+,\s*0\s*,)"  # of memory whose bytes are kept
    r"|\brealloc\s*\("
    r"|\bresize_bytes\s*\("
    r"|\.room(?:_\w+)?\s*(?:<|>=)|(?:<=?|>)\s*[\w.&>-]+\.room\b"  # asks what is left
    r"|\bsnprintf\s*\(\s*[^,]*\.n\s*,\s*\d"  # trusts a number of its own
)


def growing() -> dict[tuple[str, str], list[str]]:
    """(file, name) -> what it grows by, of each function outside of wire."""
    return {
        place: matches
        for place, source in functions().items()
        if not place[0].startswith("wire/") and (matches := grows(source))
    }


def grows(source: str) -> list[str]:
    """What a function lets memory grow by; also memory that is replaced by a larger copy."""
    matches = [match[0] for match in GROWING.finditer(source)]
    if re.search(r"\b\w*malloc\s*\(", source) and re.search(r"\bfree\(self\.", source):
        matches.append("malloc")
    if re.search(r"\bdata_(?:room|promise)\s*\(", source):
        return matches  # of a column, whose reservations a checked build sees
    for block, used in re.findall(r"memcpy\(\s*([\w.>-]+)\.p \+ ([\w.>-]+),", source):
        if re.search(rf"^\s*{re.escape(used)} (?:\+= |= .*{re.escape(used)} \+)", source, re.M):
            matches.append(f"memcpy({block}.p + {used}")
    return matches


if __name__ == "__main__":
    for (path, name), what in sorted(growing().items()):
        print(f"{path:32} {name:24} {' '.join(what)}")
