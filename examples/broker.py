"""A broker to look at: `python examples/broker.py [PORT]` prints each frame that comes or goes.

It is `amqpcodec.testing.Broker`, the broker for tests: on 127.0.0.1, with the login guest, guest.
Messages are gone when it ends, and what it does not model it refuses.
"""

from __future__ import annotations

import sys
import time

from amqpcodec.testing import Broker


def main(port: int = 5672) -> None:
    """Serve until it is interrupted."""
    with Broker(port=port) as broker:
        print(f"listening on {broker.host}:{broker.port}", flush=True)
        shown = 0
        while True:
            time.sleep(0.2)
            entries = broker.transcript()
            for entry in entries[shown:]:
                print(entry, file=sys.stderr)
            shown = len(entries)


if __name__ == "__main__":
    try:
        main(*map(int, sys.argv[1:2]))
    except KeyboardInterrupt:
        pass
    except OSError as error:  # the port is in use, or not ours
        sys.exit(f"broker.py: {error}")
