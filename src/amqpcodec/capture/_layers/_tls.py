"""One connection of TLS 1.2 or 1.3 that was captured, read with the secrets of a key log.

Each direction is read record by record. What one direction has to know of the other, the hellos,
stands in the connection: bytes that come before it wait, bounded. Derived keys are never
kept in a state: they are derived again from the secrets and the random bytes of both hellos.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from . import _handshake as handshake
from ._derived import (
    EARLY,
    HELLO,
    LAST_UPDATE,
    NO_KEY,
    PLAIN,
    TRAFFIC,
    Agreed,
    Candidates,
    derive,
)
from ._items import Items, Stop, joined
from ._keylog import Keys
from ._sessions import Sessions
from ._suites import SUITES, TLS12, TLS13

CHANGE_CIPHER_SPEC, ALERT, HANDSHAKE, APPLICATION_DATA = 20, 21, 22, 23
HEAD = 5
#: Bytes of a record without its head. Spec: RFC 5246 §6.2.3, RFC 8446 §5.2.
LARGEST_RECORD = (1 << 14) + 2048
#: Bytes of a direction that wait for the other one's hello.
LARGEST_WAIT = 1 << 18
#: After a gap: numbers that a record is tried with, fewer where they take so many bytes; and places
#: where one may begin.
TRIED_NUMBERS = 256
TRIED_BYTES = 1 << 20
TRIED_PLACES = 16
#: What trying may cost a direction, in bytes to decrypt: so many at its start, and more for each
#: byte of it. A call of the cipher costs as much as TRIAL_CALL bytes, deriving keys TRIAL_KEYS.
TRIAL_START = 16 << 20
TRIAL_RATIO = 64
TRIAL_CALL = 1 << 12
TRIAL_KEYS = 1 << 16
#: Bytes of the shortest record there is: a head, a byte, its type and a tag of 8.
SHORTEST = 15

NO_HANDSHAKE = "its handshake was not captured"
NO_CIPHER = "its cipher suite is not supported"
NO_VERSION = "it is older than TLS 1.2"
NO_RECORD = "a record of TLS was due and is not there"
UNREADABLE = "its records do not open with the key of the key log"
LOST = "no record could be read after a gap"
NO_EARLY_ANSWER = "early data is skipped: the server's answer to it was not captured"
TOO_MANY_TRIALS = "its gaps are too many: finding records after them takes too long"

RECORD = re.compile(rb"[\x14-\x17]\x03[\x01-\x03][\x00-\x48]", re.DOTALL)


@dataclass
class StreamState:
    """One direction."""

    buffer: bytearray = field(default_factory=bytearray)
    skip: int = 0  # bytes of a record that a gap cut
    lost: int = 0  # bytes of a gap, while the next record is looked for
    places: int = 0  # where it was not
    trial_bytes: int = TRIAL_START  # what trying may still cost
    sealed: bool = False
    gave: bool = False
    stage: int = PLAIN
    updates: int = 0
    sequence: int = 0
    agreed: Agreed = field(default_factory=Agreed)  # what its keys are of
    messages: handshake.Messages = field(default_factory=handshake.Messages)
    opener: Candidates | None = None


class Tls:
    """Both directions: 0 is the client's."""

    def __init__(self, keys: Keys, sessions: Sessions, tell: Callable[[str], None]) -> None:
        """tell: takes the reason why a direction cannot be read."""
        self.keys = keys
        self.sessions = sessions
        self.tell = tell
        self.sides = (StreamState(), StreamState())
        self.hello: handshake.ClientHello | None = None
        self.agreed: Agreed | None = None
        self.accepts_early: bool | None = None

    # ---- bytes ----

    def receive(self, side: int, data: bytes) -> Items:
        """The next bytes of a direction."""
        one = self.sides[side]
        if one.sealed:
            return []
        out: Items = []
        one.trial_bytes += TRIAL_RATIO * len(data)
        skipped_bytes = min(one.skip, len(data))
        one.skip -= skipped_bytes
        one.buffer += data[skipped_bytes:] if skipped_bytes else data
        knew = self._milestones()
        self._read(side, out)
        while self._milestones() != knew:
            knew = self._milestones()
            side = 1 - side
            self._read(side, out)
        return joined(out)

    def lost(self, side: int, count: int) -> Items:
        """So many bytes were not captured."""
        one = self.sides[side]
        if one.sealed:
            return []
        if (self.hello if side == 0 else self.agreed) is None:
            return self._stop(side, Stop(NO_HANDSHAKE, True))
        if one.skip >= count:
            one.skip -= count  # of bytes that were told of
            return []
        remainder = count - one.skip
        gone = remainder + len(one.buffer)
        one.skip = 0
        if not one.lost and HEAD <= len(one.buffer) <= HEAD + LARGEST_RECORD:
            size = HEAD + int.from_bytes(one.buffer[3:5], "big") - len(one.buffer)
            one.sequence += one.stage != PLAIN
            one.skip = max(size - remainder, 0)
            remainder = max(remainder - size, 1)
        one.lost += remainder
        one.buffer.clear()
        one.places = 0
        one.messages = handshake.Messages()
        return [(side, gone + one.skip)]

    def end(self) -> None:
        """The connection is over."""
        for number, side in enumerate(self.sides):
            if side.sealed:
                continue
            if not side.gave and side.buffer:
                self.tell(NO_HANDSHAKE if self.hello is None or self.agreed is None else NO_RECORD)
            elif side.places and not side.lost:
                # The newest records did not open; too few for the direction to be given up.
                self.tell(self._why_closed(number))

    def _why_closed(self, number: int) -> str:
        """Why the newest records of a direction did not open."""
        side = self.sides[number]
        try:
            self._derive(side, number)
        except Stop as stop:
            return stop.reason
        return NO_KEY if side.opener is None else UNREADABLE

    def _milestones(self) -> tuple[bool, bool, bool]:
        return self.hello is not None, self.agreed is not None, self.accepts_early is not None

    def _stop(self, side: int, stop: Stop) -> Items:
        out: Items = []
        for direction in (side, 1 - side) if stop.both else (side,):
            one = self.sides[direction]
            if not one.sealed:
                one.sealed = True
                one.buffer = bytearray()
                self.tell(stop.reason)
                out.append((direction, None))
        return out

    # ---- records ----

    def _read(self, side: int, out: Items) -> None:
        """All whole records that can be read."""
        one = self.sides[side]
        if one.sealed:
            return
        at = 0
        try:
            if one.lost:
                at = self._find(side, out)
            while not one.lost and len(one.buffer) - at >= HEAD:
                head = bytes(one.buffer[at : at + HEAD])
                size = int.from_bytes(head[3:], "big")
                if not CHANGE_CIPHER_SPEC <= head[0] <= APPLICATION_DATA or head[1] != 3:
                    raise Stop(NO_RECORD if one.stage != PLAIN else NO_HANDSHAKE, True)
                if size > LARGEST_RECORD:
                    raise Stop(NO_RECORD)
                if len(one.buffer) - at < HEAD + size:
                    break
                record = bytes(one.buffer[at + HEAD : at + HEAD + size])
                if self._waits(side, head[0], record):
                    if len(one.buffer) - at > LARGEST_WAIT:
                        raise Stop(NO_HANDSHAKE, True)
                    break
                at += HEAD + size
                self._record(side, head, record, out)
        except Stop as stop:
            out += self._stop(side, stop)
        else:
            del one.buffer[:at]

    def _waits(self, side: int, kind: int, record: bytes) -> bool:
        """Whether a record cannot be understood before the other direction said more."""
        one = self.sides[side]
        if kind in (HANDSHAKE, ALERT) and one.stage == PLAIN:
            if kind == ALERT or side == 0 or self.hello is not None:
                return False
            # The client's hello says which session of TLS 1.2 the server may resume.
            server = handshake.first_server_hello(record)
            return server is not None and server.version == TLS12 and server.suite in SUITES
        if self.agreed is None and side == 1 and kind == CHANGE_CIPHER_SPEC:
            return False  # it asked for another hello
        if self.hello is None or self.agreed is None:
            return True
        early = side == 0 and self.hello.early and self.agreed.version == TLS13
        return (
            early and one.stage == PLAIN and kind == APPLICATION_DATA and self.accepts_early is None
        )

    def _record(self, side: int, head: bytes, record: bytes, out: Items) -> None:
        one = self.sides[side]
        kind = head[0]
        is13 = self.agreed is not None and self.agreed.version == TLS13
        if is13 and kind != APPLICATION_DATA:
            if kind == HANDSHAKE:
                self._messages(side, record)
            return
        if one.stage == PLAIN and not is13:
            if kind == CHANGE_CIPHER_SPEC:
                if self.agreed is not None:
                    self._change(side)
            elif kind == HANDSHAKE:
                self._messages(side, record)
            elif kind == APPLICATION_DATA:
                raise Stop(NO_HANDSHAKE, True)
            return
        if one.stage == PLAIN:
            self._begin13(side)
        plain = self._open(side, head, record)
        if is13:
            plain = plain.rstrip(b"\0")
            kind = plain[-1] if plain else ALERT
            plain = plain[:-1]
        if kind == APPLICATION_DATA:
            self._give(side, plain, out)
        elif kind == HANDSHAKE:
            self._messages(side, plain)
        elif kind == CHANGE_CIPHER_SPEC:
            self._change(side)

    def _give(self, side: int, plain: bytes, out: Items) -> None:
        if not plain:
            return
        self.sides[side].gave = True
        out.append((side, plain))

    def _open(self, side: int, head: bytes, record: bytes) -> bytes:
        """What a protected record holds."""
        one = self.sides[side]
        plain = self._try(side, one.sequence, head, record)
        if plain is None and one.stage in (EARLY, HELLO):
            # The key log may lack the secrets of the handshake, and early data may be refused.
            plain = self._guess(side, head, record, 1)
        if plain is None:
            if one.stage == TRAFFIC or one.places >= TRIED_PLACES:
                raise Stop(UNREADABLE)
            one.places += 1
            return b""
        one.places = 0
        one.sequence += 1
        return plain

    def _try(self, side: int, sequence: int, head: bytes, record: bytes) -> bytes | None:
        one = self.sides[side]
        if one.opener is None:
            self._derive(one, side)
        if one.opener is None:
            return None
        return one.opener.open(sequence, head, record)

    def _guess(self, side: int, head: bytes, record: bytes, numbers: int) -> bytes | None:
        """Try a record with the keys and numbers that may be next; the side is as they say then."""
        one = self.sides[side]
        before = one.stage, one.updates, one.sequence
        tries = [(one.stage, one.updates, one.sequence)] if one.stage != PLAIN else []
        is13 = one.agreed.version == TLS13
        if one.stage == TRAFFIC and is13 and one.updates < LAST_UPDATE:
            tries.append((TRAFFIC, one.updates + 1, 0))
        elif one.stage == EARLY:
            tries += [(HELLO, 0, 0), (TRAFFIC, 0, 0)]
        elif one.stage != TRAFFIC:
            tries.append((TRAFFIC, 0, 0))
        for stage, updates, first in tries:
            if (stage, updates) != (one.stage, one.updates):
                one.stage, one.updates = stage, updates
                one.opener = None
            for sequence in range(first, first + numbers):
                cost = TRIAL_KEYS
                if one.opener is not None:
                    cost = len(one.opener) * (len(record) + TRIAL_CALL)
                if one.trial_bytes < cost:
                    raise Stop(TOO_MANY_TRIALS)
                one.trial_bytes -= cost
                plain = self._try(side, sequence, head, record)
                if plain is not None:
                    one.sequence = sequence
                    return plain
        if (one.stage, one.updates) != before[:2]:
            one.opener = None
        one.stage, one.updates, one.sequence = before
        return None

    def _find(self, side: int, out: Items) -> int:
        """Look for a record after a gap: where it begins, or bytes that are done with."""
        one = self.sides[side]
        if self.hello is None or self.agreed is None:
            if len(one.buffer) > LARGEST_WAIT:
                raise Stop(NO_HANDSHAKE, True)
            return 0
        if one.stage == PLAIN:
            one.agreed = self.agreed
            if self.agreed.version == TLS13:
                self._begin13(side)
        numbers = min(one.lost // SHORTEST + 2, TRIED_NUMBERS)
        buffer = bytes(one.buffer)
        at = 0
        while (match := RECORD.search(buffer, at)) is not None:
            at = match.start()
            size = int.from_bytes(buffer[at + 3 : at + 5], "big")
            if len(buffer) - at < HEAD + size:
                break
            after = buffer[at + HEAD + size : at + HEAD + size + 4]
            if len(after) < 4 or RECORD.match(after):
                sequence = one.sequence
                head, record = buffer[at : at + HEAD], buffer[at + HEAD : at + HEAD + size]
                tries = min(numbers, TRIED_BYTES // (size + 1) + 1)
                if self._guess(side, head, record, tries) is not None:
                    one.lost = one.places = 0
                    if side == 1 and self.accepts_early is None:
                        self.accepts_early = False  # what said more may be lost
                        if self.hello.early and self.agreed.version == TLS13:
                            self.tell(NO_EARLY_ANSWER)
                    if at:
                        out.append((side, at))
                    return at
                one.sequence = sequence
                one.places += 1
                if one.places >= TRIED_PLACES:
                    raise Stop(LOST)
            at += 1
        else:
            at = max(len(buffer) - 3, 0)
        if at:
            out.append((side, at))
        return at

    # ---- handshakes ----

    def _messages(self, side: int, data: bytes) -> None:
        for kind, body in self.sides[side].messages.feed(data):
            self._message(side, kind, body)

    def _message(self, side: int, kind: int, body: bytes) -> None:
        one = self.sides[side]
        is13 = self.agreed is not None and self.agreed.version == TLS13
        if kind == handshake.CLIENT_HELLO and side == 0:
            self.hello = handshake.client_hello(body)
            if self.hello is None:
                raise Stop(NO_HANDSHAKE, True)
        elif kind == handshake.SERVER_HELLO and side == 1:
            self._server_hello(body)
        elif kind == handshake.NEW_SESSION_TICKET and side == 1 and not is13:
            ticket = handshake.ticket(body)
            if self.agreed is not None and ticket:
                self.sessions.remember(ticket, self.agreed.master)
        elif kind == handshake.ENCRYPTED_EXTENSIONS and is13 and side == 1:
            self.accepts_early = handshake.has_early_data(body)
        elif kind == handshake.END_OF_EARLY_DATA and is13 and one.stage == EARLY:
            self._turn(one, HELLO)
        elif kind == handshake.FINISHED and is13 and one.stage == HELLO:
            self._turn(one, TRAFFIC)
        elif kind == handshake.KEY_UPDATE and is13 and one.stage == TRAFFIC:
            if one.updates >= LAST_UPDATE:
                raise Stop(UNREADABLE)
            if one.opener is not None:
                one.opener = one.opener.update(SUITES[one.agreed.suite])
            one.updates += 1
            one.sequence = 0

    def _server_hello(self, body: bytes) -> None:
        server = handshake.server_hello(body)
        if server is None:
            raise Stop(NO_HANDSHAKE, True)
        if server.retry:
            return
        if server.version < TLS12:
            raise Stop(NO_VERSION, True)
        if server.version > TLS13 or server.suite not in SUITES or server.compression:
            raise Stop(NO_CIPHER, True)
        if (server.version == TLS13) != (server.suite >> 8 == 0x13):
            raise Stop(NO_CIPHER, True)
        random = self.hello.random if self.hello is not None else b""
        self.agreed = Agreed(
            random, server.random, random, server.version, server.suite, server.encrypt_then_mac
        )
        self._resumed(server)

    def _resumed(self, server: handshake.ServerHello) -> None:
        """In TLS 1.2: of which handshake the session is."""
        hello, agreed = self.hello, self.agreed
        if hello is None or agreed is None or agreed.version != TLS12:
            return
        again = hello.session_id and hello.session_id == server.session_id
        if again and not self.keys.find("CLIENT_RANDOM", hello.random):
            for name in (hello.ticket, hello.session_id):
                master = self.sessions.find(name) if name else None
                if master is not None:
                    agreed.master = master
                    break
        if server.session_id:
            self.sessions.remember(server.session_id, agreed.master)

    def _change(self, side: int) -> None:
        """In TLS 1.2: the keys that the newest hellos agreed on are used from here on."""
        one = self.sides[side]
        assert self.agreed is not None
        one.agreed = self.agreed
        self._turn(one, TRAFFIC)
        self._derive(one, side)

    def _begin13(self, side: int) -> None:
        one = self.sides[side]
        assert self.agreed is not None
        one.agreed = self.agreed
        self._turn(one, EARLY if side == 0 and self.accepts_early else HELLO)

    def _turn(self, one: StreamState, stage: int) -> None:
        """The next record is the first one of other keys."""
        one.stage, one.updates, one.sequence = stage, 0, 0
        one.opener = None

    def _derive(self, one: StreamState, side: int) -> None:
        """Have what opens the records of a direction as it is."""
        agreed = one.agreed
        if not agreed.client_random and self.hello is not None:
            agreed.client_random = agreed.master = self.hello.random
        one.opener = derive(self.keys, agreed, side, one.stage, one.updates)
