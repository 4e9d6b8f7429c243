"""The options of ``amqpcodec replay``."""

from __future__ import annotations

import argparse
from pathlib import Path

__all__ = ["EPILOG", "add"]

EPILOG = """\
rules of --map (the first that fits counts, for exchanges and for routing keys
apart):
  --map orders=test.orders            exchange orders becomes test.orders
  --map exchange:orders=test.orders   the same
  --map 'key:eu.*=staging.eu.*'       every * of the new name is what a * of
                                      the old one was
  --map 'exchange:*=copy'             all exchanges become one
  --map =orders                       the default exchange, whose name is empty
RabbitMQ takes the headers CC and BCC for more routing keys: rules for keys
apply to them, too, and where there are such rules, one has to fit each entry.
Messages keep their properties and other headers, to the byte where they come
from a capture; user-id is taken off where it is not the name of the login.
Messages are published as mandatory: those that no queue takes are counted. One
for which the broker closes the channel is refused: it is reported and passed.
The credentials of a recording are never used, and a broker that the messages
were recorded on their way to is refused without --to-recorded-broker.
With --journal the same command goes on where the one before ended, also after
a kill: what the broker confirmed or refused is not sent again.
"""


def add(command: argparse.ArgumentParser) -> None:
    """Add them."""
    command.add_argument(
        "--to",
        required=True,
        metavar="URL",
        help="amqp://user:password@host:port/vhost, or amqps://; the password may be in the"
        " environment, as AMQPCODEC_PASSWORD",
    )
    command.add_argument(
        "--where",
        metavar="EXPRESSION",
        help="only matching rows: see below",
    )
    command.add_argument(
        "--map",
        action="append",
        default=[],
        metavar="OLD=NEW",
        help="another exchange, or with key: another routing key; several times: see below",
    )
    pace = command.add_mutually_exclusive_group()
    pace.add_argument(
        "--rate", type=_rate, metavar="N", help="N messages a second; default: as recorded"
    )
    pace.add_argument("--fast", action="store_true", help="as fast as the broker takes them")
    command.add_argument(
        "--window",
        type=_window,
        default=1000,
        metavar="N",
        help="messages that may wait for their confirm; default: 1000",
    )
    command.add_argument(
        "--journal",
        type=Path,
        metavar="FILE",
        help="file that stores what was confirmed and refused, to go on after a stop",
    )
    command.add_argument(
        "--dry-run",
        action="store_true",
        help="print what would be sent and where it may arrive, and send nothing",
    )
    command.add_argument(
        "--declare",
        action="store_true",
        help="create the exchanges, queues and bindings that the recording declares, under the"
        " names of --map, before anything is sent; with --dry-run, list them",
    )
    command.add_argument(
        "--cafile", type=Path, metavar="FILE", help="certificates to trust, for amqps://"
    )
    command.add_argument(
        "--to-recorded-broker",
        action="store_true",
        help="also where the messages were recorded on their way to",
    )


def _rate(text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if not 0 < rate < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of messages a second")
    return rate


def _window(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 1_000_000):
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 to 999999")
    return int(text)
