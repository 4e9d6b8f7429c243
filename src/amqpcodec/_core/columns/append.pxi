# What decoders of both families append with, and what they say of a row: the two of them use one
# another's files for nothing else.

# The row that is written to, and its place in a bitmap.
cdef struct RowPlace:
    int64_t row
    int64_t byte
    uint8_t bit


cdef inline RowPlace place_of(int64_t row) noexcept nogil:
    cdef RowPlace at
    at.row = row
    at.byte = row >> 3
    at.bit = <uint8_t>(1 << (row & 7))
    return at


cdef int fast_grow(Table* t, Column* c, int64_t row, size_t n) noexcept nogil:
    """Room for the row, and for n bytes and the slack."""
    cdef int status
    if c.arrow_type == AS_TEXT and c.used + n >= c.full_at:
        status = data_grow(t, c, n)
        if status < 0:
            return status
    if row >= c.rows:
        return column_grow(c, row + 1)
    return 0


cdef inline void fast_text_end(Column* c, RowPlace at, size_t used) noexcept nogil:
    """The bytes are written and there is place for the row: make it one. c is nullable."""
    cdef int32_t[4] fill
    cdef int32_t* ends = <int32_t*>c.fixed.p
    cdef uint8_t* valid = c.valid.p + at.byte
    cdef int64_t filled = c.filled
    cdef int32_t before = <int32_t>c.used
    if AMQP_LIKELY(at.row - filled <= 4):
        fill[0] = fill[1] = fill[2] = fill[3] = before
        memcpy(ends + filled + 1, fill, 16)
    else:
        column_fill(c, at.row)
    c.filled = at.row + 1
    c.used = used
    valid[0] |= at.bit
    ends[at.row + 1] = <int32_t>used


cdef inline int fast_room(Table* t, Column* c, RowPlace at, size_t n) noexcept nogil:
    """Reserve n bytes of data of a column that is no view, and its row. A status below 0."""
    cdef int status
    if AMQP_UNLIKELY(c.used + n >= c.full_at or at.row >= c.rows):
        status = fast_grow(t, c, at.row, n)
        if status < 0:
            return status
    data_promise(c, c.used, n)
    return 0


cdef inline int fast_bytes(Table* t, Column* c, RowPlace at, const uint8_t* p, size_t n) noexcept nogil:
    cdef size_t used = c.used
    cdef int status
    if c.arrow_type == AS_VIEW:
        return append_view(t, c, at.row, p, n)
    status = fast_room(t, c, at, n)
    if status < 0:
        return status
    copy_short(c.data.p + used, p, n)
    fast_text_end(c, at, used + n)
    return 0


cdef inline int fast_text(Table* t, Column* c, RowPlace at, const uint8_t* p, size_t n, uint8_t wire_type,
                          bint is_view) noexcept nogil:
    """Bytes of a type of variable width, checked while they are copied. FALLS_BACK: it cannot hold them."""
    cdef size_t used = c.used
    cdef int status
    if is_view:
        if wire_type != V1_BINARY and AMQP_UNLIKELY(not is_ascii(p, n)) and not v1_can_hold(wire_type, p, n):
            return FALLS_BACK
        return append_view(t, c, at.row, p, n)
    status = fast_room(t, c, at, n)
    if status < 0:
        return status
    if AMQP_UNLIKELY(not copy_ascii(c.data.p + used, p, n)) and not v1_can_hold(wire_type, p, n):
        return FALLS_BACK
    fast_text_end(c, at, used + n)
    return 0


cdef int end_map(Table* t, Column* c, int64_t row, int status) noexcept nogil:
    """Make a row of a map of the entries that were appended since the last one, where that went well."""
    if AMQP_UNLIKELY(c.items.rows > t.limit):
        status = COLUMN_FULL
    if status == 0:
        status = text_end(c, row, <size_t>c.items.rows)
    elif status == COLUMN_FULL:
        t.full = <int>(c - t.column)
    return status


