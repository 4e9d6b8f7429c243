"""AMQP 0-9-1 bytes by hand: the wire types of every method and builders of raw frames.

Written from the published facts and sharing nothing with the package, so that a test which
compares the two compares two readings of the protocol.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

# name, class id, method id, S synchronous, C has content, receivers (c, s) | fields | responses
# wire types: o byte, h short, l long, q longlong, b bit, s shortstr, S longstr, F table
_SPEC = """
connection.start 10 10 S- c | version-major:o version-minor:o server-properties:F mechanisms:S \
locales:S | start-ok
connection.start-ok 10 11 S- s | client-properties:F mechanism:s response:S locale:s |
connection.secure 10 20 S- c | challenge:S | secure-ok
connection.secure-ok 10 21 S- s | response:S |
connection.tune 10 30 S- c | channel-max:h frame-max:l heartbeat:h | tune-ok
connection.tune-ok 10 31 S- s | channel-max:h frame-max:l heartbeat:h |
connection.open 10 40 S- s | virtual-host:s reserved-1:s reserved-2:b | open-ok
connection.open-ok 10 41 S- c | reserved-1:s |
connection.close 10 50 S- cs | reply-code:h reply-text:s class-id:h method-id:h | close-ok
connection.close-ok 10 51 S- cs | |
connection.blocked 10 60 -- c | reason:s |
connection.unblocked 10 61 -- c | |
connection.update-secret 10 70 S- s | new-secret:S reason:s | update-secret-ok
connection.update-secret-ok 10 71 S- c | |
channel.open 20 10 S- s | reserved-1:s | open-ok
channel.open-ok 20 11 S- c | reserved-1:S |
channel.flow 20 20 S- cs | active:b | flow-ok
channel.flow-ok 20 21 -- cs | active:b |
channel.close 20 40 S- cs | reply-code:h reply-text:s class-id:h method-id:h | close-ok
channel.close-ok 20 41 S- cs | |
exchange.declare 40 10 S- s | reserved-1:h exchange:s type:s passive:b durable:b auto-delete:b \
internal:b no-wait:b arguments:F | declare-ok
exchange.declare-ok 40 11 S- c | |
exchange.delete 40 20 S- s | reserved-1:h exchange:s if-unused:b no-wait:b | delete-ok
exchange.delete-ok 40 21 S- c | |
exchange.bind 40 30 S- s | reserved-1:h destination:s source:s routing-key:s no-wait:b \
arguments:F | bind-ok
exchange.bind-ok 40 31 S- c | |
exchange.unbind 40 40 S- s | reserved-1:h destination:s source:s routing-key:s no-wait:b \
arguments:F | unbind-ok
exchange.unbind-ok 40 51 S- c | |
queue.declare 50 10 S- s | reserved-1:h queue:s passive:b durable:b exclusive:b auto-delete:b \
no-wait:b arguments:F | declare-ok
queue.declare-ok 50 11 S- c | queue:s message-count:l consumer-count:l |
queue.bind 50 20 S- s | reserved-1:h queue:s exchange:s routing-key:s no-wait:b \
arguments:F | bind-ok
queue.bind-ok 50 21 S- c | |
queue.unbind 50 50 S- s | reserved-1:h queue:s exchange:s routing-key:s arguments:F | unbind-ok
queue.unbind-ok 50 51 S- c | |
queue.purge 50 30 S- s | reserved-1:h queue:s no-wait:b | purge-ok
queue.purge-ok 50 31 S- c | message-count:l |
queue.delete 50 40 S- s | reserved-1:h queue:s if-unused:b if-empty:b no-wait:b | delete-ok
queue.delete-ok 50 41 S- c | message-count:l |
basic.qos 60 10 S- s | prefetch-size:l prefetch-count:h global:b | qos-ok
basic.qos-ok 60 11 S- c | |
basic.consume 60 20 S- s | reserved-1:h queue:s consumer-tag:s no-local:b no-ack:b exclusive:b \
no-wait:b arguments:F | consume-ok
basic.consume-ok 60 21 S- c | consumer-tag:s |
basic.cancel 60 30 S- cs | consumer-tag:s no-wait:b | cancel-ok
basic.cancel-ok 60 31 S- cs | consumer-tag:s |
basic.publish 60 40 -C s | reserved-1:h exchange:s routing-key:s mandatory:b immediate:b |
basic.return 60 50 -C c | reply-code:h reply-text:s exchange:s routing-key:s |
basic.deliver 60 60 -C c | consumer-tag:s delivery-tag:q redelivered:b exchange:s routing-key:s |
basic.get 60 70 S- s | reserved-1:h queue:s no-ack:b | get-ok get-empty
basic.get-ok 60 71 SC c | delivery-tag:q redelivered:b exchange:s routing-key:s message-count:l |
basic.get-empty 60 72 S- c | reserved-1:s |
basic.ack 60 80 -- cs | delivery-tag:q multiple:b |
basic.reject 60 90 -- s | delivery-tag:q requeue:b |
basic.recover-async 60 100 -- s | requeue:b |
basic.recover 60 110 S- s | requeue:b | recover-ok
basic.recover-ok 60 111 S- c | |
basic.nack 60 120 -- cs | delivery-tag:q multiple:b requeue:b |
tx.select 90 10 S- s | | select-ok
tx.select-ok 90 11 S- c | |
tx.commit 90 20 S- s | | commit-ok
tx.commit-ok 90 21 S- c | |
tx.rollback 90 30 S- s | | rollback-ok
tx.rollback-ok 90 31 S- c | |
confirm.select 85 10 S- s | nowait:b | select-ok
confirm.select-ok 85 11 S- c | |
"""

PROPERTIES = (
    ("content_type", "s"),
    ("content_encoding", "s"),
    ("headers", "F"),
    ("delivery_mode", "o"),
    ("priority", "o"),
    ("correlation_id", "s"),
    ("reply_to", "s"),
    ("expiration", "s"),
    ("message_id", "s"),
    ("timestamp", "T"),
    ("type", "s"),
    ("user_id", "s"),
    ("app_id", "s"),
    ("reserved", "s"),
)


@dataclass(frozen=True)
class Spec:
    """What the published XML says of one method."""

    name: str
    class_id: int
    method_id: int
    synchronous: bool
    has_content: bool
    receivers: frozenset[str]
    fields: tuple[tuple[str, str], ...]
    responses: tuple[str, ...]


def _python_name(name: str) -> str:
    name = name.replace("-", "_")
    return "global_" if name == "global" else name


def _read_spec() -> dict[str, Spec]:
    specs = {}
    for line in _SPEC.strip().splitlines():
        head, fields, responses = line.split("|")
        name, class_id, method_id, flags, receivers = head.split()
        pairs = (item.split(":") for item in fields.split())
        specs[name] = Spec(
            name,
            int(class_id),
            int(method_id),
            flags[0] == "S",
            flags[1] == "C",
            frozenset({"c": "client", "s": "server"}[letter] for letter in receivers),
            tuple((_python_name(field), wire) for field, wire in pairs),
            tuple(responses.split()),
        )
    return specs


SPECS = _read_spec()
BY_ID = {(s.class_id, s.method_id): s for s in SPECS.values()}


def class_of(module: Any, name: str) -> Any:
    """Look up the class of a method name: basic.get-ok is module.Basic.GetOk."""
    group, method = name.split(".")
    holder = getattr(module, group.capitalize())
    return getattr(holder, "".join(word.capitalize() for word in method.split("-")))


def shortstr(text: bytes | str) -> bytes:
    raw = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
    assert len(raw) <= 255
    return bytes([len(raw)]) + raw


def longstr(raw: bytes) -> bytes:
    return struct.pack(">I", len(raw)) + raw


def entry(name: bytes | str, value: bytes) -> bytes:
    """An entry of a field table: its name, and the tag and the bytes of its value."""
    return shortstr(name) + value


def table(*entries: tuple[bytes | str, bytes]) -> bytes:
    """A field table with its length, of pairs (name, tag and value bytes)."""
    return longstr(b"".join(entry(name, value) for name, value in entries))


def array(*items: bytes) -> bytes:
    """A field array as a tagged value."""
    return b"A" + longstr(b"".join(items))


def nested(*entries: tuple[bytes | str, bytes]) -> bytes:
    """A field table as a tagged value."""
    return b"F" + table(*entries)


def frame(kind: int, channel: int, payload: bytes, end: bytes = b"\xce") -> bytes:
    return struct.pack(">BHI", kind, channel, len(payload)) + payload + end


def body_frame(channel: int, payload: bytes) -> bytes:
    return frame(3, channel, payload)


HEARTBEAT = bytes.fromhex("08000000000000ce")
PROTOCOL_HEADER = b"AMQP\x00\x00\x09\x01"
_INTS = {"o": ">B", "h": ">H", "l": ">I", "q": ">Q"}
_ZERO: dict[str, Any] = {"s": b"", "S": b"", "F": b"\0\0\0\0"}


def pack(wire: str, value: Any) -> bytes:
    """One argument's bytes; a table and a timestamp come as raw bytes or values."""
    if wire in _INTS:
        return struct.pack(_INTS[wire], value)
    if wire == "s":
        return shortstr(value)
    if wire == "S":
        return longstr(value)
    if wire == "T":
        return struct.pack(">Q", value)
    assert wire == "F"
    return value if isinstance(value, bytes) else table_of(value)


