"""amqpcodec replay against RabbitMQ: all that arrives, kills, missing exchanges, refused logins."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import Any

import pytest

from amqpcodec import v0_9_1 as amqp
from tests import live_broker
from tests.cli.conftest import environment, message
from tests.support import recording as builder

pika = pytest.importorskip("pika")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("rich")


@pytest.fixture
def channel() -> Any:
    host, port = live_broker.address()
    connection = pika.BlockingConnection(pika.ConnectionParameters(host, port))
    yield connection.channel()
    connection.close()


@pytest.fixture
def queue(channel: Any) -> str:
    """A queue, bound by all keys to an exchange of the same name."""
    name = f"replay.{uuid.uuid4().hex[:10]}"
    channel.queue_declare(name, durable=True)
    channel.exchange_declare(name, "topic", durable=True)
    channel.queue_bind(name, name, "#")
    return name


def target(login: str = "guest:guest@", path: str = "/") -> str:
    host, port = live_broker.address()
    return f"amqp://{login}{host}:{port}{path}"


def replay(*words: object, rate: int = 0, **more: Any) -> subprocess.Popen[str]:
    """rate: messages a second; 0: as fast as the broker takes them."""
    command = [sys.executable, "-m", "amqpcodec", "replay", *map(str, words)]
    command += ["--to-recorded-broker", *(["--rate", str(rate)] if rate else ["--fast"])]
    return subprocess.Popen(command, env=environment(), text=True, stdout=-1, stderr=-1, **more)


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


def arrived(channel: Any, queue: str) -> list[Any]:
    """(properties, body) of all that is in a queue."""
    messages = []
    while True:
        method, properties, body = channel.basic_get(queue, auto_ack=True)
        if method is None:
            return messages
        messages.append((method, properties, body))


def capture_of(path: Path, bodies: list[bytes]) -> Path:
    talk = [("client", amqp.PROTOCOL_HEADER), ("client", amqp.encode(1, amqp.Channel.Open()))]
    for at in range(0, len(bodies), 20):
        sent = b"".join(message(f"k.{at}", body) for body in bodies[at : at + 20])
        talk.append(("client", sent))
    path.write_bytes(builder.pcap(builder.dialogue(talk)))
    return path


def test_everything_arrives(channel: Any, queue: str, tmp_path: Path) -> None:
    bodies = [b"%d" % n for n in range(1000)]
    path = capture_of(tmp_path / "c.pcap", bodies)
    status, out, err = finish(replay(path, "--to", target(), "--map", f"orders={queue}"))
    assert (status, out, err) == (0, "1,000 sent, 1,000 confirmed\n", "")
    messages = arrived(channel, queue)
    assert [body for _, _, body in messages] == bodies
    method, properties, _ = messages[20]
    assert method.routing_key == "k.20"
    assert properties.headers == {"n": 5, "who": "eve"}
    assert properties.content_type == "text/plain"


def test_killed_in_the_middle_and_resumed(channel: Any, queue: str, tmp_path: Path) -> None:
    """What the journal has is not sent again; what is sent again was not confirmed to it."""
    count, window = 20_000, 50
    table = tmp_path / "t.parquet"
    columns = {
        "exchange": [queue] * count,
        "routing_key": ["k"] * count,
        "body": [b"%d" % n for n in range(count)],
    }
    pq.write_table(pa.table(columns), table)
    journal = tmp_path / "journal"
    words = (table, "--to", target(), "--journal", journal, "--window", window)
    kills = 0
    for _ in range(3):
        # At full speed all may be sent before it is killed.
        process = replay(*words, rate=1000)
        size = journal.stat().st_size if journal.exists() else 0
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and process.poll() is None:
            if journal.exists() and journal.stat().st_size > size + 300:
                break
            time.sleep(0.005)
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
            kills += 1
        process.communicate(timeout=30)
    assert kills == 3
    status, out, err = finish(replay(*words))
    assert (status, err) == (0, "")
    assert "skipped, as confirmed before" in out
    numbers = [int(body) for _, _, body in arrived(channel, queue)]
    assert set(numbers) == set(range(count)), "nothing is lost"
    twice = len(numbers) - count
    assert twice <= kills * window, "at most what waited for its confirm at a kill"
    status, out, _ = finish(replay(*words))
    assert (status, out) == (0, f"0 sent, 0 confirmed, {count:,} skipped, as confirmed before\n")


def test_a_missing_exchange(tmp_path: Path) -> None:
    live_broker.address()
    path = capture_of(tmp_path / "c.pcap", [b"x"] * 50)
    status, _, err = finish(replay(path, "--to", target(), "--map", "orders=not.there"))
    assert status == 2
    assert "404 NOT_FOUND - no exchange 'not.there' in vhost '/'" in err
    assert "No message was sent" in err


def test_unroutable(queue: str, tmp_path: Path) -> None:
    path = capture_of(tmp_path / "c.pcap", [b"x"] * 40)
    words = ("--map", "orders=", "--map", f"key:k.0={queue}")
    status, out, err = finish(replay(path, "--to", target(), *words))
    assert (status, out) == (1, "40 sent, 40 confirmed, 20 unroutable\n")
    assert "20 unroutable: exchange '', key 'k.20'" in err


def test_poison(channel: Any, queue: str, tmp_path: Path) -> None:
    """Messages that RabbitMQ closes the channel for, of the kinds that it is known to."""
    poison = {
        7: {"reply_to": "amq.rabbitmq.reply-to"},
        30: {"expiration": "abc"},
        31: {"headers": {"CC": "no list"}},
    }
    talk = [("client", amqp.PROTOCOL_HEADER), ("client", amqp.encode(1, amqp.Channel.Open()))]
    for number in range(60):
        method = amqp.Basic.Publish(exchange="orders", routing_key="k")
        properties = amqp.Basic.Properties(**poison.get(number, {}))
        sent = amqp.encode_message(1, method, properties, b"%d" % number)
        talk.append(("client", sent))
    path = tmp_path / "c.pcap"
    path.write_bytes(builder.pcap(builder.dialogue(talk)))
    journal = tmp_path / "journal"
    words = (path, "--to", target(), "--map", f"orders={queue}", "--journal", journal)
    status, out, err = finish(replay(*words))
    assert (status, out) == (1, "60 sent, 57 confirmed, 3 refused\n")
    for number in poison:
        assert f"message {number} was refused: 406 PRECONDITION_FAILED" in err
    expected = [number for number in range(60) if number not in poison]
    assert [int(body) for _, _, body in arrived(channel, queue)] == expected
    status, out, err = finish(replay(*words))
    assert status == 1
    assert "57 skipped, as confirmed before, 3 skipped, as refused before" in out
    assert "message 30 was refused before: 406 PRECONDITION_FAILED" in err
    assert arrived(channel, queue) == []


def test_a_message_that_is_too_large_among_others(channel: Any, queue: str, tmp_path: Path) -> None:
    """A refusal that nothing tells beforehand: the others arrive, and none is lost."""
    limit = "application:set_env(rabbit, max_message_size, {0})"
    limit += ", persistent_term:put(max_message_size, {0})."  # versions differ in where it is
    live_broker.rabbitmqctl("eval", limit.format(10_000))
    try:
        bodies = [b"%d" % n for n in range(100)]
        bodies[50] = bytes(20_000)
        path = capture_of(tmp_path / "c.pcap", bodies)
        status, out, err = finish(replay(path, "--to", target(), "--map", f"orders={queue}"))
    finally:
        live_broker.rabbitmqctl("eval", limit.format(1 << 27))
    assert (status, out) == (1, "100 sent, 99 confirmed, 1 refused\n"), err
    assert "message 50 was refused: 406 PRECONDITION_FAILED - message size" in err
    numbers = {int(body) for _, _, body in arrived(channel, queue)}
    assert numbers == {number for number in range(100) if number != 50}


def test_cc_and_bcc(channel: Any, queue: str, tmp_path: Path) -> None:
    """They are mapped as routing keys are, and none goes past the rules."""
    safe, victim = f"{queue}.safe", f"{queue}.victim"
    for name in (safe, victim):
        channel.queue_declare(name)
    headers = {"CC": [victim], "BCC": [victim]}
    method = amqp.Basic.Publish(exchange="", routing_key=victim)
    sent = amqp.encode_message(1, method, amqp.Basic.Properties(headers=headers), b"x")
    path = tmp_path / "c.pcap"
    path.write_bytes(
        builder.pcap(builder.dialogue([("client", amqp.PROTOCOL_HEADER), ("client", sent)]))
    )
    status, _, err = finish(replay(path, "--to", target(), "--map", "key:other=x"))
    assert status == 2
    assert victim in err
    assert finish(replay(path, "--to", target(), "--map", f"key:{victim}={safe}"))[0] == 0
    assert [body for _, _, body in arrived(channel, safe)] == [b"x"]
    assert arrived(channel, victim) == []


def test_declare(channel: Any, tmp_path: Path) -> None:
    """What a recording declares is created under new names, and takes its messages."""
    name = f"declared.{uuid.uuid4().hex[:10]}"
    arguments = {"x-max-length": 7, "x-dead-letter-exchange": "shop"}
    talk = [
        ("client", amqp.PROTOCOL_HEADER),
        ("client", amqp.encode(1, amqp.Exchange.Declare(exchange="shop", type="topic"))),
        ("server", amqp.encode(1, amqp.Exchange.DeclareOk())),
        ("client", amqp.encode(1, amqp.Queue.Declare(queue="eu", arguments=arguments))),
        ("server", amqp.encode(1, amqp.Queue.DeclareOk(queue="eu"))),
        ("client", amqp.encode(1, amqp.Queue.Bind("eu", "shop", "eu.#"))),
        ("server", amqp.encode(1, amqp.Queue.BindOk())),
        ("client", amqp.encode_message(1, amqp.Basic.Publish("shop", "eu.de"), None, b"1")),
        ("client", amqp.encode_message(1, amqp.Basic.Publish("", "eu"), None, b"2")),
    ]
    path = tmp_path / "c.pcap"
    path.write_bytes(builder.pcap(builder.dialogue(talk)))
    rules = ("--map", "=", "--map", f"*={name}.*", "--map", f"key:*={name}.*")
    status, out, err = finish(replay(path, "--to", target(), "--declare", *rules))
    assert (status, out, err) == (0, "2 sent, 2 confirmed\n", "")
    again = {"x-max-length": 7, "x-dead-letter-exchange": f"{name}.shop"}
    channel.queue_declare(f"{name}.eu", arguments=again)  # the same, or it would be refused
    assert [body for _, _, body in arrived(channel, f"{name}.eu")] == [b"1", b"2"]
    channel.queue_delete(f"{name}.eu")
    channel.queue_declare(f"{name}.eu", durable=True)
    status, _, err = finish(replay(path, "--to", target(), "--declare", *rules))
    assert status == 2
    assert f"queue '{name}.eu' cannot be declared: 406 PRECONDITION_FAILED" in err


def test_a_broker_that_restarts_in_the_middle(tmp_path: Path) -> None:
    """The replay ends, and the same command goes on: all arrive, at most a window of them twice."""
    queue = f"replay.{uuid.uuid4().hex[:10]}"
    host, port = live_broker.address()
    connection = pika.BlockingConnection(pika.ConnectionParameters(host, port))
    connection.channel().queue_declare(queue, durable=True)
    connection.close()
    count, window = 20_000, 50
    table = tmp_path / "t.parquet"
    columns = {
        "exchange": [""] * count,
        "routing_key": [queue] * count,
        "properties.delivery_mode": pa.array([2] * count, pa.int32()),
        "body": [b"%d" % n for n in range(count)],
    }
    pq.write_table(pa.table(columns), table)
    journal = tmp_path / "journal"
    words = (table, "--to", target(), "--journal", journal, "--window", window)
    # Rabbitmqctl takes seconds to start: without a rate all were sent before the broker stopped.
    process = replay(*words, rate=500)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        if journal.exists() and journal.stat().st_size > 2000:
            break
        time.sleep(0.005)
    live_broker.rabbitmqctl("stop_app")
    try:
        status, out, err = finish(process)
        assert status == 2, (out, err)
        assert "goes on from here" in err
        assert "was refused" not in err, "a broker that stops refuses no message"
        status, _, err = finish(replay(*words))
        assert status == 2, "nobody is there"
    finally:
        live_broker.rabbitmqctl("start_app")
    status, out, err = finish(replay(*words))
    assert (status, err) == (0, "")
    connection = pika.BlockingConnection(pika.ConnectionParameters(host, port))
    numbers = [int(body) for _, _, body in arrived(connection.channel(), queue)]
    connection.close()
    assert set(numbers) == set(range(count)), "nothing is lost"
    assert len(numbers) - count <= window, "at most what waited for its confirm"


@pytest.mark.parametrize(
    ("login", "path", "message"),
    [
        ("guest:wrong@", "/", "login of 'guest' was refused: 403"),
        ("guest:guest@", "/nowhere", "530"),
    ],
)
def test_refusals(tmp_path: Path, login: str, path: str, message: str) -> None:
    live_broker.address()
    capture = capture_of(tmp_path / "c.pcap", [b"x"])
    status, _, err = finish(replay(capture, "--to", target(login, path)))
    assert status == 2
    assert message in err
    assert "wrong" not in err


def test_ctrl_c_keeps_what_was_done(channel: Any, queue: str, tmp_path: Path) -> None:
    count = 2000  # for 40 seconds
    path = capture_of(tmp_path / "c.pcap", [b"%d" % n for n in range(count)])
    journal = tmp_path / "journal"
    words = (path, "--to", target(), "--map", f"orders={queue}", "--journal", journal)
    command = [sys.executable, "-m", "amqpcodec", "replay", *map(str, words), "--rate", "50"]
    slow = subprocess.Popen(
        [*command, "--to-recorded-broker"], env=environment(), text=True, stdout=-1, stderr=-1
    )
    deadline = time.monotonic() + 30
    while (
        time.monotonic() < deadline
        and channel.queue_declare(queue, passive=True).method.message_count < 10
    ):
        time.sleep(0.05)
    slow.send_signal(signal.SIGINT)
    status, out, _ = finish(slow)
    assert status == 130
    sent = int(out.split()[0])
    assert 10 <= sent < count
    assert finish(replay(*words))[0] == 0
    assert [int(body) for _, _, body in arrived(channel, queue)] == list(range(count))
