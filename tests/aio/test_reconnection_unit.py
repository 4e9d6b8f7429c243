"""One connection after the other: pitfalls 1, 12 to 15 and 24, and their sweeps."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading

import pytest

from amqpcodec import aio
from amqpcodec.testing import Broker, tls_contexts
from tests.aio.runs import Stopwatch, outcome, run

pytestmark = pytest.mark.filterwarnings("error")

AT_ONCE = aio.Backoff(first=0.001, most=0.01)
FAULTS = ["reset", "eof"]
BODIES = [b"%d" % number for number in range(5)]


async def consume_all(broker, taken):
    """A service: takes messages of two queues until all were there once."""

    def is_done(queue):
        return {(queue, body) for body in BODIES} <= {one[:2] for one in taken}

    async def take(channel, queue):
        if is_done(queue):
            return
        async with channel.consume(queue, prefetch=2) as messages:
            async for message in messages:
                async with message.process():
                    taken.append((queue, message.body, message.redelivered))
                if is_done(queue):
                    assert len(broker.consumers(queue)) <= 1
                    return

    async for connection in aio.connections(broker.url, backoff=AT_ONCE, timeout=5):
        try:
            async with connection, connection.channel() as channel:
                for queue in ("one", "two"):
                    await channel.declare_queue(queue)
                    await take(channel, queue)
                return
        except aio.ConnectionLost:
            continue


# ---- 1: a publish through a restart of the broker ----


async def iterate(found):
    """What a service does that only publishes: connect, and connect again."""
    async for connection in found:
        async with connection:
            await connection.wait_closed()


async def lose(broker, found):
    """The connection that there is ends, and the broker is away."""
    broker.refuse_connections()
    broker.reset_connections()
    await found._connection.wait_closed()


@contextlib.asynccontextmanager
async def service(found):
    """The service runs, and is cancelled at the end."""
    task = asyncio.create_task(iterate(found))
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait((task,))


def test_1_a_publish_waits_for_the_next_connection(amqp_broker):
    amqp_broker.declare_queue("orders")

    async def work():
        found = aio.connections(amqp_broker.url, backoff=AT_ONCE)
        async with service(found):
            await found.publish(b"first", routing_key="orders")  # waits for the first one, too
            await lose(amqp_broker, found)
            waiting = asyncio.create_task(found.publish(b"second", routing_key="orders"))
            await asyncio.sleep(0.1)
            assert not waiting.done()
            amqp_broker.accept_connections()
            await waiting

    run(work)
    assert [one.body for one in amqp_broker.messages("orders")] == [b"first", b"second"]


def test_1_a_publish_waits_no_longer_than_its_timeout(amqp_broker):
    amqp_broker.declare_queue("orders")

    async def work():
        found = aio.connections(amqp_broker.url, backoff=AT_ONCE)
        with pytest.raises(aio.ConnectionLost, match=r"within 0\.1 s.*not sent"):
            await found.publish(b"", routing_key="orders", timeout=0.1)  # nobody connects
        async with service(found):
            await found.publish(b"", routing_key="orders")
            await lose(amqp_broker, found)
            with pytest.raises(aio.ConnectionLost, match=r"within 0\.2 s"):
                await found.publish(b"", routing_key="orders", timeout=0.2)
            amqp_broker.accept_connections()
            await found.publish(b"", routing_key="orders")
            amqp_broker.on("basic.publish").freeze()
            with pytest.raises(aio.PublishUnconfirmed, match="in time"):
                await found.publish(b"", routing_key="orders", timeout=0.2)
            amqp_broker.thaw()

    run(work)


def test_1_a_publish_hears_that_there_will_be_no_connection(amqp_broker):
    async def work():
        found = aio.connections(amqp_broker.url, password="wrong")
        waiting = asyncio.create_task(found.publish(b"", routing_key="orders"))
        await asyncio.sleep(0)
        with pytest.raises(aio.AuthenticationFailed):
            await anext(found)
        with pytest.raises(aio.ConnectionLost, match="ACCESS_REFUSED") as caught:
            await waiting
        assert isinstance(caught.value.__cause__, aio.AuthenticationFailed)

    run(work)


@pytest.mark.parametrize("fault", FAULTS)
def test_1_publications_of_all_connections(amqp_broker, fault):
    """Cut at every frame: none fails but by PublishUnconfirmed, none is there twice."""
    unconfirmed = 0
    for point in amqp_broker.every_frame(fault):
        amqp_broker.declare_queue("orders")

        async def work():
            found = aio.connections(amqp_broker.url, backoff=AT_ONCE, timeout=5)
            async with service(found):
                sends = [found.publish(b"%d" % n, routing_key="orders") for n in range(10)]
                ends = await asyncio.gather(*(outcome(send) for send in sends))
                ends.append(await outcome(found.publish(b"10", routing_key="orders")))
                return ends

        ends = run(work, collect=not point.number % 10)
        arrived = [message.body for message in amqp_broker.messages("orders")]
        assert len(arrived) == len(set(arrived)), str(point)
        for number, end in enumerate(ends):
            if end is None:
                assert b"%d" % number in arrived, str(point)
            else:
                assert type(end) is aio.PublishUnconfirmed, str(point)
                unconfirmed += 1
    assert ends == [None] * 11
    assert unconfirmed > 10


# ---- 12 to 15: what a recovery sets up ----


@pytest.mark.parametrize("fault", FAULTS)
def test_12_each_recovery_is_whole(amqp_broker, fault):
    """Lost once, and again at each frame of both connections: all messages come, none is left."""
    runs = 0
    for point in amqp_broker.every_frame(fault):
        for queue in ("one", "two"):
            amqp_broker.declare_queue(queue)
            for body in BODIES:
                amqp_broker.publish(body, routing_key=queue)
        amqp_broker.on("basic.ack", n=3).reset()
        taken = []
        run(lambda taken=taken: consume_all(amqp_broker, taken), collect=not runs % 10)
        runs += 1
        for queue in ("one", "two"):
            amqp_broker.consumers(queue, n=0)
            bodies = [body for where, body, _ in taken if where == queue]
            assert set(bodies) == set(BODIES), str(point)
        seen = set()
        for where, body, redelivered in taken:
            assert redelivered or (where, body) not in seen, str(point)  # a copy says so
            seen.add((where, body))
    assert runs > 60


@pytest.mark.parametrize("fault", FAULTS)
def test_12_publications_are_told_and_never_sent_again(amqp_broker, fault):
    """A publisher that goes on with the next: what is confirmed is there, once."""
    unconfirmed = 0
    for point in amqp_broker.every_frame(fault):
        amqp_broker.declare_queue("orders")
        ends = {}

        async def work(ends=ends):
            async for connection in aio.connections(amqp_broker.url, backoff=AT_ONCE, timeout=5):
                try:
                    async with connection, connection.channel() as channel:
                        for body in BODIES:
                            if body not in ends:
                                ends[body] = await outcome(
                                    channel.publish(body, routing_key="orders")
                                )
                        return
                except aio.ConnectionLost:
                    continue

        run(work, collect=not point.number % 10)
        arrived = [message.body for message in amqp_broker.messages("orders")]
        assert len(arrived) == len(set(arrived)), str(point)
        for body in BODIES:
            if ends[body] is None:
                assert body in arrived, str(point)
            elif isinstance(ends[body], aio.PublishUnconfirmed):
                unconfirmed += 1
            else:
                assert isinstance(ends[body], aio.ConnectionLost)
                assert body not in arrived, str(point)
    assert list(ends.values()) == [None] * len(BODIES)
    assert unconfirmed >= len(BODIES)


def test_13_nothing_is_there_twice_or_after_the_end(amqp_broker):
    def made():
        return len([entry for entry in amqp_broker.transcript() if "connected" in str(entry)])

    async def work():
        losses = 0
        async for connection in aio.connections(amqp_broker.url, backoff=AT_ONCE):
            try:
                async with connection, connection.channel() as channel:
                    queue = await channel.declare_queue()
                    async with channel.consume(queue.name) as messages:
                        await amqp_broker.aio.consumers(queue.name, n=1)
                        if losses == 5:
                            break
                        losses += 1
                        amqp_broker.reset_connections()
                        await messages.get()
            except aio.ConnectionLost:
                continue
        before = made()
        assert connection.state == "closed"
        await asyncio.sleep(0.05)
        assert made() == before == 6

    run(work)


def test_13_the_connection_before_is_closed(amqp_broker):
    async def work():
        old = []
        async for connection in aio.connections(amqp_broker.url, backoff=AT_ONCE):
            assert [one.state for one in old] == ["closed"] * len(old)
            if len(old) == 3:
                await connection.close()
                return
            old.append(connection)

    run(work)


def test_14_exclusive_queues_of_the_old_connection(amqp_broker):
    """Without heartbeats no broker notices: 405. A queue without a name gets a new one."""
    names = []

    async def work():
        refusals = 0
        old = await aio.connect(amqp_broker.url)
        channel = await old.channel()
        await channel.declare_queue("mine", exclusive=True)
        async for connection in aio.connections(amqp_broker.url, backoff=AT_ONCE, heartbeat=0):
            try:
                async with connection, connection.channel() as channel:
                    names.append((await channel.declare_queue()).name)
                    await channel.bind_queue(names[-1], "amq.fanout", "")
                    async with channel.consume(names[-1]) as messages:
                        await channel.declare_queue("mine", exclusive=True)
                        await channel.publish(b"", exchange="amq.fanout", routing_key="")
                        await messages.get(5)
                        break
            except aio.ResourceLocked:
                refusals += 1
                if refusals == 5:
                    await old.close()
        return refusals

    assert run(work) == 5
    assert len(set(names)) == 6


def test_14_the_lock_of_the_connection_before_is_waited_for(amqp_broker):
    """For two heartbeats RabbitMQ may not have noticed the loss."""

    async def work():
        loop = asyncio.get_running_loop()
        old = await aio.connect(amqp_broker.url)
        async with old.channel() as channel:
            await channel.declare_queue("mine", exclusive=True)
        found = aio.connections(amqp_broker.url, backoff=AT_ONCE, heartbeat=10)
        async with (await anext(found)).channel() as channel:
            with pytest.raises(aio.ResourceLocked):  # the first connection lost none
                await channel.declare_queue("mine", exclusive=True)
        connection = await anext(found)
        async with connection.channel() as channel:
            with Stopwatch() as watch:
                loop.call_later(0.3, asyncio.ensure_future, old.close())
                declared = await channel.declare_queue("mine", exclusive=True)
            assert watch.seconds > 0.2
            assert declared == ("mine", 0, 0)
            await channel.publish(b"", routing_key="mine")  # the refusals closed other channels
            assert len(connection.session.channels) == 1
        await connection.close()
        await old.wait_closed()

    run(work)


def test_14_a_lock_that_stays_is_an_error_after_two_heartbeats(amqp_broker):
    async def work():
        old = await aio.connect(amqp_broker.url)
        async with old.channel() as channel:
            await channel.declare_queue("mine", exclusive=True)
        found = aio.connections(amqp_broker.url, backoff=AT_ONCE, heartbeat=1)
        await anext(found)
        connection = await anext(found)
        async with connection.channel() as channel:
            with Stopwatch() as watch, pytest.raises(aio.ResourceLocked):
                await channel.declare_queue("mine", exclusive=True)
            assert watch.seconds > 1.5
        await connection.close()
        await old.close()

    run(work)


def test_15_other_arguments_are_told_once(amqp_broker):
    errors = []

    async def work():
        arguments = {}
        async for connection in aio.connections(amqp_broker.url, backoff=AT_ONCE):
            try:
                async with connection:
                    try:
                        async with connection.channel() as channel:
                            await channel.declare_queue("orders", arguments=arguments)
                    except aio.PreconditionFailed as error:
                        errors.append(error)
                    async with connection.channel() as channel:
                        await channel.declare_queue("other")
                        await channel.publish(b"", routing_key="other")
                        if arguments:
                            return
                        arguments = {"x-max-length": 7}
                        amqp_broker.reset_connections()
                        await connection.wait_closed()
                        await channel.publish(b"", routing_key="other")
            except aio.ConnectionLost:
                continue

    run(work)
    assert [error.reply_code for error in errors] == [406]
    assert len(amqp_broker.messages("other")) == 2


# ---- 24: all clients reconnect at once ----


class Ahead(asyncio.SelectorEventLoop):
    """Its clock runs ahead by what was slept."""

    ahead = 0.0

    def time(self):
        return super().time() + self.ahead


def test_24_waits_are_random_double_and_begin_anew(monkeypatch):
    bounds = []

    async def sleep(seconds):
        asyncio.get_running_loop().ahead += seconds

    def uniform(low, high):
        assert low == 0
        bounds.append(high)
        return high

    async def work(broker):
        loop = asyncio.get_running_loop()
        broker.end_next_connections(7)
        found = aio.connections(broker.url)
        await anext(found)
        assert bounds == [1, 2, 4, 8, 16, 30, 30]
        await anext(found)
        assert bounds[7:] == [30]
        loop.ahead += 61
        await anext(found)
        assert bounds[8:] == [1]
        await (await anext(found)).close()
        assert bounds[9:] == [2]

    monkeypatch.setattr(asyncio, "sleep", sleep)
    monkeypatch.setattr("random.uniform", uniform)
    with Broker(heartbeat=0) as broker, asyncio.Runner(loop_factory=Ahead) as runner:
        runner.run(work(broker))


def test_24_waits_differ():
    waits = [aio.Backoff().delay(3) for _ in range(100)]
    assert len(set(waits)) > 90
    assert all(0 <= wait <= 4 for wait in waits)
    assert aio.Backoff().delay(10_000) <= 30
    with pytest.raises(ValueError, match="below 0"):
        aio.Backoff(first=-1)


# ---- what ends the attempts ----


def test_what_is_final_is_raised(amqp_broker):
    pytest.importorskip("cryptography")
    server, _, _ = tls_contexts()
    _, trusting, _ = tls_contexts()

    async def work():
        with pytest.raises(aio.AuthenticationFailed):
            await anext(aio.connections(amqp_broker.url, password="wrong"))
        with pytest.raises(aio.VirtualHostRefused):
            await anext(aio.connections(amqp_broker.url, virtual_host="none"))
        with Broker(tls=server) as other, pytest.raises(aio.ConnectFailed) as caught:
            await anext(aio.connections(other.url, ssl=trusting))
        assert caught.value.is_final

    run(work)


def test_another_version_is_final():
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        peer, _ = listener.accept()
        with peer:
            peer.recv(8)
            peer.sendall(b"AMQP\x00\x01\x00\x00")

    thread = threading.Thread(target=serve)
    thread.start()

    async def work():
        with pytest.raises(aio.ConnectFailed, match=r"it names 1\.0"):
            await anext(aio.connections(f"amqp://127.0.0.1:{listener.getsockname()[1]}/"))

    with listener:
        run(work)
        thread.join(5)


def test_attempts_can_be_bounded_and_cancelled(amqp_broker):
    amqp_broker.refuse_connections()

    async def work():
        found = aio.connections(amqp_broker.url, backoff=AT_ONCE)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await anext(found)
        amqp_broker.accept_connections()
        await (await anext(found)).close()

    run(work)


def test_one_task_waits_for_the_next(amqp_broker):
    async def work():
        found = aio.connections(amqp_broker.url)
        first = asyncio.create_task(anext(found))
        await asyncio.sleep(0)
        with pytest.raises(RuntimeError, match="another task"):
            await anext(found)
        await (await first).close()

    run(work)


def test_wrong_options():
    with pytest.raises(ValueError, match="scheme"):
        aio.connections("http://h")
    for begin in (aio.connect, aio.connections):
        with pytest.raises(TypeError, match="'hartbeat'"):
            begin("amqp://h", hartbeat=1)
