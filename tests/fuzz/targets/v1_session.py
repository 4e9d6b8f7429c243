"""Sessions of AMQP 1.0: valid frames in any order, with an application that answers or does not."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from functools import cache, partial
from typing import Any
from unittest import mock

from amqpcodec import v1_0 as amqp
from amqpcodec.session import v1
from amqpcodec.session._v1 import scram
from amqpcodec.session._v1.objects import Delivery, Link, Session, Transaction
from tests.fuzz.session_talk import Script, Talk, mutate, quick, random_scripts, run
from tests.fuzz.target import Target
from tests.support.v1_gen import BINARY, BOOLEAN, MANDATORY, MAP, STRING, TYPES, UINT, ULONG

Symbol = amqp.Symbol
DECLARE = amqp.Message(value=amqp.Declare()).encode()
DISCHARGE = amqp.Message(value=amqp.Discharge(b"0", False)).encode()
MESSAGE = amqp.Message(b"body").encode()
PAYLOADS = (MESSAGE, b"", DECLARE, DISCHARGE, b"\0\x53\x77", b"x" * 90)
EDGES = (0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF)
#: Values of fields by the name of their type, or of themselves; the first is the likely one.
NUMBERS: dict[str, tuple[Any, ...]] = {
    "handle": (*(0,) * 12, 1, 2, 3, 4, 0xFFFF_FFFF),
    "delivery-number": (*(0,) * 9, 1, 2, 3, 4, 5, 9, *EDGES),
    "transfer-number": (0, 1, 2, 3, *EDGES),
    "sequence-no": (0, 1, 2, 3, *EDGES),
    "incoming_window": (100, 0, 1, 2, *EDGES),
    "outgoing_window": (100, 0, 1, *EDGES),
    "link_credit": (5, 0, 1, 2, 50, *EDGES),
    "max_frame_size": (4096, 512, 600, 511, 0xFFFF_FFFF),
    "handle_max": (0xFFFF_FFFF, 0, 1, 3),
    "channel_max": (0xFFFF, 0, 1),
    "idle_time_out": (None, 1, 1000, 0xFFFF_FFFF),
    "message_format": (0, None, 1, 0xFFFF_FFFF),
    "max_message_size": (None, 0, 1, 50, (1 << 64) - 1),
}
ERROR = amqp.Error(Symbol("amqp:internal-error"), "x")
OUTCOMES = (
    *(amqp.Accepted(), amqp.Released(), amqp.Rejected(), amqp.Rejected(ERROR)),
    amqp.Modified(True, True, {Symbol("k"): 1}),
)
STATES = (
    *(
        amqp.Accepted(),
        None,
        *OUTCOMES[1:],
        amqp.Received(0, 0),
        amqp.Received(1, 7),
        amqp.Received(0, 3),
    ),
    *(amqp.Declared(b"0"), amqp.TransactionalState(b"0", amqp.Accepted())),
    amqp.TransactionalState(b"1", None),
)
OTHERS: dict[str, tuple[Any, ...]] = {
    "name": ("a", "b", "c", "d", "x" * 480),
    "source": (amqp.Source("q"), None, amqp.Source(), amqp.Source("y" * 300)),
    "target": (amqp.Target("q"), amqp.Coordinator(), None, amqp.Target("y" * 300)),
    "unsettled": (
        *(None, {}, {b"a": None, b"b": amqp.Received(0, 1)}),
        {b"a": amqp.Accepted(), b"\0\0\0\1": amqp.Received(0, 0)},
    ),
    "delivery_tag": (*(b"a",) * 9, b"b", None, b"", b"\0\0\0\1", b"x" * 32, b"x" * 33),
    "state": STATES,
    "last": (None, 3, 1, 2, 5, 9, *EDGES),
    "error": (None, ERROR),
    "container_id": ("peer", ""),
    "sasl_server_mechanisms": (
        [Symbol("PLAIN")],
        [Symbol("SCRAM-SHA-256"), Symbol("PLAIN")],
        [Symbol("X")],
    ),
    "mechanism": (Symbol("PLAIN"), Symbol("SCRAM-SHA-256"), Symbol("ANONYMOUS"), Symbol("X")),
    "initial_response": (b"\0u\0p", None, b"", b"n,,n=u,r=x", b"n,,n=nobody,r=x"),
    "challenge": (
        *(b"r=NONCEx,s=QUJD,i=4096", b"r=NONCE" + b"x" * 445 + b",s=QUJD,i=4096", b""),
        *(b"v=", b"v=QUJD", b"e=x"),
    ),
    "response": (b"", b"c=biws,r=x,p=QUJD", b"\xff"),
    "additional_data": (None, b"", b"v=", b"v=QUJD"),
    "code": tuple(amqp.SaslCode),
    "txn_id": (b"0", b"1"),
    "remote_channel": (None, 0, 1, 2, 0xFFFF),
}
KINDS: dict[int, tuple[Any, ...]] = {
    BOOLEAN: (False, True),
    UINT: (0, 1, *EDGES),
    ULONG: (0, 1, (1 << 64) - 1),
    BINARY: (b"", b"a"),
    STRING: ("", "a"),
    MAP: (None, {}, {Symbol("k"): 1}),
}


def pool(entry: Any) -> tuple[Any, ...]:
    """The values that a field takes, by the protocol's table."""
    name, kind, flags, _, choices, _, declared, *_ = entry
    values = OTHERS.get(name) or NUMBERS.get(name) or NUMBERS.get(declared)
    if values is None:
        values = tuple(getattr(amqp, choices)) if choices and kind != BOOLEAN else KINDS.get(kind)
    if values is None:
        values = (None,)
    if name == "role":
        return tuple(amqp.Role)
    if flags & MANDATORY:
        return tuple(value for value in values if value is not None) or ("x",)
    return values if None in values else (*values, None)


