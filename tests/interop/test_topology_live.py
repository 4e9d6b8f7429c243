"""Exchanges, queues and bindings: declare, bind, unbind, purge, delete."""

from __future__ import annotations

import pytest

from amqpcodec import v0_9_1 as amqp


def test_exchange_declare_and_delete(client, unique):
    name = unique("exchange")
    declare = amqp.Exchange.Declare(exchange=name, type="topic", durable=True)
    assert client.call(1, declare, amqp.Exchange.DeclareOk) == amqp.Exchange.DeclareOk()
    passive = amqp.Exchange.Declare(exchange=name, passive=True)
    client.call(1, passive, amqp.Exchange.DeclareOk)
    delete = amqp.Exchange.Delete(exchange=name, if_unused=True)
    assert client.call(1, delete, amqp.Exchange.DeleteOk) == amqp.Exchange.DeleteOk()
    client.send(1, passive)
    assert client.expect_channel_close().reply_code == 404


@pytest.mark.parametrize("kind", ["direct", "fanout", "topic", "headers"])
def test_every_exchange_type(client, unique, kind):
    name = unique(kind)
    declare = amqp.Exchange.Declare(exchange=name, type=kind, auto_delete=True)
    client.call(1, declare, amqp.Exchange.DeclareOk)
    queue = client.declare()
    bind = amqp.Queue.Bind(
        queue=queue,
        exchange=name,
        routing_key="a.*" if kind == "topic" else "a.b",
        arguments={"x-match": "all", "n": 1} if kind == "headers" else {},
    )
    assert client.call(1, bind, amqp.Queue.BindOk) == amqp.Queue.BindOk()
    properties = amqp.Basic.Properties(headers={"n": 1})
    client.publish(1, b"routed", properties, exchange=name, routing_key="a.b")
    message = client.get(queue)
    assert message.body == b"routed"
    assert (message.method.exchange, message.method.routing_key) == (name, "a.b")


def test_internal_exchange_refuses_publish(client, unique):
    name = unique("internal")
    declare = amqp.Exchange.Declare(exchange=name, type="fanout", internal=True, auto_delete=True)
    client.call(1, declare, amqp.Exchange.DeclareOk)
    client.publish(1, b"", exchange=name)
    close = client.expect_channel_close()
    assert (close.reply_code, close.class_id, close.method_id) == (403, 60, 40)
    client.open_channel(2)
    client.call(2, amqp.Exchange.Delete(exchange=name), amqp.Exchange.DeleteOk)


def test_alternate_exchange_argument(client, unique):
    """An exchange argument that the broker acts upon: what is not routed goes elsewhere."""
    other, name = unique("other"), unique("first")
    declare = amqp.Exchange.Declare(exchange=other, type="fanout", auto_delete=True)
    client.call(1, declare, amqp.Exchange.DeclareOk)
    queue = client.declare()
    client.call(1, amqp.Queue.Bind(queue=queue, exchange=other), amqp.Queue.BindOk)
    arguments = {"alternate-exchange": other}
    declare = amqp.Exchange.Declare(exchange=name, type="direct", arguments=arguments)
    client.call(1, declare, amqp.Exchange.DeclareOk)
    client.publish(1, b"lost", exchange=name, routing_key="nobody")
    assert client.get(queue).body == b"lost"
    client.call(1, amqp.Exchange.Delete(exchange=name), amqp.Exchange.DeleteOk)


def test_queue_declare_counts_purge_and_delete(client, unique):
    name = unique("queue")
    declare = amqp.Queue.Declare(queue=name, exclusive=True)
    assert client.call(1, declare, amqp.Queue.DeclareOk) == amqp.Queue.DeclareOk(name, 0, 0)
    for body in (b"1", b"2", b"3"):
        client.publish(1, body, routing_key=name)
    client.wait_for_count(name, 3)
    client.call(1, amqp.Basic.Qos(prefetch_count=1), amqp.Basic.QosOk)
    client.send(1, amqp.Basic.Consume(queue=name, consumer_tag="tag", no_wait=True))
    client.expect_content(1, amqp.Basic.Deliver)
    assert client.call(1, declare, amqp.Queue.DeclareOk) == amqp.Queue.DeclareOk(name, 2, 1)
    client.send(1, amqp.Queue.Delete(queue=name))
    # The client said that it can hear of it: the broker cancels its consumer. Either may be first.
    events = [client.receive(), client.receive()]
    assert (1, amqp.Basic.Cancel(consumer_tag="tag", no_wait=True)) in events
    assert (1, amqp.Queue.DeleteOk(message_count=2)) in events


def test_purge(client):
    queue = client.declare()
    for _ in range(5):
        client.publish(1, b"x", routing_key=queue)
    client.wait_for_count(queue, 5)
    purged = client.call(1, amqp.Queue.Purge(queue=queue), amqp.Queue.PurgeOk)
    assert purged == amqp.Queue.PurgeOk(message_count=5)
    client.expect_empty(queue)


