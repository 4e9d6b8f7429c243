"""Close codes, refusals, and what goes wrong between two ends: against RabbitMQ."""

from __future__ import annotations

import asyncio
import datetime
import os
import signal
import ssl
import subprocess
import sys
import time
from pathlib import Path

import pytest

from amqpcodec import v0_9_1 as amqp
from amqpcodec.session import (
    Blocked,
    ChannelClosed,
    ConnectionClosed,
    ConsumerCancelled,
    RequestFailed,
    Unblocked,
)
from amqpcodec.testing import Broker
from tests.paths import REPO
from tests.session.live.socket_client import SocketClient
from tests.support import asyncio_shell

AmqpError = asyncio_shell.AmqpError


@pytest.fixture
def client(broker):
    socket_client = SocketClient(broker).open()
    yield socket_client
    socket_client.close()


# ---- refusals ----


def test_login_refused_with_its_reason(broker):
    client = SocketClient(broker, password="wrong")
    event = client.closed()
    assert (event.reply_code, event.closed_by, event.stage) == (403, "remote", "login")
    assert "ACCESS_REFUSED - Login was refused" in event.reply_text


def test_login_refused_without_a_word(broker):
    client = SocketClient(broker, password="wrong", client_properties={"capabilities": {}})
    event = client.closed()
    assert (event.reply_code, event.closed_by, event.stage) == (403, "remote", "login")


def test_virtual_host_refused(broker):
    event = SocketClient(broker, virtual_host="no.such.host").closed()
    assert (event.reply_code, event.method, event.stage) == (530, "connection.open", "open")
    assert "vhost no.such.host not found" in event.reply_text


def test_no_offered_mechanism(broker):
    event = SocketClient(broker, mechanism="EXTERNAL").closed()
    assert (event.closed_by, event.stage) == ("local", "start")
    assert "not EXTERNAL" in event.reply_text


# ---- close codes ----

CHANNEL_CODES = {
    "403": (403, lambda c, n: c.delete_exchange("amq.direct"), "exchange.delete"),
    "404 queue": (404, lambda c, n: c.declare_queue(n, passive=True), "queue.declare"),
    "404 exchange": (404, lambda c, n: c.publish(n, "k"), "basic.publish"),
    "404 consume": (404, lambda c, n: c.consume(n), "basic.consume"),
    "406 arguments": (
        406,
        lambda c, n: (
            c.declare_queue(n, exclusive=True),
            c.declare_queue(n, exclusive=True, arguments={"x-max-length": 1}),
        ),
        "queue.declare",
    ),
    "406 in use": (
        406,
        lambda c, n: (
            c.declare_queue(n, exclusive=True),
            c.publish("", n, b"x"),
            c.delete_queue(n, if_empty=True),
        ),
        "queue.delete",
    ),
}


@pytest.mark.parametrize("name", CHANNEL_CODES)
def test_channel_codes(client, unique, name):
    code, provoke, method = CHANNEL_CODES[name]
    channel = client.channel()
    provoke(channel, unique)
    last = channel.sent[-1] if channel.sent else None
    event = client.until(ChannelClosed)
    assert (event.reply_code, event.method, event.closed_by) == (code, method, "remote")
    assert event.channel is channel
    failed = [one for one in client.events if isinstance(one, RequestFailed)]
    if last is not None:
        assert [(one.request, one.reply_code, one.cause) for one in failed] == [(last, code, True)]
    client.channel()  # the connection goes on


def test_405_a_queue_of_another_connection(broker, client, unique):
    channel = client.channel()
    channel.declare_queue(unique, exclusive=True)
    client.step()
    other = SocketClient(broker).open()
    second = other.channel()
    second.declare_queue(unique, exclusive=True)
    assert other.closed_channel() == (405, "queue.declare")
    other.close()


CONNECTION_CODES = {
    503: lambda c, n: c.declare_exchange(n, "no-such-type"),
    540: lambda c, n: c.publish("", n, b"x", immediate=True),
}


