# Memory that grows: what wire/block.h and wire/buffer.h have for every writer.

cdef extern from "wire/block.h" nogil:
    ctypedef struct Block:
        uint8_t* p
        size_t room
    int block_room(Block* b, size_t used, size_t n)
    int block_room_tight(Block* b, size_t used, size_t n)
    bint block_full(const Block* b, size_t used, size_t n)
    uint8_t* block_reserve(Block* b, size_t used, size_t n, size_t expected)
    int bytes_add(Block* b, size_t* used, const void* p, size_t n)
    void* items_add(Block* b, size_t* n, size_t width)
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

# Items of one size by number, from 1 on. The first field of an item is a uint32_t: the number of the next one in a
# chain, as those that nobody uses are.
cdef struct Numbered:
    Block items
    uint32_t n
    uint32_t unused

cdef inline uint32_t numbered_new(Numbered* o, size_t width) noexcept nogil:
    """The number of an item, whose bytes are anything; 0: no memory."""
    cdef uint32_t k = o.unused
    cdef size_t used
    if k:
        memcpy(&o.unused, o.items.p + k * width, sizeof(uint32_t))
        return k
    k = max(o.n, <uint32_t>1)
    used = k * width
    if k == MAX_U32 or (used + width > o.items.room and block_room(
            &o.items, min(used, o.items.room), 2 * (used + 16 * width)) < 0):
        return 0
    o.n = k + 1
    return k

cdef inline void numbered_free(Numbered* o, uint32_t first, void* last) noexcept nogil:
    """Nobody uses the items of a chain any more."""
    memcpy(last, &o.unused, sizeof(uint32_t))
    o.unused = first

cdef extern from "wire/buffer.h" nogil:
    ctypedef struct Buffer:
        uint8_t* start
        uint8_t* p              # the end of what was stored
        uint8_t* end
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
