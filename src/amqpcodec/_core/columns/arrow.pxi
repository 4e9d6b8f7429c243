# Arrow columns: growable ones to append to, and the memory that they and their text lie in.

from libc.string cimport memmove

cdef extern from "columns/view.h" nogil:
    int VIEW_INLINE
    void store_long_view(uint8_t* w, const uint8_t* p, uint32_t n, uint32_t buffer, uint32_t at)
    void store_short_view(uint8_t* w, const uint8_t* p, uint32_t n)
    void store_view(uint8_t* w, const uint8_t* p, size_t n, uint32_t buffer, uint32_t at)
    bint store_text_view(uint8_t* w, const uint8_t* p, size_t n, uint32_t buffer, uint32_t at)

cdef extern from "Python.h":
    bint Py_IsInitialized() nogil
    const char* PyUnicode_AsUTF8AndSize(object s, Py_ssize_t* n) except NULL

# What a table becomes.
cdef enum:
    FORM_JSON
    FORM_VARIANT            # a struct of two columns that are never null by themselves
    FORM_MAP

cdef Table* table_new(int n, int64_t limit) noexcept nogil:
    cdef Table* t = <Table*>calloc(1, sizeof(Table))
    if t == NULL:
        return NULL
    t.column = <Column*>calloc(<size_t>max(n, 1), sizeof(Column))
    if t.column == NULL:
        free(t)
        return NULL
    t.refs = 1
    t.n = n
    t.limit = limit
    t.shift = 30
    while t.shift > 4 and (<int64_t>1 << t.shift) > limit:
        t.shift -= 1        # tests lower the limit
    return t


cdef void table_drop(Table* t) noexcept nogil:
    """Give up a reference; with the last one the memory goes back to the pool. Any thread may."""
    cdef int i
    if t == NULL or atomic_add_(&t.refs, -1) > 0:
        return
    for i in range(t.n):
        block_give(&t.column[i].valid)
        block_give(&t.column[i].fixed)
        block_give(&t.column[i].data)
        table_drop(t.column[i].items)
    block_give(&t.more_zeros)
    block_give(&t.input)
    if t.owner != NULL and Py_IsInitialized():
        with gil:
            Py_DecRef(t.owner)
    free(t.column)
    free(t)


# ---- appending ----

cdef inline size_t fixed_room(const Column* c, int64_t rows) noexcept nogil:
    """Bytes that `fixed` takes for so many rows."""
    if c.arrow_type == AS_INT64:
        return 8 * <size_t>rows
    if c.arrow_type == AS_VIEW or c.arrow_type == AS_DECIMAL:
        return 16 * <size_t>rows
    if c.arrow_type == AS_WIDE_DECIMAL:
        return 32 * <size_t>rows
    if c.arrow_type == AS_BOOL:
        return (<size_t>rows + 7) // 8
    if c.arrow_type == AS_STRUCT:
        return 0
    return 4 * (<size_t>rows + (c.arrow_type == AS_TEXT))


