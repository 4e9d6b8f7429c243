"""``python -m amqpcodec.compat [pika ...]``: entries for the table of known sources, `_known.py`.

Printed are the hashes of the clients as they are installed; `docs/design.md` says when they are
wanted.
"""

from __future__ import annotations

import sys

from ._known import KNOWN
from ._sources import digest


def main(clients: list[str]) -> int:
    """Exit status 0."""
    for client in clients or KNOWN:
        print(f"{client}:")
        for path in dict.fromkeys(path for paths in KNOWN[client].values() for path in paths):
            try:
                found = digest(path)
            except (ImportError, AttributeError, LookupError):
                found = None
            print(f'            "{path}": "{found}",' if found else f"            # no {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