@pytest.mark.parametrize("code", CONNECTION_CODES)
def test_connection_codes(client, unique, code):
    channel = client.channel()
    CONNECTION_CODES[code](channel, unique)
    event = client.closed()
    assert (event.reply_code, event.closed_by, event.stage) == (code, "remote", "opened")
    assert any(isinstance(one, ChannelClosed) for one in client.events)


def test_codes_that_the_session_spares_the_broker(client, unique):
    """Sent past the session's checks, RabbitMQ says the same codes."""
    channel = client.channel()
    channel.declare_queue(unique, exclusive=True)
    client.flush()
    client.line.sendall(amqp.encode(channel.number, amqp.Basic.Ack(99)))
    assert client.closed_channel() == (406, "basic.ack")
    client.line.sendall(amqp.encode(77, amqp.Basic.Qos()))
    assert client.closed().reply_code == 504


def test_320_from_an_administrator(client, rabbitmqctl):
    rabbitmqctl("close_all_connections", "a test")
    event = client.closed()
    assert (event.reply_code, event.closed_by) == (320, "remote")
    assert "a test" in event.reply_text


# ---- what happens to both ends ----


def test_consumer_cancelled_by_the_end_of_its_queue(client, unique):
    channel = client.channel()
    channel.declare_queue(unique)
    request = channel.consume(unique)
    while not request.done:
        client.step()
    other = client.channel()
    other.delete_queue(unique)
    event = client.until(ConsumerCancelled)
    assert event.consumer is request.consumer
    assert not event.consumer.active
    channel.qos()  # the channel goes on


def test_memory_alarm(client, unique, rabbitmqctl):
    channel = client.channel()
    channel.declare_queue(unique, exclusive=True)
    channel.confirm()
    try:
        rabbitmqctl("set_vm_memory_high_watermark", "0.0000001")
        # RabbitMQ tells those that publish.
        channel.publish("", unique, b"x")
        assert client.until(Blocked).reason
        assert client.session.blocked is not None
    finally:
        rabbitmqctl("set_vm_memory_high_watermark", "0.4")
    client.until(Unblocked)
    assert client.session.blocked is None


def test_publishers_wait_for_the_end_of_an_alarm(live, unique, rabbitmqctl):
    async def work(client):
        reasons = []
        client.on_blocked = reasons.append
        channel = await client.channel(confirms=True)
        await channel.declare_queue(unique, exclusive=True)
        loop = asyncio.get_running_loop()
        alarm = ("set_vm_memory_high_watermark", "0.0000001")
        try:
            await loop.run_in_executor(None, rabbitmqctl, *alarm)
            first = asyncio.create_task(channel.publish("", unique, b"1"))
            while not reasons:
                await asyncio.sleep(0.05)
            second = asyncio.create_task(channel.publish("", unique, b"2"))
            await asyncio.sleep(0.3)
            assert not second.done()
            assert channel.session.publications.last == 1
        finally:
            await loop.run_in_executor(None, rabbitmqctl, "set_vm_memory_high_watermark", "0.4")
        await first
        await second
        assert reasons[1:] == [None]

    live(work, seconds=60)


def test_our_heartbeats_are_missed(broker):
    client = SocketClient(broker, heartbeat=1).open()
    assert client.session.heartbeat == 1
    event = client.closed()  # never calls handle_timeout
    assert (event.reply_code, event.closed_by) == (0, "remote")


def test_the_brokers_heartbeats_are_missed(broker):
    client = SocketClient(broker, heartbeat=1).open()
    session = client.session
    deadline = time.monotonic() + 60
    events = []
    while not events and time.monotonic() < deadline:
        when = session.next_timeout(time.monotonic())
        time.sleep(max(when - time.monotonic(), 0))
        events = session.handle_timeout(time.monotonic())
        client.flush()  # we send, but read nothing
    (event,) = events
    assert isinstance(event, ConnectionClosed)
    assert "two heartbeats of 1 s" in event.reply_text
    client.line.close()


