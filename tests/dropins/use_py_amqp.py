"""What py-amqp can be asked: cases that give the same on a stock copy and under the drop-in."""

from __future__ import annotations

import socket
from random import Random
from typing import Any

from tests.dropins import wild
from tests.dropins.case import Case
from tests.dropins.stock import Side
from tests.reference import FACTS
from tests.support import client_bytes as octets

PACKAGE = "amqp"
LETTERS = {
    "bit": "b",
    "octet": "o",
    "short": "B",
    "long": "l",
    "longlong": "L",
    "shortstr": "s",
    "longstr": "S",
    "table": "F",
    "timestamp": "T",
}
WIRE = {letter: wire_type for wire_type, letter in LETTERS.items()}
FORMATS = sorted(
    {"".join(LETTERS[wire_type] for _, wire_type in fact.fields) for fact in FACTS.methods.values()}
)
ODD = "bbboBlLfsSxFATq"


def _format(random: Random) -> Any:
    kind = random.randrange(8)
    if kind == 0:
        text = "".join(random.choice(ODD) for _ in range(random.randrange(8)))
        return text.encode() if random.randrange(4) == 0 else text
    return random.choice(FORMATS)


def loads(random: Random) -> Case:
    """The arguments of a method, of the right kind or any other."""
    data = octets.frame(random)
    layout: Any = _format(random)
    offset = random.choice([11, 11, 11, 0, 7, 4000])
    fact = FACTS.by_id.get((int.from_bytes(data[7:9], "big"), int.from_bytes(data[9:11], "big")))
    if fact is not None and random.randrange(4):
        layout = "".join(LETTERS[wire_type] for _, wire_type in fact.fields)
        offset = 11
    kind = bytearray if random.randrange(20) == 0 else memoryview if offset == 7 else bytes
    return Case(
        f"loads {layout!r} {offset}",
        data,
        lambda side: side.serialization.loads(layout, kind(data), offset),
    )


def read_item(random: Random) -> Case:
    """One value of a table, and whole tables and arrays."""
    data = octets.table(random)
    kind = random.randrange(4)
    if kind == 0:
        data = bytes([random.choice(octets.ODD_TAGS)]) + data
        return Case("_read_item", data, lambda side: side.serialization._read_item(data, 0))
    if kind == 1:
        data = b"F" + data
        return Case("_read_item", data, lambda side: side.serialization._read_item(data, 0))
    layout = random.choice(["F", "F", "A", "FF"])
    return Case(f"loads {layout!r}", data, lambda side: side.serialization.loads(layout, data, 0))


def read_properties(random: Random) -> Case:
    """The properties of a content header, by each of the ways to them."""
    data = octets.header(random)
    kind = random.randrange(4)

    def run(side: Side) -> Any:
        serialization = side.serialization
        if kind == 0:
            return serialization.decode_properties_basic(data, 12)
        if kind == 1:
            return serialization.PROPERTY_CLASSES[60](data, 12)
        message = side.basic_message.Message()
        offset = (
            message._load_properties(60, data, 12) if kind == 2 else message.inbound_header(data)
        )
        return offset, _message(message)

    return Case("properties", data, run)


def _message(message: Any) -> Any:
    """The parts of a message."""
    if message is None:
        return None
    names = ("frame_method", "frame_args", "properties", "body_received", "body_size", "ready")
    parts = [getattr(message, name, "<none>") for name in names]
    return [*parts, type(message).__name__, list(message._pending_chunks), message.__dict__]


class Connection:
    """What the readers and writers of frames ask of a connection."""

    def __init__(self, frame_max: int = 131072) -> None:
        self.frame_max = frame_max
        self.bytes_recv = 0
        self.bytes_sent = 0


def _messages(random: Random) -> list[tuple[int, int, bytes]]:
    """Frames as py-amqp cuts them, mostly in an order that makes messages."""
    messages = []
    pool = octets.pool()
    for _ in range(random.randrange(1, 4)):
        channel = random.choice([1, 1, 1, 2, 0])
        kind = random.randrange(12)
        if kind == 0:
            messages.append((8, 0, b""))
        elif kind == 1:
            data = octets.frame(random)
            messages.append((data[0] if data else 1, channel, data[7:-1]))
        elif kind == 2:
            data = random.choice(pool)
            messages.append((data[0], channel, data[7:-1]))
        else:
            ids = random.choice([b"\x00\x3c\x00\x3c", b"\x00\x3c\x00\x32", b"\x00\x3c\x00\x47"])
            size = random.choice([0, 0, 5, 300])
            header = random.choice(octets.headers())
            head = header[7:11] + size.to_bytes(8, "big") + header[19:-1]
            if random.randrange(12) == 0:
                head = octets.damage(random, head)
            messages.append(
                (1, channel, ids + b"\x01c\x00\x00\x00\x00\x00\x00\x00\x01\x00\x01e\x01k")
            )
            messages.append((2, channel, head))
            while size > 0:
                part = random.randbytes(min(size, random.choice([1, 100, 5000])))
                size -= len(part)
                messages.append((3, channel, part))
    return messages


