# Rows of columns to frames, the fast way: a block of rows of one method.
#
# First every column is surveyed for all rows of the block, then the rows are written. Unusual input
# (FALLS_BACK, with nothing written) falls back to encode/rows.pxi, which finds out why; a test holds both
# ways equal.

# ---- a step ----

cdef void set_row_flags(FastPlan* h, const FastStep* t, int n) noexcept nogil:
    cdef int i
    if all_rows(t, n):
        h.block.flags_same |= t.flag
        return
    if not h.block.flags_vary:
        h.block.flags_vary = True
        memset(h.block.flags, 0, sizeof(h.block.flags))
    for i in range(n):
        if t.mask >> i & 1:
            h.block.flags[i] |= t.flag


cdef int survey_step(Encoder* e, FastPlan* h, int k, int64_t row, int n) noexcept nogil:
    """A column: what there is in this block, and what it takes."""
    cdef FastStep* t = &h.step[k]
    t.way = WAY_NONE
    t.mask = step_rows(t, row, n)
    if t.what == STEP_LENGTH:
        h.block.table_rows = t.mask
    elif t.part == PART_TABLE:
        t.mask &= h.block.table_rows
    if t.mask == 0:
        if t.part == PART_ARGUMENTS:
            memset(t.constant, 0, 8)
            survey_same(t, t.constant, 0 if length_width(t) else t.width)
        return 0
    if t.flag:
        set_row_flags(h, t, n)
    if t.what == STEP_LENGTH:
        # the table is there, or not, in all rows
        if not all_rows(t, n):
            return FALLS_BACK
        t.way = WAY_TABLE
        t.size = 4
        return 0
    if t.is_table or t.what == STEP_RAW:
        return survey_made(e, h, t, row, n, h.block.value[k], h.block.sizes[k])
    if t.what == STEP_SHORT or t.what == STEP_LONG:
        return survey_bytes(h, t, row, n, h.block.value[k], h.block.sizes[k])
    if t.what == STEP_INT:
        return survey_ints(h, t, row, n, h.block.value[k], h.block.sizes[k])
    if t.what == STEP_BITS:
        return survey_bits(t, row, n, h.block.value[k], h.block.sizes[k])
    return survey_numbers(h, t, row, n, h.block.value[k], h.block.sizes[k])


# ---- what is not a step ----

cdef int survey_body(Encoder* e, FastPlan* h, int64_t row, int n) noexcept nogil:
    """Bodies: h.block.body_form says in which form; 0 or FALLS_BACK."""
    cdef const Source* s = e.sources.body
    cdef const Source* found
    cdef const uint8_t* p = NULL
    cdef uint64_t mask = 0 if s == NULL else valid_rows(s, row, n)
    cdef uint64_t size = 0, largest = 0
    cdef int64_t k
    cdef int i
    h.block.body_form = PUT_END
    if mask == 0:
        return 0
    if mask == first_rows(n) and s.input_type == IN_BYTES:
        h.block.body_form = PUT_BODY
        largest = copy_ends(h.block.body_ends, s.ends + 4 * (s.at + row), n)
        largest = survey_column(h, s, h.block.body_ends, n, largest, s.text)
    else:
        h.block.body_form = PUT_BODIES
        for i in range(n):
            h.block.body_n[i] = 0
            if not mask >> i & 1:
                continue
            found = s
            k = row + i
            if find_value(&found, &k) == NO_VALUE:
                continue
            if not is_bytes(found) or bytes_at(found, k, &p, &size) < 0 or size > 0xFFFFFF:
                return FALLS_BACK
            if found.text and not is_utf8(p, <size_t>size):
                return FALLS_BACK
            h.block.body[i] = <uint64_t><uintptr_t>p
            h.block.body_n[i] = <uint32_t>size
            h.block.room += size
            largest = max(largest, size)
    prefetch_next(s, row, n, h.block.body_form == PUT_BODIES)
    if largest > 0xFFFFFF or (e.frame_max and largest + 8 > e.frame_max):
        return FALLS_BACK
    return 0


# ---- a block ----

cdef int fast_block(Encoder* e, int64_t row, int n) noexcept nogil:
    """Rows of the method e.desc, all of them valid: 0, FALLS_BACK and nothing written, or worse."""
    cdef FastPlan* h = e.fast_plan
    cdef const Desc* d = e.desc
    cdef uint8_t* w
    cdef int32_t* ends
    cdef uint64_t total, most
    cdef int status
    status = survey_block(e, h, row, n)
    if status != 0:
        return status
    add_puts(e, h, d, n)
    total = h.block.room + <uint64_t>(h.block.front_n + 1) * <uint64_t>n
    status = begin_rows(e, row, n, total)
    if status != 0:
        return status
    ends = ends_of_rows(e, row)
    w = e.out.data.p + e.out.used
    w = store_rows(w, h.block.put, ends, 0, h.block.safe, False, <size_t>total)
    if h.block.safe < <size_t>n:
        w = store_rows(w, h.block.put, ends, h.block.safe, n, True, <size_t>total)
    fill_numbers(h, n)
    most = fill_frames(h, d, e.out.data.p, ends, n)
    if e.frame_max and most > e.frame_max:
        return FALLS_BACK
    if d.has_content and e.sources.n_headers and h.block.opened.at != NULL and some_open_nothing(h, n):
        # columns of one header each: there is a table where one of them is
        return FALLS_BACK
    end_rows(e, row, n, <size_t>(w - e.out.data.p))
    guess_size(e, e.out.used, e.rows + row + n)
    return 0


