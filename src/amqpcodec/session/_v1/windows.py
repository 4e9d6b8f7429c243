"""The windows of a session: how many transfers may come, and how many may go (Part 2 §2.5.6)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from heapq import heapify, heappop, heappush, heapreplace
from typing import Generic, TypeVar

from ... import v1_0 as amqp
from ..._facade.scalars import as_int
from .serial import advance, distance

__all__ = ["Incoming", "Outgoing", "Piece"]

LinkT = TypeVar("LinkT")
DeliveryT = TypeVar("DeliveryT")


class Incoming:
    """Transfers that the peer may send."""

    def __init__(self, size: int) -> None:
        """size: transfers that each flow lets in."""
        self.size: int = as_int(size)
        self.left = 0  # none before the peer knows of the window
        self.next_id = 0

    def take(self) -> bool:
        """Count a transfer; False where there is no room for it."""
        if self.left <= 0:
            return False
        self.left -= 1
        self.next_id = advance(self.next_id, 1)
        return True

    @property
    def low(self) -> bool:
        """Whether the peer should be told that there is room again."""
        return self.left <= self.size // 2


class Piece(Generic[LinkT, DeliveryT]):
    """A part of a delivery that waits to be sent: bytes, and whether more will follow them.

    order: its place among all pieces of the session that wait.
    """

    __slots__ = ("delivery", "link", "more", "order", "payload")

    def __init__(self, link: LinkT, delivery: DeliveryT, payload: memoryview, more: bool) -> None:
        self.link = link
        self.delivery = delivery
        self.payload = payload
        self.more = more
        self.order = 0


class Outgoing(Generic[LinkT, DeliveryT]):
    """Transfers that the peer takes, and what waits until it takes more.

    Each link has a queue of its own, so that a link's credit, and its end, cost nothing for what
    waits on others, or behind its first piece. The links that can send are in a heap, by the
    order of their first pieces. A link without credit leaves it and comes back by `offer`.
    """

    def __init__(
        self,
        put: Callable[[bytes], None],
        may_send: Callable[[LinkT, DeliveryT], bool],
        next_frame: Callable[[Piece[LinkT, DeliveryT]], tuple[bytes, memoryview | None]],
    ) -> None:
        """What it needs of others.

        Args:
            put: takes each frame, in order.
            may_send: whether the next frame of a delivery may go.
            next_frame: the next frame of a piece, and the bytes that are left of it then, or None.
        """
        self._put = put
        self._may_send = may_send
        self._next_frame = next_frame
        self.next_id = 0
        self.remote_window = 0
        self.size = 0x7FFF_FFFF
        self.bytes_waiting = 0
        self._pieces: dict[LinkT, deque[Piece[LinkT, DeliveryT]]] = {}
        self._heap: list[tuple[int, LinkT]] = []
        self._in_heap: set[LinkT] = set()
        self._order = 0

    def send(self, piece: Piece[LinkT, DeliveryT]) -> None:
        """Send a piece, as far as it may go now; the rest waits."""
        link = piece.link
        if (
            self.remote_window > 0
            and not self._heap  # no link whose turn is before
            and link not in self._pieces
            and self._may_send(link, piece.delivery)
        ):
            remainder = self._send_frame(piece)
            if remainder is None:
                return
            piece.payload = remainder
        self._order += 1
        piece.order = self._order
        pieces = self._pieces.get(link)
        if pieces is None:
            pieces = self._pieces[link] = deque()
        pieces.append(piece)
        self.bytes_waiting += len(piece.payload)
        self.offer(link)
        if self.remote_window > 0:
            self.flush()

    def offer(self, link: LinkT) -> None:
        """Let a link send again what waits of it: a piece or credit has come."""
        if link not in self._in_heap and link in self._pieces:
            self._in_heap.add(link)
            heappush(self._heap, (self._pieces[link][0].order, link))

    def update(self, flow: amqp.Flow | amqp.Begin) -> None:
        """The peer told its window."""
        window = flow.incoming_window or 0
        if type(flow) is amqp.Flow:
            next_incoming_id = (
                flow.next_incoming_id or 0
            )  # none: it has not seen this end's begin, of 0
            # Transfers under way were not counted yet. A peer that claims ones never sent gets
            # no larger window by it.
            window += min(distance(self.next_id, next_incoming_id), 0)
        self.remote_window = max(window, 0)

    def _send_frame(self, piece: Piece[LinkT, DeliveryT]) -> memoryview | None:
        """Send the next frame of a piece; what is left of it then."""
        frame, remainder = self._next_frame(piece)
        self._put(frame)
        self.remote_window -= 1
        self.next_id = advance(self.next_id, 1)
        return remainder

    def flush(self) -> None:
        """Send the frames that may go now, in order."""
        while self._heap and self.remote_window > 0:
            link = self._heap[0][1]
            pieces = self._pieces.get(link)
            if not pieces or not self._may_send(link, pieces[0].delivery):
                heappop(self._heap)
                self._in_heap.discard(link)
                continue
            piece = pieces[0]
            before = len(piece.payload)
            remainder = self._send_frame(piece)
            if remainder is None:
                pieces.popleft()
                self.bytes_waiting -= before
                if pieces:
                    heapreplace(self._heap, (pieces[0].order, link))
                else:
                    del self._pieces[link]
            else:
                piece.payload = remainder
                self.bytes_waiting -= before - len(remainder)

    def remove(self, link: LinkT, delivery: DeliveryT) -> None:
        """Drop what waits of a delivery."""
        pieces = self._pieces.get(link)
        if pieces is None:
            return
        before = len(pieces)
        while pieces and pieces[-1].delivery is delivery:
            self.bytes_waiting -= len(pieces.pop().payload)
        if len(pieces) == before:
            for piece in [piece for piece in pieces if piece.delivery is delivery]:
                pieces.remove(piece)
                self.bytes_waiting -= len(piece.payload)
        if not pieces:
            del self._pieces[link]

    def abort(self, link: LinkT, delivery: DeliveryT) -> None:
        """Send the end of a delivery that has begun, in place of what waits of it."""
        pieces = self._pieces.setdefault(link, deque())
        while pieces and pieces[0].delivery is delivery:  # what has begun is first in its queue
            self.bytes_waiting -= len(pieces.popleft().payload)
        self._order += 1
        piece = Piece(link, delivery, memoryview(b""), False)
        piece.order = pieces[0].order if pieces else self._order
        pieces.appendleft(piece)
        self.offer(link)

    def remove_link(self, link: LinkT) -> None:
        """Drop all that waits of a link."""
        for piece in self._pieces.pop(link, ()):
            self.bytes_waiting -= len(piece.payload)
        if len(self._heap) > 2 * len(self._pieces) + 16:  # most of it are links that have ended
            self._heap = [entry for entry in self._heap if entry[1] in self._pieces]
            self._in_heap = {entry[1] for entry in self._heap}
            heapify(self._heap)

    def clear(self) -> None:
        """Forget all that waits."""
        self._pieces.clear()
        self._heap.clear()
        self._in_heap.clear()
        self.bytes_waiting = 0
