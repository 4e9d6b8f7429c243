"""Values, frames and states of clients that a drop-in leaves to them: the same with and without."""

from __future__ import annotations

import decimal
import struct
from collections.abc import Callable
from datetime import datetime, timedelta, tzinfo
from types import SimpleNamespace
from typing import Any

import pytest

from amqpcodec import _dropins
from tests.dropins.canon import outcome
from tests.dropins.stock import Side

Pair = tuple[Side, Side]


class Odd(int):
    """Counts as ints do, but for the value that it says it is."""

    def __index__(self) -> int:
        return 7

    def __int__(self) -> int:
        return 7


class Words(str):
    """Says another length."""

    def __len__(self) -> int:
        return 1


class Zone(tzinfo):
    def __repr__(self) -> str:
        return "Zone()"  # no address: workers of xdist compare the names of tests

    def utcoffset(self, _: datetime | None) -> timedelta:
        return timedelta(hours=1)

    def dst(self, _: datetime | None) -> timedelta:
        return timedelta(0)


def same(pair: Pair, call: Callable[[Side], Any]) -> tuple[Any, ...]:
    """What both came to."""
    stock, live = pair
    want = outcome(lambda: call(stock))
    assert outcome(lambda: call(live)) == want
    return want


VALUES = [Odd(5), Words("text"), datetime(2024, 1, 2, tzinfo=Zone()), 2**64, 2**63, -(2**63) - 1]
BAD = b"\xff\xfe"
#: Tables: a name that is not UTF-8, and one within as many others as there may be.
TABLES = [
    struct.pack(">I", 5) + b"\x02" + BAD + b"t\1",
    struct.pack(">I", 4) + b"\x01" + b"k" + b"?\1",
]


def nested(levels: int) -> bytes:
    inside = b"\1k?"
    for _ in range(levels):
        inside = b"\1kF" + struct.pack(">I", len(inside)) + inside
    return struct.pack(">I", len(inside)) + inside


# ---- pamqp ----


@pytest.mark.parametrize(
    "data", [b"\1\0\1\0\0\0\0", b"\2\0\1\0\0\0\0", b"\x08\0\0\0\0\0\0", b"AMQP"]
)
def test_pamqp_beginnings_of_frames(pamqp_pair: Pair, data: bytes) -> None:
    for n in range(len(data) + 1):
        same(pamqp_pair, lambda side, n=n: side.frame.unmarshal(data[:n]))
        same(pamqp_pair, lambda side, n=n: side.frame.unmarshal(data[:n] + b"\xce"))


def test_pamqp_heartbeats_of_another_kind(pamqp_pair: Pair) -> None:
    def marshal(side: Side) -> Any:
        beat = side.heartbeat.Heartbeat()
        beat.value = b"\x08\0\1\0\0\0\0\xce"
        return side.frame.marshal(beat, 0)

    assert same(pamqp_pair, marshal)[0] == "value"


@pytest.mark.parametrize("flag", [1, 0, None, "yes"])
def test_pamqp_a_switch_that_is_no_bool(pamqp_pair: Pair, flag: Any) -> None:
    def marshal(side: Side) -> Any:
        side.encode.DEPRECATED_RABBITMQ_SUPPORT = flag
        try:
            properties = side.commands.Basic.Properties(headers={"n": 60_000, "s": "x"})
            return side.frame.marshal(side.header.ContentHeader(0, 5, properties), 1)
        finally:
            side.encode.DEPRECATED_RABBITMQ_SUPPORT = False

    assert same(pamqp_pair, marshal)[0] == "value"


