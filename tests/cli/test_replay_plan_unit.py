"""Where a replay may send messages: CC and BCC, exchanges that are there, and --declare."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from amqpcodec import v0_9_1 as amqp
from tests.cli.conftest import TALK
from tests.cli.replay_server import Broker, brokers
from tests.support import recording as builder

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("rich")

from amqpcodec.cli.replay.mapping import Mapping  # noqa: E402
from amqpcodec.cli.replay.messages import Message  # noqa: E402
from amqpcodec.cli.replay.outgoing import Preparation, UnsendableMessage  # noqa: E402
from tests.support.amqp091_messages import list_entry, published, with_raw_headers  # noqa: E402

HOST = "amqp://host.invalid/"


@pytest.fixture
def broker() -> Iterator[Broker]:
    with brokers() as server:
        yield server


def captured(tmp_path: Path, talk: list[tuple[str, bytes]]) -> Path:
    path = tmp_path / "recording.pcap"
    path.write_bytes(builder.pcap(builder.dialogue([*TALK[:4], *talk])))
    return path


def of_messages(tmp_path: Path, *messages: bytes) -> Path:
    return captured(tmp_path, [("client", message) for message in messages])


def target(broker: Broker) -> str:
    return f"amqp://127.0.0.1:{broker.port}/"


# --- CC and BCC -----------------------------------------------------------------------------------


def test_cc_and_bcc_are_in_the_plan(run, tmp_path):
    path = of_messages(tmp_path, published("", "a", headers={"CC": ["b", "c"], "BCC": ["d"]}))
    result = run("replay", path, "--to", HOST, "--dry-run")
    assert result.status == 0
    assert result.lines[1].endswith("'', 'a', CC 'b', CC 'c', BCC 'd'")
    assert result.lines[2:7] == [
        "can receive messages:",
        "  queue 'a': by the default exchange",
        "  queue 'b': by the default exchange, header CC",
        "  queue 'c': by the default exchange, header CC",
        "  queue 'd': by the default exchange, header BCC",
    ]


def test_rules_for_keys_are_rules_for_cc_and_bcc(run, tmp_path, broker):
    headers = {"CC": ["b"], "n": 5, "BCC": ["b", "c", 7]}
    path = of_messages(tmp_path, published("", "a", headers=headers))
    rules = ("--map", "key:*=test.*")
    plan = run("replay", path, "--to", HOST, "--dry-run", *rules)
    assert plan.lines[1].endswith("'test.a', CC 'test.b', BCC 'test.b', BCC 'test.c'")
    assert run("replay", path, "--to", target(broker), "--fast", *rules).status == 0
    [publication] = broker.publications
    assert publication.method.routing_key == "test.a"
    assert publication.properties.headers == {
        "CC": ["test.b"],
        "n": 5,
        "BCC": ["test.b", "test.c", 7],
    }
    assert b"\x01nI\x00\x00\x00\x05" in publication.properties.raw_headers, (
        "others stay as they are"
    )


def test_a_rule_is_applied_once(run, tmp_path, broker):
    path = of_messages(tmp_path, published("", "a", headers={"CC": ["a", "b"]}))
    rules = ("--map", "key:a=b", "--map", "key:b=a")
    assert run("replay", path, "--to", target(broker), "--fast", *rules).status == 0
    [publication] = broker.publications
    assert publication.properties.headers == {"CC": ["b", "a"]}


@pytest.mark.parametrize("header", ["CC", "BCC"])
@pytest.mark.parametrize("value", [["safe", "victim"], "victim", [b"vic\xfftim"]])
def test_a_copy_that_no_rule_fits_is_refused_before_anything_is_sent(
    run, tmp_path, broker, header, value
):
    path = of_messages(tmp_path, published("", "a"), published("", "a", headers={header: value}))
    rules = ("--map", "key:a=safe", "--map", "key:safe=safe")
    result = run("replay", path, "--to", target(broker), "--fast", *rules)
    assert result.status == 2
    assert "headers CC and BCC send messages to 'vic" in result.err
    assert "--map 'key:*=*'" in result.err
    assert broker.logins == []
    plan = run("replay", path, "--to", HOST, "--dry-run", *rules)
    assert plan.status == 2
    assert f"{header} 'vic" in plan.out
    allowed = (*rules, "--map", "key:*=*")
    assert run("replay", path, "--to", target(broker), "--fast", *allowed).status == 0
    assert [bytes(publication.body) for publication in broker.publications] == [b"x", b"x"]


def test_rules_for_exchanges_alone_need_none_for_copies(run, tmp_path, broker):
    """The keys of CC and BCC are those of the exchange that a message is published to."""
    path = of_messages(tmp_path, published("old", "a", headers={"CC": ["b"]}))
    result = run("replay", path, "--to", target(broker), "--fast", "--map", "old=orders")
    assert result.status == 0
    assert broker.publications[0].properties.headers == {"CC": ["b"]}


@pytest.mark.parametrize("header", [b"CC", b"BCC"])
def test_a_header_that_stands_twice_is_not_sent(run, tmp_path, broker, header):
    """A dict shows the last of them, and brokers may take the first."""
    twice = with_raw_headers(
        list_entry(header, b"victim") + list_entry(b"n", b"x") + list_entry(header, b"a")
    )
    once = with_raw_headers(list_entry(b"n", header, header) + list_entry(header, b"a"))
    path = of_messages(tmp_path, once, twice, once)
    result = run("replay", path, "--to", target(broker), "--fast", "--map", "key:a=safe")
    assert result.status == 1
    assert result.out == "2 sent, 2 confirmed, 1 not sent, as CC or BCC stands twice\n"
    assert f"message 1 cannot be sent: its headers name {header.decode()} 2 times" in result.err
    assert [
        publication.properties.headers[header.decode()] for publication in broker.publications
    ] == [["safe"]] * 2
    plan = run("replay", path, "--to", HOST, "--dry-run", "--map", "key:a=safe")
    assert plan.status == 1
    assert "victim" not in plan.out
    assert "1                cannot be sent" in plan.out


def test_copies_of_a_pipe_are_refused_too(tmp_path, broker):
    import subprocess
    import sys

    from tests.cli.conftest import environment

    path = of_messages(tmp_path, published("", "a", headers={"BCC": ["victim"]}))
    words = ["replay", "-", "--to", target(broker), "--fast", "--map", "key:a=safe"]
    command = [sys.executable, "-m", "amqpcodec", *words]
    ended = subprocess.run(
        command, input=path.read_bytes(), env=environment(), capture_output=True, timeout=60
    )
    assert ended.returncode == 2
    assert b"BCC send messages to 'victim'" in ended.stderr
    assert broker.publications == []


def test_keys_that_are_not_utf_8_are_mapped(tmp_path):
    raw = with_raw_headers(list_entry(b"CC", b"a\xff"))
    [(_, message)] = amqp.MessageDecoder(0).feed(raw)
    recorded = Message(0, "", "k\udcff", message.properties, b"", None, None)
    rules = Mapping(["key:a*=b*", "key:k*=l*"])
    outgoing = Preparation(rules, "me").prepare(recorded)
    assert outgoing.copies == (("CC", "b\udcff"),)
    frame = amqp.encode(1, amqp.Header(0, outgoing.properties))
    assert b"S\x00\x00\x00\x02b\xff" in frame


def test_twice_is_found_by_hand():
    raw = with_raw_headers(list_entry(b"BCC", b"a") + list_entry(b"BCC", b"b"))
    [(_, message)] = amqp.MessageDecoder(0).feed(raw)
    recorded = Message(0, "", "k", message.properties, b"", None, None)
    with pytest.raises(UnsendableMessage, match="name BCC 2 times"):
        Preparation(Mapping([]), "me").prepare(recorded)


# --- exchanges ------------------------------------------------------------------------------------


def test_no_message_is_sent_before_all_exchanges_are_there(run, tmp_path, broker):
    messages = [published("orders", "k") for _ in range(300)]
    messages += [published("gone", "k"), published("", "q"), published("gone too", "k")]
    path = of_messages(tmp_path, *messages)
    result = run("replay", path, "--to", target(broker), "--fast")
    assert result.status == 2
    assert "no such exchange: 'gone' (404 " in result.err
    assert "'gone too' (404 " in result.err
    assert broker.publications == []
    assert broker.passive == ["orders", "gone", "gone too"]
    only = run("replay", path, "--to", target(broker), "--fast", "--where", "exchange == orders")
    assert only.out == "300 sent, 300 confirmed\n"


def test_what_is_done_needs_no_exchange(run, tmp_path, broker):
    path = of_messages(tmp_path, published("orders", "k"))
    words = ("replay", path, "--to", target(broker), "--fast", "--journal", tmp_path / "j")
    assert run(*words).status == 0
    broker.exchanges = set()
    assert run(*words).status == 0


def test_a_pipe_is_checked_message_by_message(tmp_path, broker):
    import subprocess
    import sys

    from tests.cli.conftest import environment

    path = of_messages(tmp_path, published("orders", "k"), published("gone", "k"))
    command = [sys.executable, "-m", "amqpcodec", "replay", "-", "--to", target(broker), "--fast"]
    ended = subprocess.run(
        command, input=path.read_bytes(), env=environment(), capture_output=True, timeout=60
    )
    assert ended.returncode == 2
    assert b"no such exchange: 'gone'" in ended.stderr
    assert len(broker.publications) <= 1


def test_more_routes_than_a_plan_tells_apart(run, tmp_path, broker, monkeypatch):
    from amqpcodec.cli.replay import plan

    monkeypatch.setattr(plan, "MAX_ROUTES", 3)
    messages = [published(f"e{n}", "k") for n in range(5)]
    path = of_messages(tmp_path, *messages)
    lines = run("replay", path, "--to", HOST, "--dry-run").lines
    assert "        2             2  '...', '...'" in lines
    assert "  exchange 'e2': published to" in lines
    assert "  those of more than 3 routes, which are not listed" in lines
    broker.exchanges = {"e0", "e1", "e2", "e3"}
    result = run("replay", path, "--to", target(broker), "--fast")
    assert result.status == 2
    assert "no such exchange: 'e4'" in result.err


# --- declarations ---------------------------------------------------------------------------------


def declaring(tmp_path: Path) -> Path:
    """A recording that declares, binds and publishes."""

    def encoded(method: Any) -> tuple[str, bytes]:
        side = "server" if method.NAME.endswith("-ok") else "client"
        return side, amqp.encode(1, method)

    E, Q = amqp.Exchange, amqp.Queue
    talk = [
        encoded(E.Declare(exchange="spare", type="fanout", durable=True)),
        encoded(E.DeclareOk()),
        encoded(
            E.Declare(
                exchange="shop", type="topic", durable=True,
                arguments={"alternate-exchange": "spare"},
            )
        ),
        encoded(E.DeclareOk()),
        encoded(Q.Declare(queue="eu", durable=True, arguments={
            "x-dead-letter-exchange": "dead", "x-max-length": 5, "x-queue-type": "quorum",
        })),
        encoded(Q.DeclareOk(queue="eu")),
        encoded(Q.Declare(queue="mine", exclusive=True)),
        encoded(Q.DeclareOk(queue="mine")),
        encoded(Q.Declare(queue="")),
        encoded(Q.DeclareOk(queue="amq.gen-1")),
        encoded(Q.Declare(queue="asked", passive=True)),
        encoded(Q.DeclareOk(queue="asked")),
        encoded(Q.Bind(queue="eu", exchange="shop", routing_key="eu.#")),
        encoded(Q.BindOk()),
        encoded(Q.Bind(queue="mine", exchange="shop", routing_key="#")),
        encoded(Q.BindOk()),
        encoded(E.Bind(destination="spare", source="shop", routing_key="us.*")),
        encoded(E.BindOk()),
        ("client", published("shop", "eu.de", headers={"CC": ["us.ny"]})),
        ("client", published("", "eu")),
    ]  # fmt: skip
    return captured(tmp_path, talk)


def test_the_plan_names_what_the_recording_says_may_receive(run, tmp_path):
    result = run("replay", declaring(tmp_path), "--to", HOST, "--dry-run")
    assert result.status == 0
    start = result.lines.index("can receive messages:")
    assert set(result.lines[start + 1 : start + 7]) == {
        "  exchange 'shop': published to",
        "  queue 'eu': bound to 'shop' in the recording",
        "  queue 'mine': bound to 'shop' in the recording",
        "  exchange 'spare': alternate exchange of 'shop'",
        "  exchange 'dead': dead letters of queue 'eu'",
    } | {result.lines[start + 6]}
    assert any(line.startswith("not known: what these exchanges") for line in result.lines)


def test_the_plan_of_declarations(run, tmp_path):
    result = run(
        *("replay", declaring(tmp_path), "--to", HOST, "--dry-run", "--declare"),
        *("--map", "key:*=test.*", "--map", "*=t-*"),
    )
    assert result.status == 0
    start = result.lines.index("would be declared:")
    end = result.lines.index("cannot be declared:")
    assert set(result.lines[start + 1 : end]) == {
        "  exchange 't-spare', fanout, durable",
        "  exchange 't-shop', topic, durable",
        "  queue 'test.eu', durable",
        "  binding of queue 'test.eu' to 't-shop', key 'test.eu.#'",
        "  binding of exchange 't-spare' to 't-shop', key 'test.us.*'",
    }
    others = "\n".join(result.lines[end + 1 :])
    for name, reason in (
        ("test.mine", "an exclusive queue ends"),
        ("test.asked", "its declaration is not in the recording"),
        ("test.amq.gen-1", ""),
    ):
        assert name in others
        assert reason in others


def test_declare_creates_it(run, tmp_path, broker):
    result = run(
        *("replay", declaring(tmp_path), "--to", target(broker), "--fast", "--declare"),
        *("--map", "=", "--map", "*=t-*", "--map", "key:*=*"),
    )
    assert result.err == ""
    assert result.status == 0
    names = [method.NAME for method in broker.declared]
    assert names == [
        *("exchange.declare", "exchange.declare", "queue.declare", "queue.bind", "exchange.bind"),
    ]
    shop = broker.declared[1] if broker.declared[1].exchange == "t-shop" else broker.declared[0]
    assert (shop.exchange, shop.type, shop.durable) == ("t-shop", "topic", True)
    assert shop.arguments == {"alternate-exchange": "t-spare"}
    queue = broker.declared[2]
    assert queue.arguments == {
        "x-dead-letter-exchange": "t-dead", "x-max-length": 5, "x-queue-type": "quorum",
    }  # fmt: skip
    bind = broker.declared[3]
    assert (bind.queue, bind.exchange, bind.routing_key) == ("eu", "t-shop", "eu.#")
    assert len(broker.publications) == 2


def test_what_is_there_with_other_properties_ends_it(run, tmp_path, broker):
    broker.inequivalent = {"eu"}
    result = run("replay", declaring(tmp_path), "--to", target(broker), "--fast", "--declare")
    assert result.status == 2
    assert "queue 'eu', durable cannot be declared: 406 PRECONDITION_FAILED" in result.err
    assert broker.publications == []


def test_declare_from_a_table_of_all_methods(run, tmp_path, broker):
    table = tmp_path / "all.parquet"
    fields = "connection_index,direction,channel,timestamp,method,arguments,exchange,routing_key"
    words = ("--level", "message", "--fields", f"{fields},frame", "-o", table)
    assert run("dissect", declaring(tmp_path), *words).status == 0
    result = run("replay", table, "--to", target(broker), "--fast", "--declare")
    assert (result.status, result.err) == (0, "")
    assert len(broker.declared) == 5
    assert len(broker.publications) == 2


def test_declare_from_what_declares_nothing(run, tmp_path, broker):
    table = tmp_path / "own.parquet"
    pq.write_table(pa.table({"exchange": [""], "routing_key": ["q"]}), table)
    for more in ((), ("--dry-run",)):
        result = run("replay", table, "--to", target(broker), "--fast", "--declare", *more)
        assert result.status == 2
        assert "--declare: the tables have no declarations" in result.err
    result = run("replay", "-", "--to", target(broker), "--declare")
    assert result.status == 2
    assert "a pipe can be read once" in result.err
    assert broker.logins == []


def test_columns_of_other_contents_declare_nothing(run, tmp_path):
    table = tmp_path / "own.parquet"
    columns = {
        "exchange": ["", ""], "routing_key": ["q", "r"], "arguments": ["{}", "{}"],
        "connection_index": ["a", "b"], "direction": ["client"] * 2, "channel": [1, 2],
        "timestamp": ["yesterday", "today"], "method": ["basic.publish", "queue.declare"],
    }  # fmt: skip
    pq.write_table(pa.table(columns), table)
    result = run("replay", table, "--to", HOST, "--dry-run")
    assert "queue 'q': by the default exchange" in result.out
