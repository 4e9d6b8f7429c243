"""A recorded message as it is published: mapped names, its copies by CC and BCC, its user."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from ... import batch, types
from .mapping import Mapping
from .messages import Message

__all__ = ["COPY_HEADERS", "Outgoing", "Preparation", "UnsendableMessage"]

#: Headers whose values are routing keys too: RabbitMQ routes a message by each of them in the
#: exchange that it is published to. Source: RabbitMQ, Sender-selected Distribution.
COPY_HEADERS = ("CC", "BCC")
#: What the name of the pseudo-queue of direct replies begins with: a broker refuses a publisher
#: that does not consume from it.
DIRECT_REPLY = "amq.rabbitmq.reply-to"
#: RabbitMQ's largest expiration in ms; bytes of a message that any of its versions takes.
MAX_EXPIRATION, SMALL_BODY = 2**32 - 1, 1 << 24

#: The flag of the property headers in a content header.
HEADERS_FLAG = 1 << 13


class UnsendableMessage(Exception):
    """The message cannot be published safely; the text says why."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A publication as it is sent.

    Attributes:
        number: that of the recorded message.
        exchange, routing_key, properties, body: what is published.
        copies: (header, routing key) of each entry of CC and BCC, as they are sent.
        unmapped: keys of CC and BCC that no rule of --map fits, where there are rules for keys.
        lost_user: the name of another user was taken off.
        is_suspect: brokers are known to close the channel for such a message.
    """

    number: int
    exchange: str
    routing_key: str
    properties: Any
    body: Any
    copies: tuple[tuple[str, str], ...]
    unmapped: tuple[str, ...]
    lost_user: bool
    is_suspect: bool


class Preparation:
    """Makes what is published of what was recorded: the plan and the player use the same one."""

    def __init__(self, mapping: Mapping, username: str) -> None:
        """username: of the login; RabbitMQ closes the channel for the user-id of another."""
        self.mapping, self.username = mapping, username

    def prepare(self, message: Message) -> Outgoing:
        """The message as it is sent. Its properties are changed in place: call it once a message.

        Raises:
            UnsendableMessage: its headers name CC or BCC twice, and brokers differ in which one
                counts.
        """
        properties = message.properties
        lost_user = False
        copies: list[tuple[str, str]] = []
        unmapped: list[str] = []
        is_suspect = len(message.body) > SMALL_BODY
        if properties is not None:
            lost_user = properties.user_id not in (None, self.username)
            if lost_user:
                properties.user_id = None
            raw = bytes(properties.raw_headers or b"")
            if any(name.encode() in raw for name in COPY_HEADERS):
                well_formed = self._copies(message, copies, unmapped)
                is_suspect = is_suspect or not well_formed
            is_suspect = is_suspect or _is_suspect(properties)
        return Outgoing(
            message.number,
            self.mapping.exchange(message.exchange),
            self.mapping.key(message.routing_key),
            properties,
            message.body,
            tuple(copies),
            tuple(unmapped),
            lost_user,
            is_suspect,
        )

    def _copies(self, message: Message, copies: list[tuple[str, str]], unmapped: list[str]) -> bool:
        """Map the keys of CC and BCC; whether both have the form that RabbitMQ takes."""
        _check_once(message)
        headers = message.properties.headers
        well_formed = True
        for name in COPY_HEADERS:
            value = headers.get(name)
            if value is None:
                well_formed = well_formed and name not in headers
                continue
            is_list = isinstance(value, list | tuple)
            well_formed = well_formed and is_list
            entries = list(value) if is_list else [value]
            mapped = [self._mapped(entry, name, copies, unmapped) for entry in entries]
            if mapped != entries:
                headers[name] = mapped if is_list else mapped[0]
        return well_formed

    def _mapped(
        self, entry: Any, name: str, copies: list[tuple[str, str]], unmapped: list[str]
    ) -> Any:
        if isinstance(entry, str):
            key = str(entry)
        elif isinstance(entry, bytes | bytearray):
            key = bytes(entry).decode("utf-8", "surrogateescape")
        else:
            return entry  # brokers ignore it
        if not self.mapping.covers_key(key):
            unmapped.append(key)
        new = self.mapping.key(key)
        copies.append((name, new))
        if new == key:
            return entry
        try:
            new.encode()
        except UnicodeEncodeError:
            return types.LongBytes(new.encode("utf-8", "surrogateescape"))
        return new


def _check_once(message: Message) -> None:
    """Refuse headers that name CC or BCC twice: a dict shows one of them only."""
    raw = bytes(message.properties.raw_headers)
    payload = struct.pack(">HHQHI", 60, 0, 0, HEADERS_FLAG, len(raw)) + raw
    frame = struct.pack(">BHI", 2, 1, len(payload)) + payload + b"\xce"
    row = pa.record_batch(batch.decode(frame, fields=["properties.headers", "error"])).to_pylist()[
        0
    ]
    if row["error"] or not row["properties.headers"]:
        raise UnsendableMessage("its headers cannot be searched for CC and BCC")
    pairs = json.loads(row["properties.headers"]).get("$table", ())
    names = [pair[0] for pair in pairs]
    for name in COPY_HEADERS:
        if names.count(name) > 1:
            raise UnsendableMessage(f"its headers name {name} {names.count(name)} times")


def _is_suspect(properties: Any) -> bool:
    """Whether RabbitMQ is known to close the channel for such properties."""
    if (properties.reply_to or "").startswith(DIRECT_REPLY):
        return True
    text = properties.expiration
    if text is None:
        return False
    is_number = text.isascii() and text.isdigit() and len(text) <= 10
    return not (is_number and int(text) <= MAX_EXPIRATION)
