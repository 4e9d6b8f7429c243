"""py-amqp and kombu on top of it: every operation."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.dropins.live.conftest import BODIES, HEADERS, SHORT, same

amqp = pytest.importorskip("amqp")
QUEUE, OTHER, EXCHANGE, SECOND = "compat.amqp", "compat.amqp.2", "compat.amqp.x", "compat.amqp.y"


def connect(broker: tuple[str, int], **options: Any) -> Any:
    connection = amqp.Connection(f"{broker[0]}:{broker[1]}", **options)
    connection.connect()
    return connection


def message(body: Any) -> Any:
    return amqp.Message(
        body,
        content_type="text/plain",
        application_headers=HEADERS,
        delivery_mode=1,
        priority=3,
        correlation_id="c-1",
        reply_to="answers",
        expiration="60000",
        message_id="m-1",
        timestamp=1_700_000_000,
        type="kind",
        user_id="guest",
        app_id="tests",
    )


def shown(message: Any) -> Any:
    """What a received message holds."""
    if message is None:
        return None
    info = {
        name: value for name, value in (message.delivery_info or {}).items() if name != "channel"
    }
    return message.body, message.properties, info


def refused(call: Any) -> Any:
    with pytest.raises(amqp.AMQPError) as info:
        call()
    return type(info.value).__name__, info.value.args


def test_every_operation(broker: tuple[str, int]) -> None:
    def session() -> list[Any]:
        results: list[Any] = []
        tell = results.append
        with connect(broker, client_properties=SHORT) as connection:
            channel = connection.channel()
            for name in (QUEUE, OTHER):
                channel.queue_delete(name)
            for name in (EXCHANGE, SECOND):
                channel.exchange_delete(name)
            tell(channel.exchange_declare(EXCHANGE, "topic", auto_delete=False))
            tell(channel.exchange_declare(EXCHANGE, "topic", passive=True))
            tell(channel.exchange_declare(SECOND, "headers", durable=True, auto_delete=False))
            tell(channel.exchange_bind(SECOND, EXCHANGE, "a.#", arguments={"x-match": "any"}))
            tell(channel.exchange_unbind(SECOND, EXCHANGE, "a.#", arguments={"x-match": "any"}))
            tell(channel.queue_declare(QUEUE, arguments={"x-max-length": 1000}, auto_delete=False))
            tell(channel.queue_declare(OTHER, durable=True, exclusive=True))
            tell(channel.queue_bind(QUEUE, EXCHANGE, "key.*", arguments={"an": "argument"}))
            tell(channel.queue_unbind(QUEUE, EXCHANGE, "key.*", arguments={"an": "argument"}))
            tell(channel.queue_bind(QUEUE, EXCHANGE, "key.*"))
            returned: list[Any] = []
            channel.events["basic_return"].add(
                lambda *answer: returned.append((repr(answer[0]), answer[1:3], shown(answer[3])))
            )
            channel.basic_publish(message("back"), EXCHANGE, "nowhere", mandatory=True)
            try:
                connection.drain_events(timeout=0.5)
            except TimeoutError:
                pass
            tell(returned)
            for body in [*BODIES, "größe"]:
                channel.basic_publish(message(body), EXCHANGE, "key.a")
            while (declared := channel.queue_declare(QUEUE, passive=True)).message_count < 6:
                time.sleep(0.01)  # not confirmed: the broker may still be at it
            tell(declared)
            for _ in range(len(BODIES) + 1):
                answer = channel.basic_get(QUEUE)
                tell(shown(answer))
                channel.basic_ack(answer.delivery_tag)
            tell(shown(channel.basic_get(QUEUE)))
            tell(channel.basic_qos(0, 20, False))
            got: list[Any] = []

            def on_message(one: Any) -> None:
                got.append(shown(one))
                if one.delivery_info["redelivered"]:
                    channel.basic_ack(one.delivery_tag)
                else:
                    channel.basic_reject(one.delivery_tag, requeue=True)

            channel.basic_consume(QUEUE, "tag", callback=on_message, arguments={"x-a": [1]})
            confirming = connection.channel()
            confirming.confirm_select()
            for body in BODIES:
                tell(confirming.basic_publish_confirm(message(body), "", QUEUE))
            deadline = time.monotonic() + 10
            while len(got) < 2 * len(BODIES) and time.monotonic() < deadline:
                connection.drain_events(timeout=5)
            tell(sorted(len(delivery[0]) for delivery in got))
            tell(sorted(repr(delivery[1]) for delivery in got))
            tell(channel.basic_cancel("tag"))
            tell(channel.basic_recover(requeue=True))
            tell(channel.queue_purge(QUEUE))
            tell(channel.flow(True))
            transacted = connection.channel()
            tell(transacted.tx_select())
            transacted.basic_publish(message("rolled back"), "", QUEUE)
            tell(transacted.tx_rollback())
            transacted.basic_publish(message("committed"), "", QUEUE)
            tell(transacted.tx_commit())
            tell(shown(transacted.basic_get(QUEUE, no_ack=True)))
            transacted.close()
            for call in (
                lambda one: one.queue_declare("no such queue", passive=True),
                lambda one: one.exchange_declare(EXCHANGE, "fanout"),
                lambda one: one.queue_bind(QUEUE, "no such exchange"),
                lambda one: one.queue_declare("amq.reserved"),
            ):
                failing = connection.channel()
                tell(refused(lambda call=call, failing=failing: call(failing)))
            tell(channel.queue_delete(QUEUE))
            tell(channel.exchange_delete(EXCHANGE))
            channel.exchange_delete(SECOND)
            tell(connection.server_properties["product"])
            tell((connection.frame_max, connection.channel_max, connection.heartbeat))
            channel.close()
        return results

    results = same("amqp", session)
    assert len(results) > 40


def test_heartbeats_and_refused_login(broker: tuple[str, int]) -> None:
    def session() -> list[Any]:
        results = [
            refused(lambda: connect(broker, password="wrong")),
            refused(lambda: connect(broker, virtual_host="no such")),
        ]
        with connect(broker, heartbeat=2) as connection:
            channel = connection.channel()
            names = [channel.queue_declare("", exclusive=True)[1:] for _ in range(20)]
            for _ in range(8):
                time.sleep(0.5)
                connection.heartbeat_tick(rate=2)
                try:
                    connection.drain_events(timeout=0.01)
                except TimeoutError:
                    pass
            results += [names, connection.connected]
        return results

    assert same("amqp", session)[-1] is True


def test_kombu(broker: tuple[str, int]) -> None:
    kombu = pytest.importorskip("kombu")

    def session() -> list[Any]:
        results: list[Any] = []
        exchange = kombu.Exchange("compat.kombu.x", "direct", durable=False, auto_delete=True)
        queue = kombu.Queue("compat.kombu", exchange, "key", durable=False, auto_delete=True)
        url = f"pyamqp://guest:guest@{broker[0]}:{broker[1]}//"
        with kombu.Connection(url, heartbeat=10) as connection:

            def on_message(body: Any, message: Any) -> None:
                results.append((body, message.properties, message.headers, message.content_type))
                message.ack()

            with connection.Consumer(queue, callbacks=[on_message], accept=["json", "pickle"]):
                producer = connection.Producer(serializer="json")
                for number in range(60):
                    producer.publish(
                        {"number": number, "text": "größe" * (number * 50)},
                        exchange=exchange,
                        routing_key="key",
                        headers={"n": number, "deep": {"list": [1, None, "x"]}},
                        compression="zlib" if number % 2 else None,
                        serializer="pickle" if number % 5 == 0 else "json",
                        declare=[queue],
                        priority=number % 10,
                        expiration=60,
                    )
                while len(results) < 60:
                    connection.drain_events(timeout=5)
            simple = connection.SimpleQueue("compat.kombu.simple", queue_opts={"durable": False})
            simple.put({"a": [1, 2.5, None]})
            last = simple.get(timeout=5)
            results.append(last.payload)
            last.ack()
            simple.close()
            simple.queue.delete()
        return results

    results = same("amqp", session)
    assert [result[0]["number"] for result in results[:60]] == list(range(60))
