"""Functions of the core begin with a verb that has one meaning: the table in docs/design.md."""

from __future__ import annotations

import re

from tests.layers.dispatchers import functions
from tests.paths import REPO

#: Verbs that meant other things in other packages; a name says which it is.
VAGUE = ("note", "take", "look", "put_v1", "v1_note", "v1_take", "v1_look")

#: A method that Python code calls by this name.
CALLED_BY_PYTHON = {("capture/batch.pxi", "take_rows"), ("capture/reader.pxi", "take_rows")}

TABLE = (
    (REPO / "docs" / "design.md")
    .read_text(encoding="utf-8")
    .split("| verb | what the function does |")[1]
    .split("\n\n")[0]
)


def test_no_function_begins_with_a_vague_verb() -> None:
    vague = [place for place in functions() if re.match(rf"({'|'.join(VAGUE)})_", place[1])]
    assert sorted(set(vague) - CALLED_BY_PYTHON) == []
    assert set(vague) >= CALLED_BY_PYTHON, "renamed: remove it from the list"


def test_the_verbs_of_the_page_are_in_use() -> None:
    names = [name for _, name in functions()]
    verbs = re.findall(r"`(\w+)_`", TABLE)
    assert len(verbs) > 5
    for verb in verbs:
        assert any(re.match(rf"(v1_|v1e_)?{verb}_", name) for name in names), verb