def test_heartbeats_keep_an_idle_connection(live):
    async def work(client):
        await asyncio.sleep(4)
        await client.channel()

    live(work, heartbeat=1)


def test_broker_killed_in_the_middle(unique):
    """A broker of its own, killed between publications: each is confirmed or told as lost."""
    names = "os.environ['AMQPCODEC_BROKER'], os.environ['AMQPCODEC_BROKER_DIR']"
    code = f"import os, sys; print({names}, flush=True); sys.stdin.read()"
    process = subprocess.Popen(
        [
            sys.executable,
            str(REPO / "scripts" / "broker.py"),
            "run",
            "--",
            sys.executable,
            "-c",
            code,
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        address, folder = process.stdout.readline().split()
        confirmed, lost = asyncio.run(publish_until_killed(address, folder, unique))
    finally:
        process.stdin.close()
        process.wait(60)
    assert confirmed
    assert lost
    assert confirmed == list(range(1, len(confirmed) + 1))


async def publish_until_killed(address, folder, queue):
    client = await asyncio_shell.connect(f"amqp://guest:guest@{address}/%2F")
    channel = await client.channel(confirms=True)
    await channel.declare_queue(queue)
    confirmed, lost = [], []

    async def publish(number):
        try:
            await channel.publish("", queue, b"x" * 100)
        except AmqpError:
            lost.append(number)
        else:
            confirmed.append(number)

    pending = []
    for number in range(1, 1_000_000):
        if channel.closed.done():
            break
        pending.append(asyncio.create_task(publish(number)))
        if number == 300:
            kill_broker(folder)  # what this iteration publishes has nobody to confirm it
        await asyncio.sleep(0.0005)
    await asyncio.gather(*pending, return_exceptions=True)
    event = await asyncio.wait_for(client.closed, 20)
    assert event.closed_by == "remote"
    assert set(channel.closed.result().unconfirmed) == set(lost)
    return confirmed, lost


def kill_broker(folder):
    """The Erlang machine of that node alone, at once."""
    os.kill(int((Path(folder) / "rabbitmq.pid").read_text()), signal.SIGKILL)


# ---- TLS ----


def test_tls(tmp_path):
    """The client speaks TLS to the broker in memory, and checks its certificate."""
    pytest.importorskip("cryptography")
    certificate = self_signed(tmp_path)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(certificate)
    trusting = ssl.create_default_context(cafile=str(certificate))

    async def work(port):
        url = f"amqps://guest:guest@localhost:{port}/%2F"
        connect = asyncio_shell.connect
        with pytest.raises(ssl.SSLCertVerificationError):
            await connect(url)
        async with await connect(url, ssl=trusting) as client:
            channel = await client.channel(confirms=True)
            await channel.declare_queue("tls")
            await channel.publish("", "tls", b"secret")
            return (await channel.get("tls")).body

    with Broker(tls=server) as broker:
        assert asyncio.run(work(broker.port)) == b"secret"


def self_signed(folder):
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / "broker.pem"
    path.write_bytes(
        certificate.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return path


# ---- replies out of order ----


def test_replies_overtake_those_of_consume_and_cancel(client, unique):
    """RabbitMQ answers requests that were sent at once in another order than they came."""
    channel = client.channel()
    channel.declare_queue(unique, auto_delete=True)
    keep = channel.consume(unique)  # its queue stays when the others end
    for _ in range(10):
        consume = channel.consume(unique)
        requests = [consume, *(channel.declare_queue(unique, passive=True) for _ in range(20))]
        while not all(request.done for request in requests):
            assert client.step()
        cancel = channel.cancel(consume.consumer.tag)
        requests = [cancel, *(channel.declare_queue(unique, passive=True) for _ in range(20))]
        while not all(request.done for request in requests):
            assert client.step()
    assert keep.done
    assert client.session.is_open