cdef int column_grow(Column* c, int64_t rows) noexcept nogil:
    """Make place for so many rows."""
    cdef size_t used = (<size_t>c.rows + 7) // 8
    cdef size_t need
    cdef int64_t want = max(rows, 2 * c.rows, c.row_hint, <int64_t>ROWS_FIRST)
    if c.arrow_type != AS_STRUCT:
        if block_room(&c.fixed, fixed_room(c, c.rows) if c.rows else 0,
                      fixed_room(c, want) + SLACK) < 0:
            return NO_MEMORY
    # Use what the block has, rather than what was asked for.
    if c.arrow_type == AS_INT64:
        want = <int64_t>((c.fixed.room - SLACK) // 8)
    elif c.arrow_type == AS_VIEW or c.arrow_type == AS_DECIMAL:
        want = <int64_t>((c.fixed.room - SLACK) // 16)
    elif c.arrow_type == AS_WIDE_DECIMAL:
        want = <int64_t>((c.fixed.room - SLACK) // 32)
    elif c.arrow_type == AS_INT32 or c.arrow_type == AS_TEXT:
        want = <int64_t>((c.fixed.room - SLACK) // 4) - (c.arrow_type == AS_TEXT)
    elif c.arrow_type == AS_BOOL:
        memset(c.fixed.p + used, 0, c.fixed.room - used)
    if c.arrow_type == AS_TEXT and c.rows == 0:
        (<int32_t*>c.fixed.p)[0] = 0
    if c.nullable:
        need = (<size_t>want + 7) // 8
        if block_room(&c.valid, used, need) < 0:
            return NO_MEMORY
        memset(c.valid.p + used, 0, need - used)
    c.rows = want
    return 0


cdef void column_fill(Column* c, int64_t row) noexcept nogil:
    """Nulls up to this row, for which there is place."""
    cdef int64_t i
    cdef int32_t* offsets
    if c.arrow_type == AS_TEXT:
        offsets = <int32_t*>c.fixed.p
        for i in range(c.filled, row):
            offsets[i + 1] = <int32_t>c.used
    elif c.arrow_type == AS_INT64:
        memset(c.fixed.p + 8 * c.filled, 0, <size_t>(8 * (row - c.filled)))
    elif c.arrow_type == AS_INT32:
        memset(c.fixed.p + 4 * c.filled, 0, <size_t>(4 * (row - c.filled)))
    elif c.arrow_type == AS_VIEW or c.arrow_type == AS_DECIMAL:
        memset(c.fixed.p + 16 * c.filled, 0, <size_t>(16 * (row - c.filled)))
    elif c.arrow_type == AS_WIDE_DECIMAL:
        memset(c.fixed.p + 32 * c.filled, 0, <size_t>(32 * (row - c.filled)))
    c.filled = row


cdef inline int column_at(Column* c, int64_t row) noexcept nogil:
    """Stand at a row that was not written yet, and call it present; the caller writes the value."""
    if AMQP_UNLIKELY(row >= c.rows):
        if column_grow(c, row + 1) < 0:
            return NO_MEMORY
    if c.filled < row:
        column_fill(c, row)
    now_present(c, row)
    return 0


# The next three do the same, each for its kind: a gap of a few rows is one write, also over the row
# itself and, within the slack, after it.


cdef inline int text_end(Column* c, int64_t row, size_t used) noexcept nogil:
    """The data, or items, up to `used` are there: make a row of those that no row has."""
    cdef int32_t[4] fill
    if AMQP_UNLIKELY(row >= c.rows):
        if column_grow(c, row + 1) < 0:
            return NO_MEMORY
    if AMQP_LIKELY(row - c.filled <= 4):
        fill[0] = fill[1] = fill[2] = fill[3] = <int32_t>c.used
        memcpy(<int32_t*>c.fixed.p + c.filled + 1, fill, 16)
    else:
        column_fill(c, row)
    now_present(c, row)
    c.used = used
    (<int32_t*>c.fixed.p)[row + 1] = <int32_t>used
    return 0


cdef int append_bool(Column* c, int64_t row, bint v) noexcept nogil:
    if column_at(c, row) < 0:
        return NO_MEMORY
    if v:
        c.fixed.p[row >> 3] |= <uint8_t>(1 << (row & 7))
    return 0


cdef int append_decimal(Column* c, int64_t row, const uint8_t* value) noexcept nogil:
    """value: 16 or 32 bytes, as many as a row of the column has."""
    cdef size_t n = 16 if c.arrow_type == AS_DECIMAL else 32
    if column_at(c, row) < 0:
        return NO_MEMORY
    memcpy(c.fixed.p + n * <size_t>row, value, n)
    return 0


cdef int mark_rows(Column* c, int64_t row, int64_t n) noexcept nogil:
    """Call n rows present that the caller writes; there is place for them, and no gap. 0."""
    cdef int64_t end = row + n
    c.filled = end
    if not c.nullable:
        return 0
    while row < end and row & 7:
        c.valid.p[row >> 3] |= <uint8_t>(1 << (row & 7))
        row += 1
    if end - row >= 8:
        memset(c.valid.p + (row >> 3), 0xFF, <size_t>((end - row) >> 3))
        row += (end - row) & ~<int64_t>7
    if row < end:
        c.valid.p[row >> 3] |= <uint8_t>((1 << (end - row)) - 1)
    return 0


cdef int data_grow(Table* t, Column* c, size_t n) noexcept nogil:
    """Reserve n bytes of data, wherever the room for them comes from."""
    if n > <size_t>t.limit or c.used > <size_t>t.limit - n:
        t.full = <int>(c - t.column)
        return COLUMN_FULL
    if block_reserve(&c.data, c.used, n + SLACK, max(2 * c.data.room, c.data_hint, <size_t>DATA_FIRST)) == NULL:
        return NO_MEMORY
    c.full_at = min(c.data.room - SLACK, <size_t>t.limit)
    return 0


cdef int append_view(Table* t, Column* c, int64_t row, const uint8_t* p, size_t n) noexcept nogil:
    """Bytes as a view: in the view itself, of the input, or else of a copy."""
    cdef uint64_t at
    cdef int status
    if n > <size_t>VIEW_INLINE and (t.base == NULL or p < t.base or p >= t.base + t.base_n):
        status = data_room(t, c, n)
        if status < 0:
            return status
        copy_bytes(c.data.p + c.used, p, n)
        c.used += n
        return view_end(c, row, n)
    if column_at(c, row) < 0:
        return NO_MEMORY
    if n <= <size_t>VIEW_INLINE:
        store_short_view(c.fixed.p + 16 * row, p, <uint32_t>n)
        return 0
    if AMQP_UNLIKELY(n > <size_t>0x7FFFFFFF):
        t.full = <int>(c - t.column)
        return COLUMN_FULL
    t.referred = True
    at = <uint64_t>(p - t.base)
    store_long_view(c.fixed.p + 16 * row, p, <uint32_t>n, 1 + <uint32_t>(at >> t.shift),
                    <uint32_t>(at & ((<uint64_t>1 << t.shift) - 1)))
    return 0


cdef int view_end(Column* c, int64_t row, size_t n) noexcept nogil:
    """The newest n bytes of data are written, and counted in used: make a row of them."""
    cdef size_t at = c.used - n
    if column_at(c, row) < 0:
        return NO_MEMORY
    if n > <size_t>VIEW_INLINE:
        store_long_view(c.fixed.p + 16 * row, c.data.p + at, <uint32_t>n, 0, <uint32_t>at)
    else:
        store_short_view(c.fixed.p + 16 * row, c.data.p + at, <uint32_t>n)
        c.used = at
    return 0


cdef int append_bytes(Table* t, Column* c, int64_t row, const void* p, size_t n) noexcept nogil:
    cdef int status
    if c.arrow_type == AS_VIEW:
        return append_view(t, c, row, <const uint8_t*>p, n)
    status = data_room(t, c, n)
    if status < 0:
        return status
    copy_bytes(c.data.p + c.used, <const uint8_t*>p, n)
    return text_end(c, row, c.used + n)


cdef inline int append_utf8(Table* t, Column* c, int64_t row, const uint8_t* p, size_t n,
                            const uint8_t* input_end) noexcept nogil:
    """Text, checked while it is copied. NOT_UTF8: nothing is written."""
    cdef int status
    if c.arrow_type == AS_VIEW:
        return append_view(t, c, row, p, n) if is_utf8(p, n) else NOT_UTF8
    status = data_room(t, c, n)
    if status < 0:
        return status
    if AMQP_LIKELY(<size_t>(input_end - p) >= n + COPY_SLACK):
        if AMQP_UNLIKELY(not copy_ascii(c.data.p + c.used, p, n)) and not is_utf8(p, n):
            return NOT_UTF8
    elif is_utf8(p, n):
        memcpy(c.data.p + c.used, p, n)
    else:
        return NOT_UTF8
    return text_end(c, row, c.used + n)


cdef int commit_bytes(Column* c, int64_t row, size_t n) noexcept nogil:
    """n bytes were written after those used: make a row of them."""
    if c.arrow_type == AS_VIEW:
        c.used += n
        return view_end(c, row, n)
    return text_end(c, row, c.used + n)


cdef int data_begin(Buffer* b, Column* c) noexcept nogil:
    """Write into the data of a column, after the bytes used; data_commit makes a row of it."""
    if block_reserve(&c.data, c.used, 64, max(c.data_hint, <size_t>DATA_FIRST)) == NULL:
        return NO_MEMORY
    buffer_in_block(b, &c.data, c.used)
    return 0


cdef int data_commit(Table* t, Buffer* b, Column* c, int64_t row) noexcept nogil:
    cdef size_t used = buffer_size(b)
    buffer_commit(b, b.p)
    if used > <size_t>t.limit:
        t.full = <int>(c - t.column)
        return COLUMN_FULL
    if c.arrow_type == AS_VIEW:
        used -= c.used
        c.used += used
        return view_end(c, row, used)
    return text_end(c, row, used)


cdef void table_rewind(Table* t, int first, int n, int64_t row) noexcept nogil:
    """Take back what was written of this row, the newest one, in columns from `first` to n."""
    cdef int i
    cdef Column* c
    for i in range(first, n):
        c = &t.column[i]
        if c.filled <= row:
            continue
        c.filled = row
        if c.nullable:
            c.valid.p[row >> 3] &= <uint8_t>~(1 << (row & 7))
        if c.arrow_type == AS_BOOL:
            c.fixed.p[row >> 3] &= <uint8_t>~(1 << (row & 7))
        if c.arrow_type == AS_TEXT:
            c.used = <size_t>(<int32_t*>c.fixed.p)[row]
        while c.items != NULL and c.items.rows > <int64_t>c.used:
            c.items.rows -= 1
            table_rewind(c.items, 0, c.items.n, c.items.rows)


cdef int64_t count_present(const Column* c) noexcept nogil:
    cdef int64_t n = 0
    cdef size_t i
    cdef size_t n_bytes = (<size_t>c.filled + 7) // 8
    if not c.nullable:
        return c.filled
    for i in range(n_bytes // 8):
        n += count_bits(load_word(c.valid.p + 8 * i))
    for i in range(n_bytes // 8 * 8, n_bytes):
        n += count_bits(c.valid.p[i])
    return n


cdef int table_finish(Table* t, int64_t rows) noexcept nogil:
    """Fill every column to so many rows: then it can go out."""
    cdef int i
    cdef Column* c
    cdef size_t zeros = 0
    t.rows = rows
    for i in range(t.n):
        c = &t.column[i]
        if not c.asked:
            continue
        c.present = count_present(c)
        if c.items != NULL and table_finish(c.items, c.items.rows) < 0:
            return NO_MEMORY
        if c.present == 0:
            zeros = max(zeros, fixed_room(c, rows), (<size_t>rows + 7) // 8, <size_t>64)
            continue
        if rows > c.rows and column_grow(c, rows) < 0:
            return NO_MEMORY
        if c.filled < rows:
            column_fill(c, rows)
    t.zeros = NO_VALUES
    if zeros > NO_VALUES_ROOM:
        if block_room(&t.more_zeros, 0, zeros) < 0:
            return NO_MEMORY
        t.zeros = t.more_zeros.p
        memset(t.zeros, 0, zeros)
    return 0


# Where no bytes are given.
cdef uint8_t NO_BYTES = 0


cdef Pool* shared_pool() noexcept:
    return pool_place()
