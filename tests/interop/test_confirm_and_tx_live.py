"""Publisher confirms and transactions."""

from __future__ import annotations

from amqpcodec import v0_9_1 as amqp


def collect_confirms(client, count):
    """Per delivery tag the kind of its confirmation; `multiple` stands for all tags before."""
    confirmed = {}
    while len(confirmed) < count:
        on, event = client.receive()
        assert on == 1
        assert type(event) in (amqp.Basic.Ack, amqp.Basic.Nack)
        low = 1 if event.multiple else event.delivery_tag
        for tag in range(low, event.delivery_tag + 1):
            confirmed.setdefault(tag, type(event))
    return confirmed


def test_confirms(client):
    queue = client.declare()
    select = client.call(1, amqp.Confirm.Select(), amqp.Confirm.SelectOk)
    assert select == amqp.Confirm.SelectOk()
    octets = amqp.encode_message(
        1, amqp.Basic.Publish(routing_key=queue), amqp.Basic.Properties(delivery_mode=2), b"safe"
    )
    client.send_octets(octets * 100)
    confirmed = collect_confirms(client, 100)
    assert confirmed == dict.fromkeys(range(1, 101), amqp.Basic.Ack)
    client.wait_for_count(queue, 100)


def test_confirm_of_a_return(client):
    """A message that is returned is confirmed too, behind its return."""
    client.call(1, amqp.Confirm.Select(), amqp.Confirm.SelectOk)
    client.publish(1, b"back", routing_key="nobody", mandatory=True)
    assert client.expect_content(1, amqp.Basic.Return).method.reply_code == 312
    assert client.expect(1, amqp.Basic.Ack) == amqp.Basic.Ack(delivery_tag=1)


def test_negative_confirms(client):
    queue = client.declare(**{"x-max-length": 1, "x-overflow": "reject-publish"})
    client.call(1, amqp.Confirm.Select(), amqp.Confirm.SelectOk)
    for _ in range(3):
        client.publish(1, b"one fits", routing_key=queue)
    kinds = collect_confirms(client, 3)
    assert kinds == {1: amqp.Basic.Ack, 2: amqp.Basic.Nack, 3: amqp.Basic.Nack}


def test_transaction(client):
    queue = client.declare()
    assert client.call(1, amqp.Tx.Select(), amqp.Tx.SelectOk) == amqp.Tx.SelectOk()
    client.publish(1, b"undone", routing_key=queue)
    assert client.call(1, amqp.Tx.Rollback(), amqp.Tx.RollbackOk) == amqp.Tx.RollbackOk()
    client.publish(1, b"done", routing_key=queue)
    client.expect_empty(queue)
    assert client.call(1, amqp.Tx.Commit(), amqp.Tx.CommitOk) == amqp.Tx.CommitOk()
    message = client.get(queue, no_ack=False)
    assert (message.body, message.method.message_count) == (b"done", 0)
    client.send(1, amqp.Basic.Ack(delivery_tag=1))
    client.call(1, amqp.Tx.Rollback(), amqp.Tx.RollbackOk)
    # The rollback took the ack back: the message is ours still, and can be acknowledged again.
    client.send(1, amqp.Basic.Ack(delivery_tag=1))
    client.call(1, amqp.Tx.Commit(), amqp.Tx.CommitOk)
    client.call(1, amqp.Basic.Recover(requeue=True), amqp.Basic.RecoverOk)
    client.expect_empty(queue)


def test_transaction_and_confirms_exclude_each_other(client):
    client.call(1, amqp.Tx.Select(), amqp.Tx.SelectOk)
    client.send(1, amqp.Confirm.Select())
    close = client.expect_channel_close()
    assert (close.reply_code, close.class_id, close.method_id) == (406, 85, 10)


def test_commit_without_transaction(client):
    client.send(1, amqp.Tx.Commit())
    close = client.expect_channel_close()
    assert (close.reply_code, close.class_id, close.method_id) == (406, 90, 20)
