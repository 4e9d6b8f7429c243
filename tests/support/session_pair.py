"""A client and a server session that talk to each other in memory."""

from __future__ import annotations

from typing import Any

from amqpcodec.session import (
    Connection,
    Event,
    LoginRequested,
    OpenRequested,
    Published,
    Requested,
)


class Pair:
    """Both ends, and what each was told.

    answer: whether the server answers by itself: requests by an empty reply, publications by acks.
    """

    def __init__(
        self,
        protocol: Any = "0-9-1",
        *,
        answer: bool = True,
        client: dict[str, Any] | None = None,
        server: dict[str, Any] | None = None,
    ) -> None:
        self.answer = answer
        self.client: Any = Connection("client", protocol=protocol, **(client or {}))
        self.server: Any = Connection("server", protocol=protocol, **(server or {}))
        self.amqp = self.client.protocol
        self.events: dict[str, list[Event]] = {"client": [], "server": []}

    def pump(self) -> Pair:
        """Carry bytes until nothing waits."""
        while self.client.bytes_to_send or self.server.bytes_to_send:
            for event in self.server.receive_data(self.client.data_to_send()):
                self.events["server"].append(event)
                self.react(event)
            self.events["client"] += self.client.receive_data(self.server.data_to_send())
        return self

    def react(self, event: Event) -> None:
        match event:
            case LoginRequested():
                self.server.accept_login()
            case OpenRequested():
                self.server.accept_open()
            case Requested(request=request) if self.answer and request.expects_response:
                self.reply(request)
            case Published(channel=channel, tag=tag) if self.answer and tag is not None:
                channel.ack(tag)

    def reply(self, request: Any) -> None:
        reply = request.method.RESPONSES[0]
        values: dict[str, Any] = {}
        for name in ("queue", "consumer_tag", "active"):
            if name in reply.FIELDS:
                value = getattr(request.method, name)
                values[name] = "made" if value == "" else value
        if "delivery_tag" in reply.FIELDS:
            values["delivery_tag"] = request.channel.deliveries.last + 1
        request.respond(reply(**values))

    def channel(self) -> tuple[Any, Any]:
        """Open a channel: both ends of it."""
        mine = self.client.open_channel()
        self.pump()
        return mine, self.server.channels[mine.number]

    def take(self, side: str) -> list[Event]:
        """What one end was told since the last look."""
        events = self.events[side]
        self.events[side] = []
        return events


def opened(protocol: Any = "0-9-1", **options: Any) -> Pair:
    """A pair whose connection is open; what led there is forgotten."""
    pair = Pair(protocol, **options).pump()
    pair.take("client")
    pair.take("server")
    return pair


def names(events: list[Event]) -> list[str]:
    """Their classes."""
    return [type(event).__name__ for event in events]
