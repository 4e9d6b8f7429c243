# Rows of columns to frames, the fast way: a block of rows of one method, column by column.
#
# First every column is looked at for all rows of the block, then each is written for all rows. Whatever is
# odd (GIVE_UP, with nothing written) leaves the block to encode_rows.pxi, which finds out why; a test holds
# both ways equal.

cdef int hot_block(Encoder* e, int64_t row, int n) noexcept nogil:
    """Rows of the method e.desc, all of them valid: 0, GIVE_UP and nothing written, or worse."""
    cdef Hot* h = e.hot
    cdef const Desc* d = e.desc
    cdef Column* c = e.out
    cdef int32_t* ends
    cdef uint64_t total = 0, most = 0
    cdef uint32_t body_least = 0, after, size
    cdef size_t used
    cdef int i, k, status
    if e.channel == NULL:
        for i in range(n):
            h.channel[i] = 1
    elif look_channels(e, h, row, n) != 0:
        return GIVE_UP
    for k in range(h.n_foreign):
        if valid_rows(h.foreign[k], row, n):
            for i in range(n):
                if says_nothing(h.foreign[k], row + i) != 1:
                    return GIVE_UP
    memset(h.size, 0, sizeof(h.size))
    memset(h.flags, 0, sizeof(h.flags))
    e.text.w = e.scratch.p
    for k in range(h.n_steps):
        status = look_step(e, h, k, row, n)
        if status != 0:
            return status
    if d.has_content:
        status = look_body(e, h, row, n, &body_least)
        if status != 0:
            return status
    elif refuse_some(e, row, n):
        return GIVE_UP
    for k in range(h.n_steps):
        if h.step[k].is_table or h.step[k].what == STEP_RAW:
            found_made(e, &h.step[k], n, h.value[k])
        if h.step[k].what == STEP_LENGTH and h.step[k].s == NULL:
            # columns of one header each: there is a table where one of them is
            for i in range(n):
                if h.size[PART_TABLE][i] == 0:
                    return GIVE_UP
    # What follows a step at least decides whether more than it has may be written.
    after = 1 + body_least
    k = h.n_steps
    while k:
        k -= 1
        if k == h.n_arguments - 1:
            after = 22 if d.has_content else 1
        h.step[k].loose = after >= <uint32_t>COPY_SLACK and (h.step[k].loose or h.step[k].ends == NULL)
        after += h.step[k].least
    # Room, then where each row begins.
    if row + n + e.rows > c.rows and column_grow(c, e.rows + row + n) < 0:
        return NO_MEMORY
    for i in range(n):
        size = h.size[PART_ARGUMENTS][i] + h.head_n + h.tail_n + 1
        most = max(most, <uint64_t>size)
        if d.has_content:
            after = h.size[PART_PROPERTIES][i] + h.size[PART_TABLE][i] + 22
            most = max(most, <uint64_t>after)
            size += after + (h.body_n[i] + 8 if h.body_n[i] else 0)
        h.total[i] = size
        total += size
    if e.frame_max and most > e.frame_max:
        return GIVE_UP
    status = out_room(e, total + 32)
    if status == COLUMN_FULL:
        return GIVE_UP
    if status != 0:
        return status
    if c.filled < e.rows + row:
        column_fill(c, e.rows + row)
    ends = <int32_t*>c.fixed.p + e.rows + row + 1
    used = c.used
    for i in range(n):
        h.w[i] = c.data.p + used
        used += h.total[i]
        ends[i] = <int32_t>used
    write_methods(h, n)
    for k in range(h.n_arguments):
        write_step(e, h, k, n)
    if d.has_content:
        write_headers(h, d, n)
        for k in range(h.n_arguments, h.n_steps):
            write_step(e, h, k, n)
        write_ends(h, n)
    else:
        for i in range(n):
            if h.tail_n:
                copy_octets(h.w[i], h.tail, h.tail_n)
            h.w[i][h.tail_n] = FRAME_END
    c.used = used
    mark_rows(c, e.rows + row, n)
    return 0


cdef bint refuse_some(Encoder* e, int64_t row, int n) noexcept nogil:
    """A method without content: whether some row has any."""
    cdef int i
    for i in range(n):
        if refuse_content(e, e.desc, row + i) != 0:
            return True
    return False


# ---- the loop ----

cdef inline bint has_none(const Source* s, int64_t row, int n) noexcept nogil:
    return s == NULL or (s.kind != IN_OTHER and valid_rows(s, row, n) == 0)


cdef int same_method(Encoder* e, int64_t row, int n) noexcept nogil:
    """How many of n rows from this one on have its method, which becomes e.desc; 0 where that
    cannot be said."""
    cdef const Source* s = e.method
    cdef const uint8_t* p = NULL
    cdef uint64_t size = 0, length
    cdef int i
    if s == NULL:
        return n if take_method_name(e, row) == 0 else 0
    if not is_octets(s) or valid_rows(s, row, n) != first_rows(n) or take_method_name(e, row) != 0:
        return 0
    length = strlen(e.desc.name)
    for i in range(1, n):
        if octets_at(s, row + i, &p, &size) < 0 or size != length \
                or memcmp(p, e.desc.name, <size_t>size) != 0:
            return i
    return n


cdef int take_hot_rows(Encoder* e, int64_t row, int n) noexcept nogil:
    """Up to n rows, the fast way if that is possible: how many were done, or a status below 0."""
    cdef int status, same
    if (valid_rows(e.root, row, n) != first_rows(n) or not has_none(e.error, row, n)
            or not has_none(e.arguments, row, n) or not has_none(e.properties_json, row, n)):
        return 0
    same = same_method(e, row, n)
    if same < HOT_LEAST_ROWS:
        return 0
    if e.hot == NULL or e.hot.desc != e.desc:
        if plan_hot(e, e.desc) < 0:
            return NO_MEMORY
    if not e.hot.possible:
        return 0
    status = hot_block(e, row, same)
    if status == 0:
        e.hot_rows += same
    return same if status == 0 else 0 if status > 0 else status


cdef int take_all_rows(Encoder* e, int64_t rows) noexcept nogil:
    """Every row of the array at hand."""
    cdef int64_t row = 0
    cdef int n, done, status
    while row < rows:
        n = <int>min(rows - row, <int64_t>HOT_ROWS)
        done = take_hot_rows(e, row, n) if e.fast else 0
        if done < 0:
            return done
        if done == 0:
            status = take_rows(e, row, n)
            if status < 0:
                return status
            done = n
        row += done
        guess_octets(e, row)
    return 0


cdef inline void guess_octets(Encoder* e, int64_t row) noexcept nogil:
    """How large the messages will be in the end, from what they are so far."""
    cdef Column* c = e.out
    cdef int64_t done = e.rows + row
    if c.data_hint == 0 or done & (done - 1) == 0:
        c.row_hint = e.total
        c.data_hint = <size_t>min(<double>c.used / <double>done * 1.07 * <double>e.total + 65536.0,
                                  <double>e.table.limit)
