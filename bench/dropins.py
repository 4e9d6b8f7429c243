"""`python -m bench.dropins [pamqp pika amqp]`: clients with and without their drop-in, W1.

Both sides are the same code of bench/peers, run over the same frames in one process; the drop-in
is installed and uninstalled between them, round by round, outside of what is timed.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Iterator
from importlib import import_module

from amqpcodec.compat import drop_in
from bench import workloads
from bench.work import Peer, Work

PEERS = {"pamqp": "use_pamqp", "pika": "use_pika", "amqp": "use_py_amqp"}
OPERATIONS = ("decode", "encode")


def spent(work: Work, times: int) -> float:
    """ns a frame, the median of some runs."""
    seconds = []
    for _ in range(times):
        begin = time.process_time()
        work.run()
        seconds.append(time.process_time() - begin)
    return 1e9 * statistics.median(seconds) / work.frames


def measure(client: str, operation: str, rounds: int) -> Iterator[dict[str, float]]:
    """ns a frame of both sides, round by round."""
    module = drop_in(client)
    peer: Peer = import_module(f"bench.peers.{PEERS[client]}").PEER()
    workload = workloads.get("W1")
    for _ in range(rounds):
        sample = {}
        for side, times in (("stock", 2), ("drop-in", 6)):
            if side == "drop-in":
                module.install()
            try:
                if client == "amqp":
                    peer = _again(client)
                work = peer.work(operation, workload)
                work.check()
                before = module.calls(), module.fallbacks()
                sample[side] = spent(work, times)
                entered = module.calls() - before[0]
                if (entered > 0) is not (side == "drop-in") or module.fallbacks() != before[1]:
                    raise SystemExit(f"{client} {operation}, {side}: {entered} calls")
            finally:
                module.uninstall()
        yield sample


def _again(client: str) -> Peer:
    """py-amqp's functions are imported by value: the peer's module is read again."""
    name = f"bench.peers.{PEERS[client]}"
    sys.modules.pop(name)
    peer: Peer = import_module(name).PEER()
    return peer


def main() -> int:
    """Exit status 0."""
    parser = argparse.ArgumentParser(prog="python -m bench.dropins", description=__doc__)
    parser.add_argument("clients", nargs="*", default=list(PEERS), metavar="CLIENT")
    parser.add_argument("--operation", choices=OPERATIONS)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", action="store_true", help="print samples alone, ns a frame")
    options = parser.parse_args()
    for client in options.clients:
        for operation in [options.operation] if options.operation else OPERATIONS:
            samples = list(measure(client, operation, options.rounds))
            if options.json:
                print(
                    json.dumps({side: [sample[side] for sample in samples] for side in samples[0]})
                )
                continue
            ours, theirs = (statistics.median(e[s] for e in samples) for s in ("drop-in", "stock"))
            ratio = statistics.median(sample["stock"] / sample["drop-in"] for sample in samples)
            print(f"{client:6} {operation}: {theirs:6.0f} ns a frame, {ours:5.0f}: {ratio:.1f}×")
    return 0


if __name__ == "__main__":
    sys.exit(main())
