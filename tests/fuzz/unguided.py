"""Inputs made of the kept ones, on the plain build: python -m tests.fuzz.unguided TARGET COUNT

What libFuzzer found out is spread: the target's mutator changes inputs that reached something new,
without counting what the new ones reach, which takes most of the time where Python is instrumented.
A finding is printed and written to `.cache/fuzz/findings`; the exit status is 1 then.
"""

from __future__ import annotations

import argparse
import hashlib
import time
import traceback
from random import Random

from tests.fuzz import corpus
from tests.fuzz.instrumented import CACHE
from tests.fuzz.targets import NAMES, find

FINDINGS = CACHE / "findings"


def main() -> int:
    """Run so many inputs, or until one breaks the promise."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.unguided", description=__doc__)
    parser.add_argument("name", choices=NAMES, metavar="TARGET")
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    target = find(options.name)
    assert target.mutate is not None, f"{target.name} has no mutator"
    inputs_folder = CACHE / "inputs" / target.name
    inputs = [*target.seeds(), *corpus.load(target.name)]
    if inputs_folder.is_dir():
        inputs += [path.read_bytes() for path in inputs_folder.iterdir()]
    rng = Random(options.seed)
    begin = shown = time.monotonic()
    with target.around():
        for number in range(1, options.count + 1):
            data = inputs[rng.randrange(len(inputs))]
            for _ in range(1 + rng.randrange(3)):
                data = target.mutate(data, rng)
            data = data[: target.largest]
            try:
                target.check(data)
            except Exception:
                digest = hashlib.sha1(data, usedforsecurity=False).hexdigest()
                path = FINDINGS / f"{target.name}-crash-{digest}"
                FINDINGS.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
                traceback.print_exc()
                print(f"{target.name}: input {number:,} breaks the promise: {path}")
                return 1
            now = time.monotonic()
            if now - shown > 60 or number == options.count:
                shown = now
                print(f"{target.name}: {number:,} inputs in {now - begin:,.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
