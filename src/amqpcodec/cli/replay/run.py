"""Runs ``amqpcodec replay``."""

from __future__ import annotations

import argparse
import hashlib
from pathlib import Path
from typing import Any

from .. import BAD_DATA, INTERRUPTED, USAGE, Problem, complain
from ..cells import clean
from ..live import Stop
from ..progress import Progress
from .bar import ReplayBar
from .journal import Journal
from .mapping import Mapping
from .messages import Messages
from .plan import plan
from .player import Pace, Player
from .target import Lost, Target, Wire

__all__ = ["replay"]

#: Bytes of a file that tell it apart from others; it may have grown since.
HEAD = 1 << 16


def replay(options: argparse.Namespace) -> int:
    """Send what was selected, or say what would be sent; the exit status."""
    target = Target.of(options.to)
    mapping = Mapping(options.map)
    if options.journal is not None and "-" in map(str, options.files):
        raise Problem("--journal is for files: standard input cannot be read again")
    with (
        Stop() as stop,
        _reading_bar(options) as bar,
        Journal(options.journal, _identity(options, target)) as journal,
    ):
        messages = Messages(options, bar, stop)
        if options.dry_run:
            for line in plan(messages, mapping, journal.done):
                print(line)
            return _status(messages, stop, None)
        return _play(options, target, mapping, journal, messages, stop)


def _reading_bar(options: argparse.Namespace) -> Progress:
    """How far the reading is: of a dry run only, a replay shows how far the sending is."""
    bar = Progress("-")
    if not options.dry_run:
        bar.bars = None
    return bar


def _identity(options: argparse.Namespace, target: Target) -> dict[str, Any]:
    """What has to be the same for a journal to go on."""
    moments = [repr(each) for each in (options.since, options.until)]
    return {
        "files": [_digest(path) for path in options.files] if options.journal else [],
        "selection": [options.where, str(options.ports), options.protocol, options.chain, moments],
        "map": options.map,
        "to": [target.host, target.port, target.virtual_host],
    }


def _digest(path: Path) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.sha256(file.read(HEAD)).hexdigest()[:32]
    except OSError as error:
        raise Problem(f"{path}: {error.strerror}") from None


def _play(
    options: argparse.Namespace,
    target: Target,
    mapping: Mapping,
    journal: Journal,
    messages: Messages,
    stop: Stop,
) -> int:
    own = set() if options.to_recorded_broker else target.addresses()
    skipped = 0
    lost = False
    player: Player | None = None
    try:
        with ReplayBar(messages.total) as bar:
            for message in messages:
                if message.broker is not None and message.broker in own:
                    raise Problem(
                        f"{target} is where the messages were recorded on their way to;"
                        " --to-recorded-broker sends them there again"
                    )
                if message.number in journal.done:
                    skipped += 1
                    continue
                if player is None:
                    player = _player(options, target, mapping, journal, stop, bar)
                if not player.publish(message):
                    break
            if player is not None:
                player.finish()
    except Lost as error:
        complain(str(error))
        lost = True
    finally:
        if player is not None:
            player.wire.drop()
    _tell(player, skipped, messages)
    if lost:
        if options.journal is not None:
            complain("the same command goes on from here: what was confirmed is in the journal")
        return USAGE
    return _status(messages, stop, player)


def _player(
    options: argparse.Namespace,
    target: Target,
    mapping: Mapping,
    journal: Journal,
    stop: Stop,
    bar: ReplayBar,
) -> Player:
    pace = Pace(options.rate, options.fast)
    wire = Wire(target, options.cafile)
    player = Player(wire, journal, mapping, pace, options.window, lambda: stop.pressed, bar.show)
    try:
        player.open()
    except Lost:
        wire.drop()
        raise
    return player


def _tell(player: Player | None, skipped: int, messages: Messages) -> None:
    """What became of all of them."""
    counted = {
        "sent": player.sent if player else 0,
        "confirmed": player.confirmed if player else 0,
        "unroutable": player.unroutable if player else 0,
        "refused": player.refused if player else 0,
        "skipped, as confirmed before": skipped,
        "left out, as damaged": messages.left_out + (player.unencodable if player else 0),
    }
    always = ("sent", "confirmed")
    print(", ".join(f"{n:,} {what}" for what, n in counted.items() if n or what in always))
    if player is None:
        return
    for (exchange, key), count in player.lost_routes.most_common(5):
        complain(f"{count:,} unroutable: exchange {clean(exchange)!r}, key {clean(key)!r}")
    if player.other_users:
        complain(f"user-id was taken off {player.other_users:,} messages: it is another user's")


def _status(messages: Messages, stop: Stop, player: Player | None) -> int:
    if stop.pressed:
        return INTERRUPTED
    bad = messages.left_out > 0
    if player is not None:
        bad = bad or player.unroutable + player.refused + player.unencodable > 0
    return max(messages.reading.status, BAD_DATA if bad else 0)
