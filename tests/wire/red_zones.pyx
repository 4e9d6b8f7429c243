# cython: language_level=3
# Stores into growing memory of the core, wherever it comes from, by its own functions: within what
# was reserved, and one byte after it. test_red_zones_unit.py compiles this against a sanitized core.

from libc.stdint cimport uint8_t
from libc.string cimport memset
from amqpcodec._codec cimport (
    Block, block_give, Buffer, buffer_commit, buffer_ensure, buffer_extend, buffer_free, buffer_in_block,
    buffer_init, buffer_reserve,
)
from amqpcodec._columns cimport AS_TEXT, data_begin, data_room, SLACK, Table, table_drop, table_new


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


cdef object in_block(size_t before, size_t n, size_t past):
    """A Buffer in a block: `before` bytes reserved, or none, then n; these and `past` more stored."""
    cdef Block memory
    cdef Buffer b
    memset(&memory, 0, sizeof(memory))
    buffer_in_block(&b, &memory, 0)
    assert before == 0 or buffer_ensure(&b, before) == 0
    assert buffer_ensure(&b, n) == 0
    memset(b.p, 1, n + past)
    block_give(&memory)


def block(size_t past):
    """A Buffer in a block, at its end."""
    in_block(0, 100, past)


def block_inside(size_t past):
    """A Buffer in a block, with room after what was reserved."""
    in_block(100, 8, past)


def block_first(size_t past):
    """A Buffer in the data of a column, of which nothing was reserved."""
    cdef Buffer b
    cdef Table* t = table_new(1, 1 << 30)
    assert t != NULL
    t.column[0].arrow_type = AS_TEXT
    assert data_begin(&b, &t.column[0]) == 0
    memset(b.p, 1, past)
    table_drop(t)


def column(size_t past):
    """Data of a column, with room after what was reserved."""
    cdef Table* t = table_new(1, 1 << 30)
    assert t != NULL
    t.column[0].arrow_type = AS_TEXT
    assert data_room(t, &t.column[0], 100) == 0 and data_room(t, &t.column[0], 8) == 0
    memset(t.column[0].data.p, 1, 8 + SLACK + past)
    table_drop(t)
