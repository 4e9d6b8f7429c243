"""Every output of scalars names every kind of them: the C compiler refuses what is left out."""

from __future__ import annotations

import re

import pytest

from tests.paths import REPO

CORE = REPO / "src" / "amqpcodec" / "_core"
HEADER = (CORE / "wire" / "scalar.h").read_text(encoding="utf-8")
KINDS = re.findall(r"^    (KIND_\w+)", HEADER, re.M)

#: From the table of outputs in docs/design.md.
OUTPUTS = re.findall(
    r"`(\w+)` \(`(\w+/\w+\.px[di])`\)",
    (REPO / "docs" / "design.md")
    .read_text(encoding="utf-8")
    .split("| output | function | families |")[1]
    .split("\n\n")[0],
)


def functions() -> dict[tuple[str, str], str]:
    """(name, file) -> source of the functions that are long enough to be an output."""
    return {
        (re.findall(r"(\w+)\(", source)[0], path.relative_to(CORE).as_posix()): source
        for path in sorted(CORE.rglob("*.px[di]"))
        for source in re.split(r"^(?=cdef .*\()", path.read_text(encoding="utf-8"), flags=re.M)
        if len(set(re.findall(r"\bkind == (KIND_\w+)", source))) > 4
    }


def test_declarations_agree() -> None:
    declared = (CORE / "wire" / "value.pxd").read_text(encoding="utf-8")
    assert re.findall(r"^        (KIND_\w+)$", declared, re.M) == KINDS
    assert len(KINDS) > 15


def test_the_page_lists_the_outputs() -> None:
    assert sorted(functions()) == sorted(OUTPUTS)


@pytest.mark.parametrize(("name", "path"), OUTPUTS)
def test_an_output_is_one_chain_over_all_kinds(name: str, path: str) -> None:
    """Cython writes a `switch` of a chain whose tests are `kind == ...` alone."""
    source = functions()[name, path]
    chain = [line.strip() for line in source.splitlines() if re.match(r" +(if|elif) .*KIND_", line)]
    first = next(i for i, line in enumerate(chain) if "elif" in line) - 1
    assert all(line.startswith("elif ") for line in chain[first + 1 :])
    assert not re.search(r"LIKELY|\band\b|<", "".join(chain[first:]))
    named = re.findall(r"\bkind == (KIND_\w+)", source[source.index(chain[first]) :])
    assert sorted(set(named)) == sorted(KINDS)
    assert "    else:\n" not in source[source.index(chain[first]) :]


def test_the_conversions_of_drop_ins_are_one_chain() -> None:
    """Over an enum of C, so that gcc refuses a chain without one of its conversions."""
    declared = (CORE / "dropins" / "profile.pxi").read_text(encoding="utf-8")
    declared = declared.split("ctypedef enum Conversion:")[1].split("cdef dict CONVERSIONS")[0]
    source = (CORE / "dropins" / "read.pxi").read_text(encoding="utf-8")
    source = source[source.index("cdef object profile_content(") : source.index("cdef list ")]
    assert "Conversion conversion," in source
    chain = re.findall(r"^    (?:if|elif) (.*):$|^    else", source, re.M)
    branches = re.findall(r"conversion == (READ_\w+)", " ".join(chain))
    assert all(chain)
    assert sorted(branches) == sorted(re.findall(r"^    (READ_\w+)", declared, re.M))
