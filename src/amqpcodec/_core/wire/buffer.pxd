# Memory that grows: what wire/block.h and wire/buffer.h have for every writer.

cdef extern from "wire/block.h" nogil:
    ctypedef struct Block:
        uint8_t* p
        size_t room
    int block_room(Block* b, size_t used, size_t n)
    int block_room_tight(Block* b, size_t used, size_t n)
    void block_promise(Block* b, uint8_t* at, size_t n)
    void block_check(Block* b, uint8_t* at)
    void block_give(Block* b)
    size_t pool_bytes()
    size_t pool_set_limit(size_t limit)
    ctypedef struct Pool:
        pass
    Pool* pool_place()
    void pool_use(Pool* place)
    void pool_clear()

cdef enum:
    NO_MEMORY = -1

cdef extern from "wire/buffer.h" nogil:
    ctypedef struct Buffer:
        uint8_t* start
        uint8_t* p              # the end of what was stored
    void buffer_init(Buffer* b, uint8_t* memory, size_t n)
    void buffer_in_block(Buffer* b, Block* block, size_t used)
    void buffer_free(Buffer* b)
    size_t buffer_size(const Buffer* b)
    int buffer_ensure(Buffer* b, size_t most)
    void buffer_commit(Buffer* b, uint8_t* w)
    void buffer_truncate(Buffer* b, size_t size)
    int buffer_put(Buffer* b, const void* p, size_t n)
    int buffer_put_byte(Buffer* b, uint8_t byte)
    int buffer_put_int(Buffer* b, uint8_t tag, uint64_t v, int width)
    int buffer_leave(Buffer* b, size_t n)

cdef extern from "wire/buffer.h":
    uint8_t* buffer_reserve(Buffer* b, size_t most) except NULL
    uint8_t* buffer_extend(Buffer* b, size_t n) except NULL
    bytes buffer_bytes(Buffer* b)

# What is written in one step, with the GIL.

cdef inline int put_bytes(Buffer* b, const void* p, size_t n) except -1:
    memcpy(buffer_extend(b, n), p, n)
    return 0

cdef inline int put_byte(Buffer* b, uint8_t byte) except -1:
    buffer_extend(b, 1)[0] = byte
    return 0

cdef inline int put_int(Buffer* b, uint8_t tag, uint64_t v, int width) except -1:
    """The tag, and an int of this many bytes after it."""
    cdef uint8_t* w = buffer_extend(b, 1 + <size_t>width)
    w[0] = tag
    store_uint(w + 1, v, width)
    return 0
