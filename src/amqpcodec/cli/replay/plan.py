"""What a replay would send and where it may arrive, found without a connection to anybody."""

from __future__ import annotations

from collections.abc import Iterator

from ..cells import clean
from .declarations import Declarations
from .messages import Message
from .outgoing import Outgoing, Preparation, UnsendableMessage

__all__ = ["Plan"]

#: Routes that have a line of their own, and that are told apart at all.
SHOWN, MAX_ROUTES = 50, 100_000
UNKNOWN = (
    "not known: what these exchanges of the target pass messages on to. AMQP 0-9-1 shows neither"
    " bindings nor alternate exchanges nor policies of a broker"
)

#: Old exchange and key, new ones, and (header, new key) of each copy by CC and BCC.
Route = tuple[str, str, str, str, tuple[tuple[str, str], ...]]
OTHERS: Route = ("...", "...", "...", "...", ())


class _Count:
    """Messages of one route, and the bytes of their bodies."""

    def __init__(self) -> None:
        self.messages = self.bytes = 0


class Plan:
    """Collects what would be sent.

    Attributes:
        exchanges: those that are published to, in the order of their first messages.
        unmapped: keys of CC and BCC that no rule of --map fits.
        brokers: "addr:port" of those that the messages were recorded on their way to.
        total, skipped, unsendable: messages that would be sent, that the journal has, and that
            cannot be sent.
    """

    def __init__(self, preparation: Preparation, declarations: Declarations) -> None:
        self.preparation, self.declarations = preparation, declarations
        self.exchanges: dict[str, None] = {}
        self.unmapped: dict[str, None] = {}
        self.brokers: set[str] = set()
        self.total = self.skipped = self.unsendable = 0
        self._routes: dict[Route, _Count] = {}
        self._bytes = 0
        self._first: int | None = None
        self._last: int | None = None

    def add(self, message: Message, is_in_journal: bool) -> None:
        """Count a message. is_in_journal: it is in the journal."""
        if message.broker is not None:
            self.brokers.add(message.broker)
        if is_in_journal:
            self.skipped += 1
            return
        try:
            outgoing = self.preparation.prepare(message)
        except UnsendableMessage:
            self.unsendable += 1
            return
        self.total += 1
        self._bytes += len(message.body)
        if (time := message.timestamp) is not None:
            self._first = time if self._first is None else min(self._first, time)
            self._last = time if self._last is None else max(self._last, time)
        self._route(message, outgoing)

    def _route(self, message: Message, outgoing: Outgoing) -> None:
        if len(self.exchanges) < MAX_ROUTES:
            self.exchanges.setdefault(outgoing.exchange)
        for key in outgoing.unmapped:
            if len(self.unmapped) < MAX_ROUTES:
                self.unmapped.setdefault(key)
        names = (outgoing.exchange, outgoing.routing_key, outgoing.copies)
        route: Route = (message.exchange, message.routing_key, *names)
        if route not in self._routes and len(self._routes) >= MAX_ROUTES:
            route = OTHERS
        count = self._routes.setdefault(route, _Count())
        count.messages += 1
        count.bytes += len(message.body)

    # --- as text

    def lines(self, declare: bool) -> Iterator[str]:
        """The plan. declare: with what --declare would create."""
        yield f"{'messages':>9}  {'bytes':>12}  exchange, routing key"
        busiest = sorted(self._routes.items(), key=lambda item: (-item[1].messages, item[0]))
        for route, count in busiest[:SHOWN]:
            yield f"{count.messages:>9,}  {count.bytes:>12,}  {_route_text(route)}"
        if len(busiest) > SHOWN:
            remainder = sum(count.messages for _, count in busiest[SHOWN:])
            yield f"{remainder:>9,}  {'':>12}  to {len(busiest) - SHOWN:,} more"
        yield from _listed("can receive messages:", self._receivers())
        if any(self.exchanges):
            yield UNKNOWN
        if declare:
            yield from self._declared()
        span = ""
        if self._first is not None and self._last is not None:
            span = f" over {(self._last - self._first) / 1e6:,.1f} s"
        yield f"{self.total:>9,}  {self._bytes:>12,}  would be sent{span}"
        if self.skipped:
            yield f"{self.skipped:>9,}  {'':>12}  confirmed or refused already, by the journal"
        if self.unsendable:
            yield f"{self.unsendable:>9,}  {'':>12}  cannot be sent: CC or BCC stands twice in them"

    def _receivers(self) -> list[str]:
        """A line for every exchange and queue that may get a message."""
        hows: dict[tuple[str, str], str] = {}
        for _, _, exchange, key, copies in self._routes:
            if (exchange, key) == OTHERS[2:4]:
                continue
            if exchange:
                hows.setdefault(("exchange", exchange), "published to")
            for header, copy_key in (("", key), *copies):
                by = f", header {header}" if header else ""
                for kind, name, how in self.declarations.receivers(exchange, copy_key):
                    hows.setdefault((kind, name), how + by)
        lines = [f"  {kind} {_quoted(name)}: {clean(how)}" for (kind, name), how in hows.items()]
        if OTHERS in self._routes:
            lines.append(f"  those of more than {MAX_ROUTES:,} routes, which are not listed")
        return lines

    def _declared(self) -> Iterator[str]:
        items = self.declarations.items()
        possible = [f"  {clean(str(item))}" for item in items if not item.problem]
        others = [f"  {clean(str(item))}: {clean(item.problem)}" for item in items if item.problem]
        yield from _listed("would be declared:", possible or ["  nothing"])
        yield from _listed("cannot be declared:", others)


def _listed(title: str, lines: list[str]) -> Iterator[str]:
    if lines:
        yield title
        yield from lines


def _route_text(route: Route) -> str:
    exchange, key, new_exchange, new_key, copies = route
    text = f"{_quoted(exchange)}, {_quoted(key)}"
    if (exchange, key) != (new_exchange, new_key):
        text += f"  ->  {_quoted(new_exchange)}, {_quoted(new_key)}"
    return text + "".join(f", {header} {_quoted(copy)}" for header, copy in copies)


def _quoted(name: str) -> str:
    return repr(clean(name))
