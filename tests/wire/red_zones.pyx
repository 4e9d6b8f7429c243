# cython: language_level=3
# Stores into each kind of growing memory of the core, by its own functions: within what was
# reserved, and one byte after it. test_red_zones_unit.py compiles this against a sanitized core.

from libc.stdint cimport uint8_t
from libc.string cimport memset
from amqpcodec._codec cimport Buffer, buffer_commit, buffer_extend, buffer_free, buffer_init, buffer_reserve
from amqpcodec._columns cimport (
    AS_TEXT, Block, block_give, data_room, SLACK, Table, table_drop, table_new, Text, text_room,
)


def stack(size_t past):
    """A Buffer on the stack, with room after what was reserved."""
    cdef Buffer b
    cdef uint8_t memory[64]
    buffer_init(&b, memory, sizeof(memory))
    try:
        memset(buffer_extend(&b, 8), 1, 8 + past)
    finally:
        buffer_free(&b)


def stack_first(size_t past):
    """A Buffer of which nothing was reserved."""
    cdef Buffer b
    cdef uint8_t memory[64]
    buffer_init(&b, memory, sizeof(memory))
    try:
        memset(b.p, 1, past)
    finally:
        buffer_free(&b)


def heap(size_t past):
    """A Buffer that had to grow, and has room after what was reserved."""
    cdef Buffer b
    cdef uint8_t memory[64]
    buffer_init(&b, memory, sizeof(memory))
    try:
        buffer_extend(&b, 60)
        memset(buffer_extend(&b, 8), 1, 8 + past)
    finally:
        buffer_free(&b)


def committed(size_t past):
    """A Buffer of which fewer bytes were stored than reserved, and then fewer reserved."""
    cdef Buffer b
    cdef uint8_t memory[64]
    buffer_init(&b, memory, sizeof(memory))
    try:
        buffer_commit(&b, buffer_reserve(&b, 32) + 4)
        memset(buffer_extend(&b, 8), 1, 8 + past)
    finally:
        buffer_free(&b)


def text(size_t past):
    """A Text, at the end of its block."""
    cdef Block block
    cdef Text t
    memset(&block, 0, sizeof(block))
    memset(&t, 0, sizeof(t))
    t.block = &block
    assert text_room(&t, 100) == 0
    memset(t.w, 1, 100 + past)
    block_give(&block)


def text_inside(size_t past):
    """A Text, with room after what was reserved."""
    cdef Block block
    cdef Text t
    memset(&block, 0, sizeof(block))
    memset(&t, 0, sizeof(t))
    t.block = &block
    assert text_room(&t, 100) == 0 and text_room(&t, 8) == 0
    memset(t.w, 1, 8 + past)
    block_give(&block)


def column(size_t past):
    """Data of a column, with room after what was reserved."""
    cdef Table* t = table_new(1, 1 << 30)
    assert t != NULL
    t.column[0].arrow_type = AS_TEXT
    assert data_room(t, &t.column[0], 100) == 0 and data_room(t, &t.column[0], 8) == 0
    memset(t.column[0].data.p, 1, 8 + SLACK + past)
    table_drop(t)
