"""``amqpcodec connections`` and the others that show the rows of a question, as a table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import IO

import pyarrow as pa
import pyarrow.compute as pc

from ..analysis._questions import load
from .answers import write_answer
from .options import ErrorsOptions, MessagesOptions, QueryOptions, TopOptions
from .output import Writer
from .table import Table
from .times import Clock

__all__ = ["VIEWS", "View", "ask", "errors", "messages", "top"]


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What the table of a question shows; the other formats have all columns.

    Attributes:
        names: its columns.
        optional: of these, columns that may go. Where all rows have one value, the table writes it
            once, in a line above its head. A narrow terminal hides these columns, in this order.
        nothing: said in place of an empty table.
        essential: optional columns for which a narrow terminal shortens other names, as without
            them nobody knows which item a row is about.
        styles: of values.
    """

    names: tuple[str, ...]
    optional: tuple[str, ...]
    nothing: str
    essential: tuple[str, ...] = ()
    styles: dict[str, str] = field(default_factory=dict)


#: What stands before an id of AMQP 1.0 that is no text.
ID_KINDS = ("", "AMQP_ULONG:", "AMQP_UUID:", "AMQP_BINARY:")
ENDS = {"closed": "dim", "open": "green", "lost": "bold red", "refused": "bold red"}
OUTCOMES = {
    **{"rejected": "bold red", "requeued": "bold red", "unconfirmed": "bold red"},
    **{"returned": "bold red", "released": "yellow", "waiting": "yellow"},
}

