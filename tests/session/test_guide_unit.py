"""What docs/session.md shows runs, and the names in its tables are there."""

from __future__ import annotations

import re
import socket
import threading

import pytest

from amqpcodec import session
from amqpcodec import v0_9_1 as amqp
from amqpcodec.session import Channel, Connection
from tests.paths import REPO
from tests.support.session_pair import Pair, opened

GUIDE = (REPO / "docs" / "session.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", GUIDE, re.S)
BLOCKS.sort(key=lambda block: ("def wait" in block, "def answer" in block))
HEARTBEATS = BLOCKS[-1]


class Broker(Pair):
    """Delivers what is published to the consumer of the same channel, and closes then."""

    def react(self, event):
        super().react(event)
        if isinstance(event, session.Published):
            (consumer,) = event.channel.consumers.values()
            deliver = self.amqp.Basic.Deliver(consumer.tag, 1)
            event.channel.send(deliver, event.message.properties, event.message.body)
        elif isinstance(event, session.Acknowledged):
            self.server.close(320, "CONNECTION_FORCED - enough")


def serve(line):
    broker = Broker()
    while not broker.server.closed:
        data = line.recv(65536)
        for event in broker.server.receive_data(data) if data else broker.server.receive_eof():
            broker.react(event)
        line.sendall(broker.server.data_to_send())


def test_first_example(capsys):
    names: dict = {}
    exec(compile(BLOCKS[0], "docs/session.md", "exec"), names)
    near, far = socket.socketpair()
    with near, far:
        thread = threading.Thread(target=serve, args=(far,), daemon=True)
        thread.start()
        names["run"](near)
        thread.join(10)
        assert not thread.is_alive()
    out = capsys.readouterr().out
    assert "the broker has (1,)" in out
    assert "the connection is closed: CONNECTION_FORCED - enough" in out
    assert "b'hello' Basic.Properties() for made" in out
    assert "queue.declare was answered by Queue.DeclareOk" in out


# ---- the examples, with every close at every place ----

PEER_CLOSES = {
    "connection": amqp.encode(0, amqp.Connection.Close(320, "CONNECTION_FORCED")),
    "channel": amqp.encode(1, amqp.Channel.Close(404, "NOT_FOUND")),
    "both": amqp.encode(1, amqp.Channel.Close(404, "NOT_FOUND"))
    + amqp.encode(0, amqp.Connection.Close(320, "CONNECTION_FORCED")),
    "fault": amqp.encode(0, amqp.Basic.Qos()),
    "HTTP": b"HTTP/1.1 408 Timeout\r\n\r\n",
    "nothing": b"",
}


class Line:
    """A socket of which a test knows all that comes; the peer is gone after that."""

    def __init__(self, reads):
        self.reads = list(reads)
        self.sent = b""

    def sendall(self, data):
        self.sent += data
        if not self.reads:
            raise BrokenPipeError

    def recv(self, size):
        return self.reads.pop(0) if len(self.reads) > 1 else b""


def frames_of(data):
    """A stream cut into its protocol header and frames."""
    frames = []
    while result := amqp.decode(data):
        frames.append(data[: result[0]])
        data = data[result[0] :]
    assert not data
    return frames


def readings(frames, tail):
    """Frame by frame up to one place, then all up to another in one read with a close."""
    for last in range(len(frames) + 1):
        for first in range(last + 1):
            yield [*frames[:first], b"".join(frames[first:last]) + tail]


def recorded_server():
    """What the broker of the first example says."""
    names: dict = {}
    exec(compile(BLOCKS[0], "docs/session.md", "exec"), names)
    broker = Broker()
    stream = b""
    client = names["connection"]
    while not client.closed:
        for event in broker.server.receive_data(client.data_to_send()):
            broker.react(event)
        data = broker.server.data_to_send()
        stream += data
        for event in client.receive_data(data):
            names["react"](event)
    return frames_of(stream)


@pytest.mark.parametrize("tail", PEER_CLOSES)
def test_first_example_ends_well_wherever_the_peer_closes(tail, capsys):
    frames = recorded_server()
    capsys.readouterr()
    assert len(frames) > 8
    code = compile(BLOCKS[0], "docs/session.md", "exec")
    for reads in readings(frames, PEER_CLOSES[tail]):
        names: dict = {}
        exec(code, names)
        line = Line([*filter(None, reads), b""])
        names["run"](line)
        assert names["connection"].closed
        assert capsys.readouterr().out.count("the connection is closed: ") == 1


