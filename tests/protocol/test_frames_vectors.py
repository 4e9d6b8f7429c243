"""Our own vectors: bytes made by hand, and what they must decode to (tests/vectors/*.jsonl)."""

from __future__ import annotations

from typing import Any

import pytest

import amqpcodec
from amqpcodec import v0_9_1 as amqp
from tests.paths import REPO
from tests.reference import Header, Method, Table, encode_frame, encode_table
from tests.reference import jsonform as form
from tests.support.bridge import build, check, same_typed_table, typed_table

VECTORS = REPO / "tests" / "vectors"
HEARTBEAT = bytes.fromhex("08000000000000ce")


def rows(*names: str, built: bool = False) -> list[Any]:
    """The lines of these files; ``built``: only those whose bytes a Python value can ask for."""
    return [
        pytest.param(row, id=row["name"])
        for name in names
        for row in form.load_lines(VECTORS / name)
        if row.get("canonical", True) or not built
    ]


# ---- frames ------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", rows("frames.jsonl", "headers.jsonl"))
class TestFrames:
    def test_decode(self, row: dict[str, Any]) -> None:
        data = bytes.fromhex(row["hex"])
        channel, frame = form.frame(row["decoded"])
        for buffer in (data, bytearray(data), memoryview(data)):
            consumed, got_channel, got = amqp.decode(buffer)
            assert (consumed, got_channel) == (len(data), channel)
            check(got, frame)

    def test_decode_between_other_octets(self, row: dict[str, Any]) -> None:
        data = bytes.fromhex(row["hex"])
        channel, frame = form.frame(row["decoded"])
        consumed, got_channel, got = amqp.decode(b"\x08\x00\xce" + data + b"\x00\xce", 3)
        assert (consumed, got_channel) == (len(data), channel)
        check(got, frame)

    def test_encode_gives_the_same_octets(self, row: dict[str, Any]) -> None:
        data = bytes.fromhex(row["hex"])
        _, channel, got = amqp.decode(data)
        assert amqp.encode(channel, got) == data
        # Looking at the values must change nothing.
        check(got, form.frame(row["decoded"])[1])
        assert amqp.encode(channel, got) == data

    def test_encode_into(self, row: dict[str, Any]) -> None:
        data = bytes.fromhex(row["hex"])
        _, channel, got = amqp.decode(data)
        buffer = bytearray(b"\xaa" * (len(data) + 4))
        assert amqp.encode_into(buffer, 2, channel, got) == len(data)
        assert bytes(buffer) == b"\xaa\xaa" + data + b"\xaa\xaa"

    def test_every_cut_needs_more(self, row: dict[str, Any]) -> None:
        data = bytes.fromhex(row["hex"])
        for length in range(len(data)):
            assert amqp.decode(data[:length]) is None, length

    def test_decoder(self, row: dict[str, Any]) -> None:
        data = bytes.fromhex(row["hex"])
        channel, frame = form.frame(row["decoded"])
        decoder = amqp.Decoder()
        got = list(decoder.feed(data))
        assert len(got) == 1
        assert got[0][0] == channel
        check(got[0][1], frame)
        assert amqp.encode(*got[0]) == data
        decoder.eof()


@pytest.mark.parametrize("row", rows("frames.jsonl", "headers.jsonl", built=True))
def test_frame_built_from_values(row: dict[str, Any]) -> None:
    channel, frame = form.frame(row["decoded"])
    assert amqp.encode(channel, build(frame)) == bytes.fromhex(row["hex"])


# ---- tables ------------------------------------------------------------------------------------


def carriers(table: Table) -> list[tuple[Any, Any]]:
    """Frames that carry a table, and how to get the table's Python value out of the object."""
    declare = {
        "reserved-1": 0,
        "queue": b"q",
        **dict.fromkeys(("passive", "durable", "exclusive", "auto-delete", "no-wait"), 0),
    }
    return [
        (Header(1, {"headers": table}), lambda f: f.properties.headers),
        (Header(1, {"content-type": b"c", "headers": table, "priority": 1}),
         lambda f: f.properties.headers),
        (Method("queue.declare", {**declare, "arguments": table}), lambda f: f.arguments),
        (Header(1, {"headers": [(b"n", ("F", table)), (b"z", ("b", 1))]}),
         lambda f: f.properties.headers["n"]),
        (Header(1, {"headers": [(b"n", ("A", [("V", None), ("F", table)]))]}),
         lambda f: f.properties.headers["n"][1]),
    ]  # fmt: skip


def table_rows(built: bool = False) -> list[Any]:
    return [
        pytest.param(row, dialect, id=f"{row['name']} ({dialect})")
        for row in form.load_lines(VECTORS / "tables.jsonl")
        for dialect in row["dialects"]
        if row.get("canonical", True) or not built
    ]


