"""Every operation, on the broker for tests."""

from __future__ import annotations

import asyncio
import datetime
import inspect

import pytest

from amqpcodec import aio
from amqpcodec.testing import Broker
from tests.aio.runs import outcome, run


def test_queues_and_exchanges(amqp_broker):
    async def work():
        async with aio.connect(amqp_broker.url) as connection, connection.channel() as channel:
            assert await channel.declare_queue("orders") == ("orders", 0, 0)
            await channel.declare_exchange("inner", "topic")
            await channel.declare_exchange("outer", "fanout", durable=False)
            await channel.bind_exchange("inner", "outer", "ignored")
            await channel.bind_queue("orders", "inner", "a.#")
            await channel.publish(b"one", exchange="outer", routing_key="a.b", mandatory=True)
            assert (await channel.declare_queue("orders", passive=True)).messages == 1
            assert await channel.purge_queue("orders") == 1
            await channel.unbind_exchange("inner", "outer", "ignored")
            with pytest.raises(aio.Returned, match="312 NO_ROUTE"):
                await channel.publish(b"two", exchange="outer", routing_key="a.b", mandatory=True)
            await channel.unbind_queue("orders", "inner", "a.#")
            await channel.publish(b"three", exchange="inner", routing_key="a.b")
            await channel.delete_exchange("outer")
            await channel.delete_exchange("inner", if_unused=True)
            await channel.publish(b"four", routing_key="orders")
            assert await channel.delete_queue("orders", if_unused=True) == 1
            reply_queue = await channel.declare_queue()
            assert reply_queue.name.startswith("amq.gen-")

    run(work)
    amqp_broker.assert_idle()


def test_what_is_declared_survives_a_restart_unless_asked_otherwise(amqp_broker):
    async def work():
        async with aio.connect(amqp_broker.url) as connection, connection.channel() as channel:
            await channel.declare_queue("named")
            await channel.declare_queue("named", durable=True)  # the same
            with pytest.raises(aio.PreconditionFailed, match="inequivalent arg 'durable'"):
                await channel.declare_queue("named", durable=False)

    run(work)


def test_a_message_keeps_what_it_was_published_with(amqp_broker):
    when = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
    texts = {
        name: name[:9]
        for name in ("content_type", "content_encoding", "correlation_id", "reply_to", "app_id")
    }
    texts |= {"message_id": "m", "type": "t", "user_id": "guest", "expiration": "60000"}

    async def work():
        async with aio.connect(amqp_broker.url) as connection, connection.channel() as channel:
            await channel.declare_queue("orders")
            await channel.publish(
                b"all",
                routing_key="orders",
                headers={"n": [1]},
                priority=3,
                timestamp=when,
                **texts,
            )
            await channel.publish(b"", routing_key="orders", delivery_mode=1)
            message = await channel.get("orders")
            assert {name: getattr(message, name) for name in texts} == texts
            assert (message.body, message.headers, message.priority) == (b"all", {"n": [1]}, 3)
            assert (message.timestamp, message.delivery_mode) == (when, 2)
            assert (message.exchange, message.routing_key) == ("", "orders")
            assert (message.redelivered, message.messages_left) == (False, 1)
            assert message.delivery_count is None
            with pytest.raises(AttributeError):
                message.type = "another"
            assert await message.nack() is True
            again = await channel.get("orders")
            assert (again.body, again.redelivered) == (b"all", True)
            assert await again.ack() is True
            last = await channel.get("orders", no_ack=True)
            assert (last.body, last.delivery_mode, last.timestamp) == (b"", 1, None)
            assert last.headers == {}
            with pytest.raises(aio.AlreadySettled, match="no_ack"):
                await last.ack()
            assert await channel.get("orders") is None

    run(work)


@pytest.mark.parametrize("when", [1_770_000_000_000, 2**63])
def test_a_time_that_is_no_date(amqp_broker, when):
    """Publishers write milliseconds by mistake: that is none of the consumer's exceptions."""
    amqp_broker.declare_queue("orders")
    amqp_broker.publish(b"", routing_key="orders", timestamp=when)

    async def work():
        async with aio.connect(amqp_broker.url) as connection, connection.channel() as channel:
            message = await channel.get("orders")
            return message.timestamp, message.properties.timestamp

    assert run(work) == (None, when)


