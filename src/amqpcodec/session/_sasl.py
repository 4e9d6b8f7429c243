"""Responses of SASL mechanisms: written for clients, read for servers."""

from __future__ import annotations

from typing import Any

from ..errors import DecodeError
from ._model import Model
from .errors import LocalProtocolError

__all__ = ["MECHANISMS", "credentials", "response"]

#: What a client knows by itself.
MECHANISMS = ("PLAIN", "AMQPLAIN", "EXTERNAL")

#: Bytes of connection.start before its table: frame header, ids, two bytes, length of the table.
_BEFORE_TABLE = 7 + 4 + 2 + 4


def response(model: Model, mechanism: str, username: str, password: str) -> bytes:
    """The response of a client.

    Raises:
        LocalProtocolError: the mechanism is none of those known here, or PLAIN is to carry a NUL,
            which separates its parts.

    Spec: RFC 4616 (PLAIN), RFC 4422 appendix A (EXTERNAL); AMQPLAIN is AMQP's own: a field table
    without its length.
    """
    if mechanism == "PLAIN":
        if "\0" in username + password:
            raise LocalProtocolError("a name or password of PLAIN holds a NUL; use AMQPLAIN")
        return b"\0%b\0%b" % (username.encode(), password.encode())
    if mechanism == "AMQPLAIN":
        return _table(model, {"LOGIN": username, "PASSWORD": password})
    if mechanism == "EXTERNAL":
        return username.encode()
    raise LocalProtocolError(f"no response is known for the SASL mechanism {mechanism!r}")


def credentials(model: Model, mechanism: str, raw: bytes) -> tuple[str | None, str | None]:
    """(name, password) out of a client's response; None for what is not there or not readable."""
    if mechanism == "PLAIN":
        parts = raw.split(b"\0")
        if len(parts) == 3:
            return _text(parts[1]), _text(parts[2])
    elif mechanism == "AMQPLAIN":
        table = _read_table(model, raw)
        return _text(table.get("LOGIN")), _text(table.get("PASSWORD"))
    elif mechanism == "EXTERNAL" and raw:
        return _text(raw), None
    return None, None


def _text(value: Any) -> str | None:
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return None
    return value if isinstance(value, str) else None


def _table(model: Model, table: dict[str, Any]) -> bytes:
    """A table as the codec writes it in a method, taken out of its frame."""
    start = model.method("connection.start")
    frame = model.module.encode(0, start(server_properties=table))
    size = int.from_bytes(frame[_BEFORE_TABLE - 4 : _BEFORE_TABLE], "big")
    raw: bytes = frame[_BEFORE_TABLE : _BEFORE_TABLE + size]
    return raw


def _read_table(model: Model, raw: bytes) -> dict[str, Any]:
    """A table as the codec reads it in a method, put into a frame; {} if it is none."""
    start = model.method("connection.start")
    empty = model.module.encode(0, start(server_properties={}, mechanisms=b"-", locales=b"-"))
    payload = (empty[7 : _BEFORE_TABLE - 4] + len(raw).to_bytes(4, "big") + raw) + empty[
        _BEFORE_TABLE:-1
    ]
    frame = empty[:3] + len(payload).to_bytes(4, "big") + payload + empty[-1:]
    try:
        table: dict[str, Any] = model.module.decode(frame)[2].server_properties
    except DecodeError:
        return {}
    return table
