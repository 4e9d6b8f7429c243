"""What stands between TCP and the frames of a connection: TLS, and WebSocket with or without it.

The core hands over the bytes of such a connection's directions, in order, and takes what frames are
made of (_capture.Layers says how).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from .._limits import LIMITS, Limits
from . import _state
from ._items import Items
from ._keylog import KeyLog, Keys
from ._keylog import Source as KeyLogSource
from ._sessions import Sessions
from ._tls import Tls
from ._websocket import WebSocket

__all__ = ["KeyLog", "KeyLogSource", "Layers"]

#: Reasons that are told apart.
KINDS = 64

NO_PACKAGE = "the package cryptography is missing: pip install 'amqpcodec[crypto]'"
MISSING = "a key log needs the package cryptography: pip install 'amqpcodec[crypto]'"


def _can_decrypt() -> bool:
    return find_spec("cryptography") is not None


class Connection:
    """What stands on what: TLS, then WebSocket, each if it is there."""

    def __init__(self, tls: Tls | None, tell: Callable[[str], None], limits: Limits) -> None:
        """Nothing was seen yet. tell: takes the reason why a direction cannot be read."""
        self.tls = tls
        self.web = WebSocket(tell, limits)

    def receive(self, side: int, data: bytes) -> Items:
        """See _capture.Layers."""
        return self._inside([(side, data)] if self.tls is None else self.tls.receive(side, data))

    def lost(self, side: int, count: int) -> Items:
        """See _capture.Layers."""
        return self._inside([(side, count)] if self.tls is None else self.tls.lost(side, count))

    def _inside(self, items: Items) -> Items:
        out: Items = []
        for side, item in items:
            if isinstance(item, bytes):
                out += self.web.receive(side, item)
            elif item is None:
                out.append((side, None))
            else:
                out += self.web.lost(side, item, exact=self.tls is None)
        return out

    def end(self) -> None:
        """The connection is over."""
        if self.tls is not None:
            self.tls.end()


class Layers:
    """Those of all connections of a reader; see _capture.Layers."""

    def __init__(self, keys: KeyLog | None = None, limits: Limits = LIMITS) -> None:
        """keys: what TLS is read with, beside the key logs that files bring.

        Raises ImportError where the package cryptography is missing that they need.
        """
        self.keys = Keys(keys)
        self.limits = limits
        self.sessions = Sessions()
        self.connections: dict[int, Connection] = {}
        self.reasons: dict[str, int] = {}
        self.websockets = 0
        if keys is not None and not _can_decrypt():
            raise ImportError(MISSING)

    def add_secrets(self, data: bytes) -> None:
        """A key log of TLS that the file itself has."""
        self.keys.bring(data.splitlines())

    @property
    def brought(self) -> bool:
        """Whether files had a key log."""
        return self.keys.brought is not None

    def receive(self, connection: int, direction: int, tls: bool, data: bytes) -> Items:
        """The next bytes of a direction, as they were sent."""
        state = self.connections.get(connection)
        if state is None:
            if tls and self.keys and not _can_decrypt():
                self._tell(NO_PACKAGE)
                return [(direction, None)]
            state = self.connections[connection] = self._new(tls)
        before = state.web.agreed
        out = state.receive(direction, data)
        self.websockets += state.web.agreed and not before
        return out

    def lost(self, connection: int, direction: int, count: int) -> Items:
        """So many bytes of a direction were not captured."""
        state = self.connections.get(connection)
        return [(direction, None)] if state is None else state.lost(direction, count)

    def end(self, connection: int) -> None:
        """The connection is over."""
        state = self.connections.pop(connection, None)
        if state is not None:
            state.end()

    def counts(self) -> dict[str, Any]:
        """What counts() of the reader has besides."""
        return {"tls_reasons": dict(self.reasons), "websockets": self.websockets}

    def _new(self, tls: bool) -> Connection:
        over = Tls(self.keys, self.sessions, self._tell) if tls else None
        return Connection(over, self._tell, self.limits)

    def _tell(self, reason: str) -> None:
        if reason in self.reasons or len(self.reasons) < KINDS:
            self.reasons[reason] = self.reasons.get(reason, 0) + 1

    # ---- states ----

    def store(self) -> bytes:
        """What load() needs to go on: of keys, those that files brought."""
        brought = self.keys.brought
        if not (self.connections or self.reasons or self.websockets or brought is not None):
            return b""
        values = {
            "secrets": None if brought is None else brought.lines(),
            "reasons": self.reasons,
            "websockets": self.websockets,
            "sessions": _state.dump_sessions(self.sessions),
            "connections": {
                str(index): {
                    "tls": None if connection.tls is None else _state.dump_tls(connection.tls),
                    "web": _state.dump_web(connection.web),
                }
                for index, connection in self.connections.items()
            },
        }
        return json.dumps(values, sort_keys=True, separators=(",", ":")).encode()

    def load(self, state: bytes) -> None:
        """Take what store() gave; b"": nothing was seen yet.

        Raises ValueError where it is damaged; nothing was seen then.
        """
        self.reasons, self.websockets, self.connections = {}, 0, {}
        self.sessions = Sessions()
        self.keys.brought = None
        if not state:
            return
        try:
            self._load(json.loads(state))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            self.load(b"")
            raise ValueError("the state of the capture reader is damaged: its layers") from error

    def _load(self, values: dict[str, Any]) -> None:
        if len(values["reasons"]) > KINDS:
            raise ValueError("too many reasons")
        self.reasons = {str(name): _state.count(n) for name, n in values["reasons"].items()}
        self.websockets = _state.count(values["websockets"])
        if values["secrets"] is not None:
            self.keys.bring(_state.secrets(values["secrets"]))
        _state.load_sessions(self.sessions, values["sessions"])
        for index, entry in values["connections"].items():
            one = self._new(entry["tls"] is not None)
            if one.tls is not None:
                _state.load_tls(one.tls, entry["tls"])
            _state.load_web(one.web, entry["web"])
            self.connections[int(index)] = one
