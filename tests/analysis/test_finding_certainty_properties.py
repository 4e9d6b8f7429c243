"""What damage may do to findings: each is as certain as its least certain event, none is false."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("duckdb")

from amqpcodec import analysis, capture
from tests.support.event_talk import write
from tests.support.finding_talks import FINDING_TALKS, false_findings
from tests.support.shop_talk import without

Row = dict[str, Any]
RANKS = {"exact": 0, "inferred": 1, "unknown": 2}
FIELDS = [
    *("event", "outcome", "certainty", "connection", "connection_name", "virtual_host", "queue"),
    *("exchange", "reply_code", "reason", "answers", "settles", "request", "initiator"),
    *("message_id", "elapsed_us"),
]
ENDS = {"connection-refused", "connection-closed", "connection-lost", "heartbeat-missed"}
HELD = {"requeued", "unconfirmed"}
#: The events that a finding counts.
COUNTED: dict[str, Callable[[Row], bool]] = {
    **{
        finding: lambda row: row["event"] in ENDS | HELD
        for finding in (
            *("connection refused", "connection closed with an error", "heartbeat missed"),
            *("lost with unsettled messages", "lost with unconfirmed publishes"),
            *("many short connections", "lost without a close"),
        )
    },
    "channel closed with an error": lambda row: (
        row["event"] == "channel-closed" and row["reply_code"] not in (0, 200)
    ),
    "link closed with an error": lambda row: row["event"] == "link-closed" and row["reason"],
    "publishes nacked": lambda row: (row["event"], row["outcome"]) == ("confirmed", "rejected"),
    "messages returned": lambda row: (
        row["event"] == "returned"
        or (row["event"] == "confirmed" and row["outcome"] in ("released", "modified"))
    ),
    "messages lost in silence": lambda row: row["event"] == "unroutable",
    "messages rejected": lambda row: (row["event"], row["outcome"]) == ("settled", "rejected"),
    "slow work": lambda row: (
        (row["event"], row["outcome"]) == ("settled", "accepted") and row["elapsed_us"] is not None
    ),
    "publishers blocked": lambda row: row["event"] == "blocked",
    "consumer cancelled by the broker": lambda row: (
        (row["event"], row["initiator"]) == ("consumer-cancelled", "server")
    ),
    "deliveries not settled": lambda row: (
        row["event"] == "waiting" and row["answers"] is not None and row["settles"] == "manual"
    ),
    "request without an answer": lambda row: (
        row["event"] == "waiting" and row["answers"] is None and row["request"] is not None
    ),
    "recording incomplete": lambda row: row["event"] == "gap",
    "malformed frames": lambda row: row["event"] == "protocol-error",
    "backlog": lambda row: row["event"] in ("published", "settled", "requeued"),
    "poison message": lambda row: row["event"] in ("delivered", "requeued"),
}


def too_certain(path: Path, findings: list[Row]) -> list[tuple[Row, str]]:
    """Findings of a recording, and how certain the events are that they count, where less so."""
    events = pa.table(capture.read(path, level="event", fields=FIELDS)).to_pylist()
    wrong = []
    for finding in findings:
        counted = COUNTED[finding["finding"]]
        rows = [row for row in events if counted(row)]
        for name in ("connection_name", "virtual_host", "queue", "exchange", "reply_code"):
            if finding[name] is not None and finding["finding"] != "poison message":
                # Events without the column are of the finding by their connection.
                rows = [row for row in rows if row[name] in (None, finding[name])]
        if finding["messages"] is None:
            # One place each: where the column is null, so it is in the events.
            places = {"publishes nacked": "exchange", "messages rejected": "queue"}
            place = places.get(finding["finding"])
            rows = [row for row in rows if place is None or row[place] == finding[place]]
        if finding["finding"] == "lost without a close":
            rows = [row for row in rows if row["event"] == "connection-lost"]
        if finding["finding"].startswith(("many short", "lost ", "heartbeat", "connection ")):
            # Only connections that have the end that the finding is about.
            required = {
                "lost with unsettled messages": "requeued",
                "lost with unconfirmed publishes": "unconfirmed",
            }.get(finding["finding"])
            with_it = {row["connection"] for row in rows if required in (None, row["event"])}
            if finding["finding"] == "many short connections":
                opened = [row for row in events if row["event"] == "connection-opened"]
                with_it &= {row["connection"] for row in opened if row["certainty"] == "exact"}
            rows = [row for row in rows if row["connection"] in with_it]
        least = max((row["certainty"] for row in rows), key=RANKS.__getitem__, default="exact")
        if RANKS[finding["certainty"]] < RANKS[least]:
            wrong.append((finding, least))
    return wrong


def test_every_rule_has_a_recording(tmp_path: Path) -> None:
    for finding, talk in FINDING_TALKS.items():
        rows = analysis.diagnose(write(tmp_path / "talk.pcap", talk)).to_pylist()
        assert finding in {row["finding"] for row in rows}
    text = analysis.query("diagnose")
    assert all(f"'{finding}'" in text for finding in COUNTED)
    assert set(COUNTED) == set(FINDING_TALKS)


def false_or_too_certain(
    path: Path, damages: Iterable[list[Any]], recording: list[Any]
) -> list[Any]:
    """What is wrong of each damaged recording: with its number, none if nothing is."""
    expected = analysis.diagnose(write(path, recording)).to_pylist()
    wrong: list[Any] = []
    for number, damaged in enumerate(damages):
        findings = analysis.diagnose(write(path, damaged)).to_pylist()
        wrong += [(number, *found) for found in too_certain(path, findings)]
        wrong += [(number, row) for row in false_findings(findings, expected)]
    return wrong


@pytest.mark.parametrize("name", FINDING_TALKS)
def test_some_damage(tmp_path: Path, name: str) -> None:
    talk = FINDING_TALKS[name]
    places = range(1, len(talk), max(1, len(talk) // 4))
    damages = [damaged for n in places for damaged in (without(talk, n), talk[n:], talk[:n])]
    assert not false_or_too_certain(tmp_path / "talk.pcap", damages, talk)


@pytest.mark.slow
@pytest.mark.parametrize("name", FINDING_TALKS)
def test_every_packet_lost_and_every_beginning(tmp_path: Path, name: str) -> None:
    talk = FINDING_TALKS[name]
    damages = [
        damaged
        for n in range(0, len(talk), max(1, len(talk) // 32))
        for damaged in (without(talk, n), without(talk, n, n + 1), talk[n:])
    ]
    assert not false_or_too_certain(tmp_path / "talk.pcap", damages, talk)