cdef int survey_block(Encoder* e, FastPlan* h, int64_t row, int n) noexcept nogil:
    """Survey every column: 0, FALLS_BACK or worse."""
    cdef const Desc* d = e.desc
    cdef FastStep* t
    cdef int i, k, status
    h.block.room = 0
    h.block.safe = <size_t>n
    h.block.flags_same = 0
    h.block.flags_vary = False
    buffer_truncate(&e.scratch, 0)
    if survey_channels(e, h, row, n) != 0:
        return FALLS_BACK
    for k in range(h.n_foreign):
        if valid_rows(h.foreign[k], row, n):
            for i in range(n):
                if is_default_value(h.foreign[k], row + i) != 1:
                    return FALLS_BACK
    for k in range(h.n_steps):
        status = survey_step(e, h, k, row, n)
        if status != 0:
            return status
        t = &h.step[k]
        if t.mask:      # values of the other ways are asked for where these are written
            prefetch_next(t.s, row, n, t.way == WAY_SAME or t.way == WAY_EACH)
    for k in range(h.n_steps):
        t = &h.step[k]
        if t.way == WAY_EACH and (t.is_table or t.what == STEP_RAW):
            found_made(e, t, n, h.block.value[k])
    if d.has_content:
        return survey_body(e, h, row, n)
    return FALLS_BACK if refuse_some(e, row, n) else 0


cdef bint refuse_some(Encoder* e, int64_t row, int n) noexcept nogil:
    """A method without content: whether some row has any."""
    cdef int i
    for i in range(n):
        if refuse_content(e, e.desc, row + i) != 0:
            return True
    return False


# ---- the loop ----

cdef inline bint has_none(const Source* s, int64_t row, int n) noexcept nogil:
    return s == NULL or (s.input_type != IN_OTHER and valid_rows(s, row, n) == 0)


cdef int same_method(Encoder* e, int64_t row, int n) noexcept nogil:
    """How many of n rows from this one on have its method, which becomes e.desc; 0 where that
    cannot be said."""
    cdef const Source* s = e.sources.method
    cdef int32_t[FAST_ROWS + 1] ends
    cdef const uint8_t* p = NULL
    cdef uint64_t size = 0, length
    cdef uint32_t largest
    cdef int i
    if s == NULL:
        return n if read_method(e, row) == 0 else 0
    if valid_rows(s, row, n) != first_rows(n) or read_method(e, row) != 0:
        return 0
    if s.input_type == IN_DICTIONARY:
        return same_indices(s, row, n)
    length = strlen(e.desc.name)
    if s.input_type == IN_BYTES:
        # offsets of one distance
        largest = copy_ends(ends, s.ends + 4 * (s.at + row), n)
        if largest == length and have_size(ends, n, largest) and ends[0] >= 0 and <uint64_t>ends[n] <= s.last \
                and same_values(s.data + ends[0], <size_t>length, n):
            prefetch_next(s, row, n, True)
            return n
    for i in range(1, n):
        if bytes_at(s, row + i, &p, &size) < 0 or size != length \
                or memcmp(p, e.desc.name, <size_t>size) != 0:
            return i
    return n


cdef int encode_block(Encoder* e, int64_t row, int n) noexcept nogil:
    """Up to n rows, the fast way if that is possible: how many were done, or a status below 0."""
    cdef int status, same
    if (valid_rows(e.sources.root, row, n) != first_rows(n) or not has_none(e.sources.error, row, n)
            or not has_none(e.sources.arguments, row, n) or not has_none(e.sources.properties_json, row, n)):
        return 0
    same = same_method(e, row, n)
    if same < FAST_LEAST_ROWS:
        return 0
    if e.fast_plan == NULL or e.fast_plan.desc != e.desc or e.fast_plan.mode != e.mode:
        if make_fast_plan(e, e.desc) < 0:
            return NO_MEMORY
    if not e.fast_plan.possible:
        return 0
    status = fast_block(e, row, same)
    if status == 0:
        e.fast_rows += same
    return same if status == 0 else 0 if status > 0 else status


cdef int encode_all_rows(Encoder* e, int64_t rows) noexcept nogil:
    """Every row of the array at hand."""
    cdef int64_t row = 0
    cdef int n, done, status
    while row < rows:
        n = <int>min(rows - row, <int64_t>FAST_ROWS)
        done = encode_block(e, row, n) if e.fast else 0
        if done < 0:
            return done
        if done == 0:
            status = encode_rows(e, encode_row, row, n)
            if status < 0:
                return status
            done = n
        row += done
    return 0
