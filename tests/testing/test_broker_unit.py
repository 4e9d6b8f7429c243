"""What the broker refuses, its clock, its asserts, and its profiles."""

from __future__ import annotations

import asyncio
import gc
import time

import pytest

from amqpcodec import v0_9_1 as amqp
from amqpcodec.testing import Broker
from amqpcodec.testing._channels import Unacked
from tests.paths import REPO
from tests.testing.probes import closes
from tests.testing.talk import Closed, Talk

# ---- what is not modelled is refused ----


@pytest.mark.parametrize(
    ("act", "text"),
    [
        (
            lambda c: c.queue("q", arguments={"x-dead-lettr-exchange": "d"}),
            "'x-dead-lettr-exchange'",
        ),
        (lambda c: c.queue("q", arguments={"x-queue-type": "stream"}), "'stream'"),
        (lambda c: c.exchange("x", arguments={"x-delayed-type": "direct"}), "'x-delayed-type'"),
        (lambda c: c.consume(c.queue("q"), arguments={"x-stream-offset": 1}), "'x-stream-offset'"),
    ],
)
def test_arguments_that_are_not_modelled(talk, act, text):
    answer = closes(lambda: act(talk().channel()))
    assert answer.startswith("channel closed: 406 PRECONDITION_FAILED - amqpcodec.testing")
    assert text in answer


def test_methods_that_are_not_modelled(talk, monkeypatch):
    from amqpcodec.testing import _requests

    monkeypatch.delitem(_requests._HANDLERS, amqp.Tx.Select)
    answer = closes(lambda: talk().channel().ask(amqp.Tx.Select()))
    assert answer == (
        "connection closed: 540 NOT_IMPLEMENTED - amqpcodec.testing does not model the method "
        "tx.select"
    )


def test_every_method_of_a_client_is_handled_or_known_to_the_session():
    from amqpcodec.testing._requests import _HANDLERS

    by_events = {
        *("basic.ack", "basic.nack", "basic.reject", "basic.publish", "basic.recover-async"),
        *("channel.open", "channel.open-ok", "channel.close", "channel.close-ok"),
        *("channel.flow-ok", "basic.cancel-ok"),
    }
    missing = {
        method.NAME
        for method in amqp.METHODS.values()
        if "client" in method.SENT_BY and not method.NAME.startswith("connection.")
    }
    assert missing - by_events - {one.NAME for one in _HANDLERS} == set()


def test_long_times_and_what_is_too_long(amqp_broker, talk):
    most = 315_360_000_000  # ten years
    channel = talk().channel().confirm()
    q = channel.queue("q", arguments={"x-expires": most, "x-message-ttl": most})
    channel.publish(b"m", q, expiration=str(most))
    assert channel.ready(q) == 1
    too_long = closes(lambda: talk().channel().queue("r", arguments={"x-expires": most + 1}))
    assert "{value_too_large,315360000001}" in too_long
    for expiration in (str(most + 1), "9" * 200):
        with pytest.raises(Closed, match="406"):
            talk().channel().confirm().publish(b"m", q, expiration=expiration)


@pytest.mark.parametrize("deaths", ["text", 5, ["text"], [{"count": "x", "queue": "q"}], None])
def test_headers_that_are_no_deaths(talk, deaths):
    channel = talk().channel().confirm()
    arguments = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "q"}
    q = channel.queue("q", arguments=arguments)
    channel.publish(b"m", q, headers={"x-death": deaths})
    channel.channel.reject(channel.get(q, no_ack=False).method.delivery_tag, requeue=False)
    death = channel.get(q, seconds=1).properties.headers["x-death"][0]
    assert (death["count"], death["reason"]) == (1, "rejected")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_defect_of_the_broker_fails_the_test(amqp_broker, talk, monkeypatch):
    from amqpcodec.testing import _requests

    def broken(channel, method, request):
        raise ZeroDivisionError

    channel = talk().channel()
    monkeypatch.setitem(_requests._HANDLERS, amqp.Tx.Select, broken)
    with pytest.raises(Closed):
        channel.ask(amqp.Tx.Select())
    with pytest.raises(RuntimeError, match="the broker's thread has failed"):
        amqp_broker.published(n=0)


# ---- the clock ----


def test_half_an_hour_without_an_acknowledgement(amqp_broker, talk):
    channel = talk().channel().confirm()
    q = channel.queue("q")
    channel.publish(b"m", q)
    channel.consume(q)
    channel.deliveries(1)
    amqp_broker.advance(1799)
    assert channel.ready(q) == 0
    amqp_broker.advance(1)
    with pytest.raises(Closed, match=r"406 .*on channel 1 timed out.*1800000 ms"):
        channel.wait_closed()
    assert [one.redelivered for one in amqp_broker.messages(q, n=1)] == [True]