#: Class -> (field, its values) of each performative.
MODEL = {
    getattr(amqp, spec["python"]): tuple((entry[0], pool(entry)) for entry in spec["fields"])
    for spec in TYPES.values()
    if {"frame", "sasl-frame"} & set(spec["provides"])
}
SASL = tuple(kind for kind in MODEL if kind.NAME.startswith("sasl"))
RARE = (*(amqp.Heartbeat,) * 9, amqp.Open, amqp.Close, amqp.ProtocolHeader, *SASL)
#: What a step is, by its byte: a frame of the peer, or a call of the application.
FRAMES = (
    *(amqp.Transfer,) * 5, *(amqp.Disposition,) * 4, *(amqp.Flow,) * 4, *(amqp.Attach,) * 3,
    *(amqp.Detach,) * 2, amqp.Begin, amqp.End, None,
)  # fmt: skip


class V1Talk(Talk):
    """A talk of AMQP 1.0."""

    closed_event = v1.ConnectionClosed
    module = amqp

    def __init__(self, script: Script, pieces: Any = None) -> None:
        super().__init__(script, pieces)
        head = script.byte()
        self.role = "client" if head & 1 else "server"
        self.next_id = 0
        self.count = 0
        self.links: list[Any] = []
        self.deliveries: list[Any] = []  # that the application sent
        self.came: list[Any] = []
        self.transactions: list[Any] = []
        self.decided: dict[Any, int] = {}
        options: dict[str, Any] = {
            "container_id": "engine",
            "limits": v1.Limits(
                sessions=3, links=5, unsettled=40, message_size=400, partial_bytes=600,
                incoming_window=20, transactions=3, excess=head >> 7,
                after_detach="discard" if head & 64 else "end",
            ),
        }  # fmt: skip
        if head & 2:
            options["sasl"] = v1.Plain("u", "p") if self.role == "client" else sasl_server()
        self.engine = v1.Connection(self.role, **options)
        self.handles = 2
        self.head = (head >> 2) & 7
        self.open(self.head)

    def open(self, how: int) -> None:
        """Begin with a connection, a session, links: what most steps need."""
        if how == 0 and self.engine._layers.sasl is not None:
            self.frame(amqp.ProtocolHeader(3, 1, 0, 0))
            if self.role == "client":
                self.frame(amqp.SaslMechanisms([Symbol("SCRAM-SHA-256")]))
            self.land()
        if how == 0:
            return
        if self.engine._layers.sasl is not None:
            self.frame(amqp.ProtocolHeader(3, 1, 0, 0))
            if self.role == "client":
                self.frame(amqp.SaslMechanisms([Symbol("PLAIN")]))
                self.frame(amqp.SaslOutcome(amqp.SaslCode.OK))
            else:
                self.frame(amqp.SaslInit(Symbol("PLAIN"), b"\0u\0p"))
            self.land()
        self.frame(amqp.ProtocolHeader(0, 1, 0, 0))
        self.frame(amqp.Open("peer", max_frame_size=512 if how == 7 else 4096))
        self.land()
        if how == 1:
            return
        self.frame(amqp.Begin(None, 0, 100, 100))
        self.land()
        if how == 2:
            return
        self.frame(amqp.Attach("a", 0, amqp.Role.SENDER, source=amqp.Source("q"),
                               target=amqp.Target("q"), initial_delivery_count=0))  # fmt: skip
        self.frame(amqp.Attach("b", 1, amqp.Role.RECEIVER, source=amqp.Source("q"),
                               target=amqp.Target("q")))  # fmt: skip
        self.frame(amqp.Flow(0, 100, 0, 100, 1, delivery_count=0, link_credit=5))
        self.land()
        if how == 5:  # several deliveries, so that ranges are of more than one
            for link in self.links:
                if isinstance(link, v1.Sender):
                    for _ in range(4):
                        self.send(link, MESSAGE)
        elif how == 6:  # the peer has a coordinator
            self.frame(amqp.Attach("tx", 2, amqp.Role.SENDER, target=amqp.Coordinator(),
                                   initial_delivery_count=0))  # fmt: skip
            self.handles = 3
            self.land()
        elif how == 4 and self.engine.sessions:  # the application has one
            link = self.call(self.engine.sessions[0].attach_controller, "tx")
            if link is not None:
                self.links.append(link)
                self.frame(amqp.Attach("tx", 2, amqp.Role.RECEIVER, target=amqp.Coordinator()))
                self.frame(amqp.Flow(0, 100, 0, 100, 2, delivery_count=0, link_credit=9))
                self.handles = 3
                self.land()

    def frame(self, frame: Any, channel: int = 0) -> None:
        self.give(amqp.encode(channel, frame))

    # --- steps ------------------------------------------------------------------------------------

    def step(self) -> None:
        """One frame of the peer, or one call after the flight was read."""
        code = self.script.byte()
        if code >= 0xB0:
            self.land()
            ACTIONS[code % len(ACTIONS)](self)
            self.take_output()
            return
        kind = FRAMES[code % len(FRAMES)] or self.script.pick(RARE)
        if self.engine._stage == "sasl" and code < 0x90:
            kind = SASL[code % len(SASL)]
        channel = max(self.script.byte() - 252, 0)
        sessions = self.engine._by_remote
        if channel == 0:
            channel = len(sessions) if kind is amqp.Begin else next(iter(sessions), 0)
        if kind is amqp.ProtocolHeader:
            self.frame(amqp.ProtocolHeader(self.script.pick((0, 3, 2)), 1, 0, 0))
        elif kind is amqp.Heartbeat:
            self.frame(amqp.Heartbeat())
        else:
            self.frame(self.performative(kind), channel)

    def performative(self, kind: Any) -> Any:
        """A performative whose fields the script chooses."""
        script = self.script
        choose = script.pick if kind in SASL else script.likely
        frame = kind(**{name: choose(values) for name, values in MODEL[kind]})
        if kind is amqp.Transfer:
            self.count += 1
            if frame.delivery_id == 0:  # the likely one: the right one
                frame.delivery_id = self.next_id
                self.next_id += 1
                if frame.delivery_tag == b"a":
                    frame.delivery_tag = b"t%d" % self.next_id
            frame.payload = script.pick(PAYLOADS)
            if self.head == 6 and not script.byte() & 1:
                frame.handle, frame.payload = 2, script.pick((DECLARE, DISCHARGE))
        elif kind is amqp.Disposition:
            frame.role = amqp.Role(not frame.role)  # the likely one: of what the engine sent
        elif kind is amqp.Flow:
            if frame.handle == 0:
                frame.handle = 1
        elif kind is amqp.Attach:
            if frame.handle == 0:
                frame.handle = self.handles
                frame.name += str(self.handles) if frame.name == "a" else ""
                self.handles += 1
            if frame.role and frame.initial_delivery_count is not None and script.byte() & 7:
                frame.initial_delivery_count = None
            self.outstanding += 4
        elif kind is amqp.Begin:
            self.outstanding += 4
        return frame

    # --- the application --------------------------------------------------------------------------

    def answer(self, event: Any) -> None:
        """Go along, refuse, or leave it."""
        byte = self.script.byte()
        how = byte & 3 if byte >= 200 else 0
        call = self.call
        match event:
            case v1.AuthenticationRequested():
                call(self.engine.authenticate, how < 3)
            case v1.ConnectionRequested():
                call(self.engine.refuse, ERROR) if how == 3 else call(self.engine.accept)
            case v1.SessionRequested(session):
                call(session.end, ERROR) if how == 3 else call(session.accept)
            case v1.LinkRequested(link):
                self.links.append(link)
                if how == 3:
                    call(link.refuse, ERROR)
                elif how < 2:
                    call(link.accept)
                    if isinstance(link, v1.Receiver):
                        call(link.flow, 10)
            case v1.CreditChanged(link, credit, drain):
                if drain and how == 0:
                    call(link.drained)
                elif credit and how < 2:
                    self.send(link, MESSAGE)
            case v1.DeliveryReceived(_, delivery):
                if how == 0:
                    call(delivery.accept)
                elif how == 1:
                    call(delivery.reject, ERROR)
                else:
                    self.came.append(delivery)
            case v1.DeclareRequested(link, delivery):
                if how < 3:
                    call(link.declare, delivery, b"%d" % (self.count % 4))
            case v1.DischargeRequested(link, delivery):
                if how < 3:
                    call(link.discharge, delivery)
            case v1.StartTls():
                call(self.engine.tls_established)

    def send(self, link: Any, payload: bytes, **options: Any) -> None:
        delivery = self.call(link.send, payload, **options)
        if delivery is not None:
            self.keep(delivery, len(payload))

    def keep(self, delivery: Any, size: int) -> None:
        self.deliveries.append(delivery)
        self.outstanding += 3
        self.payload += size + 100

    def check(self, event: Any) -> None:
        """A delivery has one outcome, and is settled once."""
        if type(event) is v1.DeliveryUpdated:
            delivery = event.delivery
            decisions = self.decided.get(delivery, 0)
            assert not decisions & 2, "an event of a delivery that the peer has settled"
            if type(event.state) in (amqp.Accepted, amqp.Rejected, amqp.Released, amqp.Modified):
                assert event.settled or not decisions & 1, "a second outcome"
                decisions |= 1
            self.decided[delivery] = decisions | 2 * event.settled

    @staticmethod
    def name_of(value: Any) -> Any:
        """A value of an event, comparable between two engines."""
        if isinstance(value, Link):
            return ("link", type(value).__name__, value.name, value.handle, value.state)
        if isinstance(value, Session):
            return ("session", value.channel, value.state)
        if isinstance(value, Delivery):
            return ("delivery", value.id, value.tag, repr(value.remote_state), value.settled)
        if isinstance(value, Transaction):
            return ("transaction", value.id, value.state)
        return repr(value)


