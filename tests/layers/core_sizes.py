"""Sizes in the compiled core: fields of structs, arguments of constructors, lines of functions.

Lexical, from src/amqpcodec/_core: `python -m tests.layers.core_sizes` prints the largest.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.paths import REPO

CORE = REPO / "src" / "amqpcodec" / "_core"

#: What makes an object or a struct, by its name.
CONSTRUCTOR = re.compile(r"__(c?init|new)__|(make|new|create)_\w+|\w+_(make|new|create)")

_CLASS = re.compile(r"( *)(?:cdef |ctypedef )?(?:packed )?(?:class|struct|union) (\w+)[^;]*:\s*$")
_FUNCTION = re.compile(r"( *)(?:async )?(?:def|cdef|cpdef) [^=#]*?(\w+)\((?!\*)")
_FIELD = re.compile(
    r"(?:cdef (?:readonly |public )?)?(?!def |class |struct |enum|if |for |return )[\w.]+.*\w"
)
_C_FUNCTION = re.compile(
    r"(?:static|Py_\w+|[a-z]\w*) [^;={}#]*?(\w+)\(([^;{}]*)\) *(?:\w+ *)?\{", re.S
)
_C_STRUCT = re.compile(
    r"(?:typedef )?(?:struct|union)(?: (\w+))? \{\n(.*?)^\}\s*(\w*)", re.S | re.M
)


@dataclass(frozen=True)
class Size:
    """How many of something a thing has: kind is "fields", "arguments" or "lines"."""

    kind: str
    count: int
    name: str
    place: str


def _arguments(text: str) -> list[str]:
    """Arguments of a list, without `self`, `/` and `*`."""
    depth, start, parts = 0, 0, []
    for i, letter in enumerate(text):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    parts.append(text[start:])
    stripped = [part.strip() for part in parts]
    return [part for part in stripped if part not in ("", "self", "cls", "/", "*", "void")]


def _inside(text: str, start: int) -> str:
    """What stands between the parenthesis before `start` and its partner."""
    depth = 1
    for i in range(start, len(text)):
        depth += (text[i] in "([{") - (text[i] in ")]}")
        if depth == 0:
            return text[start:i]
    raise ValueError("a parenthesis stays open")


def _fields(lines: list[str]) -> int:
    """Declared fields of a struct or class: `int a, b` are two, an array is one."""
    count = 0
    for line in lines:
        text = re.sub(r"#.*|/\*.*?\*/", "", line).strip().rstrip(";")
        if text and text != "pass" and _FIELD.match(text):
            count += len(_arguments(text))
    return count


def _block(lines: list[str], first: int, indent: int) -> list[str]:
    """The lines of a block, from its first to the last that is not empty."""
    end = first + 1
    open_ = lines[first].count("(") - lines[first].count(")")
    last = first
    while end < len(lines):
        line = lines[end]
        if line.strip() and open_ <= 0 and len(line) - len(line.lstrip()) <= indent:
            break
        open_ += re.sub(r"#.*", "", line).count("(") - re.sub(r"#.*", "", line).count(")")
        if line.strip():
            last = end
        end += 1
    while last > first and (not lines[last].strip() or lines[last].strip().startswith("#")):
        last -= 1
    return lines[first : last + 1]


def _cython(text: str, place: str) -> Iterator[Size]:
    lines = text.splitlines()
    # What C code in quotes defines is not Cython's.
    quoted = False
    for i, line in enumerate(lines):
        was_quoted = quoted
        if '"""' in line and line.count('"""') % 2:
            quoted = not quoted
        if was_quoted:
            continue
        match = _CLASS.match(line)
        if match:
            block = _block(lines, i, len(match[1]))
            inner = len(match[1]) + 4
            fields = [
                field
                for field in block[1:]
                if len(field) - len(field.lstrip()) == inner
                and not field.strip().startswith(("def ", '"""', "@"))
                and not re.match(r" *c?p?def [^=\[]*\(", field)
                and ("class" not in line or field.strip().startswith("cdef "))
            ]
            yield Size("fields", _fields(fields), match[2], f"{place}:{i + 1}")
            continue
        match = _FUNCTION.match(line)
        if match and "class " not in line.split("(")[0]:
            block = _block(lines, i, len(match[1]))
            source = "\n".join(re.sub(r"#.*", "", part) for part in block)
            arguments = _inside(source, match.end())
            if ":" in source[match.end() + len(arguments) :]:  # not a declaration alone
                yield Size("lines", len(block), match[2], f"{place}:{i + 1}")
            yield Size("arguments", len(_arguments(arguments)), match[2], f"{place}:{i + 1}")


def _c(text: str, place: str) -> Iterator[Size]:
    text = re.sub(r"/\*.*?\*/", lambda found: re.sub(r"[^\n]", " ", found[0]), text, flags=re.S)
    text = re.sub(r"^ *#.*(\\\n.*)*$", lambda found: "\n" * found[0].count("\n"), text, flags=re.M)
    for match in _C_STRUCT.finditer(text):
        fields = [
            line
            for line in match[2].split("\n")
            if line.startswith("    ") and not line.startswith("     ")
        ]
        line_number = text.count("\n", 0, match.start()) + 1
        yield Size("fields", _fields(fields), match[1] or match[3], f"{place}:{line_number}")
    for match in re.finditer(r"^(?=\w)" + _C_FUNCTION.pattern, text, re.S | re.M):
        end = text.find("\n}", match.end())
        line_end = text.find("\n", match.end())
        body = text[match.start() : line_end if "}" in text[match.end() : line_end] else end + 2]
        line_number = text.count("\n", 0, match.start()) + 1
        yield Size("lines", body.count("\n") + 1, match[1], f"{place}:{line_number}")
        yield Size("arguments", len(_arguments(match[2])), match[1], f"{place}:{line_number}")


def sizes(folder: Path = CORE) -> list[Size]:
    """Sizes of all structs, classes and functions below a folder, the largest first."""
    found: list[Size] = []
    for path in sorted(folder.rglob("*")):
        place = path.relative_to(folder).as_posix()
        if path.suffix in (".pxi", ".pxd"):
            found += _cython(path.read_text(encoding="utf-8"), place)
        elif path.suffix == ".h":
            found += _c(path.read_text(encoding="utf-8"), place)
    return sorted(found, key=lambda size: (-size.count, size.place))


def main() -> None:
    """Print the largest of each kind."""
    every = sizes()
    most = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    for kind in ("fields", "lines", "arguments"):
        of_kind = [size for size in every if size.kind == kind]
        print(f"{kind}: {len(of_kind)}")
        for size in of_kind[:most]:
            print(f"  {size.count:4d}  {size.name}  {size.place}")
    makers = [
        size for size in every if size.kind == "arguments" and CONSTRUCTOR.fullmatch(size.name)
    ]
    print(f"arguments of constructors: {len(makers)}")
    for size in makers[:most]:
        print(f"  {size.count:4d}  {size.name}  {size.place}")


if __name__ == "__main__":
    main()
