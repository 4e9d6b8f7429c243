# Columns that every row has, written a block at a time, at both levels and for both families.

cdef int write_types(Sink* s, Column* c, int n) noexcept nogil:
    cdef const Entry* e = s.block
    cdef uint8_t* w
    cdef int32_t* ends = <int32_t*>c.fixed.p + s.rows + 1
    cdef size_t used
    cdef int i, k
    cdef int status
    status = data_room(s.table, c, 16 * <size_t>n)
    if status < 0:
        return status
    if AMQP_UNLIKELY(s.unusual_block or c.arrow_type == AS_VIEW):
        for i in range(n):
            k = s.options.type_numbers[e[i].type]
            if k >= 0:
                status = append_bytes(s.table, c, s.rows + i, FRAME_TYPE_NAMES[k],
                                      FRAME_TYPE_BYTES[k])
                if status < 0:
                    return status
        return 0
    w = c.data.p
    used = c.used
    for i in range(n):
        k = s.options.type_numbers[e[i].type]
        copy_16(w + used, <const uint8_t*>FRAME_TYPE_NAMES[k])
        used += FRAME_TYPE_BYTES[k]
        ends[i] = <int32_t>used
    c.used = used
    return mark_rows(c, s.rows, n)


cdef int write_channels(Sink* s, Column* c, int n) noexcept nogil:
    cdef const Entry* e = s.block
    cdef int32_t* out = <int32_t*>c.fixed.p + s.rows
    cdef int i
    if AMQP_UNLIKELY(s.unusual_block):
        for i in range(n):
            if not e[i].no_channel and append_i32(c, s.rows + i, e[i].channel) < 0:
                return NO_MEMORY
        return 0
    for i in range(n):
        out[i] = e[i].channel
    return mark_rows(c, s.rows, n)


cdef int write_input_rows(Sink* s, Column* c, int n) noexcept nogil:
    cdef const Entry* e = s.block
    cdef int64_t* out = <int64_t*>c.fixed.p + s.rows
    cdef int i
    for i in range(n):
        # Read once, so that gcc does not gather two by way of the stack, where the load waits for both.
        out[i] = read_once_64(&e[i].row)
    return 0


cdef int write_offsets(Sink* s, Column* c, int n) noexcept nogil:
    """In the input value."""
    cdef int64_t* out = <int64_t*>c.fixed.p + s.rows
    cdef int i
    for i in range(n):
        out[i] = s.block[i].start - s.block[i].base
    return 0


fills_blocks(COL_ROW, AS_INT64, write_input_rows)
fills_blocks(COL_OFFSET, AS_INT64, write_offsets)
fills_blocks(COL_FRAME_TYPE, AS_TEXT, write_types)
fills_blocks(COL_CHANNEL, AS_INT32, write_channels)


cdef int write_rows(Sink* s, int n) noexcept nogil:
    """The columns with a BlockWriter, for n rows from s.rows on, whose entries are in the block."""
    cdef Column* c
    cdef int i, status = 0
    for i in range(s.columns.n_written):
        c = s.asked[s.columns.written[i]]
        if s.rows + n > c.rows and column_grow(c, s.rows + n) < 0:
            return NO_MEMORY
        if c.filled < s.rows:
            column_fill(c, s.rows)
        status = BLOCK_WRITERS[s.columns.written[i]](s, c, n)
        if status < 0:
            return status
        if not c.nullable:
            c.filled = s.rows + n
    return 0


cdef int write_frames(Sink* s, int n) noexcept nogil:
    """Frames that follow one another in an input that lives on stay where they are; else
    neighbours are copied together."""
    cdef Column* c = s.asked[COL_FRAME]
    cdef Entry* e = s.block
    cdef int32_t* ends
    cdef const uint8_t* p
    cdef int i = 0, status
    if s.rows + n > c.rows and column_grow(c, s.rows + n) < 0:
        return NO_MEMORY
    if c.arrow_type == AS_VIEW:
        for i in range(n):
            status = append_view(s.table, c, s.rows + i, e[i].start, e[i].total)
            if status < 0:
                return status
        return 0
    ends = <int32_t*>c.fixed.p + s.rows + 1
    c.filled += n
    if not s.input.borrow:
        return copy_frames(s, e, n, ends)
    if s.rows == 0:
        c.borrowed = s.input.next = e.start
    p = s.input.next
    while i < n and e[i].start == p:
        p += e[i].total
        ends[i] = <int32_t>(p - c.borrowed)
        i += 1
    s.input.next = p
    if AMQP_UNLIKELY(p - c.borrowed > s.table.limit):
        s.table.full = COL_FRAME
        return COLUMN_FULL
    c.used = <size_t>(p - c.borrowed)
    if AMQP_LIKELY(i == n):
        return 0
    # Something lies between.
    if own_frames(s) < 0:
        return NO_MEMORY
    return copy_frames(s, e + i, n - i, ends + i)


cdef int own_frames(Sink* s) noexcept nogil:
    """From here on the column has to be a copy."""
    cdef Column* c = s.asked[COL_FRAME]
    s.input.borrow = False
    c.data_hint = <size_t>s.input.total + SLACK
    if c.borrowed != NULL:
        if block_room(&c.data, 0, c.used + SLACK) < 0:
            return NO_MEMORY
        copy_run(c.data.p, c.borrowed, c.used)
        c.borrowed = NULL
    return 0


cdef int copy_frames(Sink* s, Entry* e, int n, int32_t* ends) noexcept nogil:
    cdef Column* c = s.asked[COL_FRAME]
    cdef Entry* end = e + n
    cdef const uint8_t* start
    cdef uint64_t size = 0
    cdef int i, status
    for i in range(n):
        size += e[i].total
    if c.used + size >= c.full_at:
        c.data_hint = <size_t>s.input.total + SLACK       # all of the input at most
        status = data_grow(s.table, c, size)
        if status < 0:
            return status
    data_promise(c, c.used, size)
    while e < end:
        start = e.start
        size = 0
        while True:
            size += e.total
            ends[0] = <int32_t>(c.used + size)
            ends += 1
            e += 1
            if e == end or e.start != start + size:
                break
        copy_run(c.data.p + c.used, start, size)
        c.used += size
    return 0


cdef int write_block(Sink* s, int n) noexcept nogil:
    """Those, and the frames."""
    cdef int status = write_rows(s, n)
    return write_frames(s, n) if status == 0 and s.asked[COL_FRAME] != NULL else status