def test_publish_names_every_property():
    parameters = inspect.signature(aio.Channel.publish).parameters.keys()
    others = {"self", "body", "routing_key", "exchange", "mandatory", "timeout"}
    assert parameters - others == aio.MessageProperties.__annotations__.keys()


def test_quorum_queues_count_deliveries(amqp_broker):
    async def work():
        async with aio.connect(amqp_broker.url) as connection, connection.channel() as channel:
            await channel.declare_queue("orders", arguments={"x-queue-type": "quorum"})
            await channel.publish(b"one", routing_key="orders")
            await (await channel.get("orders")).reject(requeue=True)
            return (await channel.get("orders")).delivery_count

    assert run(work) == 1


def test_settling_twice_is_an_error(amqp_broker):
    async def work():
        async with aio.connect(amqp_broker.url) as connection, connection.channel() as channel:
            await channel.declare_queue("orders")
            for body in (b"1", b"2", b"3"):
                await channel.publish(body, routing_key="orders")
            first, second, third = [await channel.get("orders") for _ in range(3)]
            await second.ack(multiple=True)
            for message in (first, second):
                with pytest.raises(aio.AlreadySettled, match="settled before"):
                    await message.reject()
            await third.reject()
            assert await channel.get("orders") is None

    run(work)
    assert amqp_broker.unacked(n=0) == []


@pytest.mark.parametrize("requeue", [False, True])
def test_processing_settles(amqp_broker, requeue):
    async def work():
        async with aio.connect(amqp_broker.url) as connection, connection.channel() as channel:
            await channel.declare_queue("dead")
            dead = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"}
            await channel.declare_queue("orders", arguments=dead)
            for body in (b"good", b"bad", b"settled"):
                await channel.publish(body, routing_key="orders")
            async with channel.consume("orders") as messages:
                async with (await messages.get()).process():
                    pass
                with pytest.raises(ZeroDivisionError):
                    async with (await messages.get()).process(requeue=requeue) as message:
                        assert 1 / 0
                assert message.body == b"bad"
                async with (await messages.get()).process() as message:
                    await message.nack(requeue=False)
            bodies = [message.body for message in amqp_broker.messages("dead")]
            assert bodies == ([b"settled"] if requeue else [b"bad", b"settled"])
            return (await channel.declare_queue("orders", passive=True)).messages

    assert run(work) == int(requeue)


def test_cancelled_processing_gives_the_message_back(amqp_broker):
    async def work():
        async with aio.connect(amqp_broker.url) as connection, connection.channel() as channel:
            await channel.declare_queue("orders")
            await channel.publish(b"one", routing_key="orders")
            message = await channel.get("orders")

            async def handle():
                async with message.process():
                    await asyncio.sleep(10)

            task = asyncio.create_task(handle())
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait((task,))
            assert task.cancelled()

    run(work)
    entries = [entry.name for entry in amqp_broker.transcript()]
    assert "basic.nack" in entries
    assert "basic.reject" not in entries


def test_transactions(amqp_broker):
    async def work():
        async with aio.connect(amqp_broker.url) as connection:
            async with connection.channel(confirms=False) as channel:
                await channel.select_tx()
                await channel.declare_queue("orders")
                await channel.publish(b"undone", routing_key="orders")
                await channel.rollback_tx()
                await channel.publish(b"done", routing_key="orders")
                await channel.commit_tx()
                assert (await channel.get("orders")).body == b"done"
            async with connection.channel() as channel:
                with pytest.raises(ValueError, match="confirms=False"):
                    await channel.select_tx()

    run(work)


def test_channels_without_confirms(amqp_broker):
    async def work():
        async with aio.connect(amqp_broker.url) as connection:
            channel = await connection.channel(confirms=False)
            await channel.declare_queue("orders")
            await channel.publish(b"one", routing_key="orders")
            await channel.publish(b"gone", routing_key="nowhere")
            with pytest.raises(ValueError, match="confirms"):
                channel.publish_nowait(b"", routing_key="orders")
            with pytest.raises(ValueError, match="confirms"):
                await channel.publish(b"", routing_key="orders", mandatory=True)

    run(work)
    assert len(amqp_broker.messages("orders", n=1)) == 1


