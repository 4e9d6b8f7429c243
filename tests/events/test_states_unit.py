"""States that somebody changed, and what a state keeps of virtual hosts and sessions."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from amqpcodec import capture
from amqpcodec import v0_9_1 as amqp
from tests.events.test_pieces_properties import offsets, read_changed, resumed, rows_of
from tests.support import event_talk_v1 as v1
from tests.support.damage import with_byte
from tests.support.event_talk import Say, client, open_channel, server, short, write
from tests.support.recording import packets, pcap
from tests.support.route_talk import START, bind, declare, on, send, together


def start_on(host: str) -> list[Say]:
    """A login to a virtual host, and a channel."""
    opened = client(amqp.Connection.Open(virtual_host=host), 0)
    return [opened if i == 5 else say for i, say in enumerate(START)]


HOSTS = [
    *on(0, [*start_on("vhost-a"), *declare("a", "fanout"), *bind("q", "a")]),
    *on(1, [*start_on("vhost-b"), *declare("a", "fanout"), *bind("r", "a")]),
]


def state_of(path: Path, talk: Iterable[bytes]) -> tuple[bytes, list[int]]:
    """The state at the end of a recording, and where its numbers begin."""
    reader = capture.Reader(write(path, talk), "event")
    rows_of(reader, path.stat().st_size)
    starts: list[int] = []
    return reader._one().core.state(starts), starts


def resume(path: Path, state: bytes) -> Any:
    """A core that goes on from a state, which may be refused."""
    core = capture.Reader(path, "event")._one().core
    core.resume(state)
    return core


def read_on(core: Any, records: Iterable[bytes]) -> list[dict[str, Any]]:
    """Rows of the packets that follow."""
    core.feed(pcap(records)[24:])
    while core.advance():
        pass
    batch = core.take(True)
    return [] if batch is None else pa.record_batch(batch).to_pylist()


def routes(rows: Iterable[dict[str, Any]]) -> list[Any]:
    return [row["route"] for row in rows if row["event"] == "published"]


def test_connections_keep_their_virtual_hosts(tmp_path: Path) -> None:
    talk = together([*HOSTS, *on(1, [send("a", name="m1")]), *on(0, [send("a", name="m2")])])
    path = write(tmp_path / "talk.pcap", talk)
    rows = resumed(path, offsets(talk)[:-1])
    sent = [row for row in rows if row["event"] == "published"]
    assert short(sent, "message_id", "route") == [("m1", ["r"]), ("m2", ["q"])]


def test_two_virtual_hosts_of_one_name_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "talk.pcap"
    state, _ = state_of(path, together(HOSTS))
    resume(path, state)
    same = state.replace(b"vhost-b", b"vhost-a")
    assert same.count(b"vhost-a") > state.count(b"vhost-a") > 0
    with pytest.raises(ValueError, match="damaged"):
        resume(path, same)


def test_two_sessions_of_one_number_are_refused(tmp_path: Path) -> None:
    """Those of the server are 8 and 10, which differ by a bit."""
    path = tmp_path / "talk.pcap"
    state, starts = state_of(path, packets([*v1.login(), *v1.begin(1), *v1.begin(3)]))
    refused = []
    for start in [start for start in starts if state[start] in (2 * 8, 2 * 10)]:
        try:
            resume(path, with_byte(state, start, state[start] ^ 4))
        except ValueError:
            refused.append(state[start])
    assert refused == [2 * 8, 2 * 10]


@pytest.mark.parametrize("bit", range(7))
def test_any_number_may_be_another(bit: int, tmp_path: Path) -> None:
    path = tmp_path / "talk.pcap"
    state, starts = state_of(path, together([*HOSTS, *on(0, open_channel(2))]))
    for start in starts:
        read_changed(path, state, start, 1 << bit)


def test_a_request_without_its_exchange_changes_nothing(tmp_path: Path) -> None:
    """No request has none: in a state its name of no bytes becomes one that is not there."""
    script = [*START, *declare("a", "direct"), *bind("q", "a", "k")]
    script.append(client(amqp.Queue.Bind(queue="q", exchange="", routing_key="k")))
    path = tmp_path / "talk.pcap"
    state, starts = state_of(path, packets(script))
    later = [server(amqp.Queue.BindOk()), send("a", "k", name="m1"), send("a", "x", name="m2")]
    without = []
    for start in [start for start in starts if state[start] == 0]:
        try:
            core = resume(path, with_byte(state, start, 1))
        except ValueError:
            continue
        rows = read_on(core, packets([*script, *later])[-len(later) :])
        if rows and rows[0]["event"] == "bound" and rows[0]["exchange"] is None:
            without.append(short(rows, "event", "route"))
    # No one knows which bindings there are: of the second publish nothing is script.
    assert without == [[("bound", None), ("published", ["q"]), ("published", [])]]


def test_a_table_of_a_state_ends_where_it_cannot_be_read(tmp_path: Path) -> None:
    """A binding's arguments were checked when they came, and not again."""
    script = [*START, *declare("a", "headers"), *bind("q", "a", "", {"h": "first", "i": "second"})]
    path = tmp_path / "talk.pcap"
    state, _ = state_of(path, packets(script))
    later = [send("a", headers={"h": "first"}), send("a", headers={"h": "second"})]
    records = packets([*script, *later])[-2:]
    assert routes(read_on(resume(path, state), records)) == [[], []]
    damaged = with_byte(state, state.index(b"\1iS") + 2, 0xFF)
    assert routes(read_on(resume(path, damaged), records)) == [["q"], []]
