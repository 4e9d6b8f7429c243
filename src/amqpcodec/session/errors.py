"""The two errors of a session: one for its user's mistakes, one for the peer's."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import AMQPCodecError
from ._types import Event

__all__ = ["LocalProtocolError", "ProtocolError", "RemoteProtocolError"]


class ProtocolError(AMQPCodecError):
    """Base of both: something that the protocol forbids at this point."""


class LocalProtocolError(ProtocolError):
    """What the caller asked for is forbidden now. Nothing was queued; the session goes on."""


class RemoteProtocolError(ProtocolError):
    """What the peer sent is forbidden; the close that says so is queued already.

    Send what ``data_to_send()`` has, then close the transport. Every later call to
    ``receive_data`` raises this error again, without its events.

    Attributes:
        reply_code: what the specification assigns (0-x: 501, 503, ...); 0 where there is none.
        condition: AMQP 1.0's symbol ("amqp:framing-error"); None otherwise.
        channel: where it happened; None if that is not known.
        method: name of the method or performative ("basic.deliver"), or None.
        events: what the same call had found before, and what the error ends: nothing is lost.
    """

    def __init__(
        self,
        message: str = "",
        *,
        reply_code: int = 0,
        condition: str | None = None,
        channel: int | None = None,
        method: str | None = None,
        events: Sequence[Event] = (),
    ) -> None:
        super().__init__(message)
        self.reply_code = reply_code
        self.condition = condition
        self.channel = channel
        self.method = method
        self.events: list[Event] = list(events)

    def again(self) -> RemoteProtocolError:
        """The same error for a later call: without the events, which are returned once."""
        return type(self)(
            str(self),
            reply_code=self.reply_code,
            condition=self.condition,
            channel=self.channel,
            method=self.method,
        )
