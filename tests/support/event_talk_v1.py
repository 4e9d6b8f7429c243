"""What a client and a server of 1.0 say, as (side, bytes): for events."""

from __future__ import annotations

import random
from typing import Any

from amqpcodec import v1_0 as amqp
from tests.support.event_talk import TO_CLIENT, TO_SERVER, Say

#: The server gives sessions other numbers than the client does: this many more.
SERVER_CHANNELS = 7


def client(performative: Any, channel: int = 0, payload: bytes = b"") -> Say:
    return TO_SERVER, amqp.encode(channel, performative, payload)


def server(performative: Any, channel: int = SERVER_CHANNELS, payload: bytes = b"") -> Say:
    return TO_CLIENT, amqp.encode(channel, performative, payload)


def login(
    idle: tuple[int | None, int | None] = (None, None),
    product: str | None = "RabbitMQ",
    container: str = "worker",
    hostname: str | None = "vhost:shop",
) -> list[Say]:
    """From the headers to both opens; idle: of the client's and the server's open, ms."""
    properties = {} if product is None else {amqp.Symbol("product"): product}
    return [
        (TO_SERVER, amqp.SASL_HEADER),
        (TO_CLIENT, amqp.SASL_HEADER),
        server(amqp.SaslMechanisms(["PLAIN"]), 0),
        client(amqp.SaslInit(mechanism="PLAIN", initial_response=b"\0guest\0secret")),
        server(amqp.SaslOutcome(0), 0),
        (TO_SERVER, amqp.PROTOCOL_HEADER),
        (TO_CLIENT, amqp.PROTOCOL_HEADER),
        client(amqp.Open(container_id=container, hostname=hostname, idle_time_out=idle[0])),
        server(amqp.Open(container_id="broker", idle_time_out=idle[1], properties=properties), 0),
    ]


def begin(channel: int = 0) -> list[Say]:
    windows = {"next_outgoing_id": 0, "incoming_window": 2048, "outgoing_window": 2048}
    return [
        client(amqp.Begin(**windows), channel),
        server(amqp.Begin(remote_channel=channel, **windows), channel + SERVER_CHANNELS),
    ]


def end(channel: int = 0, error: Any = None) -> list[Say]:
    return [
        client(amqp.End(error=error), channel),
        server(amqp.End(), channel + SERVER_CHANNELS),
    ]


def sends(name: str, address: str | None, handle: int = 0, channel: int = 0) -> list[Say]:
    """Both ends of a link on which the client sends; the server's handle is 50 more."""
    common = {"name": name, "source": amqp.Source(), "target": amqp.Target(address=address)}
    return [
        client(amqp.Attach(handle=handle, role=False, **common), channel),
        server(amqp.Attach(handle=handle + 50, role=True, **common), channel + SERVER_CHANNELS),
    ]


def receives(
    name: str, address: str, handle: int = 1, channel: int = 0, settle_mode: int = 0
) -> list[Say]:
    common = {"name": name, "source": amqp.Source(address=address), "target": amqp.Target()}
    common["snd_settle_mode"] = settle_mode
    return [
        client(amqp.Attach(handle=handle, role=True, **common), channel),
        server(
            amqp.Attach(handle=handle + 50, role=False, initial_delivery_count=0, **common),
            channel + SERVER_CHANNELS,
        ),
    ]


def detach(handle: int, channel: int = 0) -> list[Say]:
    return [
        client(amqp.Detach(handle=handle, closed=True), channel),
        server(amqp.Detach(handle=handle + 50, closed=True), channel + SERVER_CHANNELS),
    ]


def message(name: str, body: bytes | None = None, **fields: Any) -> bytes:
    return amqp.Message(body or b"body " + name.encode(), message_id=name, **fields).encode()


def transfer(number: int | None, handle: int, **more: Any) -> Any:
    """number: of the delivery, None where it is not its first transfer."""
    if number is not None:
        more = {"delivery_id": number, "delivery_tag": b"%d" % number, "message_format": 0, **more}
    return amqp.Transfer(handle=handle, **more)


def publish(number: int, handle: int = 0, channel: int = 0, **more: Any) -> Say:
    return client(transfer(number, handle, **more), channel, message(f"p{number}"))


def deliver(number: int, handle: int = 51, channel: int = 0, **more: Any) -> Say:
    name = more.pop("name", f"d{number}")
    channel += SERVER_CHANNELS
    return server(transfer(number, handle, **more), channel, message(name))


def in_parts(
    side: int, number: int, handle: int, sizes: list[int], channel: int = 0, name: str | None = None
) -> list[Say]:
    """A delivery in several transfers, each a segment."""
    name = name or f"{'pd'[side]}{number}"
    data = message(name, b"large " * 40)
    ends = [0, *sizes, len(data)]
    speak = server if side else client
    channel += SERVER_CHANNELS if side else 0
    return [
        speak(
            transfer(None if i else number, handle, more=i < len(sizes)),
            channel,
            data[ends[i] : ends[i + 1]],
        )
        for i in range(len(ends) - 1)
    ]


def outcome(
    side: int,
    first: int,
    last: int | None = None,
    state: Any = None,
    settled: bool = True,
    role: bool = True,
    channel: int = 0,
) -> Say:
    """A disposition; state: accepted where it is None."""
    state = amqp.Accepted() if state is None else state
    said = amqp.Disposition(role=role, first=first, last=last, settled=settled, state=state)
    if side == TO_CLIENT:
        return server(said, channel + SERVER_CHANNELS)
    return client(said, channel)


def settled_at_once(number: int) -> list[Say]:
    """A delivery and its outcome in a session that both sides give the number 0."""
    frame = amqp.encode(0, transfer(number, 1), message(f"d{number}"))
    return [(TO_CLIENT, frame), outcome(TO_SERVER, number)]


