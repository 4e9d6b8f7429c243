"""Check and compare specification files.

``python -m amqpcodec.spec FILE...`` prints one line a file; exit status 0 when all are good, 1 when
one is malformed or cannot be read, 2 for wrong usage.

``python -m amqpcodec.spec diff [--all] A.xml B.xml`` prints how two specifications differ on the
wire: classes, methods, numbers, arguments, properties, their types and order, constants; with
``--all`` also in names, answers and senders. Exit status 0 when the bytes are the same, 1 when
they differ (with --all: when anything does), 2 for wrong usage and files that cannot be read.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from . import SpecError, load
from .difference import differences

USAGE = """\
usage: python -m amqpcodec.spec FILE...
       python -m amqpcodec.spec diff [--all] A.xml B.xml"""


def main(arguments: Sequence[str]) -> int:
    """Do what the arguments say; faults go to standard error, with file and line."""
    if arguments[:1] == ["diff"]:
        return _diff(arguments[1:])
    return _check(arguments)


def _check(files: Sequence[str]) -> int:
    if not files or any(file.startswith("-") for file in files):
        print(USAGE, file=sys.stderr)
        return 2
    status = 0
    for file in files:
        try:
            protocol = load(file)
        except (SpecError, OSError) as error:
            print(error, file=sys.stderr)
            status = 1
            continue
        methods = sum(1 for _ in protocol.methods())
        print(
            f"{file}: AMQP {protocol.name}, {len(protocol.classes)} classes, {methods} methods, "
            f"{len(protocol.constants)} constants, {len(protocol.domains)} domains"
        )
    return status


def _diff(arguments: Sequence[str]) -> int:
    everything = "--all" in arguments
    files = [argument for argument in arguments if argument != "--all"]
    if len(files) != 2 or any(file.startswith("-") for file in files):
        print(USAGE, file=sys.stderr)
        return 2
    try:
        first, second = map(load, files)
    except (SpecError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    changes = [one for one in differences(first, second) if one.wire or everything]
    for one in changes:
        print(one)
    return 1 if changes else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
