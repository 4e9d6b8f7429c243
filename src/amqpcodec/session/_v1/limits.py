"""What an engine of AMQP 1.0 accepts at most, whatever its peer claims."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

from ..._facade.scalars import as_int

__all__ = ["Limits"]


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on what a peer can make this end hold.

    Attributes:
        sessions: sessions that the peer may begin; channel-max is one less.
        links: links of a session that the peer may attach; handle-max is one less.
        unsettled: incoming deliveries of a session that nobody has settled yet.
        message_size: bytes of a message, where a link is given no size of its own.
        partial_bytes: bytes of all deliveries of a connection whose end has not come yet.
        transactions: transactions of a connection that are open at its coordinators.
        incoming_window: transfers that a session lets in before the next flow.
        frame_size: bytes of an outgoing frame, where the peer would take larger ones.
        excess: deliveries that a link takes beyond its credit before it is detached. RabbitMQ 3
            sends too many where credit is given while deliveries are under way.
        after_detach: what to do with transfers that come after a link was detached with an
            error: "end" the session with errant-link, as the specification says, or "discard"
            them, since they may have been under way.
    """

    sessions: int = 256
    links: int = 256
    unsettled: int = 65_536
    message_size: int = 64 * 1024 * 1024
    partial_bytes: int = 256 * 1024 * 1024
    transactions: int = 4096
    incoming_window: int = 2048
    frame_size: int = 1024 * 1024
    excess: int = 0
    after_detach: Literal["end", "discard"] = "end"

    def __post_init__(self) -> None:
        for limit in fields(self):
            object.__setattr__(self, limit.name, as_int(getattr(self, limit.name)))
        if not 1 <= self.sessions <= 65_536:
            raise ValueError(f"sessions is 1 to 65536, not {self.sessions}")
        if not 1 <= self.links <= 1 << 32:
            raise ValueError(f"links is 1 to 2**32, not {self.links}")
        if not 1 <= self.incoming_window < 1 << 31:
            raise ValueError(f"incoming_window is 1 to 2**31 - 1, not {self.incoming_window}")
        if self.frame_size < 512:
            raise ValueError(f"frame_size is 512 at least, not {self.frame_size}")
        if not 0 <= self.excess < 1 << 30:
            raise ValueError(f"excess is 0 to 2**30 - 1, not {self.excess}")
        if min(self.unsettled, self.message_size, self.partial_bytes) < 1:
            raise ValueError("unsettled, message_size and partial_bytes are 1 at least")
        if self.message_size >= 1 << 64:
            raise ValueError(f"message_size is below 2**64, not {self.message_size}")
        if self.transactions < 1:
            raise ValueError(f"transactions is 1 at least, not {self.transactions}")