VIEWS = {
    "connections": View(
        names=(
            *("client", "connection_name", "user", "virtual_host", "first_event", "last_event"),
            *("channels", "published", "delivered", "requeued", "unconfirmed", "gaps", "ended"),
            *("ended_by", "reply_code", "reason", "certainty", "heartbeat_s", "details"),
        ),
        optional=(
            *("virtual_host", "certainty", "heartbeat_s", "details", "channels", "user", "gaps"),
            *("last_event", "unconfirmed", "reply_code", "delivered", "published", "requeued"),
            *("ended_by", "first_event", "client"),
        ),
        nothing="no connection was seen",
        styles=ENDS,
    ),
    "queues": View(
        names=(
            *("virtual_host", "queue", "connection_name", "consumer_tag", "published"),
            *("delivered", "redelivered", "acknowledged", "rejected", "requeued"),
            *("unacknowledged", "backlog", "wait_p50_ms", "wait_p99_ms", "work_p50_ms"),
            *("work_p99_ms", "certainty"),
        ),
        optional=(
            *("virtual_host", "connection_name", "consumer_tag", "certainty", "wait_p50_ms"),
            *("work_p50_ms", "rejected", "requeued", "acknowledged", "redelivered"),
            *("wait_p99_ms", "published", "delivered"),
        ),
        nothing="no queue was declared, consumed from or sent to",
    ),
    "unacked": View(
        names=(
            *("delivered_at", "age_us", "virtual_host", "queue", "connection_name", "client"),
            *("channel", "consumer_tag", "delivery_tag", "redelivered", "body_size"),
            *("message_id", "certainty"),
        ),
        optional=(
            *("virtual_host", "channel", "body_size", "consumer_tag", "redelivered", "client"),
            *("delivery_tag", "message_id", "certainty"),
        ),
        nothing="no delivery is known to wait for its settlement",
        essential=("delivery_tag", "message_id"),
    ),
    "latency": View(
        names=(
            *("span", "virtual_host", "queue", "exchange", "connection_name", "consumer_tag"),
            *("count", "unknown", "p50_ms", "p90_ms", "p99_ms", "max_ms", "certainty"),
        ),
        optional=(
            *("virtual_host", "certainty", "p90_ms", "max_ms", "consumer_tag"),
            *("connection_name", "exchange", "unknown", "count"),
        ),
        nothing="nothing was settled, confirmed or answered",
        essential=("exchange",),
    ),
    "errors": View(
        names=(
            *("count", "event", "outcome", "initiator", "connection_name", "queue", "exchange"),
            *("request", "reply_code", "reason", "certainty", "connections", "first_event"),
            *("last_event", "example"),
        ),
        optional=(
            *("certainty", "connections", "last_event", "request", "exchange", "initiator"),
            *("reply_code", "first_event", "reason", "outcome", "example"),
        ),
        nothing="no close with an error, loss, nack, return, reject or damage was recorded",
        styles=OUTCOMES,
    ),
    "incidents": View(
        names=(
            *("timestamp", "event", "outcome", "initiator", "connection_name", "client"),
            *("channel", "queue", "exchange", "routing_key", "delivery_tag", "message_id"),
            *("request", "reply_code", "certainty", "text"),
        ),
        optional=(
            *("certainty", "routing_key", "channel", "request", "exchange", "client"),
            *("message_id", "delivery_tag", "initiator", "reply_code", "connection_name", "queue"),
            "outcome",
        ),
        nothing="no close with an error, loss, nack, return, reject or damage was recorded",
        essential=("connection_name", "queue", "outcome"),
        styles=OUTCOMES,
    ),
    "messages": View(
        names=(
            *("began_at", "event", "virtual_host", "exchange", "routing_key", "queue"),
            *("connection_name", "client", "consumer_tag", "delivery_tag", "redelivered"),
            *("body_size", "message_id", "correlation_id", "ended", "outcome", "elapsed_us"),
            *("certainty", "reply_code", "reply_text"),
        ),
        optional=(
            *("virtual_host", "certainty", "consumer_tag", "client", "delivery_tag"),
            *("correlation_id", "redelivered", "body_size", "reply_code", "reply_text"),
            *("exchange", "elapsed_us", "connection_name", "routing_key", "message_id"),
            "outcome",
        ),
        nothing="no message was published or delivered",
        essential=("routing_key", "message_id", "outcome"),
        styles=OUTCOMES,
    ),
    "top": View(
        names=(
            *("kind", "name", "published", "delivered", "published_bytes", "delivered_bytes"),
            *("unknown_sizes", "certainty"),
        ),
        optional=("certainty", "unknown_sizes", "published_bytes", "delivered_bytes"),
        nothing="no message was published or delivered",
        styles={"kind": "bold"},
    ),
    "topology": View(
        names=(
            *("kind", "virtual_host", "exchange", "routing_key", "queue", "consumer_tag"),
            *("connection_name", "settles", "first_begun", "last_ended", "times", "reason"),
            *("certainty", "details"),
        ),
        optional=(
            *("virtual_host", "certainty", "times", "settles", "reason", "first_begun"),
            *("details", "last_ended", "consumer_tag", "connection_name", "routing_key"),
        ),
        nothing="nothing was declared, bound or consumed",
        essential=("connection_name", "routing_key"),
        styles={"kind": "bold"},
    ),
}


class QuestionTable(Table):
    """A table that says once, above its head, what optional columns say in every row."""

    def __init__(self, out: IO[str], clock: Clock, view: View) -> None:
        """view: whose optional columns they are."""
        super().__init__(
            out,
            clock,
            lines=0,
            styles=view.styles,
            limits={"details": 60},
            optional=view.optional,
            essential=view.essential,
        )
        self.left: set[str] | None = None

    def write(self, batch: pa.RecordBatch) -> None:
        """Show the rows of a batch; the first one tells what need not be repeated."""
        batch = _named(batch)
        if self.left is None and batch.num_rows:
            self.left = self._say_once(batch)
        names = [name for name in batch.schema.names if name not in (self.left or ())]
        super().write(batch.select(names))

    def _say_once(self, batch: pa.RecordBatch) -> set[str]:
        """The columns without a value, and optional ones with the same in all of several rows."""
        left, said = set(), []
        for name in batch.schema.names:
            values = batch.column(name)
            if values.null_count == len(values):
                left.add(name)
            elif (
                name in self.optional
                and len(values) > 1
                and len(values.unique()) == 1
                and pa.types.is_string(values.type)
            ):
                left.add(name)
                said.append(f"{name} {values[0].as_py()}")
        if said:
            self.note(", ".join(said))
        return left


