"""AMQP 1.0 on the command line: what a person sees of it."""

from __future__ import annotations

import base64
import json

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("rich")

from amqpcodec import v1_0 as v1
from amqpcodec.cli.performatives import payload_texts, performative_text
from tests.support.v1_talk import path_of

RABBIT = ("dissect", path_of("rabbit"), "--ports", "5680")
TX = ("dissect", path_of("tx"), "--ports", "5681")


@pytest.mark.parametrize("options", [(), ("--protocol", "1.0")])
def test_table(run, options):
    result = run(*RABBIT, *options)
    assert (result.status, result.err) == (0, "")
    assert len(result.lines) == 1 + 53
    [attach, *_] = (line for line in result.lines if " attach " in line)
    assert "sender name=" in attach
    assert attach.endswith("handle=0 - -> /queue/cap11")
    [transfer, *_] = (line for line in result.lines if " transfer " in line)
    assert "handle=0 delivery_id=0 delivery_tag=0x31  message_id=id-0" in transfer
    assert "to=/queue/cap11 subject=sub" in transfer
    assert any(
        "disposition" in line and "delivery=1 rejected settled" in line for line in result.lines
    )
    assert any("handle=0 delivery_id=2 delivery_tag=0x33 more" in line for line in result.lines)
    assert "guest" not in result.out


@pytest.mark.parametrize("name", ["method", "performative"])
@pytest.mark.parametrize("options", [(), ("--protocol", "1.0")])
def test_where(run, name, options):
    result = run(*RABBIT, *options, "--where", f"{name} == transfer and direction == client")
    assert result.status == 0
    assert len(result.lines) == 1 + 8
    assert all(" transfer " in line for line in result.lines[1:])
    result = run(*RABBIT, *options, "--where", f"not {name} in (transfer, flow) and arguments.role")
    assert {"attach", "disposition"} == {line.split()[6] for line in result.lines[1:]}


def test_messages(run):
    result = run(*TX, "--protocol", "1.0", "--level", "message", "--where", "delivery_id == 2")
    assert result.status == 0
    assert all("delivery_tag=0x33" in line and "subject=sub2" in line for line in result.lines[1:])
    transfers = run(*TX, "--level", "message", "--where", "performative == transfer")
    assert (transfers.status, len(transfers.lines)) == (0, 1 + 19)


def test_jsonl_and_parquet(run, tmp_path):
    result = run(*TX, "--protocol", "1.0", "--level", "message", "--format", "json")
    rows = [json.loads(line) for line in result.lines]
    texts = [row for row in rows if row.get("performative") == "transfer" and row.get("properties")]
    assert texts[0]["properties"]["subject"] == "sub0"
    assert texts[0]["application_properties"]["str"] == "v"
    frames = [base64.b64decode(row["frame"]) for row in rows]
    assert rows[0]["performative"] == v1.decode(frames[0])[2].NAME
    import pyarrow.parquet as pq

    path = tmp_path / "x.parquet"
    assert run(*TX, "-o", path).status == 0
    assert pq.read_table(path).column("method").to_pylist().count("transfer") == 24


def test_stats(run):
    result = run("stats", path_of("rabbit"), "--ports", "5680", "--format", "json")
    counted = json.loads(result.out)
    assert counted["versions"] == {"1.0": 1}
    assert counted["methods"]["transfer"] == 17


@pytest.mark.parametrize(
    ("performative", "fields", "expected"),
    [
        ("attach", {"role": True, "name": "n", "handle": 3, "target": {"$type": "coordinator"},
                    "source": {"$type": "source", "dynamic": True}},
         "receiver name=n handle=3 (dynamic) -> coordinator"),
        ("attach", {"name": "n", "handle": 0}, "sender name=n handle=0 - -> -"),
        ("flow", {"next_incoming_id": 1, "incoming_window": 2, "echo": True},
         "echo next_incoming_id=1 incoming_window=2"),
        ("disposition", {"first": 1, "last": 4, "state": {"$type": "rejected", "error":
            {"$type": "error", "condition": "amqp:not-found"}}},
         "deliveries=1..4 rejected condition=amqp:not-found"),
        ("close", {"error": {"$type": "error", "condition": "a:b", "description": "why"}},
         "error condition=a:b description=why"),
        ("transfer", {"handle": 0, "delivery_tag": {"$binary": "not base64"}, "aborted": True},
         'handle=0 delivery_tag={"$binary": "not base64"} aborted'),
        ("end", {}, ""),
        ("basic.publish", {}, None),
        (None, {}, None),
    ],
)  # fmt: skip
def test_what_a_performative_says(performative, fields, expected):
    assert performative_text(performative, json.dumps(fields)) == expected


def test_what_a_message_says():
    messages = [v1.Message("text", to="q"), v1.Message(b"\xff" * 65), v1.Message({"n": 1})]
    texts = ["to=q text", f"0x{'ff' * 64}…", '{"n": 1}']
    none = [None, b"", b"no message", v1.Message("text").encode()[:-1]]
    octets = [message.encode() for message in messages]
    assert payload_texts([*octets, *none, *octets]) == [*texts, None, None, None, None, *texts]