def method_payload(name: str, **values: Any) -> bytes:
    spec = SPECS[name]
    out = bytearray(struct.pack(">HH", spec.class_id, spec.method_id))
    bits: list[bool] = []
    for field, wire in spec.fields:
        if wire == "b":
            bits.append(bool(values.pop(field, False)))
            continue
        out += _octet(bits)
        out += pack(wire, values.pop(field, _ZERO.get(wire, 0)))
    out += _octet(bits)
    assert not values, values
    return bytes(out)


def _octet(bits: list[bool]) -> bytes:
    """The byte of a run of bits, which a field of another type or the end closes."""
    if not bits:
        return b""
    octet = sum(bit << place for place, bit in enumerate(bits))
    bits.clear()
    return bytes([octet])


def method_frame(name: str, channel: int = 1, **values: Any) -> bytes:
    return frame(1, channel, method_payload(name, **values))


def header_payload(
    body_size: int = 0, *, class_id: int = 60, weight: int = 0, **values: Any
) -> bytes:
    flags, octets = 0, b""
    for place, (name, wire) in enumerate(PROPERTIES):
        value = values.pop(name, None)
        if value is not None:
            flags |= 1 << (15 - place)
            octets += pack(wire, value)
    assert not values, values
    return struct.pack(">HHQH", class_id, weight, body_size, flags) + octets


