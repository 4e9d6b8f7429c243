"""Class basic: qos, publish and return, get, consume and cancel, ack, nack, reject, recover."""

from __future__ import annotations

from amqpcodec import v0_9_1 as amqp


def fill(client, count, **arguments):
    """A queue with messages of the bodies b"0", b"1", ..."""
    queue = client.declare(**arguments)
    for number in range(count):
        client.publish(1, str(number).encode(), routing_key=queue)
    return queue


def test_get_and_get_empty(client):
    queue = fill(client, 2)
    first = client.get(queue, no_ack=False)
    assert first.method == amqp.Basic.GetOk(1, False, "", queue, 1)
    assert (first.body, first.properties) == (b"0", amqp.Basic.Properties())
    second = client.get(queue)
    assert (second.method.delivery_tag, second.method.message_count) == (2, 0)
    client.expect_empty(queue)
    client.call(1, amqp.Basic.Recover(requeue=True), amqp.Basic.RecoverOk)
    again = client.get(queue, no_ack=False)
    assert (again.body, again.method.delivery_tag, again.method.redelivered) == (b"0", 3, True)
    client.send(1, amqp.Basic.Ack(delivery_tag=3))
    client.call(1, amqp.Basic.Recover(requeue=True), amqp.Basic.RecoverOk)
    client.expect_empty(queue)


def test_mandatory_publish_is_returned(client):
    properties = amqp.Basic.Properties(message_id="m-1", headers={"k": [1, None]})
    client.publish(1, b"no way", properties, routing_key="nobody", mandatory=True)
    returned = client.expect_content(1, amqp.Basic.Return)
    assert returned.method == amqp.Basic.Return(312, "NO_ROUTE", "", "nobody")
    assert (returned.properties, returned.body) == (properties, b"no way")
    queue = client.declare()
    client.publish(1, b"there", routing_key=queue, mandatory=True)
    client.wait_for_count(queue, 1)


def test_consume_and_cancel(client):
    queue = fill(client, 2)
    consume = amqp.Basic.Consume(queue=queue, consumer_tag="täg", no_ack=True)
    assert client.call(1, consume, amqp.Basic.ConsumeOk) == amqp.Basic.ConsumeOk("täg")
    for number in (0, 1):
        message = client.expect_content(1, amqp.Basic.Deliver)
        assert message.method == amqp.Basic.Deliver("täg", number + 1, False, "", queue)
        assert message.body == str(number).encode()
    cancel = amqp.Basic.Cancel(consumer_tag="täg")
    assert client.call(1, cancel, amqp.Basic.CancelOk) == amqp.Basic.CancelOk("täg")
    client.publish(1, b"left alone", routing_key=queue)
    client.wait_for_count(queue, 1)


def test_consume_without_waiting(client):
    queue = client.declare()
    client.send(1, amqp.Basic.Consume(queue=queue, consumer_tag="t", no_ack=True, no_wait=True))
    client.publish(1, b"x", routing_key=queue)
    assert client.expect_content(1, amqp.Basic.Deliver).method.consumer_tag == "t"
    client.send(1, amqp.Basic.Cancel(consumer_tag="t", no_wait=True))
    client.publish(1, b"y", routing_key=queue)
    client.wait_for_count(queue, 1)


def test_consumer_is_named_by_the_broker(client):
    queue = client.declare()
    consume = amqp.Basic.Consume(queue=queue, arguments={"x-priority": -5})
    tag = client.call(1, consume, amqp.Basic.ConsumeOk).consumer_tag
    assert tag.startswith("amq.ctag-")
    client.publish(1, b"x", routing_key=queue)
    assert client.expect_content(1, amqp.Basic.Deliver).method.consumer_tag == tag


def test_qos_holds_deliveries_back(client):
    queue = fill(client, 5)
    qos = amqp.Basic.Qos(prefetch_count=2, global_=False)
    assert client.call(1, qos, amqp.Basic.QosOk) == amqp.Basic.QosOk()
    client.call(1, amqp.Basic.Consume(queue=queue), amqp.Basic.ConsumeOk)
    for tag in (1, 2):
        assert client.expect_content(1, amqp.Basic.Deliver).method.delivery_tag == tag
    client.expect_nothing(0.2)
    client.send(1, amqp.Basic.Ack(delivery_tag=2, multiple=True))
    for tag in (3, 4):
        assert client.expect_content(1, amqp.Basic.Deliver).method.delivery_tag == tag
    client.expect_nothing(0.2)
    client.send(1, amqp.Basic.Ack(delivery_tag=3))
    assert client.expect_content(1, amqp.Basic.Deliver).method.delivery_tag == 5


