"""pika, blocking and with callbacks: every operation."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.dropins.live.conftest import BODIES, HEADERS, SHORT, same

pika = pytest.importorskip("pika")
QUEUE, OTHER, EXCHANGE, SECOND = "compat.pika", "compat.pika.2", "compat.pika.x", "compat.pika.y"


def parameters(broker: tuple[str, int], **options: Any) -> Any:
    return pika.ConnectionParameters(*broker, **options)


def properties(**options: Any) -> Any:
    return pika.BasicProperties(
        content_type="text/plain",
        content_encoding="utf-8",
        headers=HEADERS,
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
        cluster_id="",
        **options,
    )


def refused(call: Any) -> Any:
    """How the broker refuses something: the exception's type, code and text."""
    with pytest.raises(pika.exceptions.AMQPError) as info:
        call()
    return type(info.value).__name__, info.value.args


def test_blocking(broker: tuple[str, int]) -> None:
    def session() -> list[Any]:
        results: list[Any] = []
        tell = results.append
        with pika.BlockingConnection(parameters(broker, client_properties=SHORT)) as connection:
            channel = connection.channel()
            for name in (QUEUE, OTHER):
                channel.queue_delete(name)
            for name in (EXCHANGE, SECOND):
                channel.exchange_delete(name)
            tell(channel.exchange_declare(EXCHANGE, "topic", arguments={"x-one": "two"}))
            tell(channel.exchange_declare(EXCHANGE, passive=True))
            tell(channel.exchange_declare(SECOND, "headers", durable=True))
            tell(channel.exchange_bind(SECOND, EXCHANGE, "a.#", {"x-match": "any", "n": 1}))
            tell(channel.exchange_unbind(SECOND, EXCHANGE, "a.#", {"x-match": "any", "n": 1}))
            tell(channel.queue_declare(QUEUE, arguments={"x-max-length": 1000, "x-odd": HEADERS}))
            tell(channel.queue_declare(OTHER, durable=True, exclusive=True, auto_delete=True))
            tell(channel.queue_bind(QUEUE, EXCHANGE, "key.*", {"an": "argument"}))
            tell(channel.queue_unbind(QUEUE, EXCHANGE, "key.*", {"an": "argument"}))
            tell(channel.queue_bind(QUEUE, EXCHANGE, "key.*"))
            returned: list[Any] = []
            channel.add_on_return_callback(lambda *response: returned.append(response[1:]))
            channel.basic_publish(EXCHANGE, "nowhere", b"back", properties(), mandatory=True)
            connection.process_data_events(0.3)
            tell(returned)
            for body in BODIES:
                channel.basic_publish(EXCHANGE, "key.a", body, properties())
            while (declared := channel.queue_declare(QUEUE, passive=True)).method.message_count < 5:
                time.sleep(0.01)  # not confirmed: the broker may still be at it
            tell(declared)
            for _ in BODIES:
                response = channel.basic_get(QUEUE)
                tell(response)
                channel.basic_ack(response[0].delivery_tag)
            tell(channel.basic_get(QUEUE))
            channel.confirm_delivery()
            for body in BODIES:
                tell(channel.basic_publish("", QUEUE, body, properties()))
            with pytest.raises(pika.exceptions.UnroutableError) as info:
                channel.basic_publish("", "no such queue", b"x", properties(), mandatory=True)
            tell(
                [
                    (returned_message.method, returned_message.properties, returned_message.body)
                    for returned_message in info.value.messages
                ]
            )
            tell(channel.basic_qos(prefetch_count=2, global_qos=True))
            tell(channel.basic_qos(prefetch_count=0))
            got: list[Any] = []

            def on_message(own: Any, *message: Any) -> None:
                got.append(message)
                tag = message[0].delivery_tag
                if message[0].redelivered:
                    own.basic_ack(tag)
                elif len(got) % 3 == 0:
                    own.basic_reject(tag)
                else:
                    own.basic_nack(tag, requeue=True)

            channel.basic_consume(QUEUE, on_message, consumer_tag="tag", arguments={"x-a": [1]})
            deadline = time.monotonic() + 10
            while sum(m[0].redelivered for m in got) < len(BODIES) and time.monotonic() < deadline:
                connection.process_data_events(0.1)
            tell(sorted((len(m[2]), m[1].headers["small"], m[0].consumer_tag) for m in got))
            tell(channel.basic_cancel("tag"))
            channel.basic_publish("", QUEUE, b"again", properties())
            for method, props, body in channel.consume(QUEUE, inactivity_timeout=3):
                tell((method.routing_key, props, body))
                break
            tell(channel.cancel())
            tell(channel.basic_recover(requeue=True))
            tell(channel.queue_purge(QUEUE).method.NAME)
            tell(channel.flow(True))
            transacted = connection.channel()
            tell(transacted.tx_select())
            transacted.basic_publish("", QUEUE, b"rolled back")
            tell(transacted.tx_rollback())
            transacted.basic_publish("", QUEUE, b"committed")
            tell(transacted.tx_commit())
            tell(transacted.basic_get(QUEUE, auto_ack=True))
            transacted.close()
            tell(connection.update_secret("new secret", "because"))
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
            channel.close()
        return results

    results = same("pika", session)
    assert len(results) > 40


