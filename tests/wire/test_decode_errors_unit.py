"""Every DecodeError: its place, its reply code, its scope, its words, and what it keeps back."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import amqpcodec
from amqpcodec import v0_9_1 as amqp
from tests.support import amqp091_wire as w


def error_of(data: bytes, offset: int = 0, **options: Any) -> Any:
    with pytest.raises(amqpcodec.DecodeError) as caught:
        amqp.decode(data, offset, **options)
    return caught.value


def deliver(announced: int, present: int, tag: int = 9) -> tuple[bytes, int]:
    """A basic.deliver whose exchange announces more bytes than there are, and its place."""
    head = b"\0\x3c\0\x3c" + w.shortstr("t" * tag) + b"\0" * 8 + b"\0"
    return w.frame(1, 3, head + bytes([announced]) + b"e" * present), 7 + len(head)


def test_truncated_short_string() -> None:
    data, place = deliver(200, 17)
    error = error_of(data)
    assert type(error) is amqpcodec.TruncatedError
    assert (error.method, error.field) == ("basic.deliver", "exchange")
    assert (error.channel, error.reply_code, error.scope) == (3, 502, "frame")
    assert error.frame_type in (1, "method")
    assert error.offset in (place, place + 1)
    assert str(error) == (
        f"basic.deliver.exchange: shortstr needs 200 bytes, 17 remain (offset {error.offset})"
    )


def test_offset_counts_from_the_start_of_the_data() -> None:
    data, _ = deliver(200, 17)
    plain = error_of(data)
    moved = error_of(b"?" * 40 + data, 40)
    assert moved.offset == plain.offset + 40
    assert str(moved).endswith(f"(offset {moved.offset})")


def method_cuts() -> list[Any]:
    """Every method frame cut inside its arguments, with the framing right."""
    samples = {"o": 1, "h": 2, "l": 3, "q": 4, "b": True, "s": "text", "S": b"octets",
               "F": {"k": "v"}}  # fmt: skip
    cases = []
    for name, spec in w.SPECS.items():
        payload = w.method_payload(name, **{f: samples[wire] for f, wire in spec.fields})
        cases += [
            pytest.param(name, payload, size, id=f"{name}-{size}")
            for size in range(4, len(payload))
        ]
    return cases


@pytest.mark.parametrize(("name", "payload", "size"), method_cuts())
def test_methods_that_end_early(name: str, payload: bytes, size: int) -> None:
    error = error_of(w.frame(1, 1, payload[:size]))
    assert type(error) is amqpcodec.TruncatedError
    assert error.method == name
    assert str(error.field).replace("-", "_").split(".")[0] in (
        *w.class_of(amqp, name).FIELDS,
        *(field.rstrip("_") for field in w.class_of(amqp, name).FIELDS),
    )
    assert error.reply_code == 502
    assert 7 + 4 <= error.offset <= 7 + size
    assert str(error).startswith(f"{name}.")
    assert str(error).endswith(f"(offset {error.offset})")


@pytest.mark.parametrize("size", range(4))
def test_methods_without_ids(size: int) -> None:
    error = error_of(w.frame(1, 1, b"\0\x3c\0\x50"[:size]))
    assert error.reply_code in (501, 502)
    assert error.channel == 1


PROPERTIES = {
    "content_type": "t",
    "headers": {"k": "v"},
    "priority": 1,
    "timestamp": 5,
    "app_id": "a",
}
HEADER = w.header_payload(7, **PROPERTIES)


@pytest.mark.parametrize("size", range(len(HEADER)))
def test_headers_that_end_early(size: int) -> None:
    error = error_of(w.frame(2, 5, HEADER[:size]))
    assert type(error) is amqpcodec.TruncatedError
    assert (error.reply_code, error.channel, error.scope) == (502, 5, "frame")
    assert error.frame_type in (2, "header")
    assert 7 <= error.offset <= 7 + size
    if size >= 14:
        assert str(error.field).replace("-", "_").split(".")[0] in PROPERTIES


def test_continued_flags_that_never_end() -> None:
    error = error_of(w.frame(2, 1, b"\0\x3c" + b"\0" * 10 + b"\0\1" * 50))
    assert type(error) is amqpcodec.TruncatedError


@pytest.mark.parametrize("extra", [b"\0", b"\xff" * 9])
@pytest.mark.parametrize(
    "payload",
    [w.method_payload("basic.ack"), w.method_payload("tx.select"), HEADER, w.header_payload()],
    ids=["ack", "select", "header", "bare header"],
)
def test_trailing_octets(payload: bytes, extra: bytes) -> None:
    kind = 2 if payload[:4] == b"\0\x3c\0\0" else 1
    data = w.frame(kind, 1, payload + extra)
    error = error_of(data)
    assert type(error) is amqpcodec.TrailingError
    assert (error.reply_code, error.scope) == (502, "frame")
    assert error.offset == 7 + len(payload)
    assert error_of(data, trailing="error").offset == error.offset


@pytest.mark.parametrize("kind", [1, 2, 3])
@pytest.mark.parametrize("end", [0x00, 0xCD, 0xCF, 0xFF, 0x01])
def test_frame_end(kind: int, end: int) -> None:
    payload = {1: w.method_payload("basic.ack"), 2: HEADER, 3: b"body"}[kind]
    error = error_of(w.frame(kind, 4, payload, bytes([end])))
    assert type(error) is amqpcodec.FrameEndError
    assert (error.reply_code, error.scope, error.channel) == (501, "connection", 4)
    assert error.offset == 7 + len(payload)


def test_frame_end_comes_before_what_is_inside() -> None:
    """With a wrong end the size cannot be trusted, so the content is not the first complaint."""
    error = error_of(w.frame(1, 1, b"\xff\xff\xff\xff", b"\0"))
    assert type(error) is amqpcodec.FrameEndError


@pytest.mark.parametrize("kind", [0, 4, 5, 6, 7, 9, 10, 64, 66, 255])
def test_frame_type(kind: int) -> None:
    error = error_of(w.frame(kind, 1, b"x"))
    assert type(error) is amqpcodec.FrameTypeError
    assert (error.reply_code, error.scope) == (501, "frame")
    assert error.frame_type == kind
    assert error.offset == 0


def test_frame_of_type_65_is_not_taken_for_a_protocol_header() -> None:
    """0x41 is the letter A: only AMQP makes a protocol header of it."""
    with pytest.raises(amqpcodec.DecodeError):
        amqp.decode(w.frame(65, 1, b"x"))
    with pytest.raises(amqpcodec.FrameTypeError):
        amqp.decode(w.frame(65, 0x4D51, b"x"))  # AMQ and then no P


@pytest.mark.parametrize(
    "ids", [(60, 99), (10, 0), (0, 0), (65535, 65535), (40, 41), (30, 10), (60, 0)]
)
def test_unknown_method(ids: tuple[int, int]) -> None:
    payload = ids[0].to_bytes(2, "big") + ids[1].to_bytes(2, "big")
    error = error_of(w.frame(1, 8, payload + b"whatever"))
    assert type(error) is amqpcodec.UnknownMethodError
    assert (error.reply_code, error.channel, error.scope) == (503, 8, "frame")
    assert error.offset in (7, 9)
    assert str(ids[0]) in str(error)
    assert str(ids[1]) in str(error)


@pytest.mark.parametrize(
    "tag", [bytes([i]) for i in range(256) if chr(i) not in "tbBsUuIilLfdDSATFVx"]
)
def test_unknown_tag(tag: bytes) -> None:
    entry = w.table(("key", tag + b"\0" * 16))
    data = w.header_frame(headers=entry)
    error = error_of(data)
    assert type(error) is amqpcodec.UnknownTagError
    assert (error.reply_code, error.scope) == (502, "frame")
    assert str(error.field).split(".")[0] == "headers"
    assert error.offset == data.index(b"\x03key") + 4
    inside = error_of(w.method_frame("queue.declare", arguments=w.table(("a", w.array(b"V", tag)))))
    assert type(inside) is amqpcodec.UnknownTagError
    assert inside.method == "queue.declare"
    assert str(inside.field).split(".")[0] == "arguments"


def deep(depth: int, kind: str) -> bytes:
    """Nested containers, built from the inside by lengths alone (w.array would be quadratic)."""
    opening, inner = [], 0
    for _ in range(depth):
        if kind == "array":
            opening.append(b"A" + inner.to_bytes(4, "big"))
            inner += 5
        else:
            opening.append(b"\1kF" + inner.to_bytes(4, "big"))
            inner += 7
    body = b"".join(reversed(opening))
    return w.longstr(body if kind == "table" else b"\1a" + body)


@pytest.mark.parametrize("kind", ["array", "table"])
@pytest.mark.parametrize("depth", [200, 5000, 100_000])
def test_depth(kind: str, depth: int) -> None:
    assert amqp.decode(w.header_frame(headers=deep(100, kind))) is not None
    error = error_of(w.header_frame(headers=deep(depth, kind)))
    assert type(error) is amqpcodec.DepthError
    assert (error.reply_code, error.scope) == (502, "frame")
    assert str(error.field).split(".")[0] == "headers"


def test_deepest_table_allowed_can_be_used() -> None:
    for kind in ("array", "table"):
        depth = max(d for d in range(90, 140) if _accepted(deep(d, kind)))
        data = w.header_frame(headers=deep(depth, kind))
        frame = amqp.decode(data)[2]
        assert frame.properties.headers
        assert repr(frame)
        frame.properties.headers["new"] = 1
        assert amqp.decode(amqp.encode(1, frame))[2] == frame


def _accepted(table: bytes) -> bool:
    try:
        return amqp.decode(w.header_frame(headers=table)) is not None
    except amqpcodec.DepthError:
        return False


BAD_TABLES = {
    "length beyond the frame": b"\0\0\0\xff\1kV",
    "huge length": b"\xff\xff\xff\xff",
    "length of int32 sign": b"\x80\0\0\0\1kV",
    "name beyond the table": b"\0\0\0\3\x09kV",
    "no tag": b"\0\0\0\2\1k",
    "int cut": b"\0\0\0\5\1kI\0\0",
    "string beyond the table": b"\0\0\0\7\1kS\0\0\0\x09",
    "huge string": b"\0\0\0\7\1kS\xff\xff\xff\xff",
    "string length cut": b"\0\0\0\4\1kS\0",
    "inner table beyond the outer": b"\0\0\0\x07\1kF\0\0\0\x04",
    "array beyond the table": b"\0\0\0\x07\1kA\0\0\0\x04",
    "array with half a value": b"\0\0\0\x09\1kA\0\0\0\2I\0",
    "boolean cut": b"\0\0\0\3\1kt",
    "decimal cut": b"\0\0\0\7\1kD\0\0\0\0",
    "inner value cut": b"\0\0\0\x0a\1kF\0\0\0\3\1aI",
}


@pytest.mark.parametrize("table", BAD_TABLES.values(), ids=BAD_TABLES.keys())
def test_bad_tables(table: bytes) -> None:
    for data, method in (
        (w.header_frame(headers=table), None),
        (w.method_frame("queue.declare", arguments=table), "queue.declare"),
        (w.method_frame("connection.start", 0, server_properties=table), "connection.start"),
    ):
        error = error_of(data)
        assert isinstance(error, amqpcodec.TruncatedError | amqpcodec.UnknownTagError)
        assert (error.reply_code, error.scope) == (502, "frame")
        assert str(error.field).replace("-", "_").split(".")[0] in (
            "headers", "arguments", "server_properties"
        )  # fmt: skip
        if method:
            assert error.method == method


def test_values_that_reach_out_of_their_table_into_the_frame() -> None:
    """The bytes are there, but they belong to what follows the table."""
    table = b"\0\0\0\7" + b"\1kS\0\0\0\4"  # the string's 4 bytes would come from user-id
    payload = w.header_payload(0, headers=table, user_id="abcdef")
    error = error_of(w.frame(2, 1, payload))
    assert type(error) is amqpcodec.TruncatedError
    inner = w.table(("a", b"F\0\0\0\3" + b"\1bI"), ("c", b"I\0\0\0\1"))
    error = error_of(w.header_frame(headers=inner))
    assert type(error) is amqpcodec.TruncatedError


@pytest.mark.parametrize("class_id", [0, 10, 20, 50, 61, 65535])
def test_header_of_another_class(class_id: int) -> None:
    error = error_of(w.header_frame(class_id=class_id))
    assert type(error) is amqpcodec.HeaderError
    assert (error.reply_code, error.channel) == (505, 1)


@pytest.mark.parametrize(
    "data", [w.frame(8, 0, b"x"), w.frame(8, 3, b""), w.frame(8, 1, b"\0" * 40)]
)
def test_heartbeat(data: bytes) -> None:
    error = error_of(data)
    assert type(error) is amqpcodec.HeartbeatError
    assert (error.reply_code, error.scope) == (501, "frame")


@pytest.mark.parametrize("flags", [b"\0\2", b"\0\1\x80\0", b"\0\3\0\0"])
def test_flags_of_properties_that_class_basic_does_not_have(flags: bytes) -> None:
    """RabbitMQ ignores them; their bytes, whose type nobody knows, are an error."""
    payload = b"\0\x3c" + b"\0" * 10 + flags
    data = w.frame(2, 1, payload)
    frame = amqp.decode(data)[2]
    assert frame.properties == amqp.Basic.Properties()
    assert amqp.encode(1, frame) == data
    assert isinstance(error_of(w.frame(2, 1, payload + b"\1t")), amqpcodec.TrailingError)


MARK = b"correct-horse"


@pytest.mark.parametrize(
    "data",
    [
        w.frame(1, 1, b"\0\x3c\0\x15" + w.shortstr(MARK) + MARK),
        w.frame(1, 1, b"\0\x3c\0\x15" + bytes([200]) + MARK),
        w.frame(1, 1, b"\0\x0a\0\x0b" + w.table() + b"\x05PLAIN" + b"\0\0\0\xff" + MARK),
        w.frame(1, 1, b"\0\x0a\0\x46" + b"\0\0\0\xff" + MARK),
        w.header_frame(headers=w.table(("k", b"S" + w.longstr(MARK)), ("z", b"Z"))),
        w.header_frame(headers=w.table(("k", b"S\0\0\0\xff" + MARK))),
        w.frame(3, 1, MARK, b"\0"),
        w.frame(99, 1, MARK),
        w.frame(8, 0, MARK),
        w.frame(2, 1, MARK * 2),
        w.frame(1, 1, MARK),
    ],
    ids=range(11),
)
def test_messages_hold_no_content(data: bytes) -> None:
    error = error_of(data)
    for text in (str(error), repr(error), repr(error.args)):
        assert "horse" not in text
        assert MARK.hex() not in text
    assert error.__cause__ is None


def test_errors_can_be_pickled() -> None:
    """Spark workers and process pools send them."""
    error = error_of(deliver(200, 17)[0])
    other = pickle.loads(pickle.dumps(error))
    assert type(other) is type(error)
    assert str(other) == str(error)
    for name in ("offset", "frame_type", "channel", "method", "field", "reply_code", "scope"):
        assert getattr(other, name) == getattr(error, name), name


def test_the_same_error_twice() -> None:
    data, _ = deliver(200, 17)
    assert str(error_of(data)) == str(error_of(bytearray(data))) == str(error_of(memoryview(data)))


def test_a_bad_frame_that_is_not_whole_is_incomplete() -> None:
    data, _ = deliver(200, 17)
    for size in range(len(data)):
        assert amqp.decode(data[:size]) is None