def _named(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The default exchange by a name, in a ranking what is not known, and no reason twice."""
    names = batch.schema.names
    if {"reason", "example"} <= set(names):  # the text of a close begins with its name
        reason = batch.column("reason")
        pairs = zip(reason.to_pylist(), batch.column("example").to_pylist(), strict=True)
        said = pa.array([bool(why and text and text.startswith(why)) for why, text in pairs])
        at = names.index("reason")
        shown = pc.if_else(said, None, reason)
        batch = batch.set_column(at, batch.schema.field("reason"), shown)
    if "exchange" in names:
        exchange = batch.column("exchange")
        named = pc.if_else(pc.equal(exchange, ""), "(default)", exchange)
        batch = batch.set_column(names.index("exchange"), batch.schema.field("exchange"), named)
    if {"kind", "name"} <= set(names):
        name, of_exchange = batch.column("name"), pc.equal(batch.column("kind"), "exchange")
        named = pc.if_else(pc.and_(of_exchange, pc.equal(name, "")), "(default)", name)
        named = pc.fill_null(named, "(unknown)")
        batch = batch.set_column(names.index("name"), batch.schema.field("name"), named)
    return batch


def ask(name: str, options: QueryOptions, text: str | None = None, nothing: str = "") -> int:
    """Read the events of every file once, and write the rows of a question; the exit status.

    text: the query, where it is more than that of the question. nothing: see View.
    """
    question, view = load(name), VIEWS[name]

    def table(out: IO[str], clock: Clock) -> Writer:
        if options.rows.fields is not None:
            return Table(out, clock, lines=0, styles=view.styles)
        return QuestionTable(out, clock, view)

    return write_answer(
        options,
        text or question.query,
        question.columns,
        table,
        view.names,
        nothing or view.nothing,
    )


def errors(options: ErrorsOptions) -> int:
    """``amqpcodec errors``: grouped, or with --all one by one."""
    return ask("incidents" if options.all else "errors", options)


def messages(options: MessagesOptions) -> int:
    """``amqpcodec messages``: all, or with --follow one of them."""
    if options.follow is None:
        return ask("messages", options)
    ids = ", ".join(_literal(f"{kind}{options.follow}") for kind in ID_KINDS)
    connection, _, event_id = options.follow.rpartition(":")
    where = f"message_id IN ({ids}) OR correlation_id IN ({ids})"
    if connection and event_id.isdecimal() and len(event_id) < 19:
        place = f"connection = {_literal(connection)} AND event_id = {event_id}"
        where += f" OR {place} OR content = (SELECT content FROM answer WHERE {place})"
    return ask(
        "messages",
        options,
        f"WITH answer AS ({load('messages').query}) SELECT * FROM answer WHERE {where}",
        f"no message has the id, the correlation id or the place {options.follow!r}",
    )


def top(options: TopOptions) -> int:
    """``amqpcodec top``: the busiest of each kind."""
    kinds = ", ".join(map(_literal, options.by))
    return ask(
        "top",
        options,
        f"WITH answer AS ({load('top').query}), ranked AS (SELECT *, row_number() OVER"
        " (PARTITION BY kind ORDER BY coalesce(published, 0) + delivered DESC,"
        " coalesce(published_bytes, 0) + delivered_bytes DESC, name NULLS LAST) AS rank"
        " FROM answer)"
        f" SELECT * EXCLUDE (rank) FROM ranked WHERE rank <= {options.top} AND kind IN ({kinds})"
        " ORDER BY kind, rank",
    )


def _literal(text: str) -> str:
    """A text in SQL."""
    return "'" + text.replace("'", "''") + "'"
