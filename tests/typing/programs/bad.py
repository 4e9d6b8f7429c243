"""Mistakes that a type checker must find, each said behind its line, per tool; "-" where it cannot.

Never run. test_programs.py wants these errors and no others.
"""

from __future__ import annotations

from collections.abc import Hashable

from amqpcodec import v0_9_1 as amqp

publish = amqp.Basic.Publish()
properties = amqp.Basic.Properties()

# ---- constants ----
amqp.FRAME_END = 207
print(amqp.FRAME_BEGIN)
amqp.PROTOCOL_HEADER.encode()

# ---- constructors ----
amqp.Basic.Publish(exchange=5)
amqp.Basic.Publish(exchange=b"orders")
amqp.Basic.Publish(exchnage="orders")
amqp.Basic.Publish("orders", "eu", True, False, 0)
amqp.Basic.Publish("orders", exchange="orders")
amqp.Basic.Publish(mandatory="yes")
amqp.Channel.Open("")
amqp.Basic.Ack(delivery_tag="1")
amqp.Basic.Ack(delivery_tag=1.0)
amqp.Queue.Declare("q", arguments=[("x-max-length", 5)])
amqp.Queue.Declare("q", arguments={1: 5})
amqp.Connection.StartOk(response=5)
amqp.Basic.Properties(timestamp="2026-01-01")
amqp.Basic.Properties(headers={b"k": 1})
amqp.Basic.Properties(cluster_id="c")
amqp.Header(properties=publish)
amqp.Body("text")
amqp.Message(amqp.Basic.Ack())
amqp.Basic.Pubish()

# ---- attributes ----
publish.exchange = None
publish.exchnage = "orders"
publish.mandatory = "yes"
properties.timestamp = "2026-01-01"
properties.headers["n"] = 1
properties.delivery_mode + 1
properties.raw_headers = b""
amqp.Queue.Declare().raw_arguments = b""
amqp.Basic.Publish.METHOD_ID = 41
too_few: str = amqp.Basic.Get.RESPONSES[2].NAME
name: int = publish.NAME

# ---- kind of class ----


class Mine(amqp.Basic.Publish):
    """The generated classes are final."""


key: Hashable = publish

# ---- functions ----
amqp.encode("1", publish)
amqp.encode(1, properties)
amqp.encode(1, amqp.Message(publish, properties, b""))
amqp.encode(1, publish, "rabbitmq")
amqp.encode(1, publish, dialect="qpid")
amqp.encode_into(100, 0, 1, publish)
amqp.encode_message(1, amqp.Basic.Ack(), properties, b"")
amqp.encode_message(1, publish, amqp.Header(), b"")
amqp.encode_message(1, publish, None, "text")
amqp.decode("text")
amqp.decode(b"", tables="raw")
consumed, channel, frame = amqp.decode(b"")

# ---- decoders ----
amqp.Decoder("131072")
amqp.Decoder(errors="ignore")
amqp.Decoder(0, "frame")
amqp.MessageDecoder(max_body_size="1 MB")
amqp.Decoder().frame_max = None
amqp.Decoder().pending = 0
amqp.Decoder().discard(1)
amqp.Decoder().feed("text")
for channel, frame in amqp.Decoder().feed(b""):
    frame.exchange
    if isinstance(frame, amqp.Basic.Deliver):
        frame.mandatory
for channel, event in amqp.MessageDecoder().feed(b""):
    if isinstance(event, amqp.Message):
        event.body.tobytes()
        event.method.delivery_tag
for channel, viewed in amqp.MessageDecoder(copy=False).feed(b""):
    if isinstance(viewed, amqp.Message):
        viewed.body.decode()
strict: amqp.Decoder = amqp.Decoder(errors="frame")
