"""Functions of the core begin with a verb that has one meaning: the table in docs/design.md."""

from __future__ import annotations

import re

from tests.layers.dispatchers import CORE, functions
from tests.paths import REPO

#: Verbs that meant other things in other packages; a name says which it is.
VAGUE = re.compile(r"(?:v1e?_|pool_|atomic_|azure_)?(?:note|take|look)(?:_|$)|put_v1_")

#: A method that Python code calls by this name.
CALLED_BY_PYTHON = {
    ("capture/batch.pxi", "take_rows"),
    ("capture/outline.pxi", "take"),
    ("capture/reader.pxi", "take"),
    ("capture/reader.pxi", "take_rows"),
}

#: A function of C: its storage, its type and its name.
IN_HEADERS = re.compile(r"^(?:static|AMQP_\w+)\b([^;{}()=]*?)(\w+)\(([^;{}]*)\) \{", re.M)

TABLE = (
    (REPO / "docs" / "design.md")
    .read_text(encoding="utf-8")
    .split("| verb | what the function does |")[1]
    .split("\n\n")[0]
)


def in_headers() -> list[tuple[str, str, str]]:
    """(file, name, type and parameters) of each function that a header of the core defines."""
    return [
        (path.relative_to(CORE).as_posix(), name, f"{returned}({parameters}")
        for path in sorted(CORE.rglob("*.h"))
        for returned, name, parameters in IN_HEADERS.findall(path.read_text(encoding="utf-8"))
    ]


def test_no_function_begins_with_a_vague_verb() -> None:
    headers = [place[:2] for place in in_headers()]
    assert len(headers) > 100
    vague = {place for place in [*functions(), *headers] if VAGUE.match(place[1])}
    assert sorted(vague - CALLED_BY_PYTHON) == []
    assert vague >= CALLED_BY_PYTHON, "renamed: remove it from the list"


def test_a_function_that_gets_a_place_stores() -> None:
    """put_ reserves in a buffer; what is handed a pointer `w` to write at says store_."""
    signatures = {
        (file, name): source.split("(", 1)[1].split(")")[0]
        for (file, name), source in functions().items()
    }
    signatures |= {(file, name): rest.split("(", 1)[1] for file, name, rest in in_headers()}
    gets_a_place = re.compile(r"(uint8_t|char) ?\* ?w\b")
    putters = {p: text for p, text in signatures.items() if re.match(r"(v1e?_|azure_)?put_", p[1])}
    assert len(putters) > 50
    assert [place for place, text in putters.items() if gets_a_place.match(text)] == []


def test_the_verbs_of_the_page_are_in_use() -> None:
    names = [name for _, name in functions()]
    verbs = re.findall(r"`(\w+)_`", TABLE)
    assert len(verbs) > 5
    for verb in verbs:
        assert any(re.match(rf"(v1_|v1e_)?{verb}_", name) for name in names), verb
