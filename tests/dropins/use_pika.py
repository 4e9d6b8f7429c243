"""What pika can be asked: cases that give the same on a stock copy and under the drop-in."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.dropins import wild
from tests.dropins.case import Case
from tests.dropins.stock import Side
from tests.reference import FACTS
from tests.support import client_bytes as octets

PACKAGE = "pika"


def _spec_types() -> dict[int, dict[str, str]]:
    """INDEX -> argument -> wire type, under the names that pika gives them."""
    types_of_methods = {}
    for fact in FACTS.methods.values():
        types = {}
        for name, wire_type in fact.fields:
            types[name.replace("-", "_")] = wire_type
        types_of_methods[fact.class_id << 16 | fact.method_id] = types
    return types_of_methods


TYPES = _spec_types()
# What pika calls otherwise, and what the specification reserves.
OTHERS = {
    "type": "shortstr",
    "ticket": "short",
    "known_hosts": "shortstr",
    "capabilities": "shortstr",
    "insist": "bit",
    "global_qos": "bit",
    "global_": "bit",
    "nowait": "bit",
    "no_wait": "bit",
    "channel_id": "longstr",
    "out_of_band": "shortstr",
    "cluster_id": "shortstr",
    "internal": "bit",
    "auto_delete": "bit",
}


def methods(side: Side) -> list[Any]:
    """All method classes, in one order for both copies."""
    return [side.spec.methods[index] for index in sorted(side.spec.methods)]


def _as_argument(random: Random, data: bytes) -> Any:
    kind = random.randrange(20)
    return bytearray(data) if kind == 0 else memoryview(data) if kind == 1 else data


def decode_frame(random: Random) -> Case:
    """Bytes to a frame."""
    seed, data = random.getrandbits(64), octets.frame(random)
    return Case(
        "decode_frame", data, lambda side: side.frame.decode_frame(_as_argument(Random(seed), data))
    )


def shown_frame(random: Random) -> Case:
    """repr and comparison of what was read."""
    data = octets.frame(random)

    def run(side: Side) -> Any:
        consumed, first = side.frame.decode_frame(data)
        _, second = side.frame.decode_frame(data)
        text = repr(first) if _has_stable_repr(first) else ""
        return consumed, text, first == second, first != second

    return Case("repr and == of a frame", data, run)


def _has_stable_repr(frame: Any) -> bool:
    return " at 0x" not in repr(frame)


def again(random: Random) -> Case:
    """The bytes of what was read."""
    data = octets.frame(random)

    def run(side: Side) -> Any:
        _, frame = side.frame.decode_frame(data)
        return None if frame is None else frame.marshal()

    return Case("marshal what was read", data, run)


def read(random: Random) -> Case:
    """The functions of pika.data."""
    name = random.choice(["decode_table", "decode_table", "decode_value", "decode_short_string"])
    data, offset = octets.table(random), random.choice([0, 0, 0, 1, 4, 300])
    if name == "decode_value":
        data = b"F" + data if random.randrange(2) else data[4:]
        if random.randrange(4) == 0 and data:
            data = bytes([random.choice(octets.ODD_TAGS)]) + data[1:]
    elif name == "decode_short_string":
        data = data[4:]
    return Case(f"data.{name}", data, lambda side: getattr(side.data, name)(data, offset))


def read_into(random: Random) -> Case:
    """decode of an object that is there already."""
    number, data = random.getrandbits(32), octets.frame(random)[:-1]
    offset = random.choice([11, 11, 11, 0, 5000])

    def run(side: Side) -> Any:
        kinds = [*methods(side), side.spec.BasicProperties]
        method = kinds[number % len(kinds)]()
        return method.decode(data, offset) is method, method

    return Case("method.decode", data, run)


def _filled(random: Random, kind: Any, types: dict[str, str]) -> Any:
    """An instance with some arguments, given to the constructor or set afterwards."""
    instance = kind()
    share = random.randrange(5)
    for name in list(instance.__dict__):
        if random.randrange(5) <= share:
            wire_type = types.get(name) or OTHERS.get(name, "shortstr")
            setattr(instance, name, wild.argument(random, wire_type))
    if random.randrange(40) == 0 and instance.__dict__:
        delattr(instance, random.choice(list(instance.__dict__)))
    if random.randrange(40) == 0:
        instance.extra = 5
    return instance


def _channel(random: Random) -> Any:
    odd = [65536, -1, None, "1", 1.0, True]
    return random.choice(odd) if random.randrange(30) == 0 else random.randrange(65536)


def marshal_method(random: Random) -> Case:
    """Every method with all kinds of arguments."""
    seed, number = random.getrandbits(64), random.getrandbits(32)

    def run(side: Side) -> Any:
        own = Random(seed)
        kinds = methods(side)
        kind = kinds[number % len(kinds)]
        method = _filled(own, kind, TYPES.get(kind.INDEX, {}))
        if own.randrange(4) == 0:
            return b"".join(method.encode()), method
        return side.frame.Method(_channel(own), method).marshal(), method

    return Case("marshal a method", (seed, number), run)


PROPERTIES = {name.replace("-", "_"): wire_type for name, wire_type in FACTS.properties[60]}


def marshal_header(random: Random) -> Case:
    """Properties with all kinds of values."""
    seed = random.getrandbits(64)

    def run(side: Side) -> Any:
        own = Random(seed)
        properties = _filled(own, side.spec.BasicProperties, PROPERTIES)
        if own.randrange(8) == 0:
            return b"".join(properties.encode()), properties
        size = wild.argument(own, "longlong")
        return side.frame.Header(_channel(own), size, properties).marshal(), properties

    return Case("marshal a header", seed, run)


def marshal_other(random: Random) -> Case:
    """Bodies, heartbeats, protocol headers, and frames of what is no method."""
    seed = random.getrandbits(64)

    def run(side: Side) -> Any:
        own = Random(seed)
        kind = own.randrange(6)
        frame: Any
        if kind == 0:
            frame = side.frame.Body(_channel(own), wild.any_value(own, 0))
        elif kind == 1:
            frame = side.frame.Body(_channel(own), own.randbytes(own.choice([0, 1, 300, 5000])))
        elif kind == 2:
            frame = side.frame.Heartbeat()
        elif kind == 3:
            parts = [own.choice([0, 9, 255, 256, -1, None, "9"]) for _ in range(3)]
            frame = side.frame.ProtocolHeader(*parts)
        elif kind == 4:
            frame = side.frame.Method(1, wild.any_value(own, 1))
        else:
            frame = side.frame.Header(1, 5, wild.any_value(own, 1))
        if own.randrange(10) == 0:
            frame.frame_type = wild.integer(own)
        return frame.marshal()

    return Case("marshal another", seed, run)


def send(random: Random) -> Case:
    """What a connection makes of a message, frame by frame, and counts."""
    seed = random.getrandbits(64)

    def run(side: Side) -> Any:
        own = Random(seed)
        written: list[bytes] = []
        connection = _connection(side, written.append)
        connection._body_max_length = own.choice([131064, 4088, 4088, 100, 1, 0, None, 2.5])
        connection.bytes_sent = connection.frames_sent = 0
        body: Any = own.randbytes(own.choice([0, 1, 99, 100, 101, 4088, 5000]))
        if own.randrange(10) == 0:
            body = own.choice([bytearray(b"array"), memoryview(b"view"), "text", None, 5])
        method = side.spec.Basic.Publish(0, "e", "k", own.choice([True, False, 1, None]))
        if own.randrange(10) == 0:
            method = own.choice(
                [None, side.spec.Basic.Ack(5), side.spec.Basic.Publish(routing_key=1)]
            )
        properties = (
            _filled(own, side.spec.BasicProperties, PROPERTIES) if own.randrange(3) else None
        )
        content = properties or side.spec.BasicProperties(), body
        try:
            connection._send_method(_channel(own), method, content)
        except Exception as error:
            return type(error).__name__, written, connection.frames_sent
        return written, connection.frames_sent, connection.bytes_sent

    return Case("send", seed, run)


def write(random: Random) -> Case:
    """The functions of pika.data, which append pieces and return a length."""
    seed = random.getrandbits(64)
    name = random.choice(["encode_table", "encode_table", "encode_value", "encode_short_string"])

    def run(side: Side) -> Any:
        own = Random(seed)
        pieces: list[Any] = [b"before"] if own.randrange(2) else []
        if name == "encode_table":
            value = wild.mapping(own) if own.randrange(5) else wild.any_value(own, 1)
        elif name == "encode_value":
            value = wild.any_value(own)
        else:
            value = own.choice([*wild.TEXTS, *wild.OCTETS, wild.any_value(own, 0)])
        length = getattr(side.data, name)(pieces, value)
        return length, b"".join(pieces)

    return Case(f"data.{name}", seed, run)


def _connection(side: Side, emit: Any) -> Any:
    """A connection that has only what receives and sends; `emit` takes what it sends."""

    class Connection(side.connection.Connection):  # type: ignore[misc, name-defined]
        def __init__(self) -> None: ...
        def _adapter_connect_stream(self) -> None: ...
        def _adapter_disconnect_stream(self) -> None: ...
        def _adapter_add_callback_threadsafe(self, callback: Any) -> None: ...
        def _adapter_call_later(self, delay: float, callback: Any) -> None: ...
        def _adapter_remove_timeout(self, timeout_id: Any) -> None: ...

        def _adapter_emit_data(self, data: bytes) -> None:
            emit(data)

        @classmethod
        def create_connection(cls, *arguments: Any, **options: Any) -> None: ...

    return Connection()


def receive(random: Random) -> Case:
    """A connection's buffer: a stream in chunks, one that may end in damage."""
    stream = b"".join(octets.frame(random) for _ in range(random.randrange(1, 3)))
    complete = b"".join(random.choice(octets.pool()) for _ in range(random.randrange(4)))
    data = complete + stream if random.randrange(2) else complete
    chunks, at = [], 0
    while at < len(data):
        size = random.choice([1, 3, 7, 8, 100, 5000, 100_000])
        chunks.append(data[at : at + size])
        at += size

    def run(side: Side) -> Any:
        frames: list[Any] = []

        def process(frame_value: Any) -> None:
            connection.frames_received += 1
            frames.append(frame_value)

        connection, ended = _connection(side, process), None
        connection._process_frame = process
        connection._frame_buffer = b""
        connection.bytes_received = connection.frames_received = 0
        for chunk in chunks:
            try:
                connection._on_data_available(chunk)
            except Exception as error:
                ended = type(error).__name__
                break
        return frames, ended, connection.bytes_received, connection.frames_received

    return Case("receive", data, run)


KINDS = (
    (decode_frame, 34),
    (shown_frame, 4),
    (again, 10),
    (read, 14),
    (read_into, 6),
    (marshal_method, 14),
    (marshal_header, 12),
    (marshal_other, 3),
    (write, 12),
    (receive, 4),
    (send, 8),
)