def test_refused_login(broker: tuple[str, int]) -> None:
    def session() -> list[Any]:
        wrong = pika.PlainCredentials("guest", "wrong")
        wrong_password = refused(
            lambda: pika.BlockingConnection(parameters(broker, credentials=wrong))
        )
        missing = refused(
            lambda: pika.BlockingConnection(parameters(broker, virtual_host="no such"))
        )
        again = []
        for _ in range(4):
            with pika.BlockingConnection(parameters(broker)) as connection:
                again.append(connection.channel().queue_declare("", exclusive=True).method.NAME)
        return [wrong_password, missing, again]

    same("pika", session)


def test_heartbeats(broker: tuple[str, int]) -> None:
    def session() -> list[Any]:
        with pika.BlockingConnection(parameters(broker, heartbeat=1)) as connection:
            channel = connection.channel()
            names = [channel.queue_declare("", exclusive=True).method.NAME for _ in range(30)]
            end = time.monotonic() + 3.5
            while time.monotonic() < end:
                connection.process_data_events(0.2)
            return [names, connection.is_open]

    assert same("pika", session)[1] is True


def test_callbacks(broker: tuple[str, int]) -> None:
    """SelectConnection: publish with confirms, consume, close; all by callbacks."""
    total = 300

    def session() -> list[Any]:
        got: list[Any] = []
        confirmed: list[Any] = []
        closed: list[Any] = []

        def on_message(channel: Any, method: Any, props: Any, body: bytes) -> None:
            got.append((method, props, body))
            channel.basic_ack(method.delivery_tag)
            if len(got) == total:
                channel.connection.close()

        def on_declared(frame: Any, channel: Any) -> None:
            channel.confirm_delivery(lambda one: confirmed.append(one.method))
            channel.basic_consume(QUEUE, on_message, consumer_tag="tag")
            for number in range(total):
                body = BODIES[number % 4] + str(number).encode()
                channel.basic_publish("", QUEUE, body, properties())

        def on_channel(channel: Any) -> None:
            channel.queue_declare(
                QUEUE, exclusive=True, callback=lambda frame: on_declared(frame, channel)
            )

        connection = pika.SelectConnection(
            parameters(broker),
            on_open_callback=lambda one: one.channel(on_open_callback=on_channel),
            on_open_error_callback=lambda one, error: (closed.append(error), one.ioloop.stop()),
            on_close_callback=lambda one, error: (closed.append(error.args), one.ioloop.stop()),
        )
        connection.ioloop.call_later(30, connection.ioloop.stop)
        connection.ioloop.start()
        kinds = {type(confirmation).__name__ for confirmation in confirmed}
        last = max((confirmation.delivery_tag for confirmation in confirmed), default=0)
        return [*got, kinds, last > 0, closed]

    results = same("pika", session)
    bodies = [message[2] for message in results[:total]]
    assert bodies == [BODIES[n % 4] + str(n).encode() for n in range(total)]
