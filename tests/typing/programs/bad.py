"""Mistakes that type checkers must find, marked behind their line (for all tools, or for one).

Never run. test_programs.py wants errors in these lines and in no others.
"""

from __future__ import annotations

from collections.abc import Hashable

from amqpcodec import session
from amqpcodec import v0_9_1 as amqp
from amqpcodec.session import v1

publish = amqp.Basic.Publish()
properties = amqp.Basic.Properties()

# ---- constants ----
amqp.FRAME_END = 207  # error: mypy
print(amqp.FRAME_BEGIN)  # error
amqp.PROTOCOL_HEADER.encode()  # error

# ---- constructors ----
amqp.Basic.Publish(exchange=5)  # error
amqp.Basic.Publish(exchange=b"orders")  # error
amqp.Basic.Publish(exchnage="orders")  # error
amqp.Basic.Publish("orders", "eu", True, False, 0)  # error
amqp.Basic.Publish("orders", exchange="orders")  # error
amqp.Basic.Publish(mandatory="yes")  # error
amqp.Channel.Open("")  # error
amqp.Basic.Ack(delivery_tag="1")  # error
amqp.Basic.Ack(delivery_tag=1.0)  # error
amqp.Queue.Declare("q", arguments=[("x-max-length", 5)])  # error
amqp.Queue.Declare("q", arguments={1: 5})  # error
amqp.Connection.StartOk(response=5)  # error
amqp.Basic.Properties(timestamp="2026-01-01")  # error
amqp.Basic.Properties(headers={b"k": 1})  # error
amqp.Basic.Properties(clusterid="c")  # error
amqp.Header(properties=publish)  # error
amqp.Body("text")  # error
amqp.Message(amqp.Basic.Ack())  # error
amqp.Basic.Pubish()  # error

# ---- attributes ----
publish.exchange = None  # error
publish.exchnage = "orders"  # error
publish.mandatory = "yes"  # error
properties.timestamp = "2026-01-01"  # error
properties.headers["n"] = 1  # error
print(properties.delivery_mode + 1)  # error
properties.raw_headers = b""  # error
amqp.Queue.Declare().raw_arguments = b""  # error
amqp.Basic.Publish.METHOD_ID = 41  # error
too_few: str = amqp.Basic.Get.RESPONSES[2].NAME  # error
name: int = publish.NAME  # error

# ---- kind of class ----


class Mine(amqp.Basic.Publish):  # error
    """The generated classes are final."""


key: Hashable = publish  # error

# ---- functions ----
amqp.encode("1", publish)  # error
amqp.encode(1, properties)  # error
amqp.encode(1, amqp.Message(publish, properties, b""))  # error
amqp.encode(1, publish, "rabbitmq")  # error
amqp.encode(1, publish, dialect="qpid")  # error
amqp.encode_into(100, 0, 1, publish)  # error
amqp.encode_message(1, amqp.Basic.Ack(), properties, b"")  # error
amqp.encode_message(1, publish, amqp.Header(), b"")  # error
amqp.encode_message(1, publish, None, "text")  # error
amqp.decode("text")  # error
amqp.decode(b"", tables="raw")  # error
consumed, channel, frame = amqp.decode(b"")  # error

# ---- decoders ----
amqp.Decoder("131072")  # error
amqp.Decoder(errors="ignore")  # error
amqp.Decoder(0, "frame")  # error
amqp.MessageDecoder(max_body_size="1 MB")  # error
amqp.Decoder().frame_max = None  # error
amqp.Decoder().pending = 0  # error
amqp.Decoder().discard(1)  # error
amqp.Decoder().feed("text")  # error
for _, frame in amqp.Decoder().feed(b""):
    print(frame.exchange)  # error
    if isinstance(frame, amqp.Basic.Deliver):
        print(frame.mandatory)  # error
for _, event in amqp.MessageDecoder().feed(b""):
    if isinstance(event, amqp.Message):
        event.body.tobytes()  # error
        print(event.method.delivery_tag)  # error
for _, viewed in amqp.MessageDecoder(copy=False).feed(b""):
    if isinstance(viewed, amqp.Message):
        viewed.body.decode()  # error
strict: amqp.Decoder = amqp.Decoder(errors="frame")  # error

# ---- sessions ----
session.Connection("client", protocol="1.0")  # error
session.Connection("broker")  # error
session.Connection("client", user="guest")  # error
one = session.Connection("client").open_channel()
one.settle(1, False, True)  # error
print(one.declare_queue("q", no_wait=True).context)  # error
print(one.connection.model)  # error
print(one.declare_queue("q").method.queue)  # error
peer = v1.Connection("client")
print(peer.partial_bytes)  # error
peer.begin().attach_sender("link", "q", colour="red")  # error
peer.begin().attach_receiver("link", "q", source="other")  # error
peer.accept(max_frame_size=512)  # error