@contextlib.contextmanager
def known_nonces() -> Iterator[None]:
    """Nonces that a script can continue."""
    with mock.patch.object(scram.secrets, "token_urlsafe", return_value="NONCE"):
        yield


@cache
def sasl_server() -> Any:
    users = {"u": v1.ScramRecord.of("p", salt=b"salt")}
    return v1.SaslServer(("PLAIN", "SCRAM-SHA-256"), users.get, scram_secret=b"s" * 16)


# --- calls of the application ---------------------------------------------------------------------


def session_of(talk: V1Talk) -> Any:
    sessions = talk.engine.sessions
    if sessions:
        return sessions[talk.script.byte() % len(sessions)]
    talk.outstanding += 2
    return talk.call(talk.engine.begin)


def link_of(talk: V1Talk, kind: type = Link) -> Any:
    """One of that kind, or any; None where there is none."""
    links = [link for link in talk.links if isinstance(link, kind)] or talk.links
    if not links:
        attach(talk)
        return talk.links[-1] if talk.links else None
    return links[talk.script.byte() % len(links)]


def begin(talk: V1Talk) -> None:
    talk.call(talk.engine.begin, incoming_window=talk.script.pick((20, 1, 3)))
    talk.outstanding += 2


def attach(talk: V1Talk) -> None:
    session = session_of(talk)
    if session is None:
        return
    name = talk.script.pick(("e", "f", "a", "b"))
    how = talk.script.byte() % 4
    if how == 0:
        link = talk.call(session.attach_sender, name, "q")
    elif how == 1:
        link = talk.call(session.attach_receiver, name, "q")
    elif how == 2:
        link = talk.call(session.attach_controller, name)
    else:
        settled = amqp.SenderSettleMode.SETTLED
        link = talk.call(session.attach_sender, name, "q", snd_settle_mode=settled)
    if link is not None:
        talk.links.append(link)
        talk.outstanding += 3


