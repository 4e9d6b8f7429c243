"""The question messages joins a message with its answers; one group a message gives the same."""

from __future__ import annotations

from pathlib import Path

import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("duckdb")

from amqpcodec import analysis, capture  # noqa: E402
from amqpcodec import v0_9_1 as amqp  # noqa: E402
from amqpcodec.analysis import _duckdb  # noqa: E402
from tests.analysis.test_routes_unit import DELIVERED, LOST, ORDERS  # noqa: E402
from tests.analysis.test_v1_questions_unit import WORK  # noqa: E402
from tests.paths import REPO, shared_dir  # noqa: E402
from tests.support.event_talk import (  # noqa: E402
    TO_CLIENT,
    client,
    close,
    login,
    lost,
    open_channel,
    publish,
    select,
    write,
)
from tests.support.finding_talks import FINDING_TALKS  # noqa: E402
from tests.support.recording import packets  # noqa: E402
from tests.support.shop_talk import killed, troubled, without, working  # noqa: E402
from tests.support.standstill_talk import ack, middle, pairs  # noqa: E402

#: A publish in a packet a frame, so that a lost one leaves the others; it comes back.
RETURNED = [
    *login(),
    *open_channel(),
    *select(),
    client(amqp.Basic.Publish(exchange="", routing_key="nowhere", mandatory=True)),
    client(amqp.Header(4, amqp.Basic.Properties(message_id="m", correlation_id="c"))),
    client(amqp.Body(b"body")),
    (
        TO_CLIENT,
        amqp.encode_message(
            1,
            amqp.Basic.Return(312, "NO_ROUTE", "", "nowhere"),
            amqp.Basic.Properties(message_id="m", correlation_id="c"),
            b"body",
        ),
    ),
    ack(1),
    publish(2),
    ack(2),
    *close(),
]
TALKS = {
    "returned": packets(RETURNED),
    **FINDING_TALKS,
    "working": working(),
    "killed": killed(),
    "troubled": troubled(),
    "routes": packets([*ORDERS, *DELIVERED]),
    "unroutable": packets(LOST),
    "1.0": lost(WORK, TO_CLIENT),
}

ANSWERS = "answers IS NOT NULL"
FIRST_ANSWERS = f"{ANSWERS} AND event IN ('returned', 'unroutable', 'destroyed')"
ENDS = "'confirmed', 'unconfirmed', 'unroutable', 'destroyed', 'settled', 'requeued', 'waiting'"
#: What a message and its answers say of it.
SHARED = (
    *("message_id", "correlation_id", "virtual_host", "exchange", "routing_key", "queue"),
    *("connection_name", "client", "consumer_tag", "delivery_tag", "redelivered", "body_size"),
    *("content", "reply_code", "reply_text", "channel"),
)


def largest(column: str, condition: str = "TRUE") -> str:
    return f"max(CASE WHEN {condition} THEN {column} END)"


def of_answers(column: str, of_automatic: str) -> str:
    """The answer that counts, if there is one. of_automatic: where none is needed."""
    automatic = largest(of_automatic, "settles = 'automatic'")
    return f"coalesce({largest(column, FIRST_ANSWERS)}, {largest(column, ANSWERS)}, {automatic})"


#: The events of a message in one group, of which each column has the largest value.
GROUPED = f"""
SELECT * FROM (
  SELECT connection, coalesce(answers, event_id) AS event_id,
         {largest("event", "answers IS NULL")} AS event,
         {largest("timestamp", "answers IS NULL")} AS began_at,
         {of_answers("event", "'settled'")} AS ended,
         coalesce({largest("outcome", "event IN ('confirmed', 'settled')")},
                  {largest("'accepted'", "settles = 'automatic'")}) AS outcome,
         {of_answers("elapsed_us", "NULL")} AS elapsed_us,
         coalesce({of_answers("certainty", "'exact'")}, 'unknown') AS certainty,
         {largest("route", "event = 'published'")} AS route,
         {", ".join(f"max({name}) AS {name}" for name in SHARED)}
  FROM events
  WHERE event IN ('published', 'delivered', 'returned') OR event IN ({ENDS}) AND {ANSWERS}
  GROUP BY connection, coalesce(answers, event_id)
) AS messages
WHERE event IS NOT NULL
ORDER BY began_at NULLS LAST, connection, event_id
"""


def check_rows(events: pa.Table) -> None:
    """Run both over the same events."""
    rows, expected = (
        _duckdb.run(query, events.to_batches(), events.schema)
        for query in (analysis.query("messages"), GROUPED)
    )
    assert set(rows.schema.names) == set(expected.schema.names)
    expected = expected.select(rows.schema.names)
    assert rows.schema == expected.schema
    assert rows.to_pylist() == expected.to_pylist()
    begun = [
        event in ("published", "delivered", "returned") and answers is None
        for event, answers in zip(
            events.column("event").to_pylist(), events.column("answers").to_pylist(), strict=True
        )
    ]
    assert rows.num_rows == sum(begun)


def of_variant(events: pa.Table, number: int) -> pa.Table:
    """The events with connections of their own."""
    names = [f"{number} {name}" for name in events.column("connection").to_pylist()]
    at = events.schema.get_field_index("connection")
    return events.set_column(at, events.schema.field(at), pa.array(names, pa.string()))


@pytest.mark.parametrize("name", TALKS)
def test_every_packet_lost(name: str, tmp_path: Path) -> None:
    talk = list(TALKS[name])
    variants = [talk, *(without(talk, number) for number in range(len(talk)))]
    tables = []
    for number, variant in enumerate(variants):
        path = write(tmp_path / "talk.pcap", variant)
        tables.append(of_variant(pa.table(capture.read(path, "event")), number))
    check_rows(pa.concat_tables(tables))


def test_publishes_whose_numbers_are_known_later(tmp_path: Path) -> None:
    """The recording begins in the middle: the confirms say which number a publish had."""
    talk = [*pairs(5, 0), *pairs(6, 1.1, 3), *pairs(9, 12), *pairs(10, 12.5, 2)]
    path = write(tmp_path / "talk.pcap", middle(talk, [*pairs(1, -5.0), *pairs(2, -4.0, 3)]))
    check_rows(pa.table(capture.read(path, "event")))


def test_recordings() -> None:
    paths = [REPO / "demo" / "kombu_celery.pcap.gz"]
    if shared := shared_dir():
        paths += sorted(shared.glob("captures/*.pcap*"))
        paths += sorted(shared.glob("cases/questions/*.pcap"))
    for path in paths:
        check_rows(pa.table(capture.read(path, "event")))