@pytest.mark.parametrize(("row", "dialect"), table_rows())
class TestTables:
    def test_plain(self, row: dict[str, Any], dialect: str) -> None:
        for frame, _ in carriers(form.table(row["decoded"])):
            data = encode_frame(1, frame, dialect)
            assert bytes.fromhex(row["hex"]) in data
            _, _, got = amqp.decode(data, dialect=dialect)
            check(got, frame, dialect)
            assert amqp.encode(1, got, dialect=dialect) == data

    def test_typed(self, row: dict[str, Any], dialect: str) -> None:
        table = form.table(row["decoded"])
        for frame, value_of in carriers(table):
            data = encode_frame(1, frame, dialect)
            _, _, got = amqp.decode(data, dialect=dialect, tables="typed")
            check(got, frame, dialect, "typed")
            same_typed_table(value_of(got), table, dialect)
            assert amqp.encode(1, got, dialect=dialect) == data

    def test_raw_headers(self, row: dict[str, Any], dialect: str) -> None:
        table = form.table(row["decoded"])
        data = encode_frame(1, Header(1, {"headers": table}), dialect)
        _, _, got = amqp.decode(data, dialect=dialect)
        octets = encode_table(table, dialect)
        assert bytes(got.properties.raw_headers) in (octets, octets[4:])

    def test_other_values_changed(self, row: dict[str, Any], dialect: str) -> None:
        """A table that was not touched keeps its bytes when its neighbours change."""
        table = form.table(row["decoded"])
        data = encode_frame(1, Header(1, {"headers": table, "priority": 1}), dialect)
        _, _, got = amqp.decode(data, dialect=dialect)
        got.properties.priority = 2
        got.properties.app_id = "a"
        want = Header(1, {"headers": table, "priority": 2, "app-id": b"a"})
        assert amqp.encode(1, got, dialect=dialect) == encode_frame(1, want, dialect)


@pytest.mark.parametrize(("row", "dialect"), table_rows(built=True))
def test_typed_values_encode_back(row: dict[str, Any], dialect: str) -> None:
    table = form.table(row["decoded"])
    want = encode_frame(1, Header(1, {"headers": table}), dialect)
    for frame, value_of in carriers(table):
        data = encode_frame(1, frame, dialect)
        assert amqp.encode(1, build(frame, dialect), dialect=dialect) == data
        _, _, got = amqp.decode(data, dialect=dialect, tables="typed")
        again = amqp.Basic.Properties(headers=dict(value_of(got)))
        assert amqp.encode(1, amqp.Header(1, again), dialect=dialect) == want


def test_typed_table_of_everything_is_typed() -> None:
    """The check above would let plain values pass if the wrappers were plain classes."""
    table = form.table([["a", ["b", 1]], ["b", ["S", "x"]], ["c", ["d", 1.0]], ["e", ["V", None]]])
    kinds = {type(value) for value in typed_table(table, "rabbitmq").values()}
    assert not kinds & {int, str, float, bytes, type(None)}


# ---- malformed ---------------------------------------------------------------------------------


def check_error(error: Any, row: dict[str, Any], base: int = 0) -> None:
    assert type(error) is getattr(amqpcodec.errors, row["error"])
    assert isinstance(error, amqpcodec.DecodeError)
    if row["reply_code"] is not None:
        assert error.reply_code == row["reply_code"]
    assert error.offset == row["offset"] + base


def check_malformed(error: Any, row: dict[str, Any], base: int = 0) -> None:
    check_error(error, row, base)
    data = bytes.fromhex(row["hex"])
    assert error.frame_type == data[0]
    assert error.channel == int.from_bytes(data[1:3], "big")
    assert error.scope == row["scope"]
    if row["method"] is not None:
        assert error.method == row["method"]
    assert error.field == row["field"]