def served(data_reads):
    """The bodies that the example of a server takes, and its connection."""
    names: dict = {}
    exec(compile(BLOCKS[1], "docs/session.md", "exec"), names)
    server = session.Connection("server")
    bodies: list[bytes] = []
    for data in data_reads:
        try:
            events = server.receive_data(data)
        except session.RemoteProtocolError as error:
            events = error.events
        for event in events:
            names["answer"](server, event, bodies)
        server.data_to_send()
    for event in server.receive_eof():
        names["answer"](server, event, bodies)
    return bodies, server


def client_frames(**options):
    """What a client says that declares, confirms and publishes."""
    names: dict = {}
    exec(compile(BLOCKS[1], "docs/session.md", "exec"), names)
    client, server = session.Connection("client", **options), session.Connection("server")
    stream, begun, bodies = b"", False, []
    while client.bytes_to_send or server.bytes_to_send:
        data = client.data_to_send()
        stream += data
        for event in server.receive_data(data):
            names["answer"](server, event, bodies)
        client.receive_data(server.data_to_send())
        if client.is_open and not begun:
            begun = True
            channel = client.open_channel()
            channel.declare_queue("q")
            channel.publish("", "q", b"one")
            channel.confirm()
            for body in (b"two", b"", b"four"):
                channel.publish("", "q", body)
    return frames_of(stream), bodies, client


@pytest.mark.parametrize("tail", PEER_CLOSES)
def test_example_of_a_server_ends_well_wherever_the_client_closes(tail):
    frames, bodies, client = client_frames()
    assert bodies == [b"one", b"two", b"", b"four"]
    assert not client.channels[1].publications
    for reads in readings(frames, PEER_CLOSES[tail]):
        served_bodies, server = served(filter(None, reads))
        assert server.closed
        assert served_bodies == bodies[: len(served_bodies)]
    assert len(served_bodies) == 4


def test_example_of_a_server_refuses():
    for options, code in (({"password": "x"}, 403), ({"virtual_host": "x"}, 530)):
        _, _, client = client_frames(**options)
        assert client.close_reason[0] == code
    frames, _, _ = client_frames()
    purge = amqp.encode(1, amqp.Queue.Purge("q"))
    _, server = served([*frames[:6], purge])
    assert server.close_reason[0] == 540


def test_example_of_heartbeats():
    names: dict = {}
    exec(compile(HEARTBEATS, "docs/session.md", "exec"), names)
    pair = opened(client={"heartbeat": 10})
    now = [100.0]

    def poll(seconds):
        assert seconds == 5
        now[0] += seconds

    assert names["wait"](pair.client, lambda: now[0], poll) == []
    assert pair.client.bytes_to_send == 8


def test_all_blocks_are_tried():
    assert len(BLOCKS) == 3


def table(heading):
    """The rows of the table below a heading, each a list of its cells."""
    part = GUIDE.split(f"## {heading}\n", 1)[1].split("\n## ")[0]
    rows = [line for line in part.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows]


ROWS = table("AnyEvent::RabbitMQ's names and ours")


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_our_names_are_there(row):
    name_count = 0
    for name in re.findall(r"`([^`]+)`", row[1]):
        if name.startswith("ch."):
            assert hasattr(Channel, name[3:]), name
        elif name.startswith("c."):
            assert hasattr(Connection, name[2:]), name
        elif name[0].isupper() and name.isidentifier():
            assert hasattr(session, name), name
        else:
            continue
        name_count += 1
    assert name_count or "Connection" in row[1] or "options" in row[1] or "transport" in row[1]


def test_every_documented_operation_is_in_the_table():
    """What AnyEvent::RabbitMQ's own pages name."""
    theirs = " ".join(row[0] for row in ROWS)
    for name in (
        *("connect", "close", "open_channel", "declare_exchange", "delete_exchange"),
        *("bind_exchange", "unbind_exchange", "declare_queue", "bind_queue", "unbind_queue"),
        *("purge_queue", "delete_queue", "publish", "consume", "cancel", "get", "ack", "reject"),
        *("qos", "confirm", "recover", "select_tx", "commit_tx", "rollback_tx", "load_xml_spec"),
        *("on_success", "on_failure", "on_close", "on_return", "on_ack", "on_nack", "on_consume"),
        *("on_cancel", "on_inactive", "on_read_failure"),
    ):
        assert re.search(rf"\b{name}\b", theirs), name


def test_events_of_the_server_are_there():
    for row in table("The server's role"):
        for name in re.findall(r"`([A-Z]\w+)\(", row[0]):
            assert hasattr(session, name)
        for name in re.findall(r"`(\w+)\(", row[1]):
            assert hasattr(Connection, name), name