cdef inline void fast_present(Column* c, RowPlace at) noexcept nogil:
    c.filled = at.row + 1
    c.valid.p[at.byte] |= at.bit


cdef inline int fast_i64(Column* c, RowPlace at, int64_t v) noexcept nogil:
    if zeros_before(c, at.row, sizeof(int64_t)) < 0:
        return NO_MEMORY
    fast_present(c, at)
    (<int64_t*>c.fixed.p)[at.row] = v
    return 0


cdef inline int fast_i32(Column* c, RowPlace at, int32_t v) noexcept nogil:
    if zeros_before(c, at.row, sizeof(int32_t)) < 0:
        return NO_MEMORY
    fast_present(c, at)
    (<int32_t*>c.fixed.p)[at.row] = v
    return 0


cdef inline int fast_commit(Table* t, Column* c, RowPlace at, const uint8_t* w) noexcept nogil:
    """Text was written into the data of a column up to w."""
    cdef size_t used = <size_t>(w - c.data.p)
    block_check(&c.data, w)
    if AMQP_UNLIKELY(used > <size_t>t.limit):
        t.full = <int>(c - t.column)
        return COLUMN_FULL
    if c.arrow_type == AS_VIEW:
        used -= c.used
        c.used += used
        return view_end(c, at.row, used)
    if AMQP_UNLIKELY(at.row >= c.rows) and column_grow(c, at.row + 1) < 0:
        return NO_MEMORY
    fast_text_end(c, at, used)
    return 0


cdef inline uint8_t* fast_bool(uint8_t* w, bint v) noexcept nogil:
    if v:
        memcpy(w, <const char*>b"true", 4)
        return w + 4
    memcpy(w, <const char*>b"false", 5)
    return w + 5


cdef void copy_run(uint8_t* to, const uint8_t* from_, size_t n) noexcept nogil:
    """Piece by piece: memcpy does large pieces, and compilers inlined ones, by `rep movs`, which
    takes twice as long where the processor has no fast one."""
    cdef size_t k
    while n:
        k = min(n, <size_t>4096)
        memmove(to, from_, k)
        to += k
        from_ += k
        n -= k


# ---- types of frames ----

# Sixteen bytes each, so that they can be copied as one word.
cdef const char** FRAME_TYPE_NAMES = [
    "method\0\0\0\0\0\0\0\0\0\0", "header\0\0\0\0\0\0\0\0\0\0", "body\0\0\0\0\0\0\0\0\0\0\0\0",
    "heartbeat\0\0\0\0\0\0\0", "protocol-header\0", "amqp\0\0\0\0\0\0\0\0\0\0\0\0",
    "sasl\0\0\0\0\0\0\0\0\0\0\0\0"]
cdef uint8_t* FRAME_TYPE_BYTES = [6, 6, 4, 9, 15, 4, 4]
cdef int8_t[256] TYPE_NUMBERS
cdef int8_t[256] V1_TYPE_NUMBERS    # a heartbeat of 1.0 has the other family's type in an Entry


cdef void type_numbers_ready() noexcept:
    memset(TYPE_NUMBERS, -1, 256)
    TYPE_NUMBERS[FRAME_METHOD] = 0
    TYPE_NUMBERS[FRAME_HEADER] = 1
    TYPE_NUMBERS[FRAME_BODY] = 2
    TYPE_NUMBERS[FRAME_HEARTBEAT] = 3
    TYPE_NUMBERS[<uint8_t>c'A'] = 4
    memset(V1_TYPE_NUMBERS, -1, 256)
    V1_TYPE_NUMBERS[V1_FRAME_AMQP] = 5
    V1_TYPE_NUMBERS[V1_FRAME_SASL] = 6
    V1_TYPE_NUMBERS[FRAME_HEARTBEAT] = 3
    V1_TYPE_NUMBERS[V1_FRAME_HEADER] = 4

type_numbers_ready()