@pytest.mark.parametrize("row", rows("malformed.jsonl"))
class TestMalformed:
    def test_decode(self, row: dict[str, Any]) -> None:
        data = bytes.fromhex(row["hex"])
        with pytest.raises(amqpcodec.DecodeError) as info:
            amqp.decode(data)
        check_malformed(info.value, row)
        with pytest.raises(amqpcodec.DecodeError) as info:
            amqp.decode(b"\xce" * 5 + data, 5)
        check_malformed(info.value, row, base=5)

    def test_other_dialect_and_typed(self, row: dict[str, Any]) -> None:
        data = bytes.fromhex(row["hex"])
        with pytest.raises(amqpcodec.DecodeError) as info:
            amqp.decode(data, tables="typed")
        check_malformed(info.value, row)
        if not row.get("rabbitmq_only"):
            with pytest.raises(amqpcodec.DecodeError) as info:
                amqp.decode(data, dialect="0-9-1")
            check_malformed(info.value, row)

    def test_trailing_octets_can_be_kept(self, row: dict[str, Any]) -> None:
        data = bytes.fromhex(row["hex"])
        if row["error"] == "TrailingError":
            consumed, channel, got = amqp.decode(data, trailing="keep")
            assert (consumed, channel) == (len(data), int.from_bytes(data[1:3], "big"))
            assert amqp.encode(channel, got) == data
        else:
            with pytest.raises(amqpcodec.DecodeError) as info:
                amqp.decode(data, trailing="keep")
            check_malformed(info.value, row)

    def test_decoder(self, row: dict[str, Any]) -> None:
        """The error comes at its place, and what is behind a bad frame is not lost."""
        data = bytes.fromhex(row["hex"])
        decoder = amqp.Decoder()
        frames = decoder.feed(HEARTBEAT + data + HEARTBEAT)
        assert next(frames) == (0, amqp.Heartbeat())
        with pytest.raises(amqpcodec.DecodeError) as info:
            next(frames)
        check_malformed(info.value, row, base=len(HEARTBEAT))
        if row["scope"] == "frame":
            assert list(decoder.feed(b"")) == [(0, amqp.Heartbeat())]
        else:
            with pytest.raises(type(info.value)):
                list(decoder.feed(b""))

    def test_bad_frames_as_data(self, row: dict[str, Any]) -> None:
        data = bytes.fromhex(row["hex"])
        decoder = amqp.Decoder(errors="frame")
        frames = decoder.feed(HEARTBEAT + data + HEARTBEAT)
        assert next(frames) == (0, amqp.Heartbeat())
        if row["scope"] == "frame":
            _, bad = next(frames)
            assert type(bad) is amqp.BadFrame
            assert bytes(bad.raw) == data
            check_malformed(bad.error, row, base=len(HEARTBEAT))
            assert list(frames) == [(0, amqp.Heartbeat())]
        else:
            with pytest.raises(amqpcodec.DecodeError) as info:
                next(frames)
            check_malformed(info.value, row, base=len(HEARTBEAT))


# ---- streams -----------------------------------------------------------------------------------


def run_stream(row: dict[str, Any], step: int) -> tuple[int, Any]:
    """(events, error or None) of a stream that is fed ``step`` bytes at a time."""
    data = bytes.fromhex(row["hex"])
    kind = amqp.Decoder if row["via"] == "decoder" else amqp.MessageDecoder
    decoder = kind(**row["options"])
    events = 0
    try:
        for start in range(0, len(data), step):
            for _ in decoder.feed(data[start : start + step]):
                events += 1
        if row.get("eof"):
            decoder.eof()
    except amqpcodec.DecodeError as error:
        return events, error
    return events, None


@pytest.mark.parametrize("step", [1, 7, 1 << 20])
@pytest.mark.parametrize("row", rows("streams.jsonl"))
def test_streams(row: dict[str, Any], step: int) -> None:
    events, error = run_stream(row, step)
    assert events == row["frames"]
    if row["error"] is None:
        assert error is None
    else:
        check_error(error, row)


# ---- depth -------------------------------------------------------------------------------------


def nested(levels: int, array: bool) -> Table:
    """A table of ``levels`` levels, itself the first."""
    value: Any = ("A", []) if array else ("F", [])
    for _ in range(levels - 2):
        value = ("A", [value]) if array else ("F", [(b"k", value)])
    return [(b"k", value)]


def nested_header(levels: int, array: bool) -> bytes:
    """The same in a content header, for any depth: bytes from the inside out."""
    opening, octets = (b"A" if array else b"\x01kF"), b""
    for _ in range(levels - 2):
        octets = opening + len(octets).to_bytes(4, "big") + octets
    octets = b"\x01k" + opening[-1:] + len(octets).to_bytes(4, "big") + octets
    payload = bytes.fromhex("003c 0000 0000000000000001 2000")
    payload += len(octets).to_bytes(4, "big") + octets
    return b"\x02\x00\x01" + len(payload).to_bytes(4, "big") + payload + b"\xce"


@pytest.mark.parametrize("array", [False, True])
@pytest.mark.parametrize("tables", ["plain", "typed"])
def test_depth(array: bool, tables: str) -> None:
    frame = Header(1, {"headers": nested(128, array)})
    data = nested_header(128, array)
    assert encode_frame(1, frame) == data
    _, _, got = amqp.decode(data, tables=tables)
    check(got, frame, tables=tables)
    assert amqp.encode(1, got) == amqp.encode(1, build(frame)) == data


@pytest.mark.parametrize("array", [False, True])
@pytest.mark.parametrize("levels", [129, 130, 20000])
def test_depth_exceeded(levels: int, array: bool) -> None:
    data = nested_header(levels, array)
    for tables in ("plain", "typed"):
        with pytest.raises(amqpcodec.errors.DepthError) as info:
            amqp.decode(data, tables=tables)
        assert (info.value.reply_code, info.value.field) == (502, "headers")


@pytest.mark.parametrize("array", [False, True])
def test_depth_on_encode(array: bool) -> None:
    value: Any = [] if array else {}
    for _ in range(500):
        value = [value] if array else {"k": value}
    with pytest.raises(amqpcodec.EncodeError):
        amqp.encode(1, amqp.Header(1, amqp.Basic.Properties(headers={"k": value})))
