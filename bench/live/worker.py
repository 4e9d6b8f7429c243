"""Some measurements in one process: `python -m bench.live.worker HOST PORT CLIENT WAY`.

Without and with the drop-in in turn, and with a codec that costs nothing, each time over a new
connection, so that what is compared lies a fraction of a second apart. Prints JSON: CPU seconds a
message, and the calls into the compiled codec.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import os
import sys
from contextlib import nullcontext

from bench import stuck
from bench.live.clients import ALL, DIRECTIONS
from bench.live.free import free

WAYS = ("stock", "dropin", "free")


def main() -> int:
    """Exit status 0, or what Python gives for an error."""
    stuck.listen()
    parser = argparse.ArgumentParser(prog="python -m bench.live.worker", description=__doc__)
    parser.add_argument("host")
    parser.add_argument("port", type=int)
    parser.add_argument("client", choices=[client.name for client in ALL])
    parser.add_argument("way", choices=DIRECTIONS)
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--core", type=int)
    options = parser.parse_args()
    if options.core is not None and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {options.core})
    [kind] = [client for client in ALL if client.name == options.client]
    module = importlib.import_module(f"amqpcodec.compat.{kind.dropin}")
    client = kind(options.host, options.port)
    count = options.count // (10 if options.way in client.slow else 1)

    def run(count: int) -> float:
        return client.run(options.way, count)

    def fill(count: int) -> None:
        """By the stock client, and of what is taken away only."""
        if options.way == "acknowledge":
            module.uninstall()
            client.fill(count)

    costs: dict[str, list[float]] = {way: [] for way in WAYS}
    # Some more: what was on its way when a connection ended is not ready again at once.
    client.fill(count + 2000)
    run(200)  # what is imported late is imported now
    for number in range(options.pairs):
        for way in WAYS if number % 2 else reversed(WAYS):
            fill(count)
            (module.install if way == "dropin" else module.uninstall)()
            client.side = way
            gc.collect()  # what one run left is not charged to the next
            with free(kind.dropin) if way == "free" else nullcontext():
                costs[way].append(run(count))
    print(json.dumps({**costs, "calls": module.calls() + client.calls}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
