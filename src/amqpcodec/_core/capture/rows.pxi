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
    int32_t n
    uint64_t batch          # changes when they start anew
    Block block


cdef inline int64_t to_us(int64_t ns) noexcept nogil:
    """Rounded down."""
    cdef int64_t us = ns // 1000
    return us - 1 if ns < us * 1000 else us


cdef inline bint is_row_before(const CapRow* a, const CapRow* b) noexcept nogil:
    return a.order_turn < b.order_turn or (a.order_turn == b.order_turn and a.order_position < b.order_position)


cdef int more_rows(CapRows* o, int64_t n, size_t size) noexcept nogil:
    """Room for n more rows with so many bytes in all."""
    cdef size_t have = <size_t>o.n, all_ = <size_t>(o.n + n), want
    if o.data.room < o.used + size + 16:
        want = max(o.used + o.used // 2, o.used + size + 16, o.hint)
        want = max(want, min(4 * o.used, <size_t>BATCH_BYTES + BATCH_BYTES // 4))
        if block_room(&o.data, o.used, want) < 0:
            return NO_MEMORY
    if o.room >= o.n + n:
        return 0
    want = max(2 * all_ + 128, <size_t>o.rows_hint)
    if block_room(&o.end, 8 * (have + 1) if have else 0, 8 * (want + 1)) < 0:
        return NO_MEMORY
    (<int64_t*>o.end.p)[0] = 0
    if block_room(&o.lost, 8 * have, 8 * want) < 0:
        return NO_MEMORY
    if block_room(&o.row, have * sizeof(CapRow), want * sizeof(CapRow)) < 0:
        return NO_MEMORY
    o.room = <int64_t>min(min(o.end.room // 8 - 1, o.lost.room // 8), o.row.room // sizeof(CapRow))
    return 0


cdef inline CapRow* next_row(CapRows* o, size_t size) noexcept nogil:
    """Where the next row is to be described, of so many bytes, which there is room for; or NULL."""
    if AMQP_UNLIKELY(o.n >= o.room or o.data.room < o.used + size + 16):
        if more_rows(o, 1, size) < 0:
            return NULL
    return <CapRow*>o.row.p + o.n


cdef int32_t add_info(CapInfos* o, const CapInfo* info) noexcept nogil:
    """Note a connection for this batch; its index, or NO_MEMORY."""
    cdef size_t n = <size_t>o.n
    if o.block.room < (n + 1) * sizeof(CapInfo):
        if block_room(&o.block, n * sizeof(CapInfo), (2 * n + 64) * sizeof(CapInfo)) < 0:
            return NO_MEMORY
    memcpy(<CapInfo*>o.block.p + n, info, sizeof(CapInfo))
    o.n += 1
    return <int32_t>n


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
