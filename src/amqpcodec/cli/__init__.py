"""The command line: ``amqpcodec dissect`` shows the frames of captures, ``amqpcodec stats`` counts.

Needs rich and pyarrow: ``pip install "amqpcodec[cli]"``.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

__all__ = ["main"]

#: Exit status: all was read; bad data was found and reported; wrong usage, or an unreadable file.
OK, BAD_DATA, USAGE = 0, 1, 2

WHERE_HELP = """\
expressions of --where:
  method == basic.publish and channel > 1
  error                                   a row that has one
  arguments.exchange == orders            a value inside of a JSON column
  properties.headers.n >= 10 or not (direction == client)
  routing_key ~ '^eu[.]'                  a regular expression is found in it (!~: is not)
  method in (basic.ack, basic.nack, basic.reject)
  payload == 0x00ff                       binary columns: text, or octets in hex
  timestamp >= 2026-02-28T12:00           UTC, unless it says otherwise
Columns: method (also called performative, as in AMQP 1.0), channel, frame_type, arguments,
properties, direction, connection_index, timestamp, error, flags and the others that --format json
shows.
A row without the value fits no comparison except != and !~. A list (flags) fits if an item does.
Names and values with spaces or signs are quoted: 'so' or "so".
"""

EPILOG = """\
exit status: 0, 1 (bad data found and reported) or 2 (wrong usage, a file that cannot be read)
"""


class Problem(Exception):
    """What the user has to change; shown without a traceback."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit status."""
    try:
        options = parser().parse_args(arguments)
    except SystemExit as ended:  # argparse has said why
        return ended.code if isinstance(ended.code, int) else USAGE
    try:
        command: Callable[[argparse.Namespace], int] = options.command
        status = command(options)
        sys.stdout.flush()
        return status
    except Problem as problem:
        complain(str(problem))
        return USAGE
    except BrokenPipeError:
        # The reader has seen enough. Python flushes stdout once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except OSError as error:  # of the output: what is wrong with an input is known as such
        complain(error.strerror or str(error))
        return USAGE
    except KeyboardInterrupt:
        return 130


def complain(text: str) -> None:
    """One line on standard error, after what was written so far."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        pass
    print(f"amqpcodec: {text}", file=sys.stderr)


def parser() -> argparse.ArgumentParser:
    """What may follow ``amqpcodec``."""
    top = argparse.ArgumentParser(
        prog="amqpcodec", description="Look into recordings of AMQP traffic.", epilog=EPILOG
    )
    top.add_argument("--version", action="version", version=f"amqpcodec {version()}")
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    dissect = commands.add_parser(
        "dissect",
        help="show frames: as a table, JSON Lines or Parquet",
        description="Show the frames of captures (pcap, pcapng, also gzip).",
        epilog=WHERE_HELP + "\n" + EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_source(dissect)
    dissect.add_argument(
        "--level",
        choices=["frame", "message"],
        default="frame",
        help="a row each frame (the default), or each method with its content",
    )
    dissect.add_argument(
        "--format",
        choices=["table", "json", "parquet"],
        help="json: JSON Lines, octets as base64; default: by the name of OUT, or else table",
    )
    dissect.add_argument("-o", "--output", metavar="OUT", help="write there, not to the screen")
    dissect.add_argument(
        "--fields",
        type=names,
        metavar="NAME,...",
        help="columns, in this order",
    )
    dissect.add_argument("--where", metavar="EXPRESSION", help="only rows that fit: see below")
    dissect.set_defaults(command=run_dissect)

    stats = commands.add_parser(
        "stats",
        help="count what captures hold",
        description="Count packets, frames, errors, gaps and what was left out.",
        epilog=EPILOG,
    )
    add_source(stats)
    stats.add_argument(
        "--format", choices=["table", "json"], default="table", help="default: table"
    )
    stats.set_defaults(command=run_stats)
    return top


def add_source(command: argparse.ArgumentParser) -> None:
    """What to read, and how: the same for all commands."""
    command.add_argument(
        "files", metavar="FILE", nargs="+", type=Path, help='captures; "-" is standard input'
    )
    command.add_argument(
        "--chain",
        action=argparse.BooleanOptionalAction,
        help="all files are one rotation's and continue each other, or each stands alone;"
        " default: those of a folder whose names differ in digits only are one rotation's",
    )
    command.add_argument(
        "--ports",
        type=ports,
        default=(5672,),
        metavar="N,...",
        help="the servers' ports; default: 5672",
    )
    command.add_argument("--protocol", help='such as "0-9-1"; default: as the connection says')
    command.add_argument(
        "--show-secrets",
        action="store_true",
        help="do not hide the credentials of logins and of connection.update-secret",
    )


def names(text: str) -> list[str]:
    """Names between commas."""
    found = [name.strip() for name in text.split(",")]
    if not all(found):
        raise argparse.ArgumentTypeError(f"a name is missing in {text!r}")
    if len(set(found)) < len(found):
        raise argparse.ArgumentTypeError(f"a name is there twice in {text!r}")
    return found


def ports(text: str) -> tuple[int, ...]:
    """TCP ports between commas."""
    found = tuple(int(port) if port.isascii() and port.isdigit() else 0 for port in names(text))
    if not all(0 < port < 65536 for port in found):
        raise argparse.ArgumentTypeError(f"a port is a number from 1 to 65535, and not {text!r}")
    return found


def version() -> str:
    """The package's."""
    from importlib import metadata

    try:
        return metadata.version("amqpcodec")
    except metadata.PackageNotFoundError:
        return "(not installed)"


def need_extra() -> None:
    """Say what to install where it is not there."""
    try:
        import pyarrow  # noqa: F401
        import rich  # noqa: F401
    except ImportError as error:
        raise Problem(f'{error.name} is needed: pip install "amqpcodec[cli]"') from None


def run_dissect(options: argparse.Namespace) -> int:
    """``amqpcodec dissect``."""
    need_extra()
    from .dissect import dissect

    return dissect(options)


def run_stats(options: argparse.Namespace) -> int:
    """``amqpcodec stats``."""
    need_extra()
    from .stats import stats

    return stats(options)
