"""`python -m tests.layers.dispatchers`: functions of the core that ask for tags and types by name.

A dispatcher is a function whose conditions name five or more of one group: types of AMQP 1.0, its
constructors, wire types of 0-x, tags and forms of field tables, kinds of scalars, conversions of
drop-ins, types of Arrow's columns, marks of JSON. Whoever adds one of these has to look at it,
unless the compiler does. Headers count as well, and letters wherever they are compared.
"""

from __future__ import annotations

import re
from functools import cache

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
#: Groups of names that have no list.
GROUPS = (
    r"KIND_\w+", r"READ_\w+", r"W_[A-Z]+", r"IN_[A-Z0-9_]+", r"MARK_\w+",
    r"(?:FORM_[a-z0-9]+|TAG_[A-Z]+)",
)  # fmt: skip

CATEGORIES = {name for name in CONSTRUCTORS if name.startswith("CATEGORY_")}

#: Names of these begin so, and a chain over a value of the enum itself has to name all of them.
ENUMS = {"READ_": "Conversion ", "W_": "WireType ", "IN_": "InputType ", "MARK_": "JsonMark "}

#: So many make a dispatcher.
LEAST = 5


#: Where a function begins, and its name.
BEGINS = {
    ".h": (
        r"^(?=(?:AMQP_INLINE|AMQP_APART|static)\b[^;=]*?\) \{$)",
        r"(?:AMQP_INLINE|AMQP_APART|static)\b[^(]*?(\w+)\(",
    ),
    ".pxi": (
        r"^(?=(?: {4})*(?:cdef|cpdef|def) [^=\n]*\()",
        r" *(?:cdef|cpdef|def) [^=\n(]*?(\w+)\(",
    ),
}


@cache
def functions() -> dict[tuple[str, str], str]:
    """(file, name) -> source of each function of the core, without comments and docstrings."""
    result = {}
    for path in sorted([*CORE.rglob("*.px[di]"), *CORE.rglob("*.h")]):
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".h":
            text = re.sub(r"/\*[\s\S]*?\*/", "", text)
        else:
            text = re.sub(r'"""[\s\S]*?"""', "", text)
            text = re.sub(r"(?m)(^|\s)#.*$", "", text)
        begin, pattern = BEGINS[path.suffix.replace("d", "i")]
        for source in re.split(begin, text, flags=re.M):
            name = re.match(pattern, source)
            if name:
                source = re.split(r"\n(?=[^ \n})])", source)[0]
                result[path.relative_to(CORE).as_posix(), name[1]] = source
    return result


def named(source: str) -> set[str]:
    """The names of one group that a function's conditions have, of the group with most."""
    tests = "\n".join(
        line
        for line in source.splitlines()
        if re.search(r"\b(if|elif|while|and|or|return|case)\b|==|\?", line)
    )
    words = set(re.findall(r"\b[A-Z]+[A-Z0-9]*_\w+", tests))
    letters = set(re.findall(r"(?:tag|\[0\]) [!=]= (c?'[A-Za-z]')|tag = (c'[A-Za-z]')", source))
    groups = [words & TYPES, words & CONSTRUCTORS, {a or b for a, b in letters}]
    groups += [{word for word in words if re.fullmatch(group, word)} for group in GROUPS]
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
    one of ENUMS, over all types of 1.0, or all categories of its constructors."""
    source = functions()[place]
    return (
        names <= KINDS
        or any(
            "elif " in source and all(name.startswith(prefix) for name in names) and enum in source
            for prefix, enum in ENUMS.items()
        )
        or (names >= TYPES and "V1Type " in source)
        or (names >= CATEGORIES and "V1Category " in source)
    )


if __name__ == "__main__":
    for (path, name), names in sorted(dispatchers().items(), key=lambda item: complete(*item)):
        shown = "complete" if complete((path, name), names) else " ".join(sorted(names))
        print(f"{path:32} {name:24} {shown}")