def test_publications_in_a_window(amqp_broker):
    async def work():
        async with aio.connect(amqp_broker.url) as connection:
            channel = await connection.channel(window=50)
            await channel.declare_queue("orders")
            sends = [channel.publish(b"%d" % n, routing_key="orders") for n in range(500)]
            await asyncio.gather(*sends)
            futures = [channel.publish_nowait(b"x", routing_key="orders") for _ in range(50)]
            with pytest.raises(aio.WindowFull, match="50 publications of 50 bytes"):
                channel.publish_nowait(b"x", routing_key="orders")
            await asyncio.gather(*futures)
            assert channel.unconfirmed == 0

    run(work)
    bodies = [message.body for message in amqp_broker.messages("orders", n=550)]
    assert bodies == [*(b"%d" % n for n in range(500)), *[b"x"] * 50]


def test_each_publication_has_its_own_deadline(amqp_broker):
    async def work():
        async with aio.connect(amqp_broker.url) as connection:
            channel = await connection.channel()
            await channel.declare_queue("orders")
            amqp_broker.drop_confirm(6)
            loop = asyncio.get_running_loop()

            async def send(timeout):
                start = loop.time()
                assert isinstance(
                    await outcome(channel.publish(b"", routing_key="orders", timeout=timeout)),
                    aio.PublishUnconfirmed,
                )
                assert loop.time() - start > timeout - 0.01

            await asyncio.gather(*(send(timeout) for timeout in (0.3, 0.2, 0.5, 0.1, 0.4)))
            forever = channel.publish(b"", routing_key="orders", timeout=None)
            waiting = asyncio.create_task(outcome(forever))
            await amqp_broker.aio.published("orders", n=6)
            assert channel.unconfirmed == 6  # a place becomes free by a confirm alone
            await channel.close(timeout=0.1)
            assert isinstance(await waiting, aio.PublishUnconfirmed)

    run(work)


def test_a_refused_publication(amqp_broker):
    async def work():
        async with aio.connect(amqp_broker.url) as connection, connection.channel() as channel:
            await channel.declare_queue("orders")
            amqp_broker.nack_next()
            with pytest.raises(aio.Nacked) as caught:
                await channel.publish(b"body", routing_key="orders", message_id="m")
            error = caught.value
            assert (error.body, error.routing_key, error.exchange) == (b"body", "orders", "")
            assert error.properties.message_id == "m"
            assert "body" not in str(error)
            await channel.publish(b"after", routing_key="orders")

    run(work)


def test_flow_stops_publications(amqp_broker):
    """The broker for tests has no channel.flow of its own: the session's state is what counts."""

    async def work():
        async with aio.connect(amqp_broker.url) as connection, connection.channel() as channel:
            await channel.declare_queue("orders")
            state = channel.session._state
            state.flow_active = False
            channel._look_again()
            with pytest.raises(aio.ConnectionBlocked, match="flow"):
                channel.publish_nowait(b"", routing_key="orders")
            waiting = asyncio.create_task(channel.publish(b"", routing_key="orders"))
            await asyncio.sleep(0.02)
            assert not waiting.done()
            state.flow_active = True
            channel._look_again()
            await waiting

    run(work)


def test_logins(amqp_broker):
    async def work():
        async with aio.connect(amqp_broker.url, mechanism="AMQPLAIN", name="a name") as connection:
            assert connection.state == "open"
            assert connection.error is None
            assert connection.server_properties["product"]
            text = repr(connection)
        assert connection.state == "closed"
        return text

    assert run(work) == f"<Connection to amqp://127.0.0.1:{amqp_broker.port}, open>"


def test_the_code_of_a_broker_that_closes_in_the_handshake(amqp_broker):
    async def work():
        amqp_broker.on("connection.open").close(541, "nothing works")
        with pytest.raises(aio.ConnectFailed, match=r"amqp://.*: 541 .*nothing works") as caught:
            await aio.connect(amqp_broker.url)
        assert caught.value.reply_code == 541

    run(work)


