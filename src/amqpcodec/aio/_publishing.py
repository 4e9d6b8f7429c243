"""The publications of a channel: their futures, their returns, and the window."""

from __future__ import annotations

import asyncio
import math
from datetime import datetime
from typing import Any, TypeAlias, Unpack

from .. import v0_9_1 as amqp
from ..session import Channel as SessionChannel
from ..session import events as session_events
from ._errors import (
    AMQPError,
    ChannelClosed,
    ConnectionBlocked,
    Nacked,
    PublishError,
    PublishUnconfirmed,
    Returned,
    WindowFull,
    error_class,
)
from ._link import Closeable, Link, logger, resolve, take_error
from ._message import MessageProperties

__all__ = ["Publishing"]

_Properties = amqp.Basic.Properties
_REPLY_TO = "amq.rabbitmq.reply-to."

#: What was sent: its future, exchange, routing key, body, properties, whether it is mandatory, and
#: until when its confirm may come. A tuple is made in a third of the time that an object takes.
Publication: TypeAlias = "tuple[asyncio.Future[None], str, str, bytes, Any, bool, float]"


def fail(
    publication: Publication,
    kind: type[PublishError],
    text: str,
    reply_code: int = 0,
    cause: Any = None,
) -> None:
    """End it by a new exception. Does nothing where its caller is gone."""
    future, exchange, routing_key, body, properties, _, _ = publication
    if not future.done():
        error = kind(text, reply_code)
        error.exchange, error.routing_key = exchange, routing_key
        error.body, error.properties = body, properties
        error.__cause__ = cause
        future.set_exception(error)


