"""Other implementations, asked what amqpcodec is asked: python -m tests.differential [PEER...]

A line a peer: cases, how many agreed, how many differ for a reason that is known, and new ones. The
same seed makes the same cases. Exit status: 1 for a new difference, 2 where a peer is missing.
"""

from __future__ import annotations

import argparse
import sys

from tests.differential.compare import Peer, compare
from tests.differential.peers import peers


def run(peer: Peer, cases: int, seed: int) -> int:
    """The exit status of one peer."""
    try:
        result = compare(peer, cases, seed)
    except ImportError as missing:
        print(f"{peer.name:<12}{missing}")
        return 2
    print(result.line(), flush=True)
    for number, at in result.new[:5]:
        print(f"  seed {number}, {at.path or 'the whole'}: {at.ours!r}, not {at.theirs!r}")
        print(f"    {at.case.hex()}")
    return 1 if result.new else 0


def main() -> int:
    """The highest exit status of all peers."""
    peers_by_name = peers()
    parser = argparse.ArgumentParser(prog="python -m tests.differential", description=__doc__)
    parser.add_argument(
        "peers", nargs="*", metavar="PEER", help=f"all by default: {', '.join(peers_by_name)}"
    )
    parser.add_argument("--cases", type=int, default=10_000, help="for each peer")
    parser.add_argument("--seed", type=int, default=0, help="of the first case")
    options = parser.parse_args()
    if unknown := set(options.peers) - set(peers_by_name):
        parser.error(f"no peer {', '.join(sorted(unknown))}")
    names = options.peers or list(peers_by_name)
    return max(run(peers_by_name[name], options.cases, options.seed) for name in names)


if __name__ == "__main__":
    sys.exit(main())