def test_a_consumer_tag_that_is_in_use(amqp_broker):
    async def work():
        async with aio.connect(amqp_broker.url) as connection, connection.channel() as channel:
            queue = await channel.declare_queue()
            async with channel.consume(queue.name, tag="me"):
                with pytest.raises(aio.AMQPError, match="'me'"):
                    await channel.consume(queue.name, tag="me").__aenter__()

    run(work)


def test_external_is_refused_where_the_broker_does_not_offer_it(amqp_broker):
    async def work():
        with pytest.raises(aio.ConnectFailed, match="EXTERNAL"):
            await aio.connect(amqp_broker.url, mechanism="EXTERNAL")

    run(work)


def test_iteration_ends_quietly_after_the_own_close(amqp_broker):
    async def work():
        async with aio.connect(amqp_broker.url) as connection:
            channel = await connection.channel()
            queue = await channel.declare_queue()
            async with channel.consume(queue.name) as messages:

                async def iterate():
                    return [message async for message in messages]

                tasks = [asyncio.create_task(iterate()) for _ in range(3)]
                await asyncio.sleep(0.01)
                await channel.close()
                assert await asyncio.gather(*tasks) == [[], [], []]
                with pytest.raises(RuntimeError, match="once"):
                    await messages.__aenter__()
            with pytest.raises(RuntimeError, match="async with"):
                await channel.consume("orders").get()

    run(work)


def test_get_with_a_timeout_loses_nothing(amqp_broker):
    async def work():
        async with aio.connect(amqp_broker.url) as connection, connection.channel() as channel:
            queue = await channel.declare_queue()
            async with channel.consume(queue.name) as messages:
                for number in range(20):
                    with pytest.raises(TimeoutError):
                        await messages.get(timeout=0.001)
                    await channel.publish(b"%d" % number, routing_key=queue.name)
                    message = await messages.get(timeout=5)
                    assert message.body == b"%d" % number
                    await message.ack()

    run(work)


def test_profile_of_rabbitmq_4_3():
    """Its defaults are taken, clean stops count no failure, a late ack ends the consumer."""

    async def work():
        with Broker(profile="4.3") as broker:
            async with aio.connect(broker.url) as connection, connection.channel() as channel:
                await channel.declare_queue()
                limited = {"x-queue-type": "quorum", "x-delivery-limit": 2}
                await channel.declare_queue("orders", arguments=limited)
                await channel.publish(b"one", routing_key="orders")
                for _ in range(5):
                    async with channel.consume("orders"):
                        await broker.aio.unacked("orders", n=1)
                async with channel.consume("orders") as messages:
                    message = await messages.get(5)
                    assert message.redelivered
                    broker.advance(3600)
                    with pytest.raises(aio.ConsumerCancelled):
                        await messages.get(5)
                assert channel.is_open

    run(work)


def test_replies_by_direct_reply_to_are_not_mandatory(amqp_broker):
    """RabbitMQ returns what is mandatory, although the reply arrives."""

    async def work():
        async with aio.connect(amqp_broker.url) as connection, connection.channel() as channel:
            await channel.declare_queue("requests")
            async with channel.consume("amq.rabbitmq.reply-to", no_ack=True) as replies:
                await channel.publish(b"", routing_key="requests", reply_to="amq.rabbitmq.reply-to")
                request = await channel.get("requests")
                await channel.publish(b"done", routing_key=request.reply_to)
                assert (await replies.get(5)).body == b"done"
                with pytest.raises(aio.Returned):
                    await channel.publish(b"", routing_key=request.reply_to, mandatory=True)
                assert (await replies.get(5)).body == b""

    run(work)


def test_what_the_session_opened_is_left_alone(amqp_broker):
    """A user may have the session do what this client has not; its events are for nobody."""

    async def work():
        async with aio.connect(amqp_broker.url) as connection, connection.channel() as channel:
            await channel.declare_queue("orders")
            other = connection.session.open_channel()
            other.confirm()
            other.publish("", "orders", b"")
            other.publish("", "nowhere", b"", mandatory=True)
            other.consume("orders", no_ack=True)
            await connection.check()
            await amqp_broker.aio.consumers("orders", n=1)
            assert len(amqp_broker.messages("orders")) == 0
            other.close()
            await connection.check()

    run(work)