cdef void select_protocol(Sink* s, int k) noexcept nogil:
    """From here on, frames are of the protocol with this number."""
    s.protocol_number = <uint8_t>k
    s.protocol = s.protocol_plan[k]
    s.options.type_numbers = &TYPE_NUMBERS[0] if s.protocol.v1 == NULL else &V1_TYPE_NUMBERS[0]
    s.plan = NULL
    s.steps.n = -1


# ---- headers that were asked for: their types ----

# What one header can be asked for as: its number in `Wanted`, and its format.
cdef enum:
    AS_WANTED_JSON
    AS_WANTED_STRING
    AS_WANTED_LONG
    AS_WANTED_DOUBLE
    AS_WANTED_BOOLEAN
    AS_WANTED_TIMESTAMP
    AS_WANTED_BINARY
    AS_WANTED_DECIMAL

cdef enum:
    DOES_NOT_FIT = 3        # a value of that type is more than the column can hold

cdef extern from "columns/decimal.h" nogil:
    int DECIMAL_MAX_DIGITS
    int WIDE_DECIMAL_MAX_DIGITS
    bint store_decimal_integer(uint8_t* to, int n_bytes, bint negative, const uint8_t* digits, int n,
                               int exponent, int precision, int scale)
    bint store_decimal_text(uint8_t* to, int n_bytes, const uint8_t* p, const uint8_t* end, int precision,
                            int scale)


cdef int append_wanted_integer(Column* c, int64_t row, const Wanted* w, bint negative, uint64_t magnitude,
                               int exponent) noexcept nogil:
    """magnitude * 10**exponent into a column of decimals; DOES_NOT_FIT where it has other digits than those."""
    cdef uint8_t[24] digits
    cdef uint8_t[32] value
    cdef int n = <int>(store_u64(digits, magnitude) - digits)
    if not store_decimal_integer(value, 16 if c.arrow_type == AS_DECIMAL else 32, negative, digits, n, exponent,
                                 w.precision, w.scale):
        return DOES_NOT_FIT
    return append_decimal(c, row, value)


cdef int append_wanted_text(Column* c, int64_t row, const Wanted* w, const uint8_t* p,
                            const uint8_t* end) noexcept nogil:
    """The same of a decimal's text, which may be that of no number."""
    cdef uint8_t[32] value
    if not store_decimal_text(value, 16 if c.arrow_type == AS_DECIMAL else 32, p, end, w.precision, w.scale):
        return DOES_NOT_FIT
    return append_decimal(c, row, value)

# ---- rows that are no frame, and errors ----

# Bytes of captures that are no frame, by the upper byte of their number.
cdef const char** LOST_TEXTS = [
    b"", b"were not captured", b"of a frame whose rest was not captured",
    b"in which no frame was found", b"of a frame larger than frame_max"]


cdef int put_no_frame(Sink* s, const Entry* e) noexcept nogil:
    """Bytes that are no whole frame: BAD_FRAME, and the fault is noted."""
    cdef WireFrame f
    cdef uint64_t at = <uint64_t>(e.start - e.base)
    s.fault.code = OK
    place_begin(&s.fault.at, NULL, NULL)
    if e.lost != 0:
        s.fault.code = BAD_CAPTURE
        s.fault.scope = SCOPE_CONNECTION
        s.fault.what = LOST_TEXTS[e.lost >> 56]
        s.fault.have = e.lost & ((<uint64_t>1 << 56) - 1)
        s.fault.offset = at
        s.fault.in_frame = False
    elif (scan_frame(e.start, e.start + e.total, 0, 0, at, &f, &s.fault) if s.protocol.v1 == NULL else
          v1_scan(e.start, e.start + e.total, 0, at, &f, &s.fault)) == SCAN_MORE:
        s.fault.code = BAD_INCOMPLETE
        s.fault.scope = SCOPE_CONNECTION
        s.fault.what = b"a frame"
        s.fault.have = e.total
        s.fault.offset = at
        s.fault.in_frame = not e.no_channel
        s.fault.frame_type = e.type
        s.fault.channel = e.channel
    return BAD_FRAME