def test_times_to_live(amqp_broker, talk):
    channel = talk().channel().confirm()
    arguments = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"}
    channel.queue("dead")
    channel.queue("q", arguments={**arguments, "x-message-ttl": 60_000, "x-expires": 3_600_000})
    channel.publish(b"1", "q")
    channel.publish(b"2", "q", expiration="1000")
    amqp_broker.advance(59)
    assert [one.body for one in amqp_broker.messages("q")] == [b"1", b"2"]
    amqp_broker.advance(1)
    assert [one.body for one in amqp_broker.messages("dead", n=2)] == [b"1", b"2"]
    amqp_broker.advance(3600)
    assert amqp_broker.queues() == ["dead"]


def test_retries_by_two_queues_in_no_time(amqp_broker, talk):
    """A day of a back-off by TTL and dead-lettering: each step at its own time."""
    channel = talk().channel().confirm()
    channel.queue(
        "work", arguments={"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "wait"}
    )
    channel.queue(
        "wait",
        arguments={
            "x-dead-letter-exchange": "",
            "x-dead-letter-routing-key": "work",
            "x-message-ttl": 3_600_000,
        },
    )
    channel.publish(b"m", "work")
    for number in range(24):
        message = channel.get("work", no_ack=False)
        deaths = (message.properties.headers or {}).get("x-death", [])
        assert sum(death["count"] for death in deaths) == 2 * number
        channel.channel.reject(message.method.delivery_tag, requeue=False)
        channel.talk.flush()
        amqp_broker.messages("wait", n=1)
        amqp_broker.advance(3600)
    assert channel.get("work") is not None


def test_the_clock_does_not_go_back(amqp_broker):
    with pytest.raises(ValueError, match="does not go back"):
        amqp_broker.advance(-1)


def test_heartbeats_are_in_real_time(talk):
    with Broker(heartbeat=1) as broker, Talk((broker.host, broker.port)) as one:
        assert one.opened().heartbeat == 1
        broker.advance(86400)
        one.channel().queue("q")
        begin = time.monotonic()
        broker.connections(n=0, timeout=20)
        assert time.monotonic() - begin > 1
        assert "heartbeat" in [entry.name for entry in broker.transcript(sender="server")]


# ---- asserts ----


def test_asserts_wait(amqp_broker, talk):
    import threading

    channel = talk().channel()
    q = channel.queue("q")
    threading.Timer(0.1, lambda: channel.publish(b"late", q)).start()
    (late,) = amqp_broker.published(q, timeout=5)
    assert late.body == b"late"


def test_a_failed_assert_shows_the_transcript(amqp_broker, talk):
    channel = talk(password="guest").channel()
    q = channel.queue("orders")
    channel.publish(b"{}", q, message_id="7")
    channel.ready(q)
    with pytest.raises(AssertionError) as caught:
        amqp_broker.published("orders", n=2, timeout=0.05)
    text = str(caught.value)
    assert "published('orders'): expected 2, there is 1 after 0.05 s" in text
    assert "basic.publish routing_key='orders'" in text
    assert "message_id='7'" in text
    assert "b'{}' (2 bytes)" in text
    assert "response=<not shown>" in text
    assert "guest" not in text.replace("#1", "")


def test_asserts_of_what_there_is(amqp_broker, talk):
    channel = talk().channel().confirm()
    channel.exchange("x", "topic")
    q = channel.queue("q")
    channel.bind(q, "x", "a.*")
    consumer = channel.consume(q, exclusive=True)
    channel.publish(b"m", "a.b", "x")
    (binding,) = amqp_broker.bindings("x", n=1)
    assert (binding.destination, binding.routing_key, binding.to_exchange) == (q, "a.*", False)
    (info,) = amqp_broker.consumers(q, n=1)
    assert (info.consumer_tag, info.exclusive, info.connection) == (consumer.tag, True, 1)
    (unacked,) = amqp_broker.unacked(q, n=1)
    assert (unacked.exchange, unacked.routing_key) == ("x", "a.b")
    assert amqp_broker.published("x") == amqp_broker.published("q") == amqp_broker.published()
    assert amqp_broker.channels() == [(1, 1)]
    with pytest.raises(AssertionError, match=r"unacked\(None\): expected 0, there is 1"):
        amqp_broker.assert_idle(timeout=0.05)
    channel.talk.close()
    amqp_broker.assert_idle()
    with pytest.raises(AssertionError, match="there is no such queue"):
        amqp_broker.messages("other")


def test_messages_without_a_client(amqp_broker, talk):
    amqp_broker.declare_queue("q", arguments={"x-max-length": 1})
    amqp_broker.publish(b"1", routing_key="q")
    amqp_broker.publish(b"2", routing_key="q", message_id="2")
    message = talk().channel().get("q")
    assert (message.body, message.properties.message_id) == (b"2", "2")
    with pytest.raises(ValueError, match=r"404: no exchange 'x'"):
        amqp_broker.publish(b"", exchange="x")
    with pytest.raises(ValueError, match=r"406: .*x-nothing"):
        amqp_broker.declare_queue("r", arguments={"x-nothing": 1})


def test_nothing_is_kept_of_what_was_acknowledged(talk):
    channel = talk().channel()
    queue = channel.queue("q")
    before = deliveries_in_memory()
    for _ in range(50):
        channel.publish(b"body", queue)
        channel.channel.ack(channel.get(queue, no_ack=False).method.delivery_tag)
    assert channel.ready(queue) == 0
    assert deliveries_in_memory() <= before


def deliveries_in_memory() -> int:
    gc.collect()
    return sum(type(one) is Unacked for one in gc.get_objects())


def test_waiting_in_an_event_loop_is_refused(amqp_broker):
    async def work():
        amqp_broker.published(n=0)  # without waiting it is fine
        with pytest.raises(RuntimeError, match=r"await broker\.aio\.published"):
            amqp_broker.published("q")

    asyncio.run(work())


# ---- profiles ----


def on(profile, act):
    with Broker(profile=profile) as broker, Talk((broker.host, broker.port)) as talk:
        return act(broker, talk.channel().confirm())


@pytest.mark.parametrize("profile", ["3.13", "4.0", "4.3"])
def test_transient_queues_and_global_prefetch(profile):
    def act(broker, channel):
        with Talk((broker.host, broker.port)) as other:
            first = closes(lambda: other.channel().queue("q", durable=False))
        return first, closes(lambda: channel.ask(amqp.Basic.Qos(0, 5, True)))

    queue, prefetch = on(profile, act)
    if profile == "4.3":
        assert queue.startswith(
            "connection closed: 541 INTERNAL_ERROR - Feature `transient_nonexcl"
        )
        assert prefetch.startswith("connection closed: 541 INTERNAL_ERROR - Feature `global_qos`")
    else:
        assert queue == "accepted: 'q'"
        assert prefetch == "accepted: Basic.QosOk()"


@pytest.mark.parametrize(
    ("profile", "by", "rounds"),
    [("3.13", "nack", None), ("4.0", "nack", 21), ("4.3", "nack", None), ("4.3", "reject", 21)],
)
def test_what_counts_for_the_delivery_limit(profile, by, rounds):
    def act(broker, channel):
        q = channel.queue("q", arguments={"x-queue-type": "quorum"})
        channel.publish(b"m", q)
        for number in range(1, 31):
            message = channel.get(q, no_ack=False)
            getattr(channel.channel, by)(message.method.delivery_tag, requeue=True)
            if not channel.ready(q):
                return number
        return None

    assert on(profile, act) == rounds


def test_late_consumers_are_cancelled_since_4_3():
    def act(broker, channel):
        q = channel.queue("q")
        channel.publish(b"m", q)
        consumer = channel.consume(q)
        channel.deliveries(1)
        broker.advance(1801)
        channel.talk.until(lambda: not consumer.active)
        broker.messages(q, n=1)
        return channel.ready(q)

    assert on("4.3", act) == 1


def test_unknown_profile():
    with pytest.raises(ValueError, match=r"no profile '2.0'; there are 3\.13, 4\.0, 4\.3"):
        Broker(profile="2.0")


# ---- options ----


def test_users_hosts_and_limits():
    options = {"users": {"me": "secret"}, "virtual_hosts": ("/", "other"), "frame_max": 8192}
    with Broker(**options, channel_max=3) as broker:
        assert broker.url.startswith("amqp://me:secret@127.0.0.1:")
        where = (broker.host, broker.port)
        with Talk(where, username="me", password="secret", virtual_host="other") as talk:
            assert (talk.opened().frame_max, talk.opened().channel_max) == (8192, 3)
            talk.channel().queue("q")
            assert broker.queues() == []
            assert broker.queues(virtual_host="other") == ["q"]
            broker.users["me"] = "new"
            request = talk.session.update_secret(b"new")
            talk.until(lambda: request.done)
        with pytest.raises((Closed, OSError)):
            Talk(where, username="me", password="secret")


def test_importing_the_package_does_not_import_it():
    import subprocess
    import sys

    code = (
        "import amqpcodec, sys; print([m for m in sys.modules if 'testing' in m or m == 'pytest'])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_pytest_finds_the_fixtures():
    import importlib
    import tomllib

    project = tomllib.loads((REPO / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    plugin = importlib.import_module(project["entry-points"]["pytest11"]["amqpcodec"])
    assert set(plugin.__all__) == {"amqp_broker", "amqp_broker_session"}
