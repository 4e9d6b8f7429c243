"""Bars for the core: fields of structs, arguments of functions, lines of functions."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.layers.core_sizes import CONSTRUCTOR, Size, sizes

MOST_FIELDS = 30
MOST_LINES = 100
MOST_ARGUMENTS = 8

SIZES = sizes()

#: Functions that users call by keyword: the options are the interface.
PUBLIC = {
    ("v1/message.pxi", "__init__"): "Message has a section for each argument",
    ("v1/assemble.pxi", "__init__"): "options of MessageDecoder",
    ("protocol/messages.pxi", "__init__"): "options of MessageDecoder",
    ("columns/decode.pxi", "decode_columns"): "options of batch.decode",
}
#: Steps of a walk that make nothing. Each argument is a part of the walk's state in a register; a
#: struct of them would lie in memory. No line may be added.
WALKS = {
    ("v1/compact.pxi", "v1_compact_fields"): "fields of each 1.0 object",
    ("columns/v1_fast.pxi", "slow_v1_field"): "fields of each 1.0 frame that becomes a row",
    ("dropins/method.pxi", "bound_properties"): "properties of each message of a drop-in",
    ("protocol/frame_write.pxi", "encode_content"): "each message that is encoded",
    ("tables/walk.pxi", "put_changed_nested"): "nested tables of a changed one",
}

EXAMPLES = {
    "room/a.pxd": """
cdef struct Pair:
    int first, second       # both
    const uint8_t** found[3]
cdef class Box:
    cdef dict a
    cdef readonly int b, c
    cdef int method(self, int a)
cdef int make_pair(int a,
                   int b=f(1, 2), *) except -1
""",
    "room/a.pxi": '''
cdef extern from *:
    """
    static int hidden(int a) {
        return 1;
    }
    """
    int hidden(int a)

cdef class Box:
    cdef dict inner

    def __cinit__(self, int a,
                  *, b=(1, 2), **more):
        """Text."""
        self.inner = {}

        # the end

cdef inline int three() noexcept nogil:
    # why
    return 3
''',
    "room/a.h": """
typedef struct {
    int a, b; /* c */
    uint8_t d[2];
} Triple;
#define LONG(x) \\
    do { } while (0)
static inline int four(const uint8_t *p,
                       size_t n) {
    return 4;
}
static int one(void) { return 1; }
""",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "room").mkdir()
    for name, text in EXAMPLES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_what_is_measured(folder: Path) -> None:
    measured = {(size.kind, size.name, size.place, size.count) for size in sizes(folder)}
    assert measured == {
        ("fields", "Pair", "room/a.pxd:2", 3),
        ("fields", "Box", "room/a.pxd:5", 3),
        ("arguments", "method", "room/a.pxd:8", 1),
        ("arguments", "make_pair", "room/a.pxd:9", 2),
        ("fields", "Box", "room/a.pxi:10", 1),
        ("arguments", "__cinit__", "room/a.pxi:13", 3),
        ("lines", "__cinit__", "room/a.pxi:13", 4),
        ("arguments", "three", "room/a.pxi:20", 0),
        ("lines", "three", "room/a.pxi:20", 3),
        ("fields", "Triple", "room/a.h:2", 3),
        ("lines", "four", "room/a.h:8", 4),
        ("arguments", "four", "room/a.h:8", 2),
        ("lines", "one", "room/a.h:12", 1),
        ("arguments", "one", "room/a.h:12", 0),
    }


def too_large(kind: str, most: int, sizes: list[Size] = SIZES) -> list[str]:
    return [
        f"{size.place}: {size.name} has {size.count} {kind}, {most} at most"
        for size in sizes
        if size.kind == kind and size.count > most
    ]


def exempt(size: Size) -> bool:
    return (size.place.partition(":")[0], size.name) in {**PUBLIC, **WALKS}


def test_there_is_much_to_measure() -> None:
    names = {size.name for size in SIZES}
    assert {"Sink", "Reading", "class_make", "v1_content", "key_mark"} <= names
    assert len(SIZES) > 4000


def test_fields() -> None:
    assert too_large("fields", MOST_FIELDS) == []


def test_lines_of_functions() -> None:
    assert too_large("lines", MOST_LINES) == []


def test_arguments() -> None:
    functions = [size for size in SIZES if not exempt(size)]
    assert too_large("arguments", MOST_ARGUMENTS, functions) == []


def test_constructors_are_no_walks() -> None:
    assert not any(CONSTRUCTOR.fullmatch(name) for _, name in WALKS)


def test_each_exception_is_needed() -> None:
    large = {
        (size.place.partition(":")[0], size.name)
        for size in SIZES
        if size.kind == "arguments" and size.count > MOST_ARGUMENTS
    }
    assert large == {*PUBLIC, *WALKS}
    assert len(WALKS) <= 5
