"""One target under libFuzzer, in a process of its own: python -m tests.fuzz.child TARGET ..."""

from __future__ import annotations

import shlex
import sys
from random import Random
from types import FunctionType


def main() -> None:
    """Give the process to libFuzzer, which ends it."""
    import atheris

    import amqpcodec
    from tests.fuzz.instrumented import build

    amqpcodec.__path__.insert(0, str(build()))
    from amqpcodec import _codec

    assert "fuzz" in str(_codec.__file__), _codec.__file__
    from tests.fuzz.targets import targets

    name, arguments = sys.argv[1], sys.argv[2:]
    target = targets()[name]
    for module in [module for module in sys.modules if module.startswith(target.python or "\0")]:
        for function in vars(sys.modules[module]).values():
            for each in (
                function,
                *(vars(function).values() if isinstance(function, type) else ()),
            ):
                if isinstance(each, FunctionType) and each.__module__ == module:
                    each.__code__ = atheris.instrument_func(each).__code__

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        rng = Random(seed)
        if target.mutate is None or rng.randrange(4) == 0:
            return bytes(atheris.Mutate(data, most))
        return target.mutate(data, rng)[:most]

    def run(data: bytes) -> None:
        target.run(bytes(data))

    with target.around():
        # libFuzzer starts this program again by its name to merge: a shell reads it.
        program = f"{shlex.quote(sys.executable)} -m tests.fuzz.child {name}"
        atheris.Setup([program, *arguments], run, custom_mutator=mutate)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
