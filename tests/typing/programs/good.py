"""A program that uses all of the public face, with the exact type of what it gets.

It must pass mypy --strict and pyright, and it must run: assert_type does nothing then, so that the
plain asserts beside it say whether the types tell the truth.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Literal, assert_type

from amqpcodec import (
    DecodeError,
    EncodeError,
    IncompleteError,
    load_xml_spec,
    protocol,
    types,
    v1_0,
)
from amqpcodec import v0_9_1 as amqp
from amqpcodec.session import (
    Acked,
    Channel,
    Connection,
    Consumer,
    Delivered,
    Event,
    LocalProtocolError,
    Method,
    OutstandingTags,
    Replied,
    Request,
    RequestFailed,
    TagRanges,
    v1,
)

# ---- constants ----

assert_type(amqp.FRAME_END, Literal[206])
assert_type(amqp.NO_ROUTE, Literal[312])
assert_type(amqp.VERSION, tuple[int, int, int])
assert_type(amqp.PROTOCOL_HEADER, bytes)
assert_type(amqp.METHODS, MappingProxyType[tuple[int, int], type[amqp.Method]])
assert_type(amqp.METHODS[(60, 40)].NAME, str)
assert_type(amqp.Basic.CLASS_ID, Literal[60])

# ---- methods ----

publish = amqp.Basic.Publish("orders", "eu", mandatory=True, reserved_1=0)
assert_type(publish, amqp.Basic.Publish)
assert_type(publish.exchange, str)
assert_type(publish.mandatory, bool)
assert_type(publish.reserved_1, int)
assert_type(publish.NAME, Literal["basic.publish"])
assert_type(amqp.Basic.Publish.METHOD_ID, Literal[40])
assert_type(publish.HAS_CONTENT, Literal[True])
assert_type(publish.EXTENSION, None)
assert_type(publish.SENT_BY, tuple[Literal["client"]])
assert_type(publish.RESPONSES, tuple[()])
assert_type(amqp.Basic.Get.RESPONSES, tuple[type[amqp.Basic.GetOk], type[amqp.Basic.GetEmpty]])
assert_type(amqp.Basic.Get.RESPONSES[1](), amqp.Basic.GetEmpty)
assert_type(
    amqp.Basic.Ack.FIELDS,
    tuple[Literal["delivery_tag"], Literal["multiple"]],
)
assert_type(amqp.Connection.Blocked.EXTENSION, Literal["rabbitmq"])
assert_type(publish.validate(), None)
publish.exchange = "other"
publish.mandatory = False

close = amqp.Connection.Close(320, "bye", class_id=60, method_id=40)
assert_type(close.class_id, int)
assert_type(close.CLASS_ID, Literal[10])
assert_type(amqp.Basic.Qos(prefetch_count=10, global_=True).global_, bool)

# longstr: bytes, or text that is encoded
assert_type(amqp.Connection.StartOk(response=b"\0a\0b").response, bytes)
amqp.Connection.StartOk(response="\0a\0b")
amqp.Connection.StartOk(response=bytearray(b"\0a\0b"))

declare = amqp.Queue.Declare("q", durable=True, arguments={"x-max-length": 5, "x-list": [1, None]})
assert_type(declare.arguments, dict[str, Any])
assert_type(declare.raw_arguments, bytes | None)
declare.arguments["x-queue-type"] = "quorum"

# ---- properties ----

properties = amqp.Basic.Properties(
    content_type="application/json",
    headers={"n": types.Int8(1), "when": datetime.now(UTC)},
    delivery_mode=2,
    timestamp=datetime(2026, 1, 1, tzinfo=UTC),
)
assert_type(properties.content_type, str | None)
assert_type(properties.delivery_mode, int | None)
assert_type(properties.headers, dict[str, Any] | None)
assert_type(properties.raw_headers, bytes | None)
assert_type(properties.timestamp, datetime | int | None)
assert_type(properties.type, str | None)
assert_type(properties.cluster_id, str | None)
properties.cluster_id = "c"
assert amqp.Basic.Properties(cluster_id="c").reserved == "c"
properties.timestamp = 0

# ---- one frame ----

header = amqp.Header(5, properties)
assert_type(header.body_size, int)
assert_type(header.properties, amqp.Basic.Properties)
assert_type(amqp.Body(), amqp.Body)
assert_type(amqp.Body(b"x").payload, bytes)
assert_type(amqp.Body(memoryview(b"x")).payload, memoryview)
assert_type(amqp.ProtocolHeader().revision, int)

octets = amqp.encode(1, publish, dialect="0-9-1", validate=True)
assert_type(octets, bytes)
assert_type(amqp.encode(0, amqp.Heartbeat()), bytes)
assert_type(amqp.encode(1, amqp.Body(bytearray(b"x"))), bytes)
assert_type(amqp.encode_into(bytearray(100), 0, 1, header), int)
assert_type(amqp.encode_message(1, publish, properties, b"body", 4096), bytes)
assert_type(amqp.encode_parts(1, publish, None, memoryview(b"body")), list[bytes | memoryview])

got = amqp.decode(octets)
assert_type(got, tuple[int, int, "amqp.AnyFrame"] | None)
assert got is not None
consumed, channel, frame = got
assert_type(consumed, int)
assert_type(channel, int)
assert_type(frame, amqp.Method | amqp.Header | amqp.Body | amqp.Heartbeat | amqp.ProtocolHeader)
assert frame == publish

view = amqp.decode(memoryview(octets), 0, copy=False, tables="typed", trailing="keep")
if view is not None and isinstance(view[2], amqp.Body):
    assert_type(view[2].payload, memoryview)


def describe(
    frame: amqp.Method | amqp.Header | amqp.Body | amqp.Heartbeat | amqp.ProtocolHeader,
) -> str:
    """Every class can be matched, by position and by name."""
    match frame:
        case amqp.Basic.Deliver(tag, number, redelivered, exchange, routing_key):
            assert_type(tag, str)
            assert_type(number, int)
            assert_type(redelivered, bool)
            assert_type(exchange, str)
            return f"{tag} {number} {routing_key}"
        case amqp.Basic.Publish(exchange, mandatory=must):
            assert_type(must, bool)
            return exchange
        case amqp.Basic.Properties():  # type: ignore[unreachable, unused-ignore]
            return "never a frame"
        case amqp.Method():
            assert_type(frame, amqp.Method)
            return frame.NAME
        case amqp.Header(size, properties):
            assert_type(size, int)
            assert_type(properties, amqp.Basic.Properties)
            return str(size)
        case amqp.Body(payload):
            assert_type(payload, bytes)
            return payload.hex()
        case amqp.Heartbeat():
            return "heartbeat"
        case amqp.ProtocolHeader(protocol_id, major):
            assert_type(major, int)
            return f"{protocol_id} {major}"


assert describe(frame) == "other"
assert describe(amqp.Header(7)) == "7"
assert describe(amqp.Body(b"\x01")) == "01"

# ---- decoders ----

decoder = amqp.Decoder(frame_max=0)
assert_type(decoder, amqp.Decoder)
assert_type(decoder.feed(octets), Iterator[tuple[int, "amqp.AnyFrame"]])
assert_type(decoder.frame_max, int)
decoder.frame_max = 8192
assert_type(decoder.pending, int)
assert_type(decoder.offset, int)
assert_type(decoder.get_buffer(10), memoryview)
assert_type(decoder.buffer_updated(0), Iterator[tuple[int, "amqp.AnyFrame"]])
assert_type(decoder.reset(), None)
assert_type(decoder.eof(), None)

either: amqp.Decoder[amqp.AnyFrame | amqp.BadFrame] = decoder  # what raises never yields BadFrame
for number, item in amqp.Decoder(errors="frame").feed(octets):
    assert_type(number, int)
    assert_type(
        item,
        amqp.Method
        | amqp.Header
        | amqp.Body
        | amqp.Heartbeat
        | amqp.ProtocolHeader
        | amqp.BadFrame,
    )
    if isinstance(item, amqp.BadFrame):
        assert_type(item.error, DecodeError)
        assert_type(item.raw, bytes)

for _, body in amqp.Decoder(copy=False).feed(amqp.encode(1, amqp.Body(b"xyz"))):
    assert isinstance(body, amqp.Body)
    assert_type(body.payload, memoryview)
    assert type(body.payload) is memoryview

messages = amqp.MessageDecoder(131072, max_body_size=1 << 20)
assert_type(messages, amqp.MessageDecoder)
assert_type(messages.max_body_size, int | None)
assert_type(messages.discard(1), bool)
message_count = 0
for _, event in messages.feed(amqp.encode_message(1, publish, properties, b"body")):
    assert_type(event, amqp.Method | amqp.Message | amqp.Heartbeat | amqp.ProtocolHeader)
    if isinstance(event, amqp.Message):
        message_count += 1
        assert_type(event.body, bytes)
        assert type(event.body) is bytes
        assert_type(event.properties, amqp.Basic.Properties)
        assert_type(
            event.method,
            amqp.Basic.Publish | amqp.Basic.Return | amqp.Basic.Deliver | amqp.Basic.GetOk,
        )
        assert_type(event.method.routing_key, str)
assert message_count == 1

views = amqp.MessageDecoder(copy=False, errors="frame")
for _, viewed in views.feed(amqp.encode_message(1, publish, None, b"body")):
    if isinstance(viewed, amqp.Message):
        assert_type(viewed.body, memoryview)
        assert type(viewed.body) is memoryview
    elif isinstance(viewed, amqp.BadFrame):
        assert_type(viewed.raw, bytes)

# ---- errors ----

try:
    list(amqp.Decoder().feed(b"\x01\x00\x01\x00\x00\x00\x00\x00"))
except DecodeError as error:
    assert_type(error.offset, int | None)
    assert_type(error.scope, Literal["frame", "channel", "connection"])
    assert_type(error.reply_code, int)
try:
    amqp.encode(70000, publish)
except EncodeError as problem:
    assert_type(problem.field, str | None)
assert issubclass(IncompleteError, DecodeError)

assert protocol("0-9-1") is amqp
assert callable(load_xml_spec)

# ---- sessions ----

session = Connection("client", username="guest", heartbeat=10)
assert_type(session, Connection)
assert_type(session.receive_data(b""), list[Event])
assert_type(session.data_to_send(), bytes)
assert_type(session.buffers_to_send(), list[bytes | memoryview])
assert_type(session.next_timeout(1.0), float | None)
assert_type(session.handle_timeout(1.0), list[Event])
assert_type(session.channels, dict[int, Channel])
assert_type(session.role, Literal["client", "server"])
assert_type(session.close_reason, tuple[int, str] | None)
try:
    assert_type(session.open_channel(), Channel)
except LocalProtocolError as refusal:
    assert_type(refusal.args, tuple[Any, ...])


def react(event: Event) -> str:
    match event:
        case Delivered(consumer, message):
            assert_type(consumer, Consumer)
            assert_type(message.method.delivery_tag, int)
            assert_type(message.properties.headers, dict[str, Any] | None)
            return f"{consumer.tag} {message.body!r}"
        case Acked(channel, tags):
            assert_type(tags, tuple[int, ...] | TagRanges)
            assert_type(channel.publish("", "q", b""), int | None)
        case Replied(_, _, amqp.Queue.DeclareOk(queue=name)):
            assert_type(name, str)
        case Replied(_, request, _) | RequestFailed(_, request, _, _, _):
            assert_type(request, Request)
            assert_type(request.method, Method)
            assert_type(request.error, tuple[int, str] | None)
        case _:
            pass
    return type(event).__name__


def ask(channel: Channel, no_wait: bool) -> None:
    """A request is one unless no_wait says otherwise."""
    assert_type(channel.declare_queue("q"), Request)
    assert_type(channel.declare_queue("q", no_wait=False, durable=True), Request)
    assert_type(channel.declare_queue("q", no_wait=no_wait), Request | None)
    channel.declare_queue("q", no_wait=True)
    assert_type(channel.consume("q").consumer, Consumer | None)
    assert_type(channel.qos(prefetch_count=10), Request)
    assert_type(channel.cancel("t"), Request | None)
    assert_type(channel.send(amqp.Queue.Purge("q")), Request | None)
    assert_type(channel.connection.open_channel(), Channel)
    assert_type(channel.deliveries, OutstandingTags)
    assert_type(list(channel.publications), list[int])
    channel.close(404, "", amqp.Queue.Declare)


assert [react(event) for event in session.receive_eof()] == ["ConnectionClosed"]


# ---- sessions of AMQP 1.0 ----


def react_v1(event: object) -> str:
    """The objects that an event brings, and what they belong to."""
    match event:
        case v1.SessionRequested(requested, begin):
            assert_type(requested, v1.Session)
            assert_type(begin, v1_0.Begin)
            assert_type(requested.links, list[v1.Link])
            assert_type(requested.connection.sessions, list[v1.Session])
            assert_type(requested.connection.begin(), v1.Session)
        case v1.LinkRequested(link):
            assert_type(link, v1.Link)
            assert_type(link.session, v1.Session)
            assert_type(link.resumptions, MappingProxyType[bytes, v1.Resumption])
            if isinstance(link, v1.Receiver):
                assert_type(link.partial, v1.IncomingDelivery | None)
        case v1.DeliveryReceived(receiver, delivery):
            assert_type(receiver, v1.Receiver)
            assert_type(delivery, v1.IncomingDelivery)
            assert_type(delivery.link, v1.Receiver)
            assert_type(delivery.link.session, v1.Session)
            assert_type(delivery.message, v1_0.Message)
        case v1.DeliveryUpdated(_, updated):
            assert_type(updated, v1.OutgoingDelivery | v1.IncomingDelivery)
        case v1.CreditChanged(sender, credit):
            assert_type(sender, v1.Sender)
            assert_type(credit, int)
            assert_type(sender.send(b"", settled=True), v1.OutgoingDelivery)
            assert_type(sender.begin_delivery().link, v1.Sender)
            assert_type(sender.resume(b"tag"), v1.OutgoingDelivery | None)
        case v1.TransactionDeclared(controller, transaction):
            assert_type(controller, v1.Controller)
            assert_type(transaction.link, v1.Controller)
            assert_type(controller.declare(), v1.Transaction)
        case v1.DeclareRequested(coordinator):
            assert_type(coordinator, v1.Coordinator)
        case _:
            pass
    return type(event).__name__


v1_client = v1.Connection("client")
assert_type(v1_client.sessions, list[v1.Session])
v1_session = v1_client.begin() if v1_client.state == "OPENED" else None
assert_type(v1_session, v1.Session | None)
if v1_session is not None:
    assert_type(v1_session.attach_sender("link", "q"), v1.Sender)
    assert_type(v1_session.attach_receiver("link", "q"), v1.Receiver)
    assert_type(v1_session.attach_controller("link"), v1.Controller)
assert_type(v1_client.data_to_send(), bytes)
assert [react_v1(event) for event in v1_client.receive_eof()] == ["ConnectionClosed"]
