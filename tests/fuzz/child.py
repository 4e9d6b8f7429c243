"""One target under libFuzzer, in a process of its own: python -m tests.fuzz.child TARGET ...

--whole before libFuzzer's arguments: every input is asked all that its target promises.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import shlex
import sys
from random import Random
from types import FunctionType


def main() -> None:
    """Give the process to libFuzzer, which ends it."""
    import atheris

    import amqpcodec
    from tests.fuzz.instrumented import build, mutator
    from tests.fuzz.targets import PLAIN, find

    name, arguments = sys.argv[1], sys.argv[2:]
    if name not in PLAIN:
        amqpcodec.__path__.insert(0, str(build()))
        from amqpcodec import _codec

        assert "fuzz" in str(_codec.__file__), _codec.__file__
    target = find(name)
    assert target.core == (name not in PLAIN)
    with_all_checks = "--whole" in arguments
    check = target.check_all if with_all_checks else target.check
    for module in map(importlib.import_module, target.python):
        for function in vars(module).values():
            for member in (
                function,
                *(vars(function).values() if isinstance(function, type) else ()),
            ):
                if isinstance(member, FunctionType) and member.__module__ == module.__name__:
                    member.__code__ = atheris.instrument_func(member).__code__

    rng: Random | None = None

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        nonlocal rng
        rng = rng or Random(seed)  # one for all: libFuzzer asks in the same order for the same seed
        if target.mutate is None or rng.random() < 0.25:
            return bytes(atheris.Mutate(data, most))
        return target.mutate(data, rng)[:most]

    def run(data: bytes) -> None:
        check(bytes(data))

    with target.around():
        # libFuzzer starts this program again by its name to merge: a shell reads it.
        program = f"{shlex.quote(sys.executable)} -m tests.fuzz.child {name}"
        gc.freeze()  # what was imported stays: the collector need not look at it again
        atheris.Setup([program, *arguments[with_all_checks:]], run, custom_mutator=mutate)
        if target.core:
            mutator_library = ctypes.CDLL(
                importlib.import_module("atheris.custom_mutator").__file__
            )
            address = ctypes.cast(mutator_library.LLVMFuzzerCustomMutator, ctypes.c_void_p).value
            ctypes.c_void_p.in_dll(ctypes.CDLL(str(mutator())), "late_mutator").value = address
        atheris.Fuzz()


if __name__ == "__main__":
    main()
