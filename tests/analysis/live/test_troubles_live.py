"""Troubles made with RabbitMQ, recorded beside its own answer: what diagnose says of them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("duckdb")
pytest.importorskip("pika")

import pika

from amqpcodec import analysis
from tests.live_broker import address
from tests.paths import REPO
from tests.support.event_talk import write
from tests.support.finding_talks import false_findings
from tests.support.tunnel import Tunnel

#: A program of its own, which a test can kill: it connects as `name`, and runs `code`.
PROGRAM = """
import os, sys, time, pika
port, name, code = sys.argv[1:]
parameters = pika.ConnectionParameters(
    "127.0.0.1", int(port), client_properties={"connection_name": name}, heartbeat=0)
connection = pika.BlockingConnection(parameters)
channel = connection.channel()
exec(code)
"""


@pytest.fixture
def tunnel() -> Iterator[Tunnel]:
    with Tunnel(address()) as made:
        yield made


@pytest.fixture
def queue(tunnel: Tunnel) -> Iterator[str]:
    """A queue that the recording sees being declared, empty."""
    name = f"troubles-{os.getpid()}-{time.monotonic_ns()}"
    with connect(tunnel, "declarer") as connection:
        connection.channel().queue_declare(name)
    yield name
    host, port = address()
    with pika.BlockingConnection(pika.ConnectionParameters(host, port)) as connection:
        connection.channel().queue_delete(name)


def connect(tunnel: Tunnel, name: str, **options: Any) -> Any:
    return pika.BlockingConnection(
        pika.ConnectionParameters(
            "127.0.0.1", tunnel.port, client_properties={"connection_name": name}, **options
        )
    )


def program(tunnel: Tunnel, name: str, code: str) -> None:
    """Run code in a process of its own, which may end as it likes."""
    words = [sys.executable, "-c", PROGRAM, str(tunnel.port), name, code]
    subprocess.run(words, check=False, timeout=60)


def ctl(*words: str) -> str:
    if "AMQPCODEC_BROKER_DIR" not in os.environ:
        pytest.skip("needs rabbitmqctl of scripts/broker.py")
    script = REPO / "scripts" / "broker.py"
    run = subprocess.run(
        [sys.executable, script, "ctl", "--", *words], check=True, capture_output=True, text=True
    )
    return run.stdout


def depth(queue: str) -> tuple[int, int]:
    """Messages of a queue that are ready, and unacknowledged, as the broker says."""
    names = "name", "messages_ready", "messages_unacknowledged"
    for line in ctl("-q", "list_queues", *names).splitlines():
        name, *numbers = line.split()
        if name == queue:
            ready, waiting = map(int, numbers)
            return ready, waiting
    raise AssertionError(f"the broker has no queue {queue}")


def log() -> str:
    """All that the broker has written into its log."""
    if "AMQPCODEC_BROKER_DIR" not in os.environ:
        pytest.skip("needs the log of scripts/broker.py")
    folder = Path(os.environ["AMQPCODEC_BROKER_DIR"])
    return "".join(path.read_text() for path in sorted(folder.rglob("broker.log")))


def consumers(queue: str) -> list[tuple[str, str]]:
    """(tag, how its messages are settled) of each consumer, as the broker says."""
    rows = []
    names = "queue_name", "consumer_tag", "ack_required"
    for line in ctl("-q", "list_consumers", "--no-table-headers", *names).splitlines():
        name, tag, acknowledges = line.split("\t")
        if name == queue:
            rows.append((tag, "manual" if acknowledges == "true" else "automatic"))
    return sorted(rows)


#: What findings begin with, and what the log says of each of them.
LOGGED = {
    "channel closed with an error": "caused a channel exception",
    "connection closed with an error": "caused a connection exception",
    "connection refused": "login refused",
    "heartbeat missed": "missed heartbeats from client",
    "lost": "client unexpectedly closed TCP connection",
}


class Asked:
    """What the questions answer about a recording."""

    def __init__(self, tunnel: Tunnel, folder: Path) -> None:
        time.sleep(0.3)  # what the broker sent last may be under way
        self.talk = tunnel.packets()
        self.path = write(folder / "troubles.pcap", self.talk)

    def findings(self) -> list[tuple[Any, ...]]:
        names = ("finding", "connection_name", "reply_code", "queue", "count", "messages")
        rows = analysis.diagnose(self.path).to_pylist()
        return [tuple(row[name] for name in names if row[name] is not None) for row in rows]

    def queue(self, name: str) -> dict[str, Any]:
        (row,) = (row for row in analysis.queues(self.path).to_pylist() if row["queue"] == name)
        return row

    def consumers(self, name: str) -> list[tuple[str, str]]:
        """As consumers() says: those of a queue that did not end."""
        rows = analysis.topology(self.path).to_pylist()
        return sorted(
            (row["consumer_tag"], row["settles"])
            for row in rows
            if row["kind"] == "consumer" and row["queue"] == name and row["last_ended"] is None
        )

    def check_log(self, before: str) -> None:
        """The broker's log has the same ends since then, as often, and the same reasons."""
        written = log()[len(before) :]
        said, found = Counter(), Counter()
        for kind, words in LOGGED.items():
            said[kind] = written.count(words)
        for row in analysis.diagnose(self.path).to_pylist():
            for kind in LOGGED:
                if row["finding"].startswith(kind):
                    found[kind] += row["count"]
                    reason = row["text"].partition(" - ")[2].partition(" in vhost ")[0]
                    if "exception" in LOGGED[kind]:
                        assert reason.strip("'") in written, (row, written)
        assert said == found, written

    def check_cut(self) -> None:
        """A recording that begins later says nothing else for certain, nor counts more."""
        complete = analysis.diagnose(self.path).to_pylist()
        step = max(1, len(self.talk) // 24)
        for begin in range(1, len(self.talk) * 2 // 3, step):
            path = write(self.path.with_suffix(".cut"), self.talk[begin:])
            assert not false_findings(analysis.diagnose(path).to_pylist(), complete), begin


def publish(tunnel: Tunnel, queue: str, number: int) -> None:
    with connect(tunnel, "publisher") as connection:
        channel = connection.channel()
        channel.confirm_delivery()
        for n in range(number):
            properties = pika.BasicProperties(message_id=f"{queue}-{n}")
            channel.basic_publish("", queue, b"body %d" % n, properties)


def test_nothing_is_wrong(tunnel: Tunnel, queue: str, tmp_path: Path) -> None:
    before = log()
    publish(tunnel, queue, 5)
    with connect(tunnel, "worker") as connection:
        channel = connection.channel()
        for method, _, _ in channel.consume(queue, inactivity_timeout=5):
            channel.basic_ack(method.delivery_tag)
            if method.delivery_tag == 3:
                break
        channel.cancel()
    asked = Asked(tunnel, tmp_path)
    assert asked.findings() == []
    assert (asked.queue(queue)["backlog"], 0) == (sum(depth(queue)), depth(queue)[1])
    asked.check_log(before)
    asked.check_cut()


def test_unacknowledged_messages_are_those_of_the_broker(
    tunnel: Tunnel, queue: str, tmp_path: Path
) -> None:
    publish(tunnel, queue, 8)
    with connect(tunnel, "worker") as connection:
        channel = connection.channel()
        channel.basic_qos(prefetch_count=5)
        for method, _, _ in channel.consume(queue, inactivity_timeout=5):
            if method.delivery_tag == 2:
                channel.basic_ack(2, multiple=True)
                break
        connection.process_data_events(1)
        ready, waiting = depth(queue)
        row = Asked(tunnel, tmp_path).queue(queue)
        assert (row["unacknowledged"], row["backlog"]) == (waiting, ready + waiting)
        assert (ready, waiting) == (1, 5)
        rows = analysis.unacked(tmp_path / "troubles.pcap").to_pylist()
        assert len([row for row in rows if row["certainty"] == "exact"]) == waiting


def test_a_consumer_is_killed_and_another_one_gets_its_messages(
    tunnel: Tunnel, queue: str, tmp_path: Path
) -> None:
    before = log()
    publish(tunnel, queue, 5)
    code = f"""
n = 0
for method, _, _ in channel.consume({queue!r}):
    n += 1
    if n == 5:
        os._exit(1)
"""
    program(tunnel, "killed", code)
    with connect(tunnel, "rescuer") as connection:
        channel = connection.channel()
        for n, (method, _, _) in enumerate(channel.consume(queue, inactivity_timeout=5), 1):
            assert method.redelivered
            channel.basic_ack(method.delivery_tag)
            if n == 5:
                break
        channel.cancel()
    asked = Asked(tunnel, tmp_path)
    assert asked.findings() == [("lost with unsettled messages", "killed", queue, 1, 5)]
    row = asked.queue(queue)
    assert (row["redelivered"], row["requeued"], row["backlog"]) == (5, 5, sum(depth(queue)))
    asked.check_log(before)
    asked.check_cut()


def test_a_slow_consumer(tunnel: Tunnel, queue: str, tmp_path: Path) -> None:
    before = log()
    publish(tunnel, queue, 40)
    for name, seconds, number in (("slow", 0.55, 10), ("fast", 0.001, 30)):
        with connect(tunnel, name) as connection:
            channel = connection.channel()
            channel.basic_qos(prefetch_count=1)
            for n, (method, _, _) in enumerate(channel.consume(queue, inactivity_timeout=5), 1):
                connection.sleep(seconds)
                channel.basic_ack(method.delivery_tag)
                if n == number:
                    break
            channel.cancel()
    asked = Asked(tunnel, tmp_path)
    assert asked.findings() == [("slow work", "slow", queue, 10)]
    asked.check_log(before)
    asked.check_cut()


def test_a_poison_message(tunnel: Tunnel, queue: str, tmp_path: Path) -> None:
    before = log()
    publish(tunnel, queue, 1)
    with connect(tunnel, "worker") as connection:
        channel = connection.channel()
        for n, (method, _, _) in enumerate(channel.consume(queue, inactivity_timeout=5), 1):
            channel.basic_nack(method.delivery_tag)
            if n == 12:
                break
        channel.cancel()
    asked = Asked(tunnel, tmp_path)
    assert [found[:3] for found in asked.findings()] == [("poison message", "worker", queue)]
    asked.check_log(before)
    asked.check_cut()


def test_exchanges_that_are_missing_and_other_arguments(
    tunnel: Tunnel, queue: str, tmp_path: Path
) -> None:
    before = log()
    with connect(tunnel, "app") as connection:
        channel = connection.channel()
        channel.basic_publish("no-such-exchange", "k", b"x")
        connection.process_data_events(1)
        assert channel.is_closed
        with pytest.raises(pika.exceptions.ChannelClosedByBroker):
            connection.channel().queue_declare(queue, durable=True)
    asked = Asked(tunnel, tmp_path)
    assert asked.findings() == [
        ("channel closed with an error", "app", 404, 1),
        ("channel closed with an error", "app", 406, 1),
    ]
    asked.check_log(before)
    asked.check_cut()


def test_a_refused_login(tunnel: Tunnel, tmp_path: Path) -> None:
    before = log()
    for _ in range(2):
        with pytest.raises(pika.exceptions.ProbableAuthenticationError):
            connect(tunnel, "guess", credentials=pika.PlainCredentials("guest", "wrong"))
    asked = Asked(tunnel, tmp_path)
    assert [found[:3] for found in asked.findings()] == [("connection refused", "guess", 403)]
    asked.check_log(before)
    asked.check_cut()


def test_a_client_that_is_silent(tunnel: Tunnel, tmp_path: Path) -> None:
    before = log()
    connect(tunnel, "paused", heartbeat=2)
    time.sleep(7)
    asked = Asked(tunnel, tmp_path)
    assert [found[:2] for found in asked.findings()] == [("heartbeat missed", "paused")]
    asked.check_log(before)
    asked.check_cut()


def test_many_short_connections(tunnel: Tunnel, tmp_path: Path) -> None:
    before = log()
    for n in range(24):
        connect(tunnel, f"job-{n}").close()
    asked = Asked(tunnel, tmp_path)
    assert [found[0] for found in asked.findings()] == ["many short connections"]
    assert asked.findings()[0][-2:] == (24, 0)
    asked.check_log(before)
    asked.check_cut()


def test_messages_without_a_route_are_found_only_where_they_come_back(
    tunnel: Tunnel, queue: str, tmp_path: Path
) -> None:
    before = log()
    with connect(tunnel, "app") as connection:
        channel = connection.channel()
        channel.basic_publish("", f"{queue}-no-such-queue", b"x")
        channel.basic_publish("", f"{queue}-no-such-queue", b"x", mandatory=True)
        connection.process_data_events(1)
    asked = Asked(tunnel, tmp_path)
    assert asked.findings() == [("messages returned", "app", 312, 1)]
    asked.check_log(before)
    asked.check_cut()


def test_a_memory_alarm(tunnel: Tunnel, queue: str, tmp_path: Path) -> None:
    before = log()
    with connect(tunnel, "publisher") as connection:
        channel = connection.channel()
        ctl("set_vm_memory_high_watermark", "0.00001")
        try:
            channel.basic_publish("", queue, b"x")
            connection.process_data_events(3)
        finally:
            ctl("set_vm_memory_high_watermark", "0.4")
        connection.process_data_events(2)
    asked = Asked(tunnel, tmp_path)
    assert [found[:2] for found in asked.findings()] == [("publishers blocked", "publisher")]
    asked.check_log(before)
    asked.check_cut()


def test_connections_that_somebody_closed(tunnel: Tunnel, queue: str, tmp_path: Path) -> None:
    before = log()
    publish(tunnel, queue, 2)
    connection = connect(tunnel, "worker")
    channel = connection.channel()
    next(channel.consume(queue, inactivity_timeout=5))
    connection.process_data_events(0.5)
    ctl("close_all_connections", "maintenance")
    with pytest.raises(pika.exceptions.AMQPError):
        connection.process_data_events(5)
    asked = Asked(tunnel, tmp_path)
    assert asked.findings() == [("connection closed with an error", "worker", 320, queue, 1, 2)]
    assert asked.queue(queue)["backlog"] == sum(depth(queue)) == 2
    asked.check_log(before)
    asked.check_cut()


def test_consumers_are_those_of_the_broker(tunnel: Tunnel, queue: str, tmp_path: Path) -> None:
    program(tunnel, "killed", f"channel.basic_consume({queue!r}, print); os._exit(1)")
    with connect(tunnel, "worker") as connection:
        channel = connection.channel()
        for tag, automatic in (("a", False), ("b", True), ("cancelled", False)):
            channel.basic_consume(queue, print, auto_ack=automatic, consumer_tag=tag)
        channel.basic_cancel("cancelled")
        other = connection.channel()
        other.basic_consume(queue, print, consumer_tag="of a closed channel")
        other.close()
        asked = Asked(tunnel, tmp_path)
        assert asked.consumers(queue) == consumers(queue)
        assert asked.consumers(queue) == [("a", "manual"), ("b", "automatic")]


def test_a_queue_is_deleted_below_its_consumer(tunnel: Tunnel, queue: str, tmp_path: Path) -> None:
    before = log()
    publish(tunnel, queue, 2)
    with connect(tunnel, "worker") as connection:
        channel = connection.channel()
        channel.basic_consume(queue, lambda *_: None)
        connection.process_data_events(0.5)
        with connect(tunnel, "operator") as other:
            other.channel().queue_delete(queue)
        connection.process_data_events(0.5)
        assert consumers(queue) == []
    asked = Asked(tunnel, tmp_path)
    assert asked.findings() == [("consumer cancelled by the broker", "worker", queue, 1)]
    assert asked.consumers(queue) == []
    asked.check_log(before)
    asked.check_cut()


def test_a_node_that_goes_down(tunnel: Tunnel, queue: str, tmp_path: Path) -> None:
    before = log()
    publish(tunnel, queue, 2)
    connection = connect(tunnel, "worker")
    connection.channel().basic_consume(queue, lambda *_: None)
    connection.process_data_events(0.5)
    ctl("stop_app")
    try:
        with pytest.raises(pika.exceptions.AMQPError):
            connection.process_data_events(5)
    finally:
        ctl("start_app")
    asked = Asked(tunnel, tmp_path)
    assert asked.findings() == [("connection closed with an error", "worker", 320, queue, 1, 2)]
    (found,) = analysis.diagnose(asked.path).to_pylist()
    assert "shutdown" in found["text"]
    asked.check_log(before)
    asked.check_cut()
