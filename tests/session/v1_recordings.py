"""Recorded conversations of AMQP 1.0 played into an engine that takes one of the sides.

What the recorded side of that role said is said again by calls of the engine, at its place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from amqpcodec import capture
from amqpcodec import v1_0 as amqp
from amqpcodec.session import v1
from tests.paths import shared_dir

NAMES = ("amqp10_rabbit", "amqp10_tx")
PORTS = (5672, 5680, 5681)


def conversations(name: str) -> list[tuple[str, bytes]]:
    """(direction, bytes of a frame), in the order of the recording."""
    pa = pytest.importorskip("pyarrow")
    shared = shared_dir()
    path = shared / "captures" / f"{name}.pcap.gz" if shared else None
    if path is None or not path.is_file():
        pytest.skip("the recordings are not beside the repository")
    fields = ["direction", "frame", "connection_index"]
    frames = []
    for batch in capture.read(str(path), fields=fields, ports=PORTS, protocol="1.0", redact=False):
        rows = pa.record_batch(batch).to_pylist()
        assert {row["connection_index"] for row in rows} <= {0}
        frames += [(row["direction"], row["frame"]) for row in rows]
    return frames


@dataclass
class Player:
    """An engine, and what it was told."""

    role: Any
    frames: list[tuple[str, bytes]]
    events: list[Any] = field(default_factory=list)
    received: list[Any] = field(default_factory=list)
    sessions: dict[int, Any] = field(default_factory=dict)
    links: dict[tuple[int, int], Any] = field(default_factory=dict)
    deliveries: dict[int, Any] = field(default_factory=dict)
    sent: dict[int, Any] = field(default_factory=dict)

    def play(self, split: Callable[[bytes], list[bytes]]) -> Player:
        """Feed the other side's bytes, cut into pieces, and say what this side said."""
        own = [bytes_ for side, bytes_ in self.frames if side == self.role]
        frames = [frame for _, frame in amqp.Decoder(0).feed(b"".join(own))]
        opened = next(
            performative for performative in frames if isinstance(performative, amqp.Open)
        )
        options: dict[str, Any] = {"sasl": v1.SaslServer(("PLAIN", "ANONYMOUS"))}
        if self.role == "client":
            init = next(
                performative for performative in frames if isinstance(performative, amqp.SaslInit)
            )
            options["sasl"] = v1.Anonymous()
            if init.mechanism == "PLAIN":
                _, name, password = init.initial_response.split(b"\0")
                options["sasl"] = v1.Plain(name.decode(), password.decode())
        self.engine: Any = v1.Connection(self.role, max_frame_size=opened.max_frame_size, **options)
        self.out = amqp.Decoder(0)
        self.decoder = amqp.Decoder(0)
        heard = b""
        for side, data in self.frames:
            if side != self.role:
                heard += data
                continue
            self.feed(heard, split)
            heard = b""
            for channel, frame in self.decoder.feed(data):
                self.say(channel, frame)
        self.feed(heard, split)
        return self

    def feed(self, data: bytes, split: Callable[[bytes], list[bytes]]) -> None:
        for piece in split(data) if data else []:
            for event in self.engine.receive_data(piece):
                self.events.append(event)
                if isinstance(event, v1.DeliveryReceived):
                    self.deliveries[event.delivery.id] = event.delivery

    def first_event(self, kind: type, matches: Callable[[Any], bool]) -> Any:
        return next((e for e in self.events if isinstance(e, kind) and matches(e)), None)

    def say(self, channel: int, frame: Any) -> None:
        """One frame of the recorded side, by a call."""
        match frame:
            case amqp.SaslOutcome():
                self.engine.authenticate(frame.code == amqp.SaslCode.OK)
            case amqp.Open() if self.role == "server":
                self.engine.accept()
            case amqp.Begin():
                self.begin(channel, frame)
            case amqp.Attach():
                self.attach(channel, frame)
            case amqp.Flow() if frame.handle is not None:
                self.flow(self.links[channel, frame.handle], frame)
            case amqp.Transfer():
                self.transfer(self.links[channel, frame.handle], frame)
            case amqp.Disposition():
                self.disposition(frame)
            case amqp.Detach():
                self.links[channel, frame.handle].detach(frame.error, closed=frame.closed)
            case amqp.End():
                self.sessions[channel].end(frame.error)
            case amqp.Close() if not self.engine.closed:
                self.engine.close(frame.error)

    def begin(self, channel: int, frame: amqp.Begin) -> None:
        if frame.remote_channel is None:
            self.sessions[channel] = self.engine.begin(incoming_window=100_000)
        else:
            event = self.first_event(v1.SessionRequested, lambda _: True)
            event.session.accept(incoming_window=100_000)
            self.sessions[channel] = event.session

    def attach(self, channel: int, frame: amqp.Attach) -> None:
        options = {
            "snd_settle_mode": frame.snd_settle_mode,
            "rcv_settle_mode": frame.rcv_settle_mode,
            "source": frame.source,
            "target": frame.target,
        }
        session = self.sessions[channel]
        event = self.first_event(
            v1.LinkRequested,
            lambda e: e.link.name == frame.name and e.link.state == "ATTACH_RCVD",
        )
        if event is not None:
            link = event.link
            link.accept(**options)
        elif isinstance(frame.target, amqp.Coordinator):
            link = session.attach_controller(frame.name)
        elif frame.role == amqp.Role.SENDER:
            link = session.attach_sender(frame.name, options.pop("target"), **options)
        else:
            link = session.attach_receiver(frame.name, options.pop("source"), **options)
        self.links[channel, frame.handle] = link

    def flow(self, link: Any, frame: amqp.Flow) -> None:
        if link.sends:
            if frame.link_credit == 0 and link.drain:
                link.drained()
        else:
            link.flow(frame.link_credit, drain=frame.drain)

    def transfer(self, link: Any, frame: amqp.Transfer) -> None:
        open_delivery = link._open_delivery
        if open_delivery is None or open_delivery._finished:
            delivery = link.begin_delivery(
                tag=frame.delivery_tag, settled=bool(frame.settled), state=frame.state
            )
            if isinstance(link, v1.Controller):
                self.expect(link, delivery, frame)
            open_delivery = delivery
        open_delivery.write(frame.payload, more=frame.more)
        self.sent[open_delivery.id] = open_delivery

    def expect(self, link: Any, delivery: Any, frame: amqp.Transfer) -> None:
        """A controller asks by declare() and commit(); here the bytes are the recorded ones."""
        value = amqp.Message.decode(frame.payload).value
        if isinstance(value, amqp.Declare):
            transaction = v1.Transaction(link)
        else:
            transaction = next(
                e.transaction
                for e in self.events
                if isinstance(e, v1.TransactionDeclared) and e.transaction.id == value.txn_id
            )
            transaction.state, transaction._fail = "discharging", bool(value.fail)
        link._asked[delivery] = transaction

    def disposition(self, frame: amqp.Disposition) -> None:
        last = frame.first if frame.last is None else frame.last
        for number in range(frame.first, last + 1):
            if frame.role == amqp.Role.SENDER:
                if not self.sent[number].settled:
                    self.sent[number].settle(frame.state)
                continue
            delivery = self.deliveries.get(number)
            declare = self.first_event(
                v1.DeclareRequested, lambda e, number=number: e.delivery.id == number
            )
            discharge = self.first_event(
                v1.DischargeRequested, lambda e, number=number: e.delivery.id == number
            )
            if declare is not None:
                declare.link.declare(declare.delivery, frame.state.txn_id)
            elif discharge is not None:
                discharge.link.discharge(discharge.delivery)
            elif delivery is not None:
                delivery.update(frame.state, settled=frame.settled)
