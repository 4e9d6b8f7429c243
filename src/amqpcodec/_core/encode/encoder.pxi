# What every encode works with, both families: the columns that both have, room in the output, and
# the end of a row, well or refused.

cdef struct V1Encode

# Columns that go in, or NULL.
cdef struct RowSources:
    const Source* root
    const Source* channel
    const Source* method
    const Source* arguments
    const Source* properties_json
    const Source* body
    const Source* error
    const Source** argument
    int n_arguments
    const PropertySource* properties
    int n_properties
    const HeaderSource* header
    int n_headers

# The protocol, and which columns each of its methods has.
cdef struct MethodTable:
    MethodSources* methods
    const int16_t* name_slot
    uint32_t name_mask
    const Desc* descs
    Desc** contents
    int n_contents
    const Desc* publish     # of rows where there is no column `method`, or NULL

# All that an encode works with.
cdef struct Encoder:
    Table* table
    Column* out             # of messages
    Column* errors
    RowSources sources
    MethodTable protocol
    const Desc* desc        # the newest method
    int class_at            # its class among `contents`
    uint16_t number         # of the row's channel
    uint16_t default_channel       # where the row says none
    uint64_t frame_max      # 0: no limit
    V1Encode* v1            # of AMQP 1.0, or NULL
    uintptr_t mode          # dialect
    bint fail_fast
    int64_t rows            # done so far
    int64_t total           # rows that there are, as far as is known
    int64_t refused
    Fault fault
    bint fast               # try the fast path
    FastPlan* fast_plan      # or NULL
    int64_t fast_rows        # that took the fast path
    Buffer scratch          # tables and texts of JSON
    Block memory            # of scratch
    AmqpValue[MAX_FIELDS] v
    AmqpValue[MAX_FIELDS] w
    size_t[MAX_FIELDS] kept     # the value's bytes lie in scratch, at this less 1; or 0


cdef inline int place_refusal(Encoder* e, const Desc* d, int k, const char* column) noexcept nogil:
    """Say where it was. k: of a field, or -1."""
    place_begin(&e.fault.at, d.name if d != NULL else NULL, d.field[k] if d != NULL and k >= 0 else NULL)
    e.fault.column = column
    return REFUSED


# ---- the output ----

cdef int out_room(Encoder* e, uint64_t n) noexcept nogil:
    """Reserve n bytes of messages."""
    if AMQP_UNLIKELY(e.out.used + n >= e.out.full_at):
        if n > <uint64_t>e.table.limit:
            e.table.full = 0
            return COLUMN_FULL
        return data_grow(e.table, e.out, <size_t>n)
    data_promise(e.out, e.out.used, <size_t>n)
    return 0


cdef inline void memset_i32(int32_t* p, int32_t v, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        p[i] = v


cdef int commit_row(Encoder* e, int64_t row) noexcept nogil:
    """Make a value of what was written since the last one."""
    cdef Column* c = e.out
    row += e.rows
    if c.used > <size_t>e.table.limit:
        e.table.full = 0
        return COLUMN_FULL
    if row >= c.rows and column_grow(c, row + 1) < 0:
        return NO_MEMORY
    if c.filled < row:
        # nulls: they end where the last value does
        memset_i32(<int32_t*>c.fixed.p + c.filled + 1, (<int32_t*>c.fixed.p)[c.filled],
                   row - c.filled)
    now_present(c, row)
    (<int32_t*>c.fixed.p)[row + 1] = <int32_t>c.used
    return 0


cdef int refuse_row(Encoder* e, int64_t row) noexcept nogil:
    """A row of the output for one that cannot be encoded."""
    cdef char[FAULT_TEXT_SIZE] text
    cdef int n
    e.refused += 1
    n = fault_text(&e.fault, False, text, FAULT_TEXT_SIZE)
    return append_bytes(e.table, e.errors, e.rows + row, text, <size_t>n)


cdef inline void guess_size(Encoder* e, size_t used, int64_t rows) noexcept nogil:
    """How large the messages will be in the end, from what so many are."""
    cdef Column* c = e.out
    if c.data_hint == 0 or rows & (rows - 1) == 0:
        c.row_hint = min(e.total, e.table.limit // 8)      # a frame takes 8 bytes; an array may claim any length
        c.data_hint = <size_t>min(<double>used / <double>rows * 1.07 * <double>e.total + 65536.0,
                                  <double>e.table.limit)


# ---- the loop ----

# All frames of a row after what is there: 0, REFUSED (and nothing is written) or worse.
ctypedef int (*RowWriter)(Encoder* e, int64_t row) noexcept nogil


cdef int encode_rows(Encoder* e, RowWriter write_row, int64_t first, int64_t n) noexcept nogil:
    """Rows of the array at hand, one by one."""
    cdef int64_t row
    cdef int status
    for row in range(first, first + n):
        if not is_valid(e.sources.root, row):
            continue
        status = write_row(e, row)
        if status == 0:
            status = commit_row(e, row)
        elif status == REFUSED:
            if e.fail_fast:
                e.rows += row
                return FAILED
            status = refuse_row(e, row)
        if status < 0:
            return status
    guess_size(e, e.out.used, e.rows + first + n)
    return 0


# ---- columns of both families ----

cdef int refuse_broken(Encoder* e, int64_t row) noexcept nogil:
    """A row that says that it is broken is not encoded."""
    cdef const Source* s = e.sources.error
    cdef int64_t i = row
    cdef int status
    place_refusal(e, NULL, -1, NULL)
    if s != NULL:
        status = find_value(&s, &i)
        if status < 0:
            return status
        if status == HAS_VALUE:
            place_refusal(e, NULL, -1, e.sources.error.name)
            return refuse(&e.fault, b"the row came with an error", NULL, 0)
    return 0


cdef int read_name(Encoder* e, const Source* s, int64_t row, const char* absent, const uint8_t** p,
                   uint64_t* n) noexcept nogil:
    """The text that names what the row is. absent: why a row without it is refused."""
    cdef int status
    place_refusal(e, NULL, -1, s.name)
    status = find_value(&s, &row)
    if status < 0:
        return status
    if status == NO_VALUE:
        return refuse(&e.fault, absent, NULL, 0)
    if not is_bytes(s):
        return refuse(&e.fault, b"takes text, not %s", s.type, 0)
    return BAD_OFFSETS if bytes_at(s, row, p, n) < 0 else 0


cdef int read_channel(Encoder* e, int64_t row, uint16_t* out) noexcept nogil:
    cdef const Source* s = e.sources.channel
    cdef int64_t i = row, v
    cdef int status
    out[0] = e.default_channel
    if s == NULL:
        return 0
    status = find_value(&s, &i)
    if status != HAS_VALUE:
        return status
    place_refusal(e, NULL, -1, e.sources.channel.name)
    if not is_integer(s):
        return refuse(&e.fault, b"takes integers, not %s", s.type, 0)
    v = signed_at(s.input_type, s.data, s.at + i)
    if v < 0 or v > 0xFFFF:
        return refuse(&e.fault, b"takes 0 to %llu", NULL, 0xFFFF)
    out[0] = <uint16_t>v
    return 0
