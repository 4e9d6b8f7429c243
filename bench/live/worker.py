"""One measurement, in a process of its own: `python -m bench.live.worker HOST PORT CLIENT WAY N`.

Prints JSON: CPU seconds a message, and the calls into the compiled codec (with --dropin).
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys

from bench.live.clients import ALL, DIRECTIONS


def main() -> int:
    """Exit status 0, or what Python gives for an error."""
    parser = argparse.ArgumentParser(prog="python -m bench.live.worker", description=__doc__)
    parser.add_argument("host")
    parser.add_argument("port", type=int)
    parser.add_argument("client", choices=[each.name for each in ALL])
    parser.add_argument("way", choices=DIRECTIONS)
    parser.add_argument("count", type=int)
    parser.add_argument("--dropin", action="store_true")
    parser.add_argument("--core", type=int)
    options = parser.parse_args()
    if options.core is not None and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {options.core})
    [kind] = [each for each in ALL if each.name == options.client]
    calls = 0
    if options.dropin:
        import amqpcodec

        amqpcodec.install(kind.dropin)
    cost = getattr(kind(options.host, options.port), options.way)(options.count)
    if options.dropin:
        calls = importlib.import_module(f"amqpcodec.compat.{kind.dropin}").calls()
    print(json.dumps({"cost": cost, "calls": calls}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