def send(talk: V1Talk) -> None:
    link = link_of(talk, v1.Sender)
    if isinstance(link, v1.Sender):
        settled = talk.script.pick((None, True, False))
        state = talk.script.pick((None, None, None, amqp.Received(0, 1)))
        payload = talk.script.pick((*PAYLOADS, b"z" * 5000))
        talk.send(link, payload, settled=settled, state=state)


def write(talk: V1Talk) -> None:
    link = link_of(talk, v1.Sender)
    if isinstance(link, v1.Sender):
        delivery = talk.call(link.begin_delivery)
        if delivery is not None:
            talk.keep(delivery, 50)
            if talk.script.byte() & 1:
                talk.call(delivery.write, b"z" * 50)


def write_more(talk: V1Talk) -> None:
    if talk.deliveries:
        delivery = talk.deliveries[-1 - talk.script.byte() % len(talk.deliveries)]
        talk.call(delivery.write, b"more", more=bool(talk.script.byte() & 1))
        talk.payload += 100


def abort(talk: V1Talk) -> None:
    if talk.deliveries:
        talk.call(talk.deliveries[-1 - talk.script.byte() % len(talk.deliveries)].abort)


def settle_sent(talk: V1Talk) -> None:
    if talk.deliveries:
        delivery = talk.deliveries[talk.script.byte() % len(talk.deliveries)]
        talk.call(delivery.settle, talk.script.pick(STATES[:4]))


