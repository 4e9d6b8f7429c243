"""Each other implementation that is here agrees, but where the documents say that it does not."""

from __future__ import annotations

import re
from collections.abc import Iterable
from random import Random
from typing import Any

import pytest

from amqpcodec import v0_9_1 as amqp
from tests.differential.compare import Difference, Peer, Refused, compare, differences, outcome
from tests.differential.net_amqp import cut_to_int
from tests.differential.peers import peers
from tests.paths import REPO

PAGE = REPO / "docs" / "reference" / "differences.md"
PEERS = peers()
CASES = 1000


@pytest.mark.parametrize("name", PEERS)
def test_nothing_new(name: str) -> None:
    try:
        result = compare(PEERS[name], CASES)
    except ImportError as missing:
        pytest.skip(str(missing))
    assert result.new == []
    assert result.agreed > CASES // 2
    assert result.cases == CASES


@pytest.mark.parametrize("name", PEERS)
def test_every_known_difference_is_in_the_documents(name: str) -> None:
    rows = [line.split("|") for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    documented = {(row[1].strip(), row[2].strip(" `")) for row in rows}
    assert {(name, reason) for reason in PEERS[name].known_differences} <= documented


#: Reasons -> the primitive types whose section the judgement names.
SECTIONS = {
    "decimal128": ["decimal128"],
    "no char, decimal32, decimal64": ["decimal32", "decimal64", "char"],
    "unhashable key": ["map"],
    "empty array": ["array"],
    "empty binary": ["binary"],
    "equal keys": ["map"],
}


def test_sections_of_1_0_are_those_of_their_types() -> None:
    """Part 1 §1.6 has a section for each primitive type, in the order of its XML."""
    xml = (REPO / "spec" / "amqp1-0" / "types.xml").read_text()
    types = re.findall(r'<type name="(\w+)" class="primitive"', xml)
    sections = {}
    for line in PAGE.read_text().splitlines():
        if numbers := re.findall(r"§1\.6\.(\d+)", line):
            sections[line.split("|")[2].strip(" `")] = [
                types[int(number) - 1] for number in numbers
            ]
    assert sections == SECTIONS


def wrong(cases: list[bytes]) -> Iterable[Any]:
    """A peer that agrees, but adds one to every third number."""
    for place, data in enumerate(cases):
        tag = amqp.decode(data)[2].delivery_tag  # type: ignore[index, union-attr]
        yield tag + 1 if place % 3 == 0 else tag


def ack(rng: Random) -> bytes:
    return amqp.encode(1, amqp.Basic.Ack(rng.randrange(100)))


def tag_of(data: bytes) -> int:
    return amqp.decode(data)[2].delivery_tag  # type: ignore[index, union-attr, no-any-return]


def absent(data: bytes) -> Any:
    raise ImportError("no such client")


def test_a_missing_peer_is_no_answer() -> None:
    def theirs(cases: list[bytes]) -> list[Any]:
        return [outcome(absent, data) for data in cases]

    with pytest.raises(ImportError, match="no such client"):
        compare(Peer("missing", ack, tag_of, theirs, {}), 3)


def test_differences_are_found_and_counted_by_reason() -> None:
    result = compare(Peer("wrong", ack, tag_of, wrong, {}), 30, most=100)
    assert (result.cases, result.agreed, len(result.new)) == (30, 20, 10)
    assert all(at.theirs == at.ours + 1 for _, at in result.new)
    known_differences = {
        "off by one": lambda at: at.theirs == at.ours + 1 and at.case[:1] == b"\x01"
    }
    result = compare(Peer("wrong", ack, tag_of, wrong, known_differences), 30)
    assert (result.agreed, result.known_counts["off by one"], result.new) == (20, 10, [])
    assert "10 known" in result.line()


@pytest.mark.parametrize(
    ("ours", "theirs", "places"),
    [
        ({"a": [1, 2.0]}, {"a": [1, 2.0]}, []),
        ({"a": [1, 2]}, {"a": [1, 3]}, ["a.1"]),
        ({"a": 1}, {"b": 1}, ["a", "b"]),
        ([1], [1, 2], [""]),
        (1, True, [""]),
        (float("nan"), float("nan"), []),
        (1.0, float("nan"), [""]),
        (1, Refused("error"), [""]),
    ],
)
def test_places_of_differences(ours: Any, theirs: Any, places: list[str]) -> None:
    found_differences = list(differences(ours, theirs))
    assert [at.path for at in found_differences] == places
    assert all(isinstance(at, Difference) for at in found_differences)


@pytest.mark.parametrize(
    ("ours", "theirs", "is_known"),
    [
        ("6", 6, True),
        ("-6", -6, True),
        ("-6", 6, False),
        ("6.0", 6, False),
        (True, 1, True),
        ({"seconds": (1 << 32) + 6}, 6, True),
        (1 << 31, -(1 << 31), True),
        (6, "6", False),
    ],
)
def test_what_perl_does_not_tell_from_a_number(ours: Any, theirs: Any, is_known: bool) -> None:
    assert cut_to_int(Difference("headers.n", ours, theirs)) is is_known
