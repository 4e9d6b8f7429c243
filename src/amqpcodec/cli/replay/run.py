"""Runs ``amqpcodec replay``."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator

from ..cells import clean
from ..errors import BAD_DATA, INTERRUPTED, USAGE, UsageError, print_error
from ..live import Cancelled
from ..options import ReplayOptions
from ..output import refuse_input
from ..progress import Progress
from .bar import ReplayBar
from .declarations import DECLARING_COLUMNS, Declarations
from .identity import can_be_read_again, identity_of
from .journal import Journal
from .mapping import Mapping
from .messages import Message, Messages
from .outgoing import Preparation, UnsendableMessage
from .plan import Plan
from .player import Pace, Player
from .target import ConnectionLost, Target, Wire

__all__ = ["replay"]

#: Messages that cannot be sent, and that an earlier replay saw refused, which are reported one by
#: one.
MAX_REPORTED = 5


def replay(options: ReplayOptions) -> int:
    """Send what was selected, or print the plan of it; the exit status."""
    target = Target.of(options.to)
    mapping = Mapping(options.map)
    is_stream = not all(map(can_be_read_again, options.source.files))
    if is_stream and options.declare:
        raise UsageError(
            "--declare reads the files twice, and a pipe can be read once: save it to a file first"
        )
    if options.journal is not None:
        refuse_input("--journal", options.journal, options.source, options.cafile)
    identity = identity_of(options, target) if options.journal is not None else {}
    with (
        Cancelled() as stop,
        _reading_bar(options) as bar,
        Journal(options.journal, identity, options.dry_run) as journal,
    ):
        run = _Replay(options, target, mapping, journal, stop)
        return run.dry(bar) if options.dry_run else run.play(bar, is_stream)


def _reading_bar(options: ReplayOptions) -> Progress:
    """How far the reading is: of a dry run only, a replay shows how far the sending is."""
    bar = Progress("-")
    if not options.dry_run:
        bar.bars = None
    return bar


class _Replay:
    """One run of the command."""

    def __init__(
        self,
        options: ReplayOptions,
        target: Target,
        mapping: Mapping,
        journal: Journal,
        stop: Cancelled,
    ) -> None:
        self.options, self.target, self.journal, self.stop = options, target, journal, stop
        self.preparation = Preparation(mapping, target.username)
        self.declarations = Declarations(mapping)
        #: "addr:port" of the target, where messages must not go to the broker they come from.
        self.own_addresses: set[str] = set()
        self.skipped = self.refused_before = self.unsendable = 0
        self.player: Player | None = None

    # --- the plan

    def dry(self, bar: Progress) -> int:
        """Print the plan; the exit status."""
        messages = Messages(self.options, bar, self.stop, self.declarations.observe)
        plan = self._plan(messages)
        for line in plan.lines(self.options.declare):
            print(line)
        self._check_plan(plan)
        if self.options.declare:
            self._check_declarations()
        self.unsendable = plan.unsendable
        return self._status(messages)

    def _plan(self, messages: Messages) -> Plan:
        plan = Plan(self.preparation, self.declarations)
        for message in messages:
            plan.add(message, message.number in self.journal)
        return plan

    def _check_plan(self, plan: Plan) -> None:
        """Refuse what must not be sent.

        Raises:
            UsageError: says why nothing is sent.
        """
        if plan.brokers & self.own_addresses:
            raise UsageError(self._recorded_broker())
        if plan.unmapped:
            raise UsageError(_unmapped(list(plan.unmapped)))

    def _check_declarations(self) -> None:
        if not self.declarations.is_known:
            raise UsageError(
                "--declare: the tables have no declarations: they need the rows of all methods"
                f" and the columns {', '.join(DECLARING_COLUMNS)}"
            )

    def _recorded_broker(self) -> str:
        return (
            f"{self.target} is where the messages were recorded on their way to;"
            " --to-recorded-broker sends them there again"
        )

    # --- the sending

    def play(self, bar: Progress, is_stream: bool) -> int:
        """Send the messages; the exit status. is_stream: they can be read only once."""
        if not self.options.to_recorded_broker:
            self.own_addresses = self.target.addresses()
        plan: Plan | None = None
        if not is_stream:
            # What is wrong with the files is reported when they are read to be sent.
            with contextlib.redirect_stderr(io.StringIO()):
                first = Messages(self.options, bar, self.stop, self.declarations.observe)
                plan = self._plan(first)
            if self.stop.pressed:
                return INTERRUPTED
            self._check_plan(plan)
            if self.options.declare:
                self._check_declarations()
        messages = Messages(self.options, bar, self.stop)
        total = plan.total if plan is not None else messages.total
        is_lost = False
        try:
            with ReplayBar(total) as sending:
                self._send(messages, plan, sending)
        except ConnectionLost as error:
            print_error(str(error))
            is_lost = True
        finally:
            if self.player is not None:
                self.player.wire.drop()
        self._tell(messages)
        if is_lost:
            if self.options.journal is not None:
                print_error(
                    "the same command goes on from here: what was confirmed is in the journal"
                )
            return USAGE
        return self._status(messages)

    def _send(self, messages: Messages, plan: Plan | None, bar: ReplayBar) -> None:
        for message in self._remaining(messages):
            try:
                outgoing = self.preparation.prepare(message)
            except UnsendableMessage as reason:
                self.unsendable += 1
                if self.unsendable <= MAX_REPORTED:
                    print_error(f"message {message.number} cannot be sent: {reason}")
                continue
            if outgoing.unmapped:
                raise UsageError(_unmapped(list(outgoing.unmapped)))
            if self.player is None:
                self._open(plan, bar)
            assert self.player is not None
            self.player.lost_users += outgoing.lost_user
            if not self.player.publish(outgoing, message.timestamp):
                break
        if self.player is not None:
            self.player.finish()

    def _remaining(self, messages: Messages) -> Iterator[Message]:
        """The messages that are not done."""
        for message in messages:
            if message.broker is not None and message.broker in self.own_addresses:
                raise UsageError(self._recorded_broker())
            if message.number in self.journal.refused:
                self._tell_refused(message.number)
            elif message.number in self.journal:
                self.skipped += 1
            else:
                yield message

    def _tell_refused(self, number: int) -> None:
        self.refused_before += 1
        if self.refused_before <= MAX_REPORTED:
            code, text = self.journal.refused[number]
            print_error(f"message {number} was refused before: {code} {clean(text)}")

    def _open(self, plan: Plan | None, bar: ReplayBar) -> None:
        """Connect, create what --declare asks for, and check every exchange."""
        options = self.options
        self.player = player = Player(
            lambda: Wire(self.target, options.cafile),
            self.journal,
            Pace(options.rate, options.fast),
            options.window,
            lambda: self.stop.pressed,
            bar.show,
        )
        player.open()
        if options.declare:
            player.declare(self.declarations.items())
        if plan is not None:
            player.check_exchanges(plan.exchanges)

    # --- what became of them

    def _tell(self, messages: Messages) -> None:
        player = self.player
        unencodable = player.unencodable if player else 0
        counted = {
            "sent": player.sent if player else 0,
            "confirmed": player.confirmed if player else 0,
            "unroutable": player.unroutable if player else 0,
            "nacked": player.nacked if player else 0,
            "refused": player.refused if player else 0,
            "skipped, as confirmed before": self.skipped,
            "skipped, as refused before": self.refused_before,
            "not sent, as damaged": messages.damaged + unencodable,
            "not sent, as CC or BCC stands twice": self.unsendable,
        }
        always = ("sent", "confirmed")
        print(", ".join(f"{n:,} {what}" for what, n in counted.items() if n or what in always))
        if player is None:
            return
        for (exchange, key), count in player.lost_routes.most_common(5):
            print_error(f"{count:,} unroutable: exchange {clean(exchange)!r}, key {clean(key)!r}")
        if player.lost_users:
            print_error(
                f"user-id was taken off {player.lost_users:,} messages: it is another user's"
            )

    def _status(self, messages: Messages) -> int:
        if self.stop.pressed:
            return INTERRUPTED
        bad = messages.damaged + self.unsendable + self.refused_before
        if (player := self.player) is not None:
            bad += player.unroutable + player.nacked + player.refused + player.unencodable
        return max(messages.reading.status, BAD_DATA if bad else 0)


def _unmapped(keys: list[str]) -> str:
    key_list = ", ".join(repr(clean(key)) for key in keys[:5])
    more = f" and {len(keys) - 5:,} more" if len(keys) > 5 else ""
    return (
        f"headers CC and BCC send messages to {key_list}{more} as well, which no key rule of --map"
        f" fits: add --map key:OLD=NEW for them, or --map 'key:*=*' to send them there"
    )