def settle_came(talk: V1Talk) -> None:
    if talk.came:
        delivery = talk.came[talk.script.byte() % len(talk.came)]
        how = talk.script.byte() % 6
        if how == 5:
            talk.call(delivery.update, amqp.Received(0, 1))
        else:
            names = ("accept", "release", "reject", "modify", "settle")
            talk.call(getattr(delivery, names[how]))


def settle_several(talk: V1Talk) -> None:
    if talk.came:
        session = talk.came[-1].link.session
        some = [delivery for delivery in talk.came if delivery.link.session is session]
        state, settled = talk.script.pick(STATES[:5]), bool(talk.script.byte() & 1)
        talk.call(session.settle, some, state, settled=settled)


def flow(talk: V1Talk) -> None:
    link = link_of(talk)
    script = talk.script
    if isinstance(link, v1.Receiver):
        credit = script.pick((10, None, 0, 1))
        talk.call(link.flow, credit, drain=script.byte() % 3 == 1, echo=script.byte() % 3 == 1)
    elif link is not None and script.byte() & 1:
        talk.call(link.drained)
    elif link is not None:
        talk.call(link.flow, available=script.pick((None, 5, 0)), echo=script.byte() & 1 == 1)


def add_credit(talk: V1Talk) -> None:
    link = link_of(talk, v1.Receiver)
    if isinstance(link, v1.Receiver):
        talk.call(link.add_credit, 3)