def close(error: Any = None) -> list[Say]:
    return [client(amqp.Close(error=error)), server(amqp.Close(), 0)]


def error(condition: str, description: str = "because") -> Any:
    return amqp.Error(condition=condition, description=description)


def joined(says: list[Say], size: int = 60_000) -> list[Say]:
    """What one side says in segments of that size."""
    data = b"".join(octets for _, octets in says)
    return [(says[0][0], data[at : at + size]) for at in range(0, len(data), size)]


def working() -> list[Say]:
    """Links of both directions, deliveries of several at once, and every outcome."""
    return [
        *login(),
        *begin(),
        *sends("s1", "/queues/jobs", 0),
        *receives("r1", "jobs", 1),
        *receives("r2", "/queue/o%74her", 2),
        publish(0),
        deliver(0),
        *sends("s2", "/exchanges/orders/eu", 3),
        publish(1, 3),
        deliver(1, 52),
        outcome(TO_CLIENT, 0, 1),
        outcome(TO_SERVER, 0),
        *in_parts(TO_SERVER, 2, 0, [40, 90])[:2],
        publish(3, 3),
        *in_parts(TO_CLIENT, 2, 51, [50])[:1],
        deliver(3, 52, settled=True),
        deliver(4, 52),
        *in_parts(TO_SERVER, 2, 0, [40, 90])[2:],
        *in_parts(TO_CLIENT, 2, 51, [50])[1:],
        outcome(TO_CLIENT, 3, state=amqp.Released()),
        outcome(TO_SERVER, 1, 2, state=amqp.Rejected(), settled=False),
        outcome(TO_CLIENT, 1, 2, role=False),
        client(transfer(4, 0, more=True), 0, b"part"),
        client(transfer(None, 0, aborted=True)),
        publish(5),
        outcome(TO_SERVER, 4, state=amqp.Modified(delivery_failed=True)),
        *detach(2),
        *receives("r3", "third", 2),
        deliver(5, 52),
        deliver(6, 51, name="d4"),
        outcome(TO_CLIENT, 2),
        outcome(TO_SERVER, 5),
        publish(6, settled=True),
        publish(7),
        server(amqp.Detach(handle=52, closed=True, error=error("amqp:resource-deleted"))),
        client(amqp.Detach(handle=2, closed=True)),
    ]


def sessions() -> list[Say]:
    """Several sessions, one after the other on the same channels, and beside one another."""
    return [
        *working(),
        *begin(1),
        *receives("r4", "fourth", 0, 1),
        deliver(0, 50, 1, name="e0"),
        server(amqp.End(error=error("amqp:internal-error"))),
        client(amqp.End()),
        outcome(TO_SERVER, 0, channel=1),
        *begin(),
        *sends("s1", "fifth", 0),
        *receives("r1", "fifth", 1),
        publish(0),
        deliver(0, name="f0"),
        deliver(1, name="f1"),
        outcome(TO_SERVER, 1),
        outcome(TO_CLIENT, 0),
        publish(1),
        *end(1),
    ]


#: Addresses of both kinds of RabbitMQ's, right and wrong.
ADDRESSES = (
    *(None, "q", "/queues/%41", "/exchange/e/k", "/exchanges/e", "/topic/x", "/queues/%4"),
    *("$cbs", "x" * 300, "/queues/" + "%41" * 300),
)
STATES = (
    *(None, amqp.Accepted(), amqp.Rejected(), amqp.Released(), amqp.Modified()),
    *(amqp.Received(0, 1), amqp.Declared(b"t"), amqp.TransactionalState(b"t", amqp.Accepted())),
)
PAYLOADS = (
    *(b"", message("m1"), message("m2"), message("m3")[:20], b"\0Su\xa0\5abc"),
    amqp.Message(amqp.Declare()).encode(),
)


def at_random(chance: random.Random, count: int) -> list[Say]:
    """Frames of both sides that follow no rule."""
    said = []
    for _ in range(count):
        some = chance.choice
        handle = some((0, 0, 1, 2, 2**32 - 1))
        number = some(
            (chance.randrange(8), 2**32 - 1 - chance.randrange(3), chance.getrandbits(32))
        )
        identified = chance.random() < 0.7
        address = some(ADDRESSES)
        fault = some((None, error("amqp:not-found", "d" * 3000)))
        frame = some(
            (
                amqp.Begin(some((None, 0, 1)), 0, 1, 1),
                *3
                * (
                    amqp.Transfer(
                        handle,
                        number if identified else None,
                        b"t" if identified else None,
                        more=some((None, True)),
                        aborted=some((None, None, True)),
                        settled=some((None, True)),
                        resume=some((None, None, True)),
                        message_format=some((None, 0, 5)),
                    ),
                ),
                amqp.Disposition(
                    some((False, True)),
                    number,
                    some((None, number, (number + 5) % 2**32, chance.getrandbits(32))),
                    some((None, True)),
                    some(STATES),
                ),
                amqp.Attach(
                    some(("a", "b", "n" * 300)),
                    handle,
                    some((False, True)),
                    some((None, 0, 1, 2)),
                    source=some((None, amqp.Source(address), amqp.Source(dynamic=True))),
                    target=some((None, amqp.Target(address), amqp.Coordinator())),
                ),
                amqp.Detach(handle, some((None, True)), fault),
                some((amqp.End(fault), amqp.Heartbeat(), amqp.Open("c"))),
            )
        )
        payload = some(PAYLOADS) if isinstance(frame, amqp.Transfer) else b""
        said.append((chance.randrange(2), amqp.encode(chance.randrange(3), frame, payload)))
    return said
