"""The windows of a session: how many transfers may come, and how many may go (Part 2 §2.5.6)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ... import v1_0 as amqp
from .serial import advance, distance

if TYPE_CHECKING:
    from .delivery import OutgoingDelivery
    from .sender import Sender

__all__ = ["Incoming", "Outgoing", "Piece"]


class Incoming:
    """Transfers that the peer may send."""

    def __init__(self, size: int) -> None:
        """size: transfers that each flow lets in."""
        self.size = size
        self.left = 0  # none before the peer knows of the window
        self.next_id = 0
        self.remote_outgoing = 0

    def take(self) -> bool:
        """Count a transfer; False where there is no room for it."""
        if self.left <= 0:
            return False
        self.left -= 1
        self.next_id = advance(self.next_id, 1)
        self.remote_outgoing = max(self.remote_outgoing - 1, 0)
        return True

    @property
    def low(self) -> bool:
        """Whether the peer should be told that there is room again."""
        return self.left <= self.size // 2


class Piece:
    """A part of a delivery that waits to be sent: bytes, and whether more will follow them."""

    __slots__ = ("delivery", "more", "payload")

    def __init__(self, delivery: OutgoingDelivery, payload: memoryview, more: bool) -> None:
        self.delivery = delivery
        self.payload = payload
        self.more = more


class Outgoing:
    """Transfers that the peer takes, and what waits until it takes more."""

    def __init__(self) -> None:
        self.next_id = 0
        self.remote_window = 0
        self.size = 0x7FFF_FFFF
        self.bytes_waiting = 0
        self._pieces: deque[Piece] = deque()

    def add(self, piece: Piece) -> None:
        """Let a piece wait; `frames` sends it."""
        self._pieces.append(piece)
        self.bytes_waiting += len(piece.payload)

    def update(self, flow: amqp.Flow | amqp.Begin) -> None:
        """The peer told its window."""
        window = flow.incoming_window or 0
        if type(flow) is amqp.Flow:
            seen = flow.next_incoming_id or 0  # none: it has not seen this end's begin, of 0
            # Transfers under way were not counted yet. A peer that claims ones never sent gets
            # no larger window by it.
            window += min(distance(self.next_id, seen), 0)
        self.remote_window = max(window, 0)

    def frames(self) -> Iterator[bytes]:
        """The frames that may go now, in order."""
        while self._pieces and self.remote_window > 0:
            piece = self._pieces[0]
            before = len(piece.payload)
            frame, rest = piece.delivery._next_frame(piece)
            if rest is None:
                self._pieces.popleft()
                self.bytes_waiting -= before
            else:
                piece.payload = rest
                self.bytes_waiting -= before - len(rest)
            self.remote_window -= 1
            self.next_id = advance(self.next_id, 1)
            yield frame

    def remove(self, deliveries: set[OutgoingDelivery]) -> list[Piece]:
        """Take back what waits of some deliveries."""
        taken = [piece for piece in self._pieces if piece.delivery in deliveries]
        self._pieces = deque(piece for piece in self._pieces if piece.delivery not in deliveries)
        self.bytes_waiting -= sum(len(piece.payload) for piece in taken)
        return taken

    def remove_link(self, link: Sender) -> None:
        """Take back all that waits of a link."""
        self.remove({piece.delivery for piece in self._pieces if piece.delivery.link is link})

    def clear(self) -> None:
        """Forget all that waits."""
        self._pieces.clear()
        self.bytes_waiting = 0
