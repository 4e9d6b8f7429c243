"""AMQP 1.0 at message level: columns that every row has, which are written many rows at a time."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amqpcodec import _columns
from amqpcodec import v1_0 as amqp
from tests.columns.v1_rows import decode, pa
from tests.support.amqp10_wire import frame

PLACES = ["row", "offset", "frame_type", "channel", "frame"]
HEARTBEAT = amqp.encode(0, amqp.Heartbeat())
DISPOSITION = amqp.encode(3, amqp.Disposition(True, 1, 2))
UNDEFINED = frame(b"octets", kind=7, channel=5)
BAD = frame(b"\0\x53\x15\xc0\6\4\x41\x43\x43\x41", channel=2)


def transfer(channel: int, handle: int, n: int, *, more: bool = False) -> bytes:
    return amqp.encode(
        channel, amqp.Transfer(handle, n, b"%d" % n, 0, more=more), b"\0\x53\x75\xa0\1x"
    )


def continuation(channel: int, handle: int, *, more: bool = False) -> bytes:
    return amqp.encode(channel, amqp.Transfer(handle, more=more), b"\0\x53\x75\xa0\1y")


#: Frames, and the rows that they come to: numbers of the frames of each, and whether it is bad.
PARTS: dict[str, tuple[list[bytes], list[tuple[list[int], bool]]]] = {
    "one": ([transfer(1, 0, 1)], [([0], False)]),
    "other": ([DISPOSITION], [([0], False)]),
    "sasl": ([amqp.encode(0, amqp.SaslOutcome(0))], [([0], False)]),
    "none": ([HEARTBEAT], []),
    "type": ([UNDEFINED], [([0], True)]),
    "bad": ([BAD], [([0], True)]),
    "two": ([transfer(1, 0, 1, more=True), continuation(1, 0)], [([0, 1], False)]),
    "three": (
        [transfer(1, 0, 1, more=True), continuation(1, 0, more=True), continuation(1, 0)],
        [([0, 1, 2], False)],
    ),
    "between": (
        [transfer(1, 0, 1, more=True), DISPOSITION, continuation(1, 0)],
        [([1], False), ([0, 2], False)],
    ),
    "beat": ([transfer(1, 0, 1, more=True), HEARTBEAT, continuation(1, 0)], [([0, 2], False)]),
    "crossed": (
        [
            transfer(1, 0, 1, more=True),
            transfer(1, 1, 2, more=True),
            continuation(1, 0),
            continuation(1, 1),
        ],
        [([0, 2], False), ([1, 3], False)],
    ),
    "another": (
        [transfer(1, 0, 1, more=True), transfer(1, 0, 2)],
        [([0, 1], True)],
    ),
}


def expected(names: list[str], mode: str, value: int = 0) -> tuple[bytes, list[dict[str, Any]]]:
    data, expected_rows = b"", []
    for name in names:
        frames, rows = PARTS[name]
        starts = [len(data) + len(b"".join(frames[:i])) for i in range(len(frames))]
        data += b"".join(frames)
        for numbers, bad in rows:
            if bad and mode == "DROPMALFORMED":
                continue
            first = frames[numbers[0]]
            expected_rows.append(
                {
                    "row": value,
                    "offset": starts[numbers[0]],
                    "frame_type": {0: "amqp", 1: "sasl"}.get(first[5]),
                    "channel": int.from_bytes(first[6:8], "big"),
                    "frame": b"".join(frames[i] for i in numbers),
                }
            )
    return data, expected_rows


def places(data: Any, **options: Any) -> list[dict[str, Any]]:
    record_batch = decode(data, level="message", fields=[*PLACES, "body", "error"], **options)
    rows: list[dict[str, Any]] = record_batch.select(PLACES).to_pylist()
    return rows


@given(
    st.lists(
        st.tuples(
            st.sampled_from(sorted(PARTS)), st.sampled_from([1] * 3 + [2, 126, 127, 128, 129])
        ),
        max_size=8,
    ),
    st.sampled_from(["PERMISSIVE", "DROPMALFORMED"]),
    st.sampled_from(["plain", "view"]),
    st.booleans(),
)
@settings(deadline=None, max_examples=150)
def test_places(parts: list[tuple[str, int]], mode: str, layout: str, owned: bool) -> None:
    names = [name for name, times in parts for _ in range(times)]
    data, rows = expected(names, mode)
    assert places(data if owned else bytearray(data), mode=mode, layout=layout) == rows


@pytest.mark.parametrize("seed", range(6))
def test_places_in_values_of_an_array(seed: int) -> None:
    """Each of a value of its own, nulls and gaps between them; the values of a slice."""
    source = random.Random(seed)
    pool = ["one", "other", "two"] if seed < 3 else sorted(PARTS)
    values: list[bytes | None] = []
    rows: list[dict[str, Any]] = []
    for i in range(400):
        if source.random() < 0.02 * seed:
            values.append(None)
            continue
        picked = source.choices(pool, k=source.choice((0, 1, 3)))
        data, of_value = expected(picked, "PERMISSIVE", i)
        values.append(data)
        rows += of_value
    array = pa.array([b"before", *values], pa.large_binary() if seed & 1 else pa.binary()).slice(1)
    assert places(array) == rows


def test_a_delivery_of_two_values() -> None:
    """Its frames lie behind one another, in values that do."""
    frames = PARTS["two"][0]
    (row,) = places(pa.array(frames), by=[])
    assert row == {**expected(["two"], "PERMISSIVE")[1][0], "row": 0}


def test_the_octets_stay_for_the_frames() -> None:
    """Frames stand in the input, which is kept for them; a gap makes them a copy."""
    for names, borrowed in ((["one"] * 300, True), (["one", "none"] * 300, False)):
        data, rows = expected(names, "PERMISSIVE")
        column = decode(data, level="message", fields=["frame"]).column("frame")
        octets = column.buffers()[2]
        assert (octets.address == pa.py_buffer(data).address) == borrowed
        del data
        assert column.to_pylist() == [row["frame"] for row in rows]


@pytest.mark.parametrize(
    "names", [["one"] * 200, ["none", *["one"] * 100, "none", *["one"] * 100], ["crossed"] * 50]
)
def test_frames_reach_no_further_than_offsets(names: list[str]) -> None:
    data, rows = expected(names, "PERMISSIVE")
    most = sum(len(row["frame"]) for row in rows)
    call = (amqp.PROTOCOL, data, ["frame"], "PERMISSIVE", "rabbitmq")
    assert len(_columns.decode_columns(*call, most, "message")) == len(rows)
    with pytest.raises(ValueError, match=f"{most - 1} bytes.*frame"):
        _columns.decode_columns(*call, most - 1, "message")


@pytest.mark.parametrize("name", ["arguments", "performative", "payload", "frame"])
@pytest.mark.parametrize("seed", range(4))
def test_columns_of_frames_reach_no_further_than_offsets(name: str, seed: int) -> None:
    """Frames that are written many at a time and others, up to the last byte a column may have."""
    source = random.Random(seed)
    frames = [
        *PARTS["two"][0],
        DISPOSITION,
        amqp.encode(1, amqp.Flow(1, 2048, 5, 2048, 0, 7, 100)),
        amqp.encode(1, amqp.Attach("name", 1, True, source=amqp.Source("q"))),
        amqp.encode(1, amqp.Transfer(0, 1, b"t", 0), bytes(40)),
    ]
    data = b"".join(source.choices(frames, k=300)) + 3 * HEARTBEAT
    values = decode(data, fields=[name]).column(name).to_pylist()
    most = sum(len(value) for value in values if value is not None)
    call = (amqp.PROTOCOL, data, [name], "PERMISSIVE", "rabbitmq")
    exact = pa.record_batch(_columns.decode_columns(*call, most)).column(name).to_pylist()
    assert exact == values
    for limit in (most - 1, most // 2, most // 3):
        with pytest.raises(ValueError, match=f"{limit} bytes.*{name}"):
            _columns.decode_columns(*call, limit)


NUMBERS = sorted(
    {abs(10**k + d) for k in range(20) for d in (-1, 0, 1)} | {2**k for k in range(64)}
)


def test_numbers_of_every_length_as_text() -> None:
    """Of fields, and of application properties."""
    for n in NUMBERS:
        if n < 2**64:
            (row,) = decode(
                amqp.encode(1, amqp.Attach("l", 1, True, max_message_size=n)) + 3 * HEARTBEAT,
                fields=["arguments"],
            ).to_pylist()[:1]
            assert json.loads(row["arguments"])["max_message_size"] == n
        if n < 2**32:
            flow = amqp.encode(1, amqp.Flow(n, n, n, n, n)) + 3 * HEARTBEAT
            text = decode(flow, fields=["arguments"]).column(0)[0].as_py()
            assert list(json.loads(text).values()) == [n] * 5
            assert "".join(c for c in text if c.isdigit()) == 5 * str(n)
        if n < 2**63:
            message = amqp.Message(b"", application_properties={"a": n, "b": -n})
            raw = amqp.encode(1, amqp.Transfer(0, 1, b"t", 0), message.encode()) + 3 * HEARTBEAT
            text = decode(raw, level="message").column("application_properties")[0].as_py()
            assert text == f'{{"a":{n},"b":{-n}}}'