cdef int v1_error_text(Sink* s, char* text) noexcept nogil:
    """The specification's error condition, where there is one, and what is wrong."""
    cdef const char* condition = FAULT_KINDS[s.fault.code].condition
    cdef int n = 0
    if condition != NULL:
        n = snprintf(text, FAULT_TEXT_SIZE, b"%s: ", condition)
    return n + fault_text(&s.fault, True, text + n, <size_t>(FAULT_TEXT_SIZE - n))


cdef int put_bad_row(Sink* s, int64_t row) noexcept nogil:
    """A row whose fault is noted, as the mode says: 0, 1 where it is dropped, or a status below 0."""
    cdef char[FAULT_TEXT_SIZE] text
    cdef int n
    cdef int status = 0
    if s.options.mode == FAILFAST:
        return FAILED
    if s.options.mode == DROPMALFORMED:
        table_rewind(s.table, 0, s.table.n, row)
        return 1
    if s.asked[COL_ERROR] != NULL:
        n = fault_text(&s.fault, False, text, FAULT_TEXT_SIZE) if s.protocol.v1 == NULL else v1_error_text(s, text)
        status = append_bytes(s.table, s.asked[COL_ERROR], row, text, <size_t>n)
    if status == 0 and s.asked[COL_ERROR_OFFSET] != NULL:
        status = append_i64(s.asked[COL_ERROR_OFFSET], row, <int64_t>s.fault.offset)
    return status


cdef int tell_progress(Sink* s) noexcept with gil:
    cdef list progress = <list>s.input.progress
    s.input.told = s.input.done + TOLD_EVERY
    try:
        progress[0](s.input.done, s.input.total)
    except BaseException as error:
        progress.append(error)
        return STOPPED
    return 0


cdef inline int advance_progress(Sink* s, uint64_t seen) noexcept nogil:
    """A block of rows is made. seen: bytes of input up to here. A status below 0, or 0."""
    s.input.done = seen
    if AMQP_UNLIKELY(s.input.progress != NULL and seen >= s.input.told):
        return tell_progress(s)
    return 0


cdef enum:
    SIZE_UNIT = 1 << 12             # sizes are told in so many parts of the input's
    SIZE_MOST = 1 << 20
    SIZE_LEAST = 1 << 16            # bytes of input that say something of the next one


cdef void guess_sizes(Sink* s, int n, uint64_t seen) noexcept nogil:
    """How large the columns will be in the end, from what they are so far: where they grow, they
    need not grow again. seen: bytes of input up to the end of the block."""
    cdef int i
    cdef long known
    cdef Column* c
    cdef int64_t rows = s.rows + n
    cdef double n_bytes = 0, n_first
    cdef double most = min(2.0 * <double>s.input.total + 65536.0, <double>s.table.limit)
    if 0 < seen < s.input.total:
        rows = <int64_t>(<double>rows * (<double>s.input.total / <double>seen) * 1.07) + 64
        rows = min(rows, s.rows + n + <int64_t>(s.input.total - seen))
    if s.input.done:
        n_bytes = <double>s.input.total / <double>s.input.done * 1.07
    for i in range(s.table.n):
        c = &s.table.column[i]
        c.row_hint = rows
        # At first, a third of the input, which may be bodies alone: memory that is not written to costs nothing.
        n_first = <double>s.input.total
        if c != s.asked[COL_PAYLOAD] and c != s.asked[COL_BODY]:
            n_first /= 3
        known = atomic_get_(&s.columns.sizes[i])
        if known:
            n_first = <double>s.input.total * known / SIZE_UNIT * 1.07 + 64
        c.data_hint = <size_t>min(<double>c.used * n_bytes if s.input.done else n_first, most)


cdef void update_sizes(const Sink* s) noexcept nogil:
    """How large the columns became, for a guess at those of the next input."""
    cdef double share
    cdef int i
    if s.input.total < SIZE_LEAST:
        return
    for i in range(s.table.n):
        share = <double>s.table.column[i].used / <double>s.input.total * SIZE_UNIT
        atomic_set_(&s.columns.sizes[i], 1 + <long>min(share, <double>SIZE_MOST))
