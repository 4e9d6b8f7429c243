"""Check specification files: ``python -m amqpcodec.spec FILE...``.

Prints one line a file; exit status 0 when all are good, 1 when one is malformed or
cannot be read, 2 for wrong usage.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from . import SpecError, load


def main(arguments: Sequence[str]) -> int:
    """Check the files named; faults go to standard error, with file and line."""
    if not arguments or any(argument.startswith("-") for argument in arguments):
        print("usage: python -m amqpcodec.spec FILE...", file=sys.stderr)
        return 2
    status = 0
    for file in arguments:
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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
