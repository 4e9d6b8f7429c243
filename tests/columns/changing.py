"""Arrow arrays whose memory another thread writes to while the core reads them.

`python -m tests.columns.changing PREFIX SECONDS` runs the cases whose names begin so. It ends with
status 0, or by a signal where the core reads beyond a buffer: each ends at a page without access.
"""

from __future__ import annotations

import ctypes
import struct
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from amqpcodec import batch
from amqpcodec import v0_9_1 as amqp
from amqpcodec import v1_0 as v1
from tests.columns.batch_rows import pa
from tests.support.guarded import guarded

ROWS = 4000
#: Rows whose place in memory changes: some at the end, some in each block of the fast path.
SPOTS = [*range(7, ROWS - 1, 61), ROWS - 2, ROWS - 1]
FAR = 2**31 - 64


class Changing:
    """A guarded buffer, its bytes, and others that a thread puts in their place and takes back."""

    def __init__(self, good: bytes, bad: bytes) -> None:
        assert len(good) == len(bad)
        self.buffer = guarded(good)
        self._address = self.buffer.address
        self._states = (bad, good)
        self._running = True
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        copy = ctypes.CDLL(None).memmove  # without the GIL
        copy.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t)
        while self._running:
            for state in self._states:
                copy(self._address, state, len(state))

    def __enter__(self) -> Changing:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._running = False
        self._thread.join()


def packed(form: str, numbers: list[int]) -> bytes:
    return struct.pack(f"={len(numbers)}{form}", *numbers)


def changed(numbers: list[int], value: int) -> list[int]:
    """The same with this value at the spots."""
    result = list(numbers)
    for spot in SPOTS:
        result[spot] = value
    return result


def offsets(form: str, size: int, bad: int = FAR) -> Changing:
    """Of values of one size; at the spots they point far away. The last one stays."""
    numbers = [size * i for i in range(ROWS + 1)]
    return Changing(packed(form, numbers), packed(form, changed(numbers, bad)))


def data(value: bytes) -> Any:
    return guarded(value * ROWS)


# ---- arrays by what of them changes ----


def by_offsets(kind: Any, value: bytes, form: str = "i", bad: int = FAR) -> tuple[Any, Changing]:
    changing = offsets(form, len(value), bad)
    return pa.Array.from_buffers(kind, ROWS, [None, changing.buffer, data(value)]), changing


def by_views(kind: Any, value: bytes, field: int, bad: int) -> tuple[Any, Changing]:
    """field: which of length, prefix, buffer and offset is `bad` at the spots."""
    views = [[len(value), *struct.unpack("=i", value[:4]), 0, len(value) * i] for i in range(ROWS)]
    good = packed("i", [number for view in views for number in view])
    for spot in SPOTS:
        views[spot][field] = bad
    changing = Changing(good, packed("i", [number for view in views for number in view]))
    return pa.Array.from_buffers(kind, ROWS, [None, changing.buffer, data(value)]), changing


def by_indices(values: Any, form: str, bad: int) -> tuple[Any, Changing]:
    kind = {"b": pa.int8(), "i": pa.int32(), "q": pa.int64()}[form]
    changing = Changing(packed(form, [0] * ROWS), packed(form, changed([0] * ROWS, bad)))
    indices = pa.Array.from_buffers(kind, ROWS, [None, changing.buffer])
    return pa.DictionaryArray.from_arrays(indices, values, safe=False), changing


def by_validity(kind: Any, value: bytes) -> tuple[Any, Changing]:
    size = (ROWS + 7) // 8
    changing = Changing(b"\xff" * size, b"\x5a" * size)
    ends = guarded(packed("i", [len(value) * i for i in range(ROWS + 1)]))
    return pa.Array.from_buffers(kind, ROWS, [changing.buffer, ends, data(value)]), changing


def by_bytes(kind: Any, good: bytes, bad: bytes) -> tuple[Any, Changing]:
    changing = Changing(good * ROWS, bad * ROWS)
    ends = guarded(packed("i", [len(good) * i for i in range(ROWS + 1)]))
    return pa.Array.from_buffers(kind, ROWS, [None, ends, changing.buffer]), changing


def by_items(kind: Any, form: str, sizes: bool = False, bad: int = FAR) -> tuple[Any, Changing]:
    """Lists of two, or their views. sizes: how long they are changes."""
    child = pa.Array.from_buffers(pa.int64(), 2 * ROWS, [None, guarded(bytes(16 * ROWS))])
    places = [2 * i for i in range(ROWS)]
    if "view" not in str(kind):
        changing = offsets(form, 2, bad)
        return pa.Array.from_buffers(
            kind, ROWS, [None, changing.buffer], children=[child]
        ), changing
    if sizes:
        changing = Changing(packed(form, [2] * ROWS), packed(form, changed([2] * ROWS, bad)))
        buffers = [None, guarded(packed(form, places)), changing.buffer]
    else:
        changing = Changing(packed(form, places), packed(form, changed(places, bad)))
        buffers = [None, changing.buffer, guarded(packed(form, [2] * ROWS))]
    return pa.Array.from_buffers(kind, ROWS, buffers, children=[child]), changing


def by_map() -> tuple[Any, Changing]:
    keys = pa.array(["k"] * ROWS)
    pairs = pa.StructArray.from_arrays(
        [keys, pa.array(range(ROWS), pa.int64())],
        fields=[pa.field("key", pa.string(), nullable=False), pa.field("value", pa.int64())],
    )
    changing = offsets("i", 1)
    kind = pa.map_(pa.string(), pa.int64())
    return pa.Array.from_buffers(kind, ROWS, [None, changing.buffer], children=[pairs]), changing