def test_global_qos(client):
    one, two = fill(client, 3), fill(client, 3)
    client.call(1, amqp.Basic.Qos(prefetch_count=4, global_=True), amqp.Basic.QosOk)
    deliveries = []
    for queue in (one, two):
        client.send(1, amqp.Basic.Consume(queue=queue, no_wait=True))
    for _ in range(4):
        deliveries.append(client.expect_content(1, amqp.Basic.Deliver))
    client.expect_nothing(0.2)
    assert {message.method.routing_key for message in deliveries} == {one, two}


def test_ack_one_and_many(client):
    queue = fill(client, 4)
    for _ in range(4):
        client.get(queue, no_ack=False)
    client.send(1, amqp.Basic.Ack(delivery_tag=2), amqp.Basic.Ack(delivery_tag=3, multiple=True))
    client.call(1, amqp.Basic.Recover(requeue=True), amqp.Basic.RecoverOk)
    client.wait_for_count(queue, 1)
    last = client.get(queue)
    assert (last.body, last.method.redelivered) == (b"3", True)
    client.expect_empty(queue)


def test_nack_requeues_or_drops(client):
    queue = fill(client, 4)
    for _ in range(4):
        client.get(queue, no_ack=False)
    client.send(
        1,
        amqp.Basic.Nack(delivery_tag=1, multiple=False, requeue=False),
        amqp.Basic.Nack(delivery_tag=3, multiple=True, requeue=True),
        amqp.Basic.Nack(delivery_tag=0, multiple=True, requeue=False),
    )
    client.wait_for_count(queue, 2)
    assert [client.get(queue).body for _ in range(2)] == [b"1", b"2"]
    client.expect_empty(queue)


def test_reject_requeues_or_drops(client):
    queue = fill(client, 2)
    for _ in range(2):
        client.get(queue, no_ack=False)
    client.send(
        1,
        amqp.Basic.Reject(delivery_tag=1, requeue=True),
        amqp.Basic.Reject(delivery_tag=2, requeue=False),
    )
    again = client.get(queue)
    assert (again.body, again.method.redelivered) == (b"0", True)
    client.expect_empty(queue)


def test_recover(client):
    queue = fill(client, 1)
    client.call(1, amqp.Basic.Consume(queue=queue), amqp.Basic.ConsumeOk)
    assert client.expect_content(1, amqp.Basic.Deliver).method.redelivered is False
    client.call(1, amqp.Basic.Recover(requeue=True), amqp.Basic.RecoverOk)
    again = client.expect_content(1, amqp.Basic.Deliver).method
    assert (again.delivery_tag, again.redelivered) == (2, True)


def test_recover_async(client):
    queue = fill(client, 1)
    client.get(queue, no_ack=False)
    client.send(1, amqp.Basic.RecoverAsync(requeue=True))
    again = client.get(queue)
    assert (again.body, again.method.redelivered) == (b"0", True)


def test_flow(client):
    flow = client.call(1, amqp.Channel.Flow(active=True), amqp.Channel.FlowOk)
    assert flow == amqp.Channel.FlowOk(active=True)


def test_dead_letters_carry_the_brokers_own_headers(client):
    """x-death is a list of tables that the broker writes; our header comes back beside it."""
    dead = client.declare()
    queue = client.declare(
        **{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": dead, "x-message-ttl": 60000}
    )
    properties = amqp.Basic.Properties(headers={"mine": "kept"}, expiration="30000")
    client.publish(1, b"dies", properties, routing_key=queue)
    client.get(queue, no_ack=False)
    client.send(1, amqp.Basic.Reject(delivery_tag=1, requeue=False))
    client.wait_for_count(dead, 1)
    message = client.get(dead)
    headers = message.properties.headers
    assert headers["mine"] == "kept"
    [death] = headers["x-death"]
    assert (death["queue"], death["reason"], death["count"]) == (queue, "rejected", 1)
    assert death["routing-keys"] == [queue]
    assert death["time"].utcoffset().total_seconds() == 0
    assert headers["x-first-death-queue"] == queue
