# Rows of a capture that wait for their batch: bytes, and where and when they were sent.

# What a row is that is no frame, in the upper byte of a number; the lower ones count bytes.
# The order is that of LOST_TEXTS; 0: decoding tells.
cdef enum:
    LOST_GAP = 1
    LOST_CUT
    LOST_NONE
    LOST_LARGE

# What happened to a row. The order is that of CAPTURE_FLAG_NAMES.
cdef enum:
    CAPTURED_GAP = 1        # bytes before it, or all of it, were not captured
    CAPTURED_RESYNC = 2     # the first frame that was found by looking for one
    CAPTURED_TRUNCATED = 4  # a part of a frame, or bytes that are none
    CAPTURED_MIDSTREAM = 8  # the first of a direction whose beginning was not captured
    CAPTURED_OVERSIZE = 16  # larger than its receiver takes: 1.0's max-frame-size
    CAPTURED_LATE = 32      # a later one went out before it
    N_CAPTURED_FLAGS = 6

cdef enum:
    BATCH_BYTES = 1 << 22           # of frames that wait for a batch, more or less
    ROW_SLACK = 16                  # bytes after the newest row that may be read
    ROWS_FIRST = 4096               # bytes of the first rows

cdef const char** CAPTURE_FLAG_NAMES = ["gap", "resync", "truncated", "midstream", "oversize", "late"]

# Whom a proxy speaks for: see proxy.pxi.
cdef struct Peer:
    uint8_t form
    uint8_t n               # bytes of the address
    uint8_t[40] address
    uint16_t port

# A connection as rows tell of it.
cdef struct CapInfo:
    uint64_t id
    int32_t index
    uint8_t family
    Endpoint client
    Endpoint server
    Peer peer

cdef struct CapRow:
    int32_t info
    uint8_t server          # the sender
    uint8_t flags
    uint8_t version         # number of the protocol
    int32_t position
    int32_t file            # slot of its name
    int32_t order_position  # where it stands among all rows: see place_in_turn
    uint64_t order_turn
    int64_t first_time
    int64_t last_time
    uint64_t packet_at
    uint64_t packet

cdef struct CapRows:
    int64_t first           # rows before it went out
    int64_t n
    int64_t ready           # the first ones, whose place is known: see order.pxi
    int64_t sorted          # with those that are in order after them
    bint disordered         # the rows after those are not
    int64_t room            # rows that `end`, `lost` and `row` have room for
    size_t used
    size_t hint             # bytes that there may be
    int64_t rows_hint       # and rows
    uint8_t versions        # of all rows, or'ed
    Block data
    Block end               # int64, one more than rows
    Block lost              # uint64, see LOST_OCTETS
    Block row

# The connections that rows tell of, by number.
cdef struct CapInfos:
    size_t n
    uint64_t batch          # changes when they start anew
    Block block


cdef inline bint is_row_before(const CapRow* a, const CapRow* b) noexcept nogil:
    return a.order_turn < b.order_turn or (a.order_turn == b.order_turn and a.order_position < b.order_position)


cdef inline uint8_t* reserve_bytes(CapRows* o, size_t size) noexcept nogil:
    """Reserve the bytes of the next rows: their place, or NULL."""
    return block_reserve(&o.data, o.used, size + ROW_SLACK,
                         max(o.hint, min(4 * o.used + ROWS_FIRST, <size_t>BATCH_BYTES + BATCH_BYTES // 4)))


cdef int more_rows(CapRows* o, int64_t n) noexcept nogil:
    """Reserve what describes the next n rows; `room` is how many have it already."""
    cdef size_t have = <size_t>o.n, more = <size_t>n, expected = max(2 * (have + more) + 128, <size_t>o.rows_hint)
    if o.end.p == NULL and block_room(&o.end, 0, sizeof(int64_t)) < 0:
        return NO_MEMORY
    (<int64_t*>o.end.p)[0] = 0
    if (block_reserve(&o.end, 8 * (have + 1), 8 * more, 8 * (expected + 1)) == NULL
            or block_reserve(&o.lost, 8 * have, 8 * more, 8 * expected) == NULL
            or block_reserve(&o.row, have * sizeof(CapRow), more * sizeof(CapRow), expected * sizeof(CapRow)) == NULL):
        return NO_MEMORY
    o.room = <int64_t>min(min(o.end.room // 8 - 1, o.lost.room // 8), o.row.room // sizeof(CapRow))
    return 0


cdef int reserve_rows(CapRows* o, int64_t n, size_t size) noexcept nogil:
    """Reserve the next n rows, with so many bytes in all."""
    return NO_MEMORY if reserve_bytes(o, size) == NULL else more_rows(o, n)


cdef inline CapRow* next_row(CapRows* o) noexcept nogil:
    """Reserve what describes the next row: the place, or NULL. close_row() ends it."""
    cdef size_t n = <size_t>o.n
    if AMQP_UNLIKELY(o.n >= o.room) and more_rows(o, 1) < 0:
        return NULL
    block_promise(&o.end, o.end.p + 8 * (n + 1), 8)
    block_promise(&o.lost, o.lost.p + 8 * n, 8)
    block_promise(&o.row, <uint8_t*>(<CapRow*>o.row.p + n), sizeof(CapRow))
    return <CapRow*>o.row.p + n


cdef int32_t add_info(CapInfos* o, const CapInfo* info) noexcept nogil:
    """Note a connection for this batch; its index, or NO_MEMORY."""
    cdef CapInfo* own = <CapInfo*>items_add(&o.block, &o.n, sizeof(CapInfo))
    if own == NULL:
        return NO_MEMORY
    own[0] = info[0]
    return <int32_t>o.n - 1


cdef inline size_t hint_after(const CapRows* o) noexcept nogil:
    """Bytes that the next rows may have. It falls slowly: a block that is too small is copied, and its
    successor's pages are fresh."""
    return max(o.used + o.used // 16, o.hint - o.hint // 64)


cdef void rows_clear(CapRows* o) noexcept nogil:
    o.first = 0
    o.n = 0
    o.ready = 0
    o.sorted = 0
    o.disordered = False
    o.hint = hint_after(o)
    o.used = 0
    o.versions = 0


cdef void rows_free(CapRows* o) noexcept nogil:
    block_give(&o.data)
    block_give(&o.end)
    block_give(&o.lost)
    block_give(&o.row)