JSON = b'{"k": [1, "text", {"$binary": "AAEC"}], "n": 12345678901234567890.5}'
Case = tuple[Any, Changing]
COLUMNS: dict[str, tuple[str, str, Callable[[], Case]]] = {
    "offsets": ("body", "body", lambda: by_offsets(pa.binary(), b"abcdefgh")),
    "offsets-back": ("body", "body", lambda: by_offsets(pa.binary(), b"abcdefgh", bad=-8)),
    "offsets-text": ("exchange", "properties.to", lambda: by_offsets(pa.string(), b"abcdefgh")),
    "offsets-large": (
        "body",
        "body",
        lambda: by_offsets(pa.large_binary(), b"abcdefgh", "q", 2**40),
    ),
    "offsets-method": (
        "method",
        "performative",
        lambda: by_offsets(pa.string(), b"basic.publish"),
    ),
    "view-length": ("body", "body", lambda: by_views(pa.binary_view(), b"x" * 40, 0, FAR)),
    "view-buffer": ("body", "body", lambda: by_views(pa.binary_view(), b"x" * 40, 2, 2**20)),
    "view-offset": ("body", "body", lambda: by_views(pa.binary_view(), b"x" * 40, 3, FAR)),
    "index-8": ("exchange", "properties.to", lambda: by_indices(pa.array(["a"]), "b", 100)),
    "index-32": ("exchange", "properties.to", lambda: by_indices(pa.array(["a"]), "i", FAR)),
    "index-64": ("exchange", "properties.to", lambda: by_indices(pa.array(["a"]), "q", 2**40)),
    "validity": ("exchange", "properties.to", lambda: by_validity(pa.string(), b"abcdefgh")),
    "json": (
        "properties.headers",
        "application_properties",
        lambda: by_bytes(pa.string(), JSON, JSON.replace(b'"', b"1")),
    ),
    "list": ("headers.x", "application_properties.x", lambda: by_items(pa.list_(pa.int64()), "i")),
    "list-large": (
        "headers.x",
        "application_properties.x",
        lambda: by_items(pa.large_list(pa.int64()), "q", bad=2**40),
    ),
    "list-view": (
        "headers.x",
        "application_properties.x",
        lambda: by_items(pa.list_view(pa.int64()), "i"),
    ),
    "list-view-size": (
        "headers.x",
        "application_properties.x",
        lambda: by_items(pa.large_list_view(pa.int64()), "q", sizes=True, bad=2**40),
    ),
    "map": ("properties.headers", "application_properties", by_map),
}

#: A length within a table that may be read more than once: the key makes the general path read it.
HEADERS: dict[str, Any] = {"$k": {"$l": ["v" * 9]}, "k": "v" * 9}
MESSAGE = amqp.encode_message(
    1, amqp.Basic.Publish("exchange", "key"), amqp.Basic.Properties(headers=HEADERS), b"body"
)
V1_MESSAGE = v1.encode_message(
    0, v1.Transfer(0, 1, b"t"), v1.Message(b"body", application_properties={"k": "v" * 9})
)


def longer(message: bytes) -> bytes:
    """The same with other lengths of the texts of nine bytes; what is around them keeps its own."""
    return message.replace(b"\0\0\0\x09v", b"\x7f\xff\xff\xffv").replace(b"\x09v", b"\xffv")


VALUES: dict[str, Callable[[bytes], Case]] = {
    "offsets": lambda message: by_offsets(pa.binary(), message),
    "offsets-large": lambda message: by_offsets(pa.large_binary(), message, "q", 2**40),
    "view-length": lambda message: by_views(pa.binary_view(), message, 0, FAR),
    "view-buffer": lambda message: by_views(pa.binary_view(), message, 2, 2**20),
    "view-offset": lambda message: by_views(pa.binary_view(), message, 3, FAR),
    "index-32": lambda message: by_indices(pa.array([message]), "i", FAR),
    "index-64": lambda message: by_indices(pa.array([message]), "q", 2**40),
    "validity": lambda message: by_validity(pa.binary(), message),
    "bytes": lambda message: by_bytes(pa.binary(), message, longer(message)),
}


def repeat(call: Callable[[], object], changing: Changing, seconds: float) -> tuple[int, int]:
    """How often it went well, and how often it was refused."""
    successes = refused = 0
    end = time.monotonic() + seconds
    with changing:
        while time.monotonic() < end or not successes + refused:
            try:
                call()
                successes += 1
            except ValueError:
                refused += 1
    return successes, refused


def encode_case(protocol: str, name: str) -> tuple[Callable[[], object], Changing]:
    *columns, make = COLUMNS[name]
    array, changing = make()
    rows = pa.record_batch([array], names=[columns[protocol == "1.0"]])
    return lambda: batch.encode(rows, protocol), changing


def decode_case(protocol: str, name: str, level: str, layout: str) -> Any:
    array, changing = VALUES[name](V1_MESSAGE if protocol == "1.0" else MESSAGE)

    def call() -> object:
        result = batch.decode(array, protocol, level, layout=layout)  # type: ignore[arg-type]
        return pa.record_batch(result).validate(full=True)

    return call, changing


CASES = {
    **{f"encode {p} {name}": (encode_case, p, name) for p in ("0-9-1", "1.0") for name in COLUMNS},
    **{
        f"decode {p} {name} {level} {layout}": (decode_case, p, name, level, layout)
        for p in ("0-9-1", "1.0")
        for name in VALUES
        for level, layout in (("frame", "plain"), ("message", "plain"), ("message", "view"))
    },
}


def main(prefix: str, seconds: float) -> None:
    for name, (function, *arguments) in CASES.items():
        if name.startswith(prefix):
            print(name, end=": ", flush=True)
            print(*repeat(*function(*arguments), seconds), flush=True)  # type: ignore[operator]


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
