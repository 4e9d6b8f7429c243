"""A client and a server of 1.0 that work as the specification has it, at random: for events."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from amqpcodec import v1_0 as amqp
from tests.support.event_talk import TO_CLIENT, TO_SERVER, Say
from tests.support.event_talk_v1 import close, login, message, transfer

STATES = {
    "accepted": amqp.Accepted(),
    "rejected": amqp.Rejected(),
    "released": amqp.Released(),
    "modified": amqp.Modified(delivery_failed=True),
}
#: What a talk says of a message: event and outcome.
Outcome = tuple[str, "str | None"]


@dataclass(eq=False)
class Sent:
    """A delivery, which the receiver has not settled yet, or its sender."""

    name: str
    number: int
    handle: int
    parts: list[bytes] = field(default_factory=list)  # those that were not sent yet
    outcome: str | None = None
    settled: bool = False
    early: bool = False  # its sender settled it before its receiver said anything


@dataclass(eq=False)
class Session:
    """Numbers of both sides, and what each of them has sent."""

    channels: tuple[int, int]
    numbers: list[int]
    links: dict[tuple[int, str], tuple[int, int]] = field(default_factory=dict)
    sent: tuple[list[Sent], list[Sent]] = field(default_factory=lambda: ([], []))


class Work:
    """says: what was said. outcomes: of each message, what the receiver, or the end, said of it.
    numbers: deliveries by their sender and delivery-id."""

    def __init__(self, chance: random.Random, server_channels: str, count: int) -> None:
        """server_channels: how the server numbers sessions: "alike", "other" or "swapped"."""
        self.chance = chance
        self.server_channels = server_channels
        self.says: list[Say] = login(product="Other")
        self.outcomes: dict[str, Outcome] = {}
        self.sessions: dict[int, Session] = {}
        self.numbers: dict[tuple[int, int], list[Sent]] = {}
        self.count = 0
        self.begin(0)
        self.begin(1)
        while len(self.says) < count:
            self.step()

    def close(self) -> Work:
        for session in self.sessions.values():
            self.end_deliveries(session)
        self.says += close()
        return self

    def say(self, side: int, session: Session, frame: Any, payload: bytes = b"") -> None:
        self.says.append((side, amqp.encode(session.channels[side], frame, payload)))

    def begin(self, number: int) -> None:
        others = {"alike": number, "other": number + 7, "swapped": 1 - number}
        start = self.chance.choice((0, 1, 2**31 - 2, 2**32 - 3, self.chance.getrandbits(32)))
        other = self.chance.choice((start, self.chance.getrandbits(32)))
        session = Session((number, others[self.server_channels]), [start, other])
        windows = {"incoming_window": 2048, "outgoing_window": 2048}
        self.say(TO_SERVER, session, amqp.Begin(next_outgoing_id=start, **windows))
        self.say(TO_CLIENT, session, amqp.Begin(number, next_outgoing_id=other, **windows))
        self.sessions[number] = session
        self.attach(session, TO_SERVER)
        self.attach(session, TO_CLIENT)

    def end(self, session: Session) -> None:
        first = self.chance.choice((TO_SERVER, TO_CLIENT))
        self.end_deliveries(session)
        self.say(first, session, amqp.End())
        self.say(1 - first, session, amqp.End())
        del self.sessions[session.channels[0]]

    def end_deliveries(self, session: Session) -> None:
        for side, event in ((TO_SERVER, "unconfirmed"), (TO_CLIENT, "requeued")):
            for sent in session.sent[side]:
                open_ = sent.name and not sent.parts and not sent.settled
                if open_ and sent.outcome is None:
                    self.outcomes[sent.name] = event, None

    def attach(self, session: Session, sender: int) -> None:
        """A link with the lowest free handles, as most do."""
        taken = [[pair[side] for pair in session.links.values()] for side in (0, 1)]
        handles = tuple(next(n for n in range(99) if n not in taken[side]) for side in (0, 1))
        self.count += 1
        name, queue = f"link{self.count}", f"queue{self.count}"
        ends = {"source": amqp.Source(address=queue), "target": amqp.Target(address=queue)}
        for side in (0, 1):
            role = side != sender
            self.say(side, session, amqp.Attach(name, handles[side], role, **ends))
        session.links[sender, name] = handles[0], handles[1]

    def detach(self, session: Session, link: tuple[int, str]) -> None:
        handles = session.links.pop(link)
        for sent in session.sent[link[0]]:
            if sent.parts and sent.handle == handles[link[0]]:
                sent.settled = True
                sent.parts = []
        first = self.chance.choice((0, 1))
        for side in (first, 1 - first):
            self.say(side, session, amqp.Detach(handles[side], closed=True))

    # ---- deliveries ----

    def send(self, session: Session, sender: int) -> None:
        """A new delivery, or its first part."""
        links = [pair[sender] for link, pair in session.links.items() if link[0] == sender]
        busy = {sent.handle for sent in session.sent[sender] if sent.parts}
        links = [handle for handle in links if handle not in busy]
        if not links:
            return
        self.count += 1
        name = f"m{self.count}"
        number = session.numbers[sender]
        session.numbers[sender] = (number + 1) % 2**32
        sent = Sent(name, number, self.chance.choice(links))
        payload = message(name)
        sent.settled = self.chance.random() < 0.1
        more = self.chance.random() < 0.3
        if more:
            at = self.chance.randrange(1, len(payload))
            payload, sent.parts = payload[:at], [payload[at : at + 5], payload[at + 5 :]]
        frame = transfer(
            number,
            sent.handle,
            more=more,
            settled=sent.settled or None,
            resume=self.chance.random() < 0.1 or None,
            batchable=self.chance.choice((None, True)),
        )
        if frame.resume:
            sent.name = ""
        self.say(sender, session, frame, payload)
        session.sent[sender].append(sent)
        self.numbers.setdefault((sender, number), []).append(sent)

    def send_part(self, session: Session, sender: int, sent: Sent) -> None:
        """The next part, which may be the last one, may settle, or break the delivery off."""
        number = self.chance.choice((None, sent.number))
        if self.chance.random() < 0.15:
            sent.parts, sent.settled = [], True
            self.say(sender, session, transfer(number, sent.handle, aborted=True))
            return
        part = sent.parts.pop(0)
        settled = self.chance.random() < 0.1 or None
        sent.settled |= bool(settled)
        frame = transfer(number, sent.handle, more=bool(sent.parts), settled=settled)
        self.say(sender, session, frame, part)

    def receive(self, session: Session, sender: int) -> None:
        """The receiver's outcome of a delivery and of those after it that have none."""
        if not session.sent[sender]:
            return
        at = self.chance.randrange(len(session.sent[sender]))
        name = self.chance.choice(list(STATES))
        settled = self.chance.random() < 0.6
        numbers = []
        event = ("confirmed", "settled")[sender]
        for sent in session.sent[sender][at : at + self.chance.choice((1, 1, 2, 5))]:
            if sent.parts or sent.early or (sent.settled and not numbers):
                break
            if sent.settled or sent.outcome is not None:
                continue  # a range may go over it
            numbers.append(sent.number)
            sent.outcome, sent.settled = name, settled
            if sent.name:
                self.outcomes[sent.name] = event, name
        if numbers:
            last = None if len(numbers) == 1 and self.chance.random() < 0.5 else numbers[-1]
            disposition = amqp.Disposition(True, numbers[0], last, settled or None, STATES[name])
            self.say(1 - sender, session, disposition)

    def progress(self, session: Session, sender: int) -> None:
        """What is no outcome: how much the receiver has."""
        for sent in session.sent[sender][-1:]:
            state = amqp.Received(section_number=0, section_offset=1)
            self.say(1 - sender, session, amqp.Disposition(True, sent.number, state=state))

    def settle(self, session: Session, sender: int) -> None:
        """The sender settles, after the receiver's outcome or before."""
        waiting = [one for one in session.sent[sender] if not one.parts and not one.settled]
        if not waiting:
            return
        sent = self.chance.choice(waiting)
        early = sent.outcome is None
        if early and self.chance.random() < 0.7:
            return
        state = self.chance.choice((None, STATES[sent.outcome or self.chance.choice(list(STATES))]))
        sent.settled = True
        sent.early = early
        if early and sent.name and sender == TO_CLIENT:
            self.outcomes[sent.name] = "settled", None
        self.say(sender, session, amqp.Disposition(False, sent.number, None, True, state))

    def settle_again(self, session: Session, sender: int) -> None:
        """The receiver settles what it has said an outcome of."""
        waiting = [one for one in session.sent[sender] if one.outcome and not one.settled]
        if waiting:
            sent = self.chance.choice(waiting)
            sent.settled = True
            state = self.chance.choice((None, STATES[sent.outcome or ""]))
            disposition = amqp.Disposition(True, sent.number, None, True, state)
            self.say(1 - sender, session, disposition)

    def step(self) -> None:
        session = self.chance.choice(list(self.sessions.values()))
        sender = self.chance.choice((0, 1))
        begun = [sent for sent in session.sent[sender] if sent.parts]
        kind = self.chance.random()
        if begun and self.chance.random() < 0.4:
            self.send_part(session, sender, self.chance.choice(begun))
        elif kind < 0.4:
            self.send(session, sender)
        elif kind < 0.7:
            self.receive(session, sender)
        elif kind < 0.8:
            self.settle(session, sender)
        elif kind < 0.85:
            self.settle_again(session, sender)
        elif kind < 0.87:
            self.progress(session, sender)
        elif kind < 0.92:
            if len(session.links) < 4:
                self.attach(session, sender)
        elif kind < 0.96:
            if len(session.links) > 2:
                self.detach(session, self.chance.choice(list(session.links)))
        elif kind < 0.97:
            self.end(session)
            self.begin(session.channels[0])


def work_of(seed: int, channels: str) -> Work:
    """About 70 frames, and the close."""
    return Work(random.Random(f"{seed} {channels}"), channels, 70).close()