def session_flow(talk: V1Talk) -> None:
    session = session_of(talk)
    if session is not None:
        window, echo = talk.script.pick((None, 1, 20)), talk.script.byte() & 1 == 1
        talk.call(session.flow, window, echo=echo)


def detach(talk: V1Talk) -> None:
    link = link_of(talk)
    if link is not None:
        error, closed = talk.script.pick((None, ERROR)), bool(talk.script.byte() & 1)
        talk.call(link.detach, error, closed=closed)


def declare(talk: V1Talk) -> None:
    link = link_of(talk, v1.Controller)
    if isinstance(link, v1.Controller):
        transaction = talk.call(link.declare)
        if transaction is not None:
            talk.transactions.append(transaction)
            talk.outstanding += 3
            talk.payload += 100


def discharge(talk: V1Talk) -> None:
    if talk.transactions:
        transaction = talk.transactions[talk.script.byte() % len(talk.transactions)]
        talk.call(talk.script.pick((transaction.commit, transaction.rollback)))
        talk.payload += 100
        talk.outstanding += 3


def end(talk: V1Talk) -> None:
    session = session_of(talk)
    if session is not None:
        talk.call(session.end, talk.script.pick((None, ERROR)))


def close(talk: V1Talk) -> None:
    if talk.script.byte() % 4 == 3:
        talk.call(talk.engine.close, talk.script.pick((None, ERROR)))


def nothing(talk: V1Talk) -> None:
    """The flight was read: that is all."""


ACTIONS = (
    *(nothing, nothing, nothing, send, send, send, settle_came, settle_came, settle_several),
    *(settle_sent, write, write_more, abort, flow, flow, add_credit, session_flow, attach),
    *(attach, detach, begin, end, declare, discharge, close),
)


# --- the target -----------------------------------------------------------------------------------


#: What a few steps choose for their fields.
CHOICES = ([0] * 9, [0, 150, 160, 0, 150, 0, 0, 171, 0], [200] * 9)


def seeds() -> Iterable[bytes]:
    """Each way to begin, and random steps."""
    for head in (2, 3):
        for first in range(5):
            yield from (bytes([head, first, 0, *choices]) for choices in CHOICES)
    for head in range(32):
        yield bytes([head])
        for code in range(0, 24, 2):
            yield from (bytes([head, *[code, 0, *choices] * 4, 0xC0]) for choices in CHOICES)
        yield bytes([head]) + bytes(range(0, 250, 7))
    yield from random_scripts(1, 60, 300)


TARGETS = [
    Target(
        "v1-sessions",
        partial(run, V1Talk),
        seeds,
        mutate,
        known_nonces,
        largest=600,
        python=tuple(
            f"amqpcodec.session._v1.{name}"
            for name in (
                *("attaching", "connection", "ending", "endpoint", "heartbeats", "incoming"),
                *("layers", "link_incoming", "objects", "receiving", "sasl", "scram", "sending"),
                *("serial", "session_incoming", "settling", "transactions", "unsettled", "windows"),
            )
        ),
        quick=partial(quick, V1Talk),
        core=False,
    )
]