@pytest.mark.parametrize(
    "make",
    [lambda side: side.body.ContentBody(b"body"), lambda side: side.heartbeat.Heartbeat()],
    ids=["body", "heartbeat"],
)
def test_pamqp_frames_that_write_themselves(
    pamqp_pair: Pair, make: Callable[[Side], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def marshal(side: Side) -> Any:
        frame = make(side)
        with monkeypatch.context() as patch:
            patch.setattr(type(frame), "marshal", lambda self: b"other")
            return side.frame.marshal(frame, 1)

    kind, (_, written) = same(pamqp_pair, marshal)[:2]
    assert kind == "value"
    assert b"other" in written


@pytest.mark.parametrize("name", ["embedded_value", "short_string", "long_string", "field_table"])
def test_pamqp_values_of_no_bytes(pamqp_pair: Pair, name: str) -> None:
    for data in (b"", b"\0", b"S", b"\5ab", *TABLES, b"S\0\0\0\2\xff\xfe"):
        same(pamqp_pair, lambda side, data=data: getattr(side.decode, name)(data))


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_pamqp_values(pamqp_pair: Pair, value: Any) -> None:
    same(pamqp_pair, lambda side: side.encode.field_table({"k": value}))
    same(pamqp_pair, lambda side: side.encode.encode_table_value(value))
    for name, argument in (("delivery_tag", value), ("consumer_tag", value)):
        method = {"delivery_tag": "Ack", "consumer_tag": "Cancel"}[name]
        same(
            pamqp_pair,
            lambda side, name=name, argument=argument, method=method: side.frame.marshal(
                getattr(side.commands.Basic, method)(**{name: argument}), 1
            ),
        )


def test_decimals_of_few_digits(pair: Pair) -> None:
    value = decimal.Decimal("3.14159")
    with decimal.localcontext() as context:
        context.prec = 3
        if pair[0].package == "pamqp":
            same(pair, lambda side: side.encode.field_table({"k": value}))
        elif pair[0].package == "pika":
            same(pair, lambda side: side.data.encode_table([], {"k": value}))
        else:
            same(pair, lambda side: side.serialization.dumps("F", [{"k": value}]))


# ---- pika ----


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_pika_values(pika_pair: Pair, value: Any) -> None:
    same(pika_pair, lambda side: side.data.encode_table([], {"k": value}))
    same(pika_pair, lambda side: b"".join(side.spec.Basic.Ack(value).encode()))
    properties = {"timestamp": value, "message_id": value}
    for name, argument in properties.items():
        same(
            pika_pair,
            lambda side, name=name, argument=argument: b"".join(
                side.spec.BasicProperties(**{name: argument}).encode()
            ),
        )


@pytest.mark.parametrize("offset", [-1, 2**70, -(2**70), 5])
def test_pika_short_strings_elsewhere(pika_pair: Pair, offset: int) -> None:
    same(pika_pair, lambda side: side.data.decode_short_string(b"\2ab", offset))


@pytest.mark.parametrize("offset", [-1, 5])
def test_pika_frames_elsewhere(pika_pair: Pair, offset: int) -> None:
    """Its own function takes no place."""
    same(pika_pair, lambda side: side.frame.decode_frame(b"abcd", offset))


@pytest.mark.parametrize("data", [*TABLES, nested(3), nested(127), nested(128), nested(129)])
def test_tables_that_are_unusual(pair: Pair, data: bytes) -> None:
    if pair[0].package == "pamqp":
        same(pair, lambda side: side.decode.field_table(data))
    elif pair[0].package == "pika":
        same(pair, lambda side: side.data.decode_table(data, 0))
    else:
        same(pair, lambda side: side.serialization.loads("F", data, 0))


# ---- py-amqp ----


def frames_of(side: Side, frames: list[Any]) -> list[Any]:
    """What a connection is given of these frames."""
    events: list[Any] = []

    class Connection:
        bytes_recv = 0

    def callback(channel: Any, signature: Any, buf: Any, content: Any) -> None:
        body = None if content is None else (content.properties, content.body)
        events.append((channel, signature, bytes(buf), body))

    handler = side.method_framing.frame_handler(Connection(), callback)
    for frame in frames:
        events.append(handler(frame))
    return events


DELIVER = b"\0\x3c\0\x3c\1t" + bytes(8) + b"\0\0\0"
HEADER = b"\0\x3c\0\0" + struct.pack(">Q", 4) + b"\0\0"


@pytest.mark.parametrize(
    "frames",
    [
        [[1, 1, b"\0\x0a\0\x0b"]],
        [(1, 1, bytearray(b"\0\x0a\0\x0b"))],
        [(1.0, 1, b"\0\x0a\0\x0b")],
        [(True, 1, b"\0\x0a\0\x0b"), (8, 0, b"")],
        [(1, 1, b"\0\x0a")],
        [(1, 1, DELIVER), (2, 1, HEADER), (3, 1, b"ab"), (3, 1, b"cd")],
        [(1, 1, DELIVER), (2, 1, HEADER), (3, 1, b"ab"), (3, 1, bytearray(b"cd"))],
        [(1, 1, DELIVER), (2, 1, HEADER), (3, 1, b"a"), (3, 1, b"b"), (3, 1, memoryview(b"cd"))],
        [(1, 1, DELIVER), (2, 1, HEADER), (3, 1, b"ab"), (3, 1, b"cdef")],
        [(1, 1, DELIVER), (2, 1, bytearray(HEADER)), (3, 1, b"abcd")],
        [(1, 1, DELIVER), (2, 1, HEADER[:-1]), (3, 1, b"abcd")],
        [(1, 1, DELIVER), (3, 1, b"abcd")],
        [(1, 1)],
        [(1, 1, DELIVER, 5)],
    ],
    ids=lambda frames: " ".join(str(len(frame)) for frame in frames),
)
def test_py_amqp_frames(py_amqp_pair: Pair, frames: list[Any]) -> None:
    same(py_amqp_pair, lambda side: frames_of(side, frames))


@pytest.mark.parametrize("format_", [5, None, b"sb", b"\xff", "sbB?", "s" * 100, ("s",)])
def test_py_amqp_formats(py_amqp_pair: Pair, format_: Any) -> None:
    same(py_amqp_pair, lambda side: side.serialization.loads(format_, b"\1a\1b" * 10, 0))
    same(py_amqp_pair, lambda side: side.serialization.dumps(format_, ["a", True] * 50))
    same(py_amqp_pair, lambda side: side.serialization.dumps("sb", iter(["a", True])))
    same(py_amqp_pair, lambda side: side.serialization.dumps("sb", {"a": 1, "b": 2}))


def test_py_amqp_many_formats(py_amqp_pair: Pair) -> None:
    """None is kept for ever."""
    for number in range(1100):
        format_ = "o" * (number % 40) + "l" * (number // 40)
        data = b"\1" * 200
        same(
            py_amqp_pair,
            lambda side, format_=format_, data=data: side.serialization.loads(format_, data, 0),
        )


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_py_amqp_values(py_amqp_pair: Pair, value: Any) -> None:
    for format_ in ("o", "l", "L", "s", "S", "T", "F"):
        argument = {"k": value} if format_ == "F" else value
        same(
            py_amqp_pair,
            lambda side, format_=format_, argument=argument: side.serialization.dumps(
                format_, [argument]
            ),
        )


@pytest.mark.parametrize("properties", [None, [], {5: "x"}, {"nonsense": 1}, "gone"])
def test_py_amqp_properties_that_are_none(py_amqp_pair: Pair, properties: Any) -> None:
    def write(side: Side) -> Any:
        message = side.basic_message.Message("body")
        if properties == "gone":
            del message.properties
        else:
            message.properties = properties
        return message._serialize_properties()

    same(py_amqp_pair, write)


def test_py_amqp_contents_that_are_no_messages(py_amqp_pair: Pair) -> None:
    def write(side: Side) -> Any:
        class Own(side.basic_message.Message):  # type: ignore[name-defined]
            pass

        class Other(side.serialization.GenericContent):  # type: ignore[name-defined]
            PROPERTIES = (("own", "s"),)

        class Alike(side.serialization.GenericContent):  # type: ignore[name-defined]
            PROPERTIES = side.basic_message.Message.PROPERTIES

        alike = Alike()
        alike.properties = {"message_id": "m"}
        other = Other(own="x")
        return [
            Own("body", message_id="m")._serialize_properties(),
            other._serialize_properties(),
            alike._serialize_properties(),
        ]

    same(py_amqp_pair, write)


@pytest.mark.parametrize(
    ("most", "size"), [(8, 10), (0, 10), (131072.0, 10), (2**64, 10), (1000, 900), (1000, 990)]
)
def test_py_amqp_frames_that_do_not_fit(py_amqp_pair: Pair, most: Any, size: int) -> None:
    def write(side: Side) -> bytes:
        written = bytearray()
        connection = SimpleNamespace(frame_max=most, bytes_sent=0)
        transport = SimpleNamespace(write=written.extend)
        side.method_framing.frame_writer(connection, transport)(1, 1, (60, 40), b"x" * size, None)
        return bytes(written)

    same(py_amqp_pair, write)


def transport_of(side: Side, data: bytes) -> Any:
    class Memory(side.transport.TCPTransport):  # type: ignore[name-defined]
        def __init__(self) -> None:
            self._read_buffer = b""
            self._quick_recv = self.receive
            self.raise_on_initial_eintr = True
            self.connected = True
            self.sock = None
            self.remaining_bytes = data

        def receive(self, size: int) -> bytes:
            chunk, self.remaining_bytes = self.remaining_bytes[:size], self.remaining_bytes[size:]
            return chunk

    return Memory()


def test_py_amqp_frames_larger_than_a_read(py_amqp_pair: Pair) -> None:
    body = b"b" * 200_000
    data = b"\3\0\1" + struct.pack(">I", len(body)) + body + b"\xce"
    assert same(py_amqp_pair, lambda side: transport_of(side, data * 2).read_frame())[0] == "value"
    huge = b"\3\0\1" + struct.pack(">I", 2**31 + 5) + b"some"
    same(py_amqp_pair, lambda side: transport_of(side, huge).read_frame())


def test_py_amqp_another_unpack(py_amqp_pair: Pair) -> None:
    data = b"\1\0\1\0\0\0\5hello\xce"
    for unpack in (struct.unpack, lambda format_, raw: (9, 9, struct.unpack(format_, raw)[2])):
        same(py_amqp_pair, lambda side, unpack=unpack: transport_of(side, data).read_frame(unpack))


# ---- what the core itself refuses ----


def test_what_compiled_drop_ins_are_made_of() -> None:
    with pytest.raises(TypeError, match="is not a class"):
        _dropins.namespace_of(5)
    with pytest.raises(TypeError, match="abstract"):
        _dropins.DropIn()


def test_profiles_that_say_too_much_or_too_little() -> None:
    with pytest.raises(TypeError, match=r"unknown options of a profile: .*nonsense, .*timestamp"):
        _dropins.ClientProfile({}, nonsense=1)


def test_names_of_pamqp_are_made_of_256_flags() -> None:
    bound = _dropins.BoundMethod(None, 60, 80, (), ())
    with pytest.raises(ValueError, match="has not 256 entries"):
        _dropins.CheckedMethod(bound, (), (), b"\1" * 255)
