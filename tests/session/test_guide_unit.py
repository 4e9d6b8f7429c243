"""What docs/session.md shows runs, and the names in its tables are there."""

from __future__ import annotations

import re
import socket
import threading

import pytest

from amqpcodec import session
from amqpcodec.session._channel import Channel
from amqpcodec.session._legacy import LegacyConnection
from tests.paths import REPO
from tests.session.pair import Pair, opened

GUIDE = (REPO / "docs" / "session.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", GUIDE, re.S)


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
    assert "b'hello' Basic.Properties() for made" in out
    assert "queue.declare was answered by Queue.DeclareOk" in out


def test_example_of_heartbeats():
    names: dict = {}
    exec(compile(BLOCKS[1], "docs/session.md", "exec"), names)
    pair = opened(client={"heartbeat": 10})
    now = [100.0]

    def poll(seconds):
        assert seconds == 5
        now[0] += seconds

    assert names["wait"](pair.client, lambda: now[0], poll) == []
    assert pair.client.bytes_to_send == 8


def test_all_blocks_are_tried():
    assert len(BLOCKS) == 2


def table(heading):
    """The rows of the table below a heading, each a list of its cells."""
    part = GUIDE.split(f"## {heading}\n", 1)[1].split("\n## ")[0]
    rows = [line for line in part.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows]


ROWS = table("AnyEvent::RabbitMQ's names and ours")


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_our_names_are_there(row):
    found = 0
    for name in re.findall(r"`([^`]+)`", row[1]):
        if name.startswith("ch."):
            assert hasattr(Channel, name[3:]), name
        elif name.startswith("c."):
            assert hasattr(LegacyConnection, name[2:]), name
        elif name[0].isupper() and name.isidentifier():
            assert hasattr(session, name), name
        else:
            continue
        found += 1
    assert found or "Connection" in row[1] or "options" in row[1] or "transport" in row[1]


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
            assert hasattr(LegacyConnection, name), name
