"""What builds the input of tests stands in tests/support, and once: `tests/layers/builders.py`."""

from __future__ import annotations

import ast
import re

import pytest

from tests.layers import builders
from tests.layers.builders import SUPPORT


def function(text: str) -> ast.FunctionDef:
    (node,) = ast.parse(text).body
    assert isinstance(node, ast.FunctionDef)
    return node


def test_few_builders_stand_outside_of_support() -> None:
    """Two builders of one file may stay there. One that another file needs goes to support."""
    places = [builder.place for builder in builders.outside(builders.builders())]
    assert len(places) <= 190, "\n".join(places)


def test_no_builder_stands_twice() -> None:
    twins = builders.twins(builders.builders())
    assert twins == [], "\n".join(builder.place for group in twins for builder in group)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def frame(payload: bytes) -> bytes:\n    return b'x' + payload", True),
        ("def frames(count: int) -> list[bytes]:\n    return [b'x'] * count", True),
        ("def column(values: list):\n    return pa.array(values)", True),
        ("def frames(path: Path) -> list[bytes]:\n    return path.read_bytes().split()", False),
        ("def decoded(data: bytes) -> bytes:\n    return amqp.decode(data)[2].payload", False),
        ("def check(data: bytes) -> None:\n    assert data", False),
        ("def writer() -> Callable[[], bytes]:\n    return lambda: b''", False),
    ],
)
def test_what_a_builder_is(text: str, expected: bool) -> None:
    assert builders.is_builder(function(text)) is expected


def test_names_do_not_make_a_difference() -> None:
    one = (
        "def a(data: bytes, n: int) -> bytes:\n    '''Words.'''\n    out = data * n\n    return out"
    )
    same = "def b(piece, count):\n    result = piece * count\n    return result"
    other = "def c(piece, count):\n    result = count * piece\n    return result"
    shapes = [builders.shape(function(text)) for text in (one, same, other)]
    assert shapes[0] == shapes[1] != shapes[2]


def test_the_page_of_support_names_its_modules() -> None:
    page = (SUPPORT / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"^\| `(\w+)`", page, re.M))
    assert named == {path.stem for path in SUPPORT.glob("*.py")}
