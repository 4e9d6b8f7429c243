"""A structured fuzzer for 0-9-1: `python -m tests.protocol.fuzz --seconds 60 --seed 1`.

It makes valid streams of every odd form, spoils them, and holds the codec to its promises:
frames, "need more" or a DecodeError; the same bytes back; the same in any chunking. What
breaks a promise is printed with its seed and its bytes, and makes the exit status 1.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from random import Random
from typing import Any

from amqpcodec import v0_9_1 as amqp
from tests.support import amqp091_gen as gen
from tests.support.promises import check_frames, outcome


def make(rng: Random) -> bytes:
    """A stream, valid or spoilt in one of several ways."""
    data = gen.conversation(rng, 3) if rng.random() < 0.4 else gen.stream(rng, rng.randrange(1, 5))
    how = rng.randrange(4)
    if how == 0:
        return gen.spoil(rng, data)
    if how == 1:
        return gen.spoil_inside(rng, data)
    if how == 2:
        return gen.spoil(rng, gen.spoil_inside(rng, data), 1)
    return data


def check_decode(data: bytes, rng: Random, counts: Counter[str]) -> None:
    """Frame by frame: exact bytes back, also after reading, copying and pickling."""
    options: dict[str, Any] = {
        "dialect": rng.choice(("rabbitmq", "rabbitmq", "0-9-1")),
        "tables": rng.choice(("plain", "typed")),
        "copy": rng.random() < 0.5,
    }
    check_frames(amqp, data, options, counts)


def check_decoders(data: bytes, rng: Random) -> None:
    """Any chunking, strict or not, gives what all at once gives."""
    kind = rng.choice((amqp.Decoder, amqp.MessageDecoder))
    options: dict[str, Any] = {
        "frame_max": rng.choice((0, 4096)),
        "errors": rng.choice(("strict", "frame")),
        "copy": rng.random() < 0.5,
    }
    if kind is amqp.MessageDecoder:
        options["max_body_size"] = rng.choice((None, 0, 50, 1 << 40))
    complete = outcome(kind(**options), [data])
    pieces = outcome(kind(**options), gen.chunks(rng, data))
    assert complete == pieces, f"chunking differs with {options}"


def one(seed: int, counts: Counter[str]) -> None:
    rng = Random(seed)
    data = make(rng)
    try:
        check_decode(data, rng, counts)
        check_decoders(data, rng)
    except Exception as error:
        raise AssertionError(f"seed {seed}: {error!r}\noctets {data.hex()}") from error


def fuzz(
    seconds: float, seed: int, limit: int | None = None, *, trace: bool = False
) -> tuple[int, Counter[str]]:
    """Run from a seed until the time or the number of rounds is used up."""
    counts: Counter[str] = Counter()
    end, rounds = time.monotonic() + seconds, 0
    while time.monotonic() < end and (limit is None or rounds < limit):
        if trace:  # the only word a segmentation fault leaves behind
            print("seed", seed + rounds, file=sys.stderr, flush=True)
        one(seed + rounds, counts)
        rounds += 1
    return rounds, counts


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.protocol.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=None, help="first seed; random when absent")
    parser.add_argument("--rounds", type=int, default=None, help="1 repeats a single seed")
    parser.add_argument("--trace", action="store_true", help="name each seed before its round")
    arguments = parser.parse_args()
    seed = Random().randrange(1 << 40) if arguments.seed is None else arguments.seed
    try:
        rounds, counts = fuzz(arguments.seconds, seed, arguments.rounds, trace=arguments.trace)
    except AssertionError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{rounds} rounds from seed {seed}")
    for name, count in counts.most_common():
        print(f"{count:9} {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