def handle(random: Random) -> Case:
    """Frames to methods and messages."""
    frames = _messages(random)

    def run(side: Side) -> Any:
        events: list[Any] = []
        connection = Connection()

        def callback(channel: int, sig: Any, args: Any, content: Any) -> None:
            events.append((channel, sig, args, _message(content)))

        handler = side.method_framing.frame_handler(connection, callback)
        for frame in frames:
            try:
                events.append(handler(frame))
            except Exception as error:
                events.append(type(error).__name__)
        return events, connection.bytes_recv

    return Case("frame_handler", repr(frames), run)


def transport(random: Random) -> Case:
    """Frames out of a socket, whole, damaged or cut off."""
    stream = b"".join(random.choice(octets.pool()) for _ in range(random.randrange(4)))
    if random.randrange(2):
        stream += octets.frame(random)
    stream = stream[:60_000]
    reads = random.randrange(1, 6)

    def run(side: Side) -> Any:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            theirs.sendall(stream)
            theirs.shutdown(socket.SHUT_WR)
            one = side.transport.TCPTransport("host")
            one.sock = ours
            one._setup_transport()
            one.connected = True
            results: list[Any] = []
            for _ in range(reads):
                try:
                    results.append(one.read_frame())
                except Exception as error:
                    results.append(type(error).__name__)
                    break
            return results, one.connected
        return None

    return Case("read_frame", stream, run)


def write_frame(random: Random) -> Case:
    """Methods and messages to bytes, as the writer hands them to the transport."""
    seed = random.getrandbits(64)

    def run(side: Side) -> Any:
        own = Random(seed)
        connection = Connection(own.choice([131072, 4096, 4096, 500]))
        written: list[bytes] = []

        class Transport:
            """Takes what is written."""

            def write(self, data: Any) -> None:
                written.append(bytes(data))

        writer = side.method_framing.frame_writer(connection, Transport())
        results = []
        for _ in range(own.randrange(1, 3)):
            connection.frame_max = own.choice([connection.frame_max, 131072, 4096])
            args: Any = own.choice([b"", b"\x00\x00\x01e\x01k\x00", "text", None, bytearray(b"x")])
            content = _content(own, side) if own.randrange(4) else None
            kind = own.choice([1, 1, 1, 1, 8, wild.integer(own)])
            channel = own.choice([0, 1, 65535, 65536, -1]) if own.randrange(8) == 0 else 1
            sig = own.choice([(60, 40), (60, 40), (10, 11), (70000, 1), (-1, 1), None])
            try:
                results.append(writer(kind, channel, sig, args, content))
            except Exception as error:
                results.append(type(error).__name__)
            results.append(_message(content))
        return b"".join(written), results, connection.bytes_sent

    return Case("frame_writer", seed, run)


def _content(random: Random, side: Side) -> Any:
    message = side.basic_message.Message(
        random.choice(
            [b"", b"body", "text", "größe", "\ud800", b"b" * 5000, bytearray(b"x"), None, 5]
        )
    )
    share = random.randrange(5)
    for name, letter in side.basic_message.Message.PROPERTIES:
        if random.randrange(8) <= share:
            message.properties[name] = wild.argument(random, WIRE[letter])
    if random.randrange(20) == 0:
        message.properties["unknown"] = 5
    return message


def write_properties(random: Random) -> Case:
    """Properties to bytes."""
    seed = random.getrandbits(64)

    def run(side: Side) -> Any:
        message = _content(Random(seed), side)
        return message._serialize_properties(), message.properties

    return Case("_serialize_properties", seed, run)


def dumps(random: Random) -> Case:
    """Arguments to bytes."""
    seed = random.getrandbits(64)
    layout = _format(random)

    def run(side: Side) -> Any:
        own = Random(seed)
        letters = layout.decode() if isinstance(layout, bytes) else layout
        values = []
        for letter in letters:
            if letter in WIRE and own.randrange(12):
                values.append(wild.argument(own, WIRE[letter]))
            else:
                values.append(wild.any_value(own, 1))
        odd = own.randrange(20)
        if odd == 0:
            values = values[:-1]
        elif odd == 1:
            values.append(5)
        arguments: Any = tuple(values) if own.randrange(2) else values
        return side.serialization.dumps(layout, arguments)

    return Case(f"dumps {layout!r}", seed, run)


def write_table(random: Random) -> Case:
    """The functions below dumps, which write to what they are given."""
    seed = random.getrandbits(64)
    name = random.choice(["_write_table", "_write_table", "_write_item", "_write_array"])

    def run(side: Side) -> Any:
        own = Random(seed)
        pieces: list[Any] = []
        value: Any
        if name == "_write_table":
            value = wild.mapping(own) if own.randrange(5) else wild.any_value(own, 1)
        elif name == "_write_array":
            value = [wild.any_value(own) for _ in range(own.randrange(4))]
        else:
            value = wild.any_value(own)
        result = getattr(side.serialization, name)(value, pieces.append, [])
        return result, b"".join(pieces)

    return Case(name, seed, run)


KINDS = (
    (loads, 26),
    (read_item, 16),
    (read_properties, 14),
    (handle, 10),
    (transport, 4),
    (write_frame, 12),
    (write_properties, 8),
    (dumps, 14),
    (write_table, 8),
)
