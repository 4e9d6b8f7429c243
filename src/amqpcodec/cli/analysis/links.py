"""Sessions and links of AMQP 1.0: which disposition belongs to which transfer."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa

from ... import batch as columns
from ..performatives import transfer_frame
from .pending import PendingMessages
from .records import Message, Record

if TYPE_CHECKING:
    from .handler import MessageHandler

__all__ = ["Links", "address_of", "sections"]

#: Sessions and links of a connection that are held: a peer has few of them.
MAX_LINKS = 65536
OTHER = {"client": "server", "server": "client"}
_NAMED = ["properties.message_id", "properties.correlation_id", "properties.reply_to"]
_NAMED += ["properties.to", "properties.subject"]


def sections(bodies: pa.Array) -> dict[int, list[str | None]]:
    """row -> message id, correlation id, reply to, to and subject of the messages in a column."""
    frames = [None if raw is None else transfer_frame(raw) for raw in bodies.to_pylist()]
    fields = ["row", *_NAMED, "error"]
    read = columns.decode(pa.array(frames, pa.binary()), "1.0", level="message", fields=fields)
    rows = pa.record_batch(read).to_pylist()
    return {row["row"]: [row[name] for name in _NAMED] for row in rows if row["error"] is None}


def address_of(end: Any) -> str | None:
    """The address of a source or target."""
    if not isinstance(end, dict):
        return None
    address = end.get("address")
    if address is None and end.get("$type") not in (None, "source", "target"):
        return f"({end['$type']})"
    return address if isinstance(address, str) or address is None else json.dumps(address)


_ADDRESS = re.compile(r"/(amq/queue|queues?|exchanges?|topic)/([^/]*)(?:/(.*))?", re.DOTALL)


def resolve_address(address: str | None) -> tuple[str | None, str | None, str | None]:
    """(exchange, routing key, queue) that an address means to RabbitMQ; any other is a queue."""
    if not address:
        return None, None, None
    match = _ADDRESS.fullmatch(address)
    if match is None:
        return None, None, address
    kind, name, key = match.groups()
    if kind.endswith("s"):  # the second version of addresses is percent-encoded
        name, key = unquote(name), unquote(key) if key is not None else None
    if kind.startswith("exchange"):
        return name, key, None
    if kind == "topic":
        return "amq.topic", name if key is None else f"{name}/{key}", None
    return None, None, name if key is None else f"{name}/{key}"


class Link:
    """A link of a session, as both ends have described it."""

    def __init__(self, name: str) -> None:
        """Nothing is known but its name."""
        self.name = name
        self.source: str | None = None
        self.target: str | None = None


class Session:
    """A session: its links, and the deliveries of both directions."""

    def __init__(self, traffic: MessageHandler) -> None:
        """It was just begun, or first seen."""
        self.by_name: dict[str, Link] = {}
        self.by_handle: dict[tuple[str, Any], Link] = {}
        self.unsettled = {"client": PendingMessages(traffic), "server": PendingMessages(traffic)}
        self.channels: list[tuple[str, int]] = []


class Links:
    """A connection: its sessions."""

    def __init__(self, traffic: MessageHandler) -> None:
        """Nothing was seen yet."""
        self.traffic = traffic
        self.sessions: dict[tuple[str, int], Session] = {}

    def observe(self, record: Record) -> bool | None:
        """Look at a record; False: the connection has ended."""
        self.traffic.on_record(record)
        method = record.method
        if method == "close":
            for session in {id(entry): entry for entry in self.sessions.values()}.values():
                self._end(session, record)
            return False
        if method == "open":
            return None
        fields = json.loads(record.arguments) if record.arguments else {}
        if not isinstance(fields, dict):
            return None
        if method == "begin":
            self._begin(record, fields)
            return None
        session = self._session(record)
        if method == "end":
            self._end(session, record)
            self.sessions.pop((record.by, record.ch), None)
        else:
            _HANDLERS[method](self, session, record, fields)
        return None

    def _begin(self, record: Record, fields: dict[str, Any]) -> None:
        remote = fields.get("remote_channel")
        session = self.sessions.get((OTHER[record.by], remote)) if remote is not None else None
        if session is None or len(self.sessions) > MAX_LINKS:
            session = Session(self.traffic)
        self.sessions[record.by, record.ch] = session

    def _session(self, record: Record) -> Session:
        session = self.sessions.get((record.by, record.ch))
        if session is None:
            # Its begin was not captured: mostly both ends take the same number.
            session = self.sessions.get((OTHER[record.by], record.ch)) or Session(self.traffic)
            self.sessions[record.by, record.ch] = session
        return session

    def _attach(self, session: Session, record: Record, fields: dict[str, Any]) -> None:
        name = str(fields.get("name"))
        link = session.by_name.get(name)
        if link is None:
            if len(session.by_name) >= MAX_LINKS:
                return
            link = session.by_name[name] = Link(name)
        link.source = address_of(fields.get("source")) or link.source
        link.target = address_of(fields.get("target")) or link.target
        session.by_handle[record.by, fields.get("handle")] = link

    def _transfer(self, session: Session, record: Record, fields: dict[str, Any]) -> None:
        link = session.by_handle.get((record.by, fields.get("handle")))
        is_publish = record.by == "client"
        address = record.to if link is None else link.target if is_publish else link.source
        exchange, key, queue = resolve_address(address or record.to)
        record.exchange, record.key = exchange, key
        record.consumer = link.name if link is not None and not is_publish else None
        number = fields.get("delivery_id")
        message = Message("publish" if is_publish else "deliver", record, queue, number)
        message.link = link
        message.redelivered = None
        if fields.get("settled") is not True and isinstance(number, int):
            session.unsettled[record.by].add(number, message)
        if is_publish:
            self.traffic.on_publish(message)
        else:
            self.traffic.on_deliver(message)

    def _disposition(self, session: Session, record: Record, fields: dict[str, Any]) -> None:
        state = fields.get("state")
        outcome = state.get("$type") if isinstance(state, dict) else None
        if isinstance(state, dict) and outcome == "transactional-state":
            inner = state.get("outcome")
            outcome = inner.get("$type") if isinstance(inner, dict) else None
        if fields.get("settled") is not True and outcome in (None, "received"):
            return
        first, last = fields.get("first"), fields.get("last")
        if not isinstance(first, int):
            return
        sender = OTHER[record.by] if fields.get("role") is True else record.by
        unsettled = session.unsettled[sender]
        for message in unsettled.take_range(first, last if isinstance(last, int) else first):
            if sender == "client":
                self.traffic.on_confirm(message, record, outcome or "settled")
            else:
                self.traffic.on_settle(message, record, outcome or "settled")

    def _detach(self, session: Session, record: Record, fields: dict[str, Any]) -> None:
        link = session.by_handle.pop((record.by, fields.get("handle")), None)
        if link is not None and link not in session.by_handle.values():
            session.by_name.pop(link.name, None)

    def _end(self, session: Session, record: Record) -> None:
        for unsettled in session.unsettled.values():
            for message in unsettled.take_all():
                self.traffic.on_lost(message, record, record.method)


_HANDLERS = {
    "attach": Links._attach,
    "transfer": Links._transfer,
    "disposition": Links._disposition,
    "detach": Links._detach,
}
