"""What a client and a server of 1.0 say, as (side, bytes): for events."""

from __future__ import annotations

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


def close(error: Any = None) -> list[Say]:
    return [client(amqp.Close(error=error)), server(amqp.Close(), 0)]


def error(condition: str, description: str = "because") -> Any:
    return amqp.Error(condition=condition, description=description)
