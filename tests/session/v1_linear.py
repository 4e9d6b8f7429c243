"""Talks of AMQP 1.0 whose cost must grow as their size: counted by `make linear-test`.

In each, what stands open and how often the peer asks for something about it grow together. A
session that looks at all that stands open, for each frame, takes four times as long for twice as
much.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from amqpcodec import v1_0 as amqp
from amqpcodec.session import v1

Disposition, Flow, Transfer = amqp.Disposition, amqp.Flow, amqp.Transfer
RECEIVER, SENDER = amqp.Role.RECEIVER, amqp.Role.SENDER
BEGIN = amqp.Begin(None, 0, 1 << 30, 1 << 30)
LIMITS = v1.Limits(sessions=65_536, links=65_536, unsettled=1 << 30, transactions=1 << 30)


def answer(event: Any) -> None:
    """A server that takes whatever it is asked for."""
    match event:
        case v1.SessionRequested(session):
            session.accept()
        case v1.LinkRequested(link):
            link.accept()
            if not link.sends:
                link.flow(1 << 30)
        case v1.DeclareRequested(link, delivery):
            link.declare(delivery, b"%d" % delivery.id)
        case v1.DischargeRequested(link, delivery):
            link.discharge(delivery)


class Server:
    """An engine, and frames of its peer. `give` counts events and drops what it would send."""

    def __init__(self) -> None:
        self.engine: Any = v1.Connection("server", limits=LIMITS)
        self.events = 0
        self.give([amqp.ProtocolHeader(0, 1, 0, 0), amqp.Open("peer")])
        self.engine.accept()
        self.give([BEGIN])
        self.session = self.engine.sessions[0]

    def give(self, frames: Iterable[Any], channel: int = 0) -> None:
        data = b"".join([amqp.encode(channel, frame) for frame in frames])
        for event in self.engine.receive_data(data):
            self.events += 1
            answer(event)
        self.engine.buffers_to_send()

    def give_each(self, frames: Iterable[Any], channel: int = 0) -> None:
        """Each frame in a read of its own, so that it is answered before the next one."""
        for frame in frames:
            self.give([frame], channel)


def attach(number: int = 0, *, sends: bool = True, **fields: Any) -> Any:
    """An attach of the peer's."""
    role = SENDER if sends else RECEIVER
    termini = {"source": amqp.Source("q"), "target": amqp.Target("q"), **fields}
    count = 0 if sends else None
    return amqp.Attach(f"link {number}", number, role, initial_delivery_count=count, **termini)


def sent(n: int, window: int = 1 << 30) -> tuple[Server, Any, list[Any]]:
    """A server that has sent so many deliveries, or would where the peer's window were open."""
    server = Server()
    server.give([attach(sends=False)])
    (link,) = server.session.links
    server.give([Flow(0, window, 0, 1 << 30, 0, delivery_count=0, link_credit=n)])
    deliveries = [link.send(b"x") for _ in range(n)]
    server.engine.buffers_to_send()
    return server, link, deliveries


def came(n: int, step: int = 1) -> tuple[Server, list[Any]]:
    """A server to which so many deliveries came, that it has not settled."""
    server = Server()
    server.give([attach()])
    server.give(Transfer(0, step * i, b"%d" % i, 0, payload=b"x") for i in range(n))
    return server, list(server.session.links[0].unsettled.values())


def passing_states(n: int) -> None:
    server, _, _ = sent(n)
    server.give(Disposition(RECEIVER, 0, n - 1, False, amqp.Received(0, i)) for i in range(n))
    assert server.events < 2 * n + 10


def passing_states_of_parts(n: int) -> None:
    """Ranges that lie across each other."""
    server, _, _ = sent(n)
    server.give(
        Disposition(RECEIVER, i * 7919 % n, i * 7919 % n + 50, False, amqp.Received(0, i))
        for i in range(n)
    )


def outcomes_again(n: int) -> None:
    server, link, _ = sent(n)
    server.give(Disposition(RECEIVER, 0, n - 1, False, amqp.Accepted()) for _ in range(n))
    assert len(link.unsettled) == n


def settled_again(n: int) -> None:
    """Ranges in which everything is settled, between deliveries that are not."""
    server, link, deliveries = sent(2 * n)
    link.session._sent.pop(0)  # out and in again: the oldest stays
    link.session._sent.clear()
    for delivery in (deliveries[0], *deliveries[n:]):
        link.session._sent.add(delivery.id, delivery)
    server.give(Disposition(RECEIVER, 1, n - 1, True, amqp.Accepted()) for _ in range(n))
    assert len(link.session._sent) == n + 1