def header_frame(body_size: int = 0, channel: int = 1, **values: Any) -> bytes:
    return frame(2, channel, header_payload(body_size, **values))


def headers_frame(entries: bytes, body_size: int = 0, channel: int = 1, **properties: Any) -> bytes:
    """A content header whose headers have these bytes as their entries."""
    return header_frame(body_size, channel, headers=longstr(entries), **properties)


def content(channel: int, body: bytes, *, split: int = 4000, **properties: Any) -> bytes:
    """Header and body frames of one message."""
    bodies = (body_frame(channel, body[i : i + split]) for i in range(0, len(body), split))
    return header_frame(len(body), channel, **properties) + b"".join(bodies)


def publication(
    body: bytes,
    channel: int = 1,
    exchange: str = "e",
    routing_key: str = "k",
    *,
    split: int = 4000,
    **properties: Any,
) -> bytes:
    """The frames of a message that a client publishes."""
    method = method_frame("basic.publish", channel, exchange=exchange, routing_key=routing_key)
    return method + content(channel, body, split=split, **properties)


def delivery(
    body: bytes, channel: int = 1, routing_key: str = "k", *, split: int = 4000, **properties: Any
) -> bytes:
    """The frames of a message that a server delivers to the consumer "c"."""
    method = method_frame("basic.deliver", channel, consumer_tag="c", routing_key=routing_key)
    return method + content(channel, body, split=split, **properties)


def value_of(value: Any) -> bytes:
    """Tag and bytes of a plain value in RabbitMQ's dialect."""
    if value is None:
        return b"V"
    if isinstance(value, bool):
        return b"t" + bytes([value])
    if isinstance(value, int):
        small = -(1 << 31) <= value < 1 << 31
        return b"I" + struct.pack(">i", value) if small else b"l" + struct.pack(">q", value)
    if isinstance(value, float):
        return b"d" + struct.pack(">d", value)
    if isinstance(value, Decimal):
        sign, digits, exponent = value.as_tuple()
        assert isinstance(exponent, int)
        number = int("".join(map(str, digits))) * (-1 if sign else 1)
        return b"D" + struct.pack(">Bi", -exponent, number)
    if isinstance(value, str):
        return b"S" + longstr(value.encode())
    if isinstance(value, bytes):
        return b"x" + longstr(value)
    if isinstance(value, datetime):
        return b"T" + struct.pack(">Q", int((value - _EPOCH).total_seconds()))
    if isinstance(value, dict):
        return b"F" + table_of(value)
    assert isinstance(value, list | tuple)
    return array(*map(value_of, value))


def table_of(values: dict[str, Any]) -> bytes:
    return table(*((name, value_of(value)) for name, value in values.items()))


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
