"""`python -m tests.layers.dispatchers`: functions of the core that ask for tags and types by name.

A dispatcher is a function whose conditions name five or more tags of field tables, types of AMQP
1.0, its constructors, or kinds of scalars: whoever adds one of these has to look at it, unless the
compiler does.
"""

from __future__ import annotations

import re

from tests.paths import REPO

CORE = REPO / "src" / "amqpcodec" / "_core"

#: What a function can name. Types and constructors come from the XML by `_gen/v1_constants.h`.
CONSTANTS = (REPO / "src" / "amqpcodec" / "_gen" / "v1_constants.h").read_text(encoding="utf-8")
TYPES = set(re.findall(r"^    (V1_\w+) = \d+,", CONSTANTS.split("} V1Type;")[0], re.M))
CONSTRUCTORS = set(re.findall(r"^    ((?:CTOR|CATEGORY)_\w+) = ", CONSTANTS, re.M))
KINDS = set(
    re.findall(
        r"^    (KIND_\w+),? ", (CORE / "wire" / "scalar.h").read_text(encoding="utf-8"), re.M
    )
)

CATEGORIES = {name for name in CONSTRUCTORS if name.startswith("CATEGORY_")}

#: So many make a dispatcher.
LEAST = 5


def functions() -> dict[tuple[str, str], str]:
    """(file, name) -> source of each function of the core, without comments and docstrings."""
    result = {}
    for path in sorted([*CORE.rglob("*.pxi"), *CORE.rglob("*.pxd")]):
        text = re.sub(r'"""[\s\S]*?"""', "", path.read_text(encoding="utf-8"))
        text = re.sub(r"(?m)(^|\s)#.*$", "", text)
        for source in re.split(r"^(?= *(?:cdef|cpdef|def) [^=\n]*\()", text, flags=re.M):
            name = re.match(r" *(?:cdef|cpdef|def) [^=\n(]*?(\w+)\(", source)
            if name:
                result[path.relative_to(CORE).as_posix(), name[1]] = source
    return result


def named(source: str) -> set[str]:
    """The tags, types, constructors and kinds that a function's conditions name."""
    tests = "\n".join(
        line
        for line in source.splitlines()
        if re.search(r"\b(if|elif|while|and|or|return)\b|==", line)
    )
    words = set(re.findall(r"\b[A-Z]+[A-Z0-9]*_\w+", tests))
    letters = set(re.findall(r"\btag [!=]= (c'[A-Za-z]')", tests))
    groups = (words & TYPES, words & CONSTRUCTORS, words & KINDS, letters)
    return max(groups, key=len)


def dispatchers() -> dict[tuple[str, str], set[str]]:
    """(file, name) -> what it names."""
    return {
        place: names
        for place, source in functions().items()
        if len(names := named(source)) >= LEAST
    }


def complete(place: tuple[str, str], names: set[str]) -> bool:
    """Whether the compiler refuses the chain where it leaves one out: over kinds of scalars, over
    all types of 1.0, or over all categories of its constructors."""
    source = functions()[place]
    return (
        names <= KINDS
        or (names >= TYPES and "V1Type " in source)
        or (names >= CATEGORIES and "V1Category " in source)
    )


if __name__ == "__main__":
    for (path, name), names in sorted(dispatchers().items(), key=lambda item: complete(*item)):
        shown = "complete" if complete((path, name), names) else " ".join(sorted(names))
        print(f"{path:32} {name:24} {shown}")