class Publishing(Closeable):
    """The publications of a channel. One timer serves all: few of them reach their deadlines."""

    session: SessionChannel

    def __init__(self, link: Link, *, confirms: bool, window: int, window_bytes: int) -> None:
        if window < 1 or window_bytes < 1:
            raise ValueError("window and window_bytes have to be at least 1")
        self._link = link
        self._confirms = confirms
        self._window = window
        self._window_bytes = window_bytes
        #: Whether the channel and the broker take publications now.
        self._may_publish = True
        #: Those that wait for their confirms, by number, and the bytes of their bodies.
        self._sent: dict[int, Publication] = {}
        self._size = 0
        #: basic.return of those that came back, and have no confirm yet.
        self._returned: dict[int, Any] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._next_deadline = math.inf
        #: Those who wait for a place in the window: the first one holds the lock.
        self._in_line = 0
        self._turn = asyncio.Lock()
        self._room: asyncio.Future[None] = link.loop.create_future()
        self._empty: asyncio.Future[None] = link.loop.create_future()

    @property
    def error(self) -> AMQPError | None:
        """Why it cannot be used any more; None while it can. A new exception each time."""
        raise NotImplementedError

    @property
    def unconfirmed(self) -> int:
        """How many publications wait for their confirms."""
        return len(self._sent)

    async def publish(
        self,
        body: bytes,
        *,
        routing_key: str,
        exchange: str = "",
        mandatory: bool | None = None,
        timeout: float | None = 30.0,
        content_type: str | None = None,
        content_encoding: str | None = None,
        headers: dict[str, Any] | None = None,
        delivery_mode: int | None = 2,
        priority: int | None = None,
        correlation_id: str | None = None,
        reply_to: str | None = None,
        expiration: str | None = None,
        message_id: str | None = None,
        timestamp: datetime | int | None = None,
        type: str | None = None,
        user_id: str | None = None,
        app_id: str | None = None,
    ) -> None:
        """Publish a message; returns when the broker has confirmed it.

        Waits for a place in the window, and while the broker is short of a resource. On a channel
        without confirms it returns when the message is handed to the transport. A caller that is
        cancelled before that has sent nothing; later the message may be in the queue.

        Args:
            body: the bytes.
            routing_key: with the default exchange the name of the queue.
            exchange: "" is the default exchange.
            mandatory: whether `Returned` is raised when no queue takes it; None: with confirms and
                the default exchange, unless it is a reply by direct reply-to.
            timeout: seconds for all of it; None for no limit.
            content_type to app_id: see `MessageProperties`; messages are persistent unless
                delivery_mode is 1.

        Raises:
            Returned: it was mandatory, and no queue takes it.
            Nacked: the broker could not take it over.
            PublishUnconfirmed: it was sent, and no confirm came: it may be in the queue.
            ConnectionBlocked, WindowFull: nothing was sent within timeout.
            NotFound, AccessRefused, PreconditionFailed: the broker refuses it, and closes the
                channel: there is no such exchange, this user may not publish to it, the message is
                too large. PublishUnconfirmed where it may have meant another one that waited.
            ChannelClosed, ConnectionLost: the channel was over before: nothing was sent.
        """
        link = self._link
        link.check_loop()
        deadline = math.inf if timeout is None else link.loop.time() + timeout
        if self._in_line or not self._has_room(len(body)):
            await self._wait_for_room(len(body), deadline)
        # By name: CPython compares each keyword that ** collects with each parameter.
        content = _Properties(
            content_type=content_type,
            content_encoding=content_encoding,
            headers=headers,
            delivery_mode=delivery_mode,
            priority=priority,
            correlation_id=correlation_id,
            reply_to=reply_to,
            expiration=expiration,
            message_id=message_id,
            timestamp=timestamp,
            type=type,
            user_id=user_id,
            app_id=app_id,
        )
        future = self._send(body, exchange, routing_key, mandatory, content, deadline)
        if future is None:
            await link.drain()
            return
        try:
            await future
        except asyncio.CancelledError:
            take_error(future)
            raise

    def publish_nowait(
        self,
        body: bytes,
        *,
        routing_key: str,
        exchange: str = "",
        mandatory: bool | None = None,
        **properties: Unpack[MessageProperties],
    ) -> asyncio.Future[None]:
        """Publish a message now; a future that is done when the broker has confirmed it.

        The future has no timeout. Cancelling it frees no place in the window. See `publish`.

        Raises:
            WindowFull, ConnectionBlocked: nothing more can wait now. Nothing was sent.
            ValueError: the channel has no confirms.
        """
        self._link.check_loop()
        if not self._confirms:
            raise ValueError("publish_nowait needs a channel with confirms; await publish()")
        if self._in_line or not self._has_room(len(body)):
            raise self.error or self._no_room()
        properties.setdefault("delivery_mode", 2)
        content = _Properties(**properties)
        future = self._send(body, exchange, routing_key, mandatory, content, math.inf)
        assert future is not None
        return future

    def _send(
        self,
        body: bytes,
        exchange: str,
        routing_key: str,
        mandatory: bool | None,
        content: amqp.Basic.Properties,
        deadline: float,
    ) -> asyncio.Future[None] | None:
        if mandatory and not self._confirms:
            raise ValueError("mandatory needs a channel with confirms, which tell of the return")
        if mandatory is None:
            # RabbitMQ returns a mandatory reply by direct reply-to, although it arrives.
            mandatory = self._confirms and not exchange and not routing_key.startswith(_REPLY_TO)
        number = self.session.publish(exchange, routing_key, body, content, mandatory=mandatory)
        link = self._link
        if number is None:
            link.soon()
            return None
        if mandatory and not (content.headers is None and content.timestamp is None):
            # As basic.return brings it, whatever the caller makes of its headers.
            decoded: Any = amqp.decode(amqp.encode(1, amqp.Header(0, content)))
            content = decoded[2].properties
        future: asyncio.Future[None] = link.loop.create_future()
        is_only = not self._sent
        self._sent[number] = future, exchange, routing_key, body, content, mandatory, deadline
        self._size += len(body)
        if deadline < self._next_deadline:
            self._set_timer(deadline)
        if is_only:
            link.flush()  # one after the other: each is sent at once
        else:
            link.soon()
        return future

    # ---- the window ----

    def _has_room(self, size: int) -> bool:
        """Whether a body of that size may be sent now; a large one may go alone."""
        count = len(self._sent)
        return self._may_publish and (
            not count or (count < self._window and self._size + size <= self._window_bytes)
        )

    async def _wait_for_room(self, size: int, deadline: float) -> None:
        """Wait in the order of the callers."""
        self._in_line += 1
        try:
            async with asyncio.timeout_at(None if deadline == math.inf else deadline), self._turn:
                while not self._has_room(size):
                    if (error := self.error) is not None:
                        raise error
                    self._room = self._link.loop.create_future()
                    await self._room
        except TimeoutError:
            raise self._no_room() from None
        finally:
            self._in_line -= 1

    def _no_room(self) -> AMQPError:
        blocked = self._link.session.blocked
        if blocked is not None:
            return ConnectionBlocked(f"the broker takes nothing now ({blocked}); nothing was sent")
        if not self.session.flow_active:
            return ConnectionBlocked("the broker has stopped the channel's flow; nothing was sent")
        text = f"{len(self._sent)} publications of {self._size} bytes wait for their confirms"
        return WindowFull(f"{text}: there is no room; nothing was sent")

    def _look_again(self, _event: session_events.FlowChanged | None = None) -> None:
        """Something that publishers wait for may have changed."""
        link = self._link
        self._may_publish = (
            self.error is None
            and not link.is_paused
            and link.session.blocked is None
            and self.session.flow_active
        )
        resolve(self._room)

    # ---- their ends ----

    def _on_confirmed(self, event: session_events.Acked | session_events.Nacked) -> None:
        """The broker took publications over, or could not."""
        is_acked = type(event) is session_events.Acked
        sent = self._sent
        for number in event.tags:
            publication = sent.pop(number, None)
            if publication is None:
                continue
            future, _, _, body, _, _, _ = publication
            self._size -= len(body)
            method = self._returned.pop(number, None)
            if not is_acked:
                fail(publication, Nacked, "the broker could not take over the message")
            elif method is not None:
                fail(publication, Returned, method.reply_text, method.reply_code)
            elif not future.done():
                future.set_result(None)
        if self._in_line:
            resolve(self._room)
        if not sent:
            resolve(self._empty)

    def _on_returned(self, event: session_events.Returned) -> None:
        """A mandatory one came back.

        basic.return has no number: it is the oldest equal one that waits and has not come back.
        Equal messages can be mixed up among themselves only.
        """
        message, method = event.message, event.message.method
        came = (method.exchange, method.routing_key, message.body, True)
        fallback = None
        for number, publication in self._sent.items():
            _, exchange, routing_key, body, properties, is_mandatory, _ = publication
            sent = (exchange, routing_key, body, is_mandatory)
            if sent == came and number not in self._returned:
                if properties == message.properties:
                    self._returned[number] = method
                    return
                fallback = fallback or number  # a broker takes out the header BCC
        if fallback is None:
            logger.warning("a returned message equals none that waits: %r", method)
        else:
            self._returned[fallback] = method

    def _set_timer(self, when: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._next_deadline = when
        self._timer = None if when == math.inf else self._link.loop.call_at(when, self._expire)

    def _expire(self) -> None:
        """Those whose time is over fail; their places in the window stay taken."""
        now = self._link.loop.time()
        earliest = math.inf
        for publication in self._sent.values():
            future, *_, deadline = publication
            if deadline <= now:
                text = "no confirm came in time: the message may be in the queue"
                fail(publication, PublishUnconfirmed, text)
            elif not future.done():
                earliest = min(earliest, deadline)
        self._set_timer(earliest)

    def _end_publications(self, error: AMQPError, *, is_refusal: bool) -> None:
        """The channel is over: whatever was sent fails, each by an error of its own.

        is_refusal: whether the broker ended it for a publication. It does not say for which: that
        is known where one alone was waiting, or where the reply names its exchange as missing.
        """
        text = (
            "the confirm did not come, and the message may be in the queue: "
            f"{error.reply_text if error.reply_code == 200 else error}"
        )
        publications = list(self._sent.values())
        self._sent.clear()
        self._returned.clear()
        self._size = 0
        self._may_publish = False
        self._set_timer(math.inf)
        code, reason = error.reply_code, error.reply_text
        kind = error_class(code)
        is_refusal &= kind is not ChannelClosed  # which says that nothing was sent
        for publication in publications:
            future, exchange, *_ = publication
            is_missing = code == 404 and exchange and f"no exchange '{exchange}' " in reason
            if not (is_refusal and (is_missing or len(publications) == 1)):
                fail(publication, PublishUnconfirmed, text, cause=error)
            elif not future.done():
                future.set_exception(kind(reason, code))
        resolve(self._room)  # one after the other fails
        resolve(self._empty)

    def _when_empty(self) -> asyncio.Future[None]:
        """A future, done once no publication waits for its confirm."""
        if self._empty.done():
            self._empty = self._link.loop.create_future()
        if not self._sent:
            resolve(self._empty)
        return self._empty
