"""A talk in which every name has 60 characters, as names of large installations do."""

from __future__ import annotations

from amqpcodec import v0_9_1 as amqp
from tests.support.event_talk import client, login, open_channel, select, server
from tests.support.recording import packets

#: 60 characters, of which the last ones differ.
PLACE = "shop.europe-central.production.orders.payments.refunds.bulk-"
LONG_QUEUES = [f"{PLACE[:-3]}q{number:02}" for number in range(3)]
LONG_KEYS = [f"{PLACE[:-3]}k{number:02}" for number in range(3)]
LONG_EXCHANGE, LONG_TAG = f"{PLACE[:-3]}xch", f"{PLACE[:-3]}tag"
LONG_CLIENT = f"{PLACE[:-3]}app"
LONG_IDS = [f"{number:02}f5ea5e-0c57-4ad7-b11a-b20c563d3b71" for number in range(3)]


def long_names() -> list[bytes]:
    """A connection with long names: of three deliveries one is settled, and one rejected."""
    says = [*login(name=LONG_CLIENT), *open_channel(), *select()]
    says += [client(amqp.Exchange.Declare(exchange=LONG_EXCHANGE, type="topic"))]
    says += [server(amqp.Exchange.DeclareOk())]
    properties = [amqp.Basic.Properties(message_id=message) for message in LONG_IDS]
    for queue, key in zip(LONG_QUEUES, LONG_KEYS, strict=True):
        bind = amqp.Queue.Bind(queue=queue, exchange=LONG_EXCHANGE, routing_key=key)
        tag = f"{LONG_TAG}{queue[-2:]}"
        says += [client(amqp.Queue.Declare(queue=queue)), server(amqp.Queue.DeclareOk(queue=queue))]
        says += [client(bind), server(amqp.Queue.BindOk())]
        says += [client(amqp.Basic.Consume(queue=queue, consumer_tag=tag))]
        says += [server(amqp.Basic.ConsumeOk(consumer_tag=tag))]
    for number, (queue, key) in enumerate(zip(LONG_QUEUES, LONG_KEYS, strict=True)):
        publish = amqp.Basic.Publish(exchange=LONG_EXCHANGE, routing_key=key)
        says += [(0, amqp.encode_message(1, publish, properties[number], b"x"))]
        says += [server(amqp.Basic.Ack(delivery_tag=number + 1))]
        tag = f"{LONG_TAG}{queue[-2:]}"
        deliver = amqp.Basic.Deliver(tag, number + 1, False, LONG_EXCHANGE, key)
        says += [(1, amqp.encode_message(1, deliver, properties[number], b"x"))]
    says += [client(amqp.Basic.Ack(delivery_tag=1))]
    says += [client(amqp.Basic.Reject(delivery_tag=2, requeue=False))]
    return packets(says)
