"""Every vector and every beginning of it, up to a page that nobody may read: the same outcome."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from amqpcodec import DecodeError, v0_8, v0_9, v0_9_1
from amqpcodec import v1_0 as v1
from tests.paths import REPO, shared_dir
from tests.support.guarded import POSIX_ONLY, guarded
from tests.support.samples_v1 import values_and_frames

pytestmark = POSIX_ONLY
VECTORS = REPO / "tests" / "vectors"
SHARED = shared_dir()


def ours(name: str) -> list[bytes]:
    """The frames or streams of a file of vectors, without those that are long."""
    rows = map(json.loads, (VECTORS / f"{name}.jsonl").read_text().splitlines())
    return [data for row in rows if len(data := bytes.fromhex(row["hex"])) < 1000]


def others_of_0_x() -> list[bytes]:
    if SHARED is None:
        return []
    rows = [
        json.loads(line)
        for path in sorted((SHARED / "vectors" / "amqp-0-x").glob("*.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    return [bytes.fromhex(row["hex"]) for row in rows if row["kind"] == "frame"]


def others_of_1_0() -> list[bytes]:
    if SHARED is None:
        return []
    index = SHARED / "vectors" / "amqp-1.0" / "index.json"
    vectors = [bytes.fromhex(row["hex"]) for row in json.loads(index.read_bytes())["vectors"]]
    return [data for data in vectors if len(data) < 1000]


def outcome(read: Callable[[Any], Any], data: Any) -> str:
    """What came of it, as text."""
    try:
        return repr(read(data))
    except DecodeError as error:
        return f"{type(error).__name__}: {error}"


def unequal(read: Callable[[Any], Any], data: bytes) -> list[int]:
    """Sizes whose outcome is another one where nothing may be read after them."""
    return [
        size
        for size in range(len(data) + 1)
        if outcome(read, guarded(data[:size])) != outcome(read, data[:size])
    ]


READERS: dict[str, Callable[[Any], Any]] = {
    "0-9-1": v0_9_1.decode,
    "0-9": v0_9.decode,
    "0-8": v0_8.decode,
    "0-9-1 typed": lambda data: v0_9_1.decode(data, tables="typed"),
    "0-9-1 letter": lambda data: v0_9_1.decode(data, dialect="0-9-1"),
    "0-9-1 stream": lambda data: list(v0_9_1.Decoder(errors="frame").feed(data)),
    "0-9-1 messages": lambda data: list(v0_9_1.MessageDecoder(errors="frame").feed(data)),
}
READERS_OF_1_0: dict[str, Callable[[Any], Any]] = {
    "value": v1.decode_value,
    "typed value": lambda data: v1.decode_value(data, types="typed"),
    "frame": v1.decode,
    "message": lambda data: v1.Message.decode(data, eager=True),
    "sections": lambda data: v1.Message.decode(data).sections(),
    "stream": lambda data: list(v1.Decoder(errors="frame").feed(data)),
    "deliveries": lambda data: list(v1.MessageDecoder(opened=True, errors="frame").feed(data)),
}


@pytest.mark.parametrize("name", READERS)
def test_beginnings_of_0_x(name: str) -> None:
    octets = others_of_0_x()
    for file in ("frames", "headers", "malformed", "streams"):
        octets += ours(file)
    assert len(octets) >= 250
    assert [data.hex() for data in octets if unequal(READERS[name], data)] == []


@pytest.mark.parametrize("name", READERS_OF_1_0)
def test_beginnings_of_1_0(name: str) -> None:
    octets = values_and_frames() + others_of_1_0()
    assert len(octets) > 20
    assert [data.hex() for data in octets if unequal(READERS_OF_1_0[name], data)] == []