def holes(n: int) -> None:
    """Every second delivery is settled by itself, the others by one frame, that comes often."""
    server, link, _ = sent(n)
    server.give(Disposition(RECEIVER, i, i, True, amqp.Accepted()) for i in range(1, n, 2))
    server.give(Disposition(RECEIVER, 1, n - 2, True, amqp.Accepted()) for _ in range(n // 2))
    assert len(link.unsettled) == 1 + n % 2


def spaced_ids(n: int) -> None:
    server, deliveries = came(n, step=1000)
    server.give(
        Disposition(SENDER, 1000 * i + 1, 1000 * n, False, amqp.Received(0, i)) for i in range(n)
    )
    assert len(deliveries) == n
    server.give(Disposition(SENDER, 0, 1000 * n, True) for _ in range(n))
    assert len(server.session._received) == 0


def answered(n: int) -> None:
    """Each delivery is answered by itself, the newest first."""
    _, deliveries = came(n)
    for delivery in reversed(deliveries):
        delivery.accept()


def credit_in_turn(n: int) -> None:
    server, link, _ = sent(n, window=0)
    server.give(
        Flow(0, 0, 0, 1 << 30, 0, delivery_count=0, link_credit=n if i % 2 else 0) for i in range(n)
    )
    assert link.session.bytes_waiting == n


def window_in_turn(n: int) -> None:
    """The window opens for one frame at a time."""
    server, link, _ = sent(n, window=0)
    server.give(Flow(i, 1, 0, 1 << 30, echo=True) for i in range(n))
    assert link.session.bytes_waiting == 0


def links_beside_waiting(n: int) -> None:
    server, link, _ = sent(n, window=0)
    for i in range(n // 4):
        server.give([attach(1, sends=i % 2 == 0)])
        server.give([amqp.Detach(1, True)])
    assert link.session.bytes_waiting == n


def links_that_end_while_they_wait(n: int) -> None:
    """A delivery waits on each."""
    server, _, _ = sent(1, window=0)
    for _ in range(n // 4):
        server.give([attach(1, sends=False)])
        server.give([Flow(0, 0, 0, 1 << 30, 1, delivery_count=0, link_credit=1)])
        server.session.links[1].send(b"x")
        server.give([amqp.Detach(1, True)])
    assert server.session.bytes_waiting == 1
    assert len(server.session._outgoing._heap) < 30


def many_links(n: int) -> None:
    """Attached, then detached and attached again, one after the other."""
    n //= 4
    server = Server()
    server.give(attach(i) for i in range(n))
    for i in range(n):
        server.give([amqp.Detach(i, True)])
        server.give([attach(i)])
    assert len(server.session._by_handle) == n


def many_links_of_ours(n: int) -> None:
    """Answered by the peer in the opposite order."""
    n //= 4
    server = Server()
    for i in range(n):
        server.session.attach_sender(f"link {i}", "q")
    server.engine.buffers_to_send()
    server.give(attach(i, sends=False) for i in reversed(range(n)))
    assert {link.state for link in server.session.links} == {"ATTACHED"}


def many_sessions(n: int) -> None:
    """Begun, then ended and begun again, one after the other."""
    n //= 4
    server = Server()
    for channel in range(1, n):
        server.give([BEGIN], channel)
    for channel in range(1, n):
        server.give([amqp.End()], channel)
        server.give([BEGIN], channel)
    assert len(server.engine.sessions) == n


def small_transfers(n: int) -> None:
    """One delivery, of empty transfers and of one byte each."""
    server = Server()
    server.give([attach()])
    first = Transfer(0, 0, b"t", 0, more=True)
    server.give([first, *[Transfer(0, more=True, payload=b"x" * (i % 2)) for i in range(n)]])
    assert server.engine._partial_bytes == n // 2


def transactions(n: int) -> None:
    """Declared, then discharged, the newest first."""
    n //= 4
    server = Server()
    server.give([attach(target=amqp.Coordinator())])
    declare = amqp.Message(value=amqp.Declare()).encode()
    server.give(Transfer(0, i, b"%d" % i, 0, payload=declare) for i in range(n))
    assert len(server.engine.transactions) == n
    discharges = [
        amqp.Message(value=amqp.Discharge(b"%d" % i, False)).encode() for i in reversed(range(n))
    ]
    server.give(
        Transfer(0, n + i, b"%d" % (n + i), 0, payload=payload)
        for i, payload in enumerate(discharges)
    )
    assert server.engine.transactions == set()


def resumed(n: int) -> None:
    """Maps of so many tags at both ends, and each delivery resumed in two transfers."""
    n //= 4
    states = {b"%d" % i: None for i in range(n)}
    engine: Any = v1.Connection("server", max_frame_size=1 << 24, limits=LIMITS)
    hello = [amqp.ProtocolHeader(0, 1, 0, 0), amqp.Open("peer", max_frame_size=1 << 24), BEGIN]
    engine.receive_data(b"".join([amqp.encode(0, frame) for frame in hello]))
    engine.accept()
    (session,) = engine.sessions
    session.accept()
    (event,) = engine.receive_data(amqp.encode(0, attach(unsettled=states)))
    event.link.accept(unsettled=states)
    event.link.flow(1 << 30)
    parts = [
        part
        for i, tag in enumerate(states)
        for part in (Transfer(0, i, tag, 0, resume=True, more=True), Transfer(0, payload=b"x"))
    ]
    events = engine.receive_data(b"".join([amqp.encode(0, part) for part in parts]))
    assert len(events) == 2 * n
    assert len(event.link.unsettled_map) == n


def partial_deliveries(n: int) -> None:
    """One on each link; then the session ends."""
    n //= 4
    server = Server()
    for number in range(n):
        server.give([attach(number)])
    server.give(Transfer(i, i, b"t", 0, more=True, payload=b"x") for i in range(n))
    server.give(Transfer(i, more=True, payload=b"x") for i in reversed(range(n)))
    assert server.engine._partial_bytes == 2 * n
    server.give([amqp.End()])
    assert server.engine._partial_bytes == 0


def heartbeats(n: int) -> None:
    Server().give(amqp.Heartbeat() for _ in range(n))


def open_properties(n: int) -> None:
    """The one map that a peer sends for a connection, and a close with one like it."""
    large = {amqp.Symbol(f"key {i}"): "value" for i in range(n)}
    engine: Any = v1.Connection("server", max_frame_size=1 << 24)
    engine.receive_data(amqp.PROTOCOL_HEADER + amqp.encode(0, amqp.Open("peer")))
    engine.accept()
    engine.receive_data(amqp.encode(0, amqp.Close(amqp.Error("x", "y", large))))
    assert engine.closed


CONSTRUCTS: dict[str, Callable[[int], Any]] = {
    "1.0 session: states of all unsettled deliveries": passing_states,
    "1.0 session: states of ranges across each other": passing_states_of_parts,
    "1.0 session: an outcome that is told again": outcomes_again,
    "1.0 session: what is settled is settled again": settled_again,
    "1.0 session: settled one by one and together": holes,
    "1.0 session: delivery-ids far from each other": spaced_ids,
    "1.0 session: answers, the newest first": answered,
    "1.0 session: credit 0 and all in turn": credit_in_turn,
    "1.0 session: a window of one": window_in_turn,
    "1.0 session: links beside deliveries that wait": links_beside_waiting,
    "1.0 session: links that end while they wait": links_that_end_while_they_wait,
    "1.0 session: many links": many_links,
    "1.0 session: many links of ours": many_links_of_ours,
    "1.0 session: many sessions": many_sessions,
    "1.0 session: small transfers": small_transfers,
    "1.0 session: transactions": transactions,
    "1.0 session: resumed deliveries": resumed,
    "1.0 session: partial deliveries": partial_deliveries,
    "1.0 session: heartbeats": heartbeats,
    "1.0 session: a map in a close": open_properties,
}

#: What a peer can send -> the constructs in which it is what grows, or why there is none.
FRAMES: dict[Any, list[Callable[[int], Any]] | str] = {
    amqp.Heartbeat: [heartbeats],
    amqp.Open: "comes once, and a map in it is read as any other",
    amqp.Begin: [many_sessions],
    amqp.Attach: [many_links, many_links_of_ours, links_beside_waiting, resumed],
    amqp.Flow: [credit_in_turn, window_in_turn],
    amqp.Transfer: [small_transfers, spaced_ids, transactions, resumed, partial_deliveries],
    amqp.Disposition: [
        *(passing_states, passing_states_of_parts, outcomes_again, settled_again, holes),
        *(spaced_ids, answered),
    ],
    amqp.Detach: [many_links, links_beside_waiting, links_that_end_while_they_wait],
    amqp.End: [many_sessions],
    amqp.Close: [open_properties],
    amqp.ProtocolHeader: "comes once for a layer: a second one ends the connection",
    amqp.SaslMechanisms: "comes once, in 512 bytes",
    amqp.SaslInit: "comes once, in 512 bytes",
    amqp.SaslChallenge: "comes twice at most: any other ends the login",
    amqp.SaslResponse: "comes once: any other ends the login",
    amqp.SaslOutcome: "comes once: it ends the layer",
}
