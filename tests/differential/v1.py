"""Values of AMQP 1.0, and what proton's library and azure's clients make of them."""

from __future__ import annotations

import ctypes
import ctypes.util
import uuid
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

from amqpcodec import v1_0 as amqp
from tests.differential.compare import Difference, Known, Peer, outcome
from tests.differential.legacy import refused
from tests.v1.proton_tree import Tree, from_ours, to_ours, tree

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
OUT = 1 << 20


def value(rng: Random) -> bytes:
    return amqp.encode_value(to_ours(tree(rng)))


def ours(data: bytes) -> Tree:
    return from_ours(amqp.decode_value(data, types="typed")[0])


# ---- proton


class Proton:
    """pn_data_t, which reads values and writes them again."""

    def __init__(self) -> None:
        name = ctypes.util.find_library("qpid-proton-core") or ctypes.util.find_library(
            "qpid-proton"
        )
        if name is None:
            raise ImportError("no qpid-proton: install your system's package (libqpid-proton11)")
        self.calls = ctypes.CDLL(name)
        self.calls.pn_data.restype = ctypes.c_void_p
        for function in (self.calls.pn_data_decode, self.calls.pn_data_encode):
            function.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]
            function.restype = ctypes.c_ssize_t
        self.calls.pn_data_clear.argtypes = [ctypes.c_void_p]
        self.data = ctypes.c_void_p(self.calls.pn_data(ctypes.c_size_t(16)))
        self.out = ctypes.create_string_buffer(OUT)

    def reads(self, data: bytes) -> Tree:
        """The value that it writes of what it has read."""
        self.calls.pn_data_clear(self.data)
        consumed = self.calls.pn_data_decode(self.data, data, len(data))
        if consumed != len(data):
            raise ValueError(f"pn_data_decode gives {consumed} of {len(data)}")
        size = self.calls.pn_data_encode(self.data, self.out, OUT)
        if size < 0:
            raise ValueError(f"pn_data_encode gives {size}")
        return ours(self.out.raw[:size])


def proton(cases: list[bytes]) -> list[Any]:
    library = Proton()
    return [outcome(library.reads, data) for data in cases]


# ---- azure's clients


def plain(data: bytes) -> Any:
    return neutral(amqp.decode_value(data)[0])


def neutral(value: Any) -> Any:
    """A value without types and descriptors: text as bytes, times in ms, arrays as lists."""
    if isinstance(value, datetime):
        return (value - EPOCH) // timedelta(milliseconds=1)
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, amqp.Described):
        return neutral(value.value)
    if isinstance(value, amqp.Map | dict):
        return {"map": [[neutral(key), neutral(item)] for key, item in value.items()]}
    if isinstance(value, list | amqp.Array):
        return [neutral(item) for item in value]
    if isinstance(value, uuid.UUID | bool) or value is None:
        return value
    for kind in (int, float, bytes):  # azure has classes of its own for what is described
        if isinstance(value, kind):
            return kind(value)
    return value


def azure_reads(data: bytes) -> Any:
    from azure.servicebus._pyamqp._decode import _DECODE_BY_CONSTRUCTOR

    remainder, value = _DECODE_BY_CONSTRUCTOR[data[0]](memoryview(data)[1:])
    assert not len(remainder)
    return neutral(value)


def azure(cases: list[bytes]) -> list[Any]:
    return [outcome(azure_reads, data) for data in cases]


def has(node: Tree, predicate: Callable[[Tree], bool]) -> bool:
    """Whether a value is in a tree, or is it."""
    kind, value = node
    inside: Iterable[Tree] = ()
    if kind in ("list", "described"):
        inside = value
    elif kind == "map":
        inside = [part for pair in value for part in pair]
    elif kind == "array":
        inside = value[2]
    return predicate(node) or any(has(member, predicate) for member in inside)


def with_value(predicate: Callable[[Tree], bool]) -> Callable[[Difference], bool]:
    """Whether the case has such a value, after which azure reads at a wrong place or not at all."""
    return lambda at: has(ours(at.case), predicate)


def keys_of_a_dict(at: Difference) -> bool:
    """Whether azure's map lacks just the keys that are equal to an earlier one in Python."""

    def distinct_keys(pairs: list[Any]) -> list[Any]:  # azure misreads decimals
        keys = (key for key, _ in pairs if not isinstance(key, Decimal | amqp.Decimal128))
        return list(dict.fromkeys(keys))

    is_map = at.path.endswith("map") and isinstance(at.theirs, list)
    return (
        is_map
        and len(at.theirs) < len(at.ours)
        and distinct_keys(at.theirs) == distinct_keys(at.ours)
    )


AZURE: Known = {
    "decimal128": lambda at: (
        isinstance(at.ours, Decimal | amqp.Decimal128)
        or (
            refused("Invalid AMQP decimal128")(at)
            and has(ours(at.case), lambda n: n[0] == "decimal128")
        )
    ),
    "no char, decimal32, decimal64": lambda at: (
        refused("'NoneType' object is not callable")(at)
        and has(ours(at.case), lambda n: n[0] in ("char", "decimal32", "decimal64"))
    ),
    "unhashable key": refused("unhashable type"),
    "empty array": with_value(lambda n: n[0] == "array" and not n[1][2]),
    "described map": with_value(lambda n: n[0] == "described" and n[1][1][0] == "map"),
    "equal keys": keys_of_a_dict,
}
PEERS = [
    Peer("proton", value, ours, proton, {}),
    Peer("azure", value, plain, azure, AZURE),
]