def test_queue_name_of_the_channel(client, unique):
    """An empty name stands for the queue that the channel declared last."""
    name = unique("last")
    client.call(1, amqp.Queue.Declare(queue=name, exclusive=True), amqp.Queue.DeclareOk)
    client.publish(1, b"here", routing_key=name)
    assert client.get("").body == b"here"


@pytest.mark.parametrize("value", ["", "x" * 200, "ключ/🐇"], ids=["empty", "long", "unicode"])
def test_bind_and_unbind_queue(client, unique, value):
    name = unique("direct")
    declare = amqp.Exchange.Declare(exchange=name, type="direct")
    client.call(1, declare, amqp.Exchange.DeclareOk)
    queue = client.declare()
    arguments = {"note": [1, "two", {"three": None}]}
    binding = {"queue": queue, "exchange": name, "routing_key": value, "arguments": arguments}
    client.call(1, amqp.Queue.Bind(**binding), amqp.Queue.BindOk)
    client.publish(1, b"in", exchange=name, routing_key=value)
    assert client.get(queue).method.routing_key == value
    unbind = client.call(1, amqp.Queue.Unbind(**binding), amqp.Queue.UnbindOk)
    assert unbind == amqp.Queue.UnbindOk()
    client.publish(1, b"out", exchange=name, routing_key=value, mandatory=True)
    assert client.expect_content(1, amqp.Basic.Return).body == b"out"
    client.call(1, amqp.Exchange.Delete(exchange=name), amqp.Exchange.DeleteOk)


def test_exchange_to_exchange(client, unique):
    source, destination = unique("source"), unique("destination")
    for name, kind in ((source, "topic"), (destination, "fanout")):
        declare = amqp.Exchange.Declare(exchange=name, type=kind)
        client.call(1, declare, amqp.Exchange.DeclareOk)
    queue = client.declare()
    client.call(1, amqp.Queue.Bind(queue=queue, exchange=destination), amqp.Queue.BindOk)
    binding = {"destination": destination, "source": source, "routing_key": "#.end"}
    bind = amqp.Exchange.Bind(**binding, arguments={"why": "test"})
    assert client.call(1, bind, amqp.Exchange.BindOk) == amqp.Exchange.BindOk()
    client.publish(1, b"through", exchange=source, routing_key="a.b.end")
    message = client.get(queue)
    assert (message.body, message.method.exchange) == (b"through", source)
    unbind = amqp.Exchange.Unbind(**binding, arguments={"why": "test"})
    assert client.call(1, unbind, amqp.Exchange.UnbindOk) == amqp.Exchange.UnbindOk()
    client.publish(1, b"stopped", exchange=source, routing_key="a.b.end", mandatory=True)
    assert client.expect_content(1, amqp.Basic.Return).body == b"stopped"
    for name in (source, destination):
        client.call(1, amqp.Exchange.Delete(exchange=name), amqp.Exchange.DeleteOk)


def test_without_waiting(client, unique):
    """no_wait everywhere: only the last method is answered, and all before it took effect."""
    one, two, queue = unique("one"), unique("two"), unique("queue")
    client.send(
        1,
        amqp.Exchange.Declare(exchange=one, type="fanout", no_wait=True),
        amqp.Exchange.Declare(exchange=two, type="fanout", no_wait=True),
        amqp.Queue.Declare(queue=queue, exclusive=True, no_wait=True),
        amqp.Exchange.Bind(destination=two, source=one, no_wait=True),
        amqp.Queue.Bind(queue=queue, exchange=two, no_wait=True),
    )
    client.publish(1, b"all the way", exchange=one)
    client.wait_for_count(queue, 1)
    client.send(
        1,
        amqp.Queue.Purge(queue=queue, no_wait=True),
        amqp.Exchange.Unbind(destination=two, source=one, no_wait=True),
    )
    client.publish(1, b"nowhere", exchange=one, mandatory=True)
    assert client.expect_content(1, amqp.Basic.Return).body == b"nowhere"
    client.expect_empty(queue)
    client.send(
        1,
        amqp.Exchange.Delete(exchange=one, no_wait=True),
        amqp.Exchange.Delete(exchange=two, no_wait=True),
        amqp.Queue.Delete(queue=queue, no_wait=True),
        amqp.Exchange.Declare(exchange=one, passive=True),
    )
    assert client.expect_channel_close().reply_code == 404


def test_queue_arguments_that_act(client, unique):
    """x-max-length as int, x-expires beyond int16, x-queue-mode as text: the broker reads them."""
    queue = unique("short")
    arguments = {"x-max-length": 2, "x-expires": 600_000, "x-queue-mode": "lazy"}
    declare = amqp.Queue.Declare(queue=queue, exclusive=True, arguments=arguments)
    client.call(1, declare, amqp.Queue.DeclareOk)
    for body in (b"1", b"2", b"3"):
        client.publish(1, body, routing_key=queue)
    assert client.get(queue).body == b"2"
    assert client.get(queue).body == b"3"
    client.expect_empty(queue)
    again = amqp.Queue.Declare(queue=queue, exclusive=True, arguments={"x-max-length": 3})
    client.send(1, again)
    close = client.expect_channel_close()
    assert close.reply_code == 406
    assert "'600000' of type 'signedint'" in close.reply_text
