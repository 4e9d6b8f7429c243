"""A client on a blocking socket, a request at a time: what probes and tests talk to a broker by."""

from __future__ import annotations

import time
from typing import Any

from amqpcodec import v0_9_1 as amqp
from amqpcodec.session import (
    ChannelClosed,
    ConnectionClosed,
    ConnectionOpened,
    Delivered,
    Event,
)
from tests.support.socket_session import SocketSession

SECONDS = 5.0


class Closed(Exception):
    """The broker closed a channel or the connection."""

    def __init__(self, kind: str, reply_code: int, reply_text: str) -> None:
        super().__init__(f"{kind} {reply_code} {reply_text}")
        self.kind = kind
        self.reply_code = reply_code
        self.reply_text = reply_text


class Talk(SocketSession):
    """A connection that is open."""

    GONE = OSError
    flush = SocketSession.flush_quietly

    def __init__(self, address: tuple[str, int], **options: Any) -> None:
        super().__init__(address, SECONDS, **options)
        self.until(lambda: self.session.is_open)

    def __enter__(self) -> Talk:
        return self

    def __exit__(self, *exception: object) -> None:
        self.line.close()

    def until(self, is_done: Any, seconds: float = SECONDS) -> None:
        """Go on until something is true."""
        deadline = time.monotonic() + seconds
        while not is_done():
            left = deadline - time.monotonic()
            if self.session.closed:
                self._raise_closed()
            if left <= 0:
                raise TimeoutError(f"nothing came for {seconds} s; last: {self.events[-3:]}")
            self.step(left)

    def _raise_closed(self) -> None:
        for event in self.events:
            if isinstance(event, ConnectionClosed):
                raise Closed("connection", event.reply_code, event.reply_text)

    def drain(self, seconds: float = 0.05) -> list[Event]:
        """What comes until nothing comes for so long."""
        first = len(self.events)
        while not self.session.closed and self.step(seconds):
            pass
        return self.events[first:]

    def opened(self) -> ConnectionOpened:
        return next(event for event in self.events if isinstance(event, ConnectionOpened))

    def channel(self) -> Chan:
        return Chan(self, self.session.open_channel())

    def close(self) -> None:
        self.session.close()
        while not self.session.closed and self.step():
            pass
        self.line.close()


class Chan:
    """A channel: requests return their reply, or raise Closed."""

    def __init__(self, talk: Talk, channel: Any) -> None:
        self.talk = talk
        self.channel = channel
        self.confirming = False

    def ask(self, method: Any) -> Any:
        """Send a method; its reply, or Closed."""
        try:
            request = self.channel.send(method)
        except Exception:
            self.check()
            raise
        if request is None:
            self.talk.flush()
            return None
        self.talk.until(lambda: request.done)
        if request.error is not None:
            self.check()
        return request.response

    def smuggle(self, method: Any) -> None:
        """Send what the session refuses to send."""
        self.talk.flush()
        self.talk.line.sendall(amqp.encode(self.channel.number, method))

    def check(self) -> None:
        """Raise Closed if the channel is."""
        self.talk._raise_closed()
        for event in self.talk.events:
            if isinstance(event, ChannelClosed) and event.channel is self.channel:
                raise Closed("channel", event.reply_code, event.reply_text)

    def wait_closed(self) -> None:
        """Wait for the broker's close, and raise it."""
        self.talk.until(lambda: not self.channel.is_open or self.talk.session.closed)
        self.check()

    def queue(self, name: str = "", **options: Any) -> str:
        """Declare a queue: durable unless options say otherwise; its name."""
        options.setdefault("durable", not (options.get("exclusive") or options.get("passive")))
        declared: str = self.ask(amqp.Queue.Declare(name, **options)).queue
        return declared

    def ready(self, name: str) -> int:
        count: int = self.ask(amqp.Queue.Declare(name, passive=True)).message_count
        return count

    def exchange(self, name: str, kind: str = "direct", **options: Any) -> None:
        self.ask(amqp.Exchange.Declare(name, kind, **options))

    def bind(self, queue: str, exchange: str, key: str = "", **arguments: Any) -> None:
        table = {name.replace("_", "-"): value for name, value in arguments.items()}
        self.ask(amqp.Queue.Bind(queue, exchange, key, arguments=table))

    def confirm(self) -> Chan:
        self.ask(amqp.Confirm.Select())
        self.confirming = True
        return self

    def publish(
        self,
        body: bytes,
        key: str,
        exchange: str = "",
        *,
        mandatory: bool = False,
        **properties: Any,
    ) -> str | None:
        """Publish; on a channel with confirms "ack", "nack" or "return"."""
        talk, channel = self.talk, self.channel
        first = len(talk.events)
        tag = channel.publish(
            exchange, key, body, amqp.Basic.Properties(**properties), mandatory=mandatory
        )
        talk.flush()
        if not self.confirming:
            return None
        talk.until(lambda: tag not in channel.publications or not channel.is_open)
        self.check()
        kinds = [type(event).__name__ for event in talk.events[first:]]
        return "return" if "Returned" in kinds else "nack" if "Nacked" in kinds else "ack"

    def get(self, queue: str, *, no_ack: bool = True, seconds: float = 0.0) -> Any:
        """A message, or None where none is there after so many seconds."""
        deadline = time.monotonic() + seconds
        while True:
            reply = self.ask(amqp.Basic.Get(queue, no_ack))
            if not isinstance(reply, amqp.Basic.GetEmpty):
                return reply
            if time.monotonic() >= deadline:
                return None
            time.sleep(0.02)

    def bodies(self, queue: str, seconds: float = 0.3) -> list[str]:
        """All that is in a queue, once something is there."""
        found = []
        while (message := self.get(queue, seconds=0.0 if found else seconds)) is not None:
            found.append(message.body.decode())
        return found

    def consume(self, queue: str, **options: Any) -> Any:
        """Consume; the session's Consumer."""
        request = self.channel.send(amqp.Basic.Consume(queue, **options))
        self.talk.until(lambda: request.done)
        if request.error is not None:
            self.check()
        return request.consumer

    def deliveries(self, count: int, seconds: float = 0.2) -> list[Any]:
        """The messages that came to this channel's consumers: waits for count, then a little."""

        def came() -> list[Any]:
            return [
                event.message
                for event in self.talk.events
                if isinstance(event, Delivered) and event.consumer.channel is self.channel
            ]

        try:
            self.talk.until(lambda: len(came()) >= count, SECONDS if count else seconds)
        except TimeoutError:
            pass
        self.talk.drain(seconds)
        return came()
