"""Queues of consumers that began before the recording, by what rabbitmqctl list_consumers says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")

from amqpcodec import analysis
from amqpcodec import v0_9_1 as amqp
from tests.support.event_talk import TO_CLIENT, Say, client, consume, write
from tests.support.recording import packets

HEAD = "queue_name\tchannel_pid\tconsumer_tag\tack_required\tprefetch_count\tactive\targuments"
ROWS = (
    ("orders", "<rabbit@a.1.2.3>", "early", "true", "0", "true", "[]"),
    ("mails", "<rabbit@a.1.2.4>", "twice", "true", "0", "true", "[]"),
    ("bills", "<rabbit@a.1.2.5>", "twice", "true", "0", "true", "[]"),
    ("other", "<rabbit@a.1.2.6>", "late", "true", "0", "true", "[]"),
)
TABLE = "\n".join(["Listing consumers in vhost / ...", HEAD, *map("\t".join, ROWS)]) + "\n"
JSON = json.dumps([dict(zip(HEAD.split("\t"), row, strict=True)) for row in ROWS])
CSV = TABLE.partition("\n")[2].replace("\t", ",")


def delivered(number: int, tag: str) -> Say:
    method = amqp.Basic.Deliver(
        consumer_tag=tag, delivery_tag=number, exchange="shop", routing_key="k"
    )
    return TO_CLIENT, amqp.encode_message(1, method, amqp.Basic.Properties(), b"%d" % number)


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """One delivery each to early, twice and unlisted; late begins in the recording."""
    says = [
        client(amqp.Basic.Qos(prefetch_count=9)),
        *(delivered(n, tag) for n, tag in enumerate(("early", "twice", "unlisted"), 1)),
        *consume("seen", "late"),
        delivered(4, "late"),
        client(amqp.Basic.Ack(delivery_tag=1)),
    ]
    return write(tmp_path / "talk.pcap", packets(says))


@pytest.fixture(params=[TABLE, JSON, CSV], ids=["table", "json", "csv"])
def listed(request: Any, tmp_path: Path) -> Path:
    path = tmp_path / "consumers.txt"
    path.write_text(request.param)
    return path


QUERY = (
    "SELECT consumer_tag, queue, certainty FROM events"
    " WHERE event IN ('delivered', 'settled') ORDER BY event, delivery_tag"
)


def test_queues_of_earlier_consumers(recording: Path, listed: Path) -> None:
    """A tag of two queues says nothing, and what the recording says stays."""
    rows = analysis.sql(QUERY, recording, consumers=listed).to_pylist()
    assert [tuple(row.values()) for row in rows] == [
        ("early", "orders", "inferred"),
        ("twice", None, "unknown"),
        ("unlisted", None, "unknown"),
        ("late", "seen", "exact"),
        ("early", "orders", rows[-1]["certainty"]),
    ]
    [queue] = [
        row
        for row in analysis.queues(recording, consumers=listed).to_pylist()
        if row["queue"] == "orders"
    ]
    assert (queue["delivered"], queue["acknowledged"], queue["certainty"]) == (1, 1, "inferred")
    assert analysis.unacked(recording, consumers=listed).num_rows == 1


def test_only_the_delivery_becomes_less_certain(recording: Path, listed: Path) -> None:
    rows = analysis.sql("SELECT * FROM events", recording).to_pylist()
    filled = analysis.sql("SELECT * FROM events", recording, consumers=listed).to_pylist()
    changed = [
        (old["event"], name, new[name])
        for old, new in zip(rows, filled, strict=True)
        for name in old
        if old[name] != new[name]
    ]
    assert changed == [
        ("delivered", "certainty", "inferred"),
        ("delivered", "queue", "orders"),
        ("settled", "queue", "orders"),
    ]


@pytest.mark.parametrize(
    "text",
    ["", "no list\n", HEAD + "\na\tb\n", "[1]", '[{"queue_name": "q"}]', "[", "queue_name\na"],
)
def test_what_is_no_list(recording: Path, tmp_path: Path, text: str) -> None:
    path = tmp_path / "consumers.txt"
    path.write_text(text)
    with pytest.raises(ValueError, match="it is no list of consumers"):
        analysis.queues(recording, consumers=path)
    path.write_bytes(b"\xff" + TABLE.encode())
    with pytest.raises(ValueError, match="it is no list of consumers"):
        analysis.queues(recording, consumers=path)


def test_the_command(
    recording: Path, listed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("rich")
    from amqpcodec.cli.main import main

    words = ["queues", str(recording), "--format", "json", "--consumers"]
    assert main([*words, str(listed)]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    delivered = {row.get("queue"): row["delivered"] for row in rows if row["queue"]}
    assert delivered == {"orders": 1, "seen": 1}
    for path, said in ((tmp_path / "none", "No such file"), (recording, "no list of consumers")):
        assert main([*words, str(path)]) == 2
        assert said in capsys.readouterr().err
