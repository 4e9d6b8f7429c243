"""What stands between TCP and frames, in states: values of JSON, which load() believes nothing of.

No key of the key log that the reader was given is in them: keys are derived again, from that log
and the random bytes of both hellos. Secrets that files brought are: the next reader does not see
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from . import _derived, _tls, _websocket
from ._handshake import LARGEST, ClientHello
from ._keylog import KEPT as KEPT_SECRETS
from ._sessions import KEPT, Sessions
from ._suites import SUITES, TLS12, TLS13

#: Bytes that a direction may have waiting.
MAX_BUFFER = 1 << 25
COUNTED = 1 << 60


class Field(NamedTuple):
    """A value of an object: a number up to a limit, True or False, or so many bytes at most."""

    name: str
    kind: type
    limit: int = 1


SIDE = (
    Field("buffer", bytearray, MAX_BUFFER),
    Field("skip", int, COUNTED),
    Field("lost", int, COUNTED),
    Field("places", int, _tls.TRIED_PLACES),
    Field("trial_bytes", int, COUNTED),
    Field("sealed", bool),
    Field("gave", bool),
    Field("stage", int, _derived.TRAFFIC),
    Field("updates", int, _derived.LAST_UPDATE),
    Field("sequence", int, COUNTED),
)
MESSAGES = (Field("buffer", bytearray, LARGEST + 4), Field("skip", int, 1 << 24))
AGREED = (
    Field("client_random", bytes, 32),
    Field("server_random", bytes, 32),
    Field("master", bytes, 32),
    Field("version", int, TLS13),
    Field("suite", int, 0xFFFF),
    Field("encrypt_then_mac", bool),
)
HELLO = (
    Field("random", bytes, 32),
    Field("session_id", bytes, 255),
    Field("ticket", bytes, 0xFFFF),
    Field("early", bool),
)
HALF = (
    Field("mode", int, _websocket.ENDED),
    Field("buffer", bytearray, MAX_BUFFER),
    Field("remaining", int, _websocket.LARGEST_FRAME),
    Field("opcode", int, _websocket.PONG),
    Field("fin", bool),
    Field("mask", bytes, 4),
    Field("in_message", bool),
    Field("packed", bool),
    Field("broken", bool),
    Field("message", bytearray, MAX_BUFFER),
    Field("window", bytes, _websocket.WINDOW),
    Field("searching", bool),
    Field("look_at", int, MAX_BUFFER),
    Field("looked", int, _websocket.LARGEST_HEAD),
    Field("unpacked_left", int, COUNTED),
)


def _dump(source: Any, fields: Sequence[Field]) -> list[Any]:
    values = [getattr(source, field.name) for field in fields]
    return [value.hex() if isinstance(value, bytes | bytearray) else value for value in values]


def _values(fields: Sequence[Field], values: Any) -> dict[str, Any]:
    """The values by name. Raises ValueError where one is out of its range."""
    if not isinstance(values, list) or len(values) != len(fields):
        raise ValueError("not as many values as there are fields")
    return {field.name: _value(field, value) for field, value in zip(fields, values, strict=True)}


def _value(of: Field, value: Any) -> Any:
    if of.kind in (bytes, bytearray):
        data = bytes.fromhex(value)
        if len(data) > of.limit:
            raise ValueError(f"{of.name} is too long")
        return of.kind(data)
    if not isinstance(value, int) or type(value) is not of.kind or not 0 <= value <= of.limit:
        raise ValueError(f"{of.name} is out of its range")
    return value


def count(value: Any) -> int:
    """A number of things. Raises ValueError where it is none."""
    return int(_value(Field("a count", int, COUNTED), value))


def secrets(lines: Any) -> list[str]:
    """Lines of a key log. Raises ValueError or TypeError where they are none, or too many."""
    if not isinstance(lines, list) or len(lines) > KEPT_SECRETS:
        raise ValueError("no secrets, or too many")
    return [str(line) for line in lines]


def dump_sessions(sessions: Sessions) -> list[list[str]]:
    """In order: the oldest first."""
    return [[key.hex(), random.hex()] for key, random in sessions.known.items()]


def load_sessions(sessions: Sessions, pairs: Any) -> None:
    """Raises ValueError, or TypeError, where these are none."""
    if len(pairs) > KEPT:
        raise ValueError("too many sessions")
    sessions.known.update((bytes.fromhex(key), bytes.fromhex(random)) for key, random in pairs)


def dump_tls(tls: _tls.Tls) -> dict[str, Any]:
    """Both directions, and what they have in common."""
    return {
        "hello": None if tls.hello is None else _dump(tls.hello, HELLO),
        "agreed": None if tls.agreed is None else _dump(tls.agreed, AGREED),
        "accepts_early": tls.accepts_early,
        "sides": [
            [_dump(side, SIDE), _dump(side.messages, MESSAGES), _dump(side.agreed, AGREED)]
            for side in tls.sides
        ],
    }


def load_tls(tls: _tls.Tls, values: Any) -> None:
    """Raises ValueError, KeyError or TypeError where the values are not what dump_tls() gives."""
    if values["hello"] is not None:
        tls.hello = ClientHello(**_values(HELLO, values["hello"]))
    if values["agreed"] is not None:
        tls.agreed = _agreed(values["agreed"])
    if values["accepts_early"] not in (None, False, True):
        raise ValueError("accepts_early is out of its range")
    tls.accepts_early = values["accepts_early"]
    for side, (one, messages, agreed) in zip(tls.sides, values["sides"], strict=True):
        vars(side).update(_values(SIDE, one))
        vars(side.messages).update(_values(MESSAGES, messages))
        if side.stage != _derived.PLAIN:
            side.agreed = _agreed(agreed)
            if side.agreed.version == TLS12 and side.stage != _derived.TRAFFIC:
                raise ValueError("a stage that the version does not have")


def _agreed(values: Any) -> _derived.Agreed:
    agreement = _derived.Agreed(**_values(AGREED, values))
    if agreement.suite not in SUITES or agreement.version not in (TLS12, TLS13):
        raise ValueError("no such cipher suite")
    if (agreement.version == TLS13) != (agreement.suite >> 8 == 0x13):
        raise ValueError("a cipher suite of another version")
    return agreement


def dump_web(web: _websocket.WebSocket) -> list[Any]:
    """Both directions, and what was agreed on; all that is known of most is that it is none."""
    halves = [_dump(half, HALF) for half in web.halves]
    return [web.agreed, web.deflates, *web.takeover, *halves]


def load_web(web: _websocket.WebSocket, values: Any) -> None:
    """Raises ValueError or TypeError where the values are not what dump_web() gives."""
    flags, halves = values[:4], values[4:]
    if len(flags) != 4 or any(type(flag) is not bool for flag in flags):
        raise ValueError("flags are true or false")
    web.agreed, web.deflates, *web.takeover = flags
    for half, half_values in zip(web.halves, halves, strict=True):
        vars(half).update(_values(HALF, half_values))
        if half.mask and len(half.mask) != 4:
            raise ValueError("a mask has four bytes")
