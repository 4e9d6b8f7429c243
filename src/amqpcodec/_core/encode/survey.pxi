# The fast path, before: a column is surveyed for all rows of a block. Offsets, UTF-8, lengths and ranges
# are checked, sizes added up, and what is the same in all rows is found.

cdef inline bint all_rows(const FastStep* t, int n) noexcept nogil:
    return t.mask == first_rows(n)


cdef void prefetch_next(const Source* s, int64_t row, int n, bint values) noexcept nogil:
    """The n rows after those from `row` on are likely to be looked at soon. values: of their values,
    too, as many as these rows have. (To look up how many they have would wait for memory itself.)"""
    cdef const int32_t* ends
    cdef int64_t end, size
    if s == NULL:
        return
    row += s.at + n
    if s.input_type == IN_BYTES:
        ends = <const int32_t*>s.ends + row
        prefetch_bytes(<const uint8_t*>(ends + 1), 4 * <size_t>n)
        end = read_once_32(ends)
        size = end - <int64_t>read_once_32(ends - n)
        if values and end >= 0 and 0 < size < 32768:
            prefetch_bytes(s.data + end, <size_t>size)
    elif s.input_type == IN_INT64 or s.input_type == IN_UINT64 or s.input_type == IN_DOUBLE or s.input_type == IN_TIME:
        prefetch_bytes(s.data + 8 * row, 8 * <size_t>n)
    elif s.input_type == IN_INT32:
        prefetch_bytes(s.data + 4 * row, 4 * <size_t>n)


cdef inline uint32_t length_width(const FastStep* t) noexcept nogil:
    return 4 if t.what == STEP_LONG else 1 if t.what == STEP_SHORT else 0


cdef void survey_some(FastPlan* h, FastStep* t, int n, const uint32_t* sizes) noexcept nogil:
    """Rows one by one, their values of these sizes."""
    cdef int i
    t.way = WAY_EACH
    h.block.room += <uint64_t>(t.prefix_n + length_width(t)) * <uint64_t>n
    for i in range(n):
        h.block.room += sizes[i] if t.mask >> i & 1 else 0


cdef void survey_same(FastStep* t, const uint8_t* data, uint32_t size) noexcept nogil:
    """A value that all rows have, of FAST_SAME bytes at most."""
    t.way = WAY_SAME
    t.data = data
    t.size = size


cdef void survey_values(FastStep* t, const void* data, uint32_t width) noexcept nogil:
    """Numbers of all rows."""
    t.way = WAY_VALUES
    t.data = <const uint8_t*>data
    t.size = width


cdef uint32_t survey_column(FastPlan* h, const Source* s, const int32_t* ends, int n, uint32_t largest,
                            bint text) noexcept nogil:
    """Values of all rows, one after another as in a column with offsets, which copy_ends copied: the size
    of the largest, or more than any has where they are not as they should be."""
    cdef size_t safe = h.block.safe
    if largest > 0xFFFFFF or ends[0] < 0 or <uint64_t>ends[n] > s.last:
        return MAX_U32
    if text and not are_utf8(s.data, ends, n):
        return MAX_U32
    while safe and <uint64_t>ends[safe] + PUT_SLACK > s.last:
        safe -= 1
    h.block.safe = safe
    h.block.room += <uint64_t>(ends[n] - ends[0])
    return largest


cdef uint64_t step_rows(const FastStep* t, int64_t row, int n) noexcept nogil:
    """Which rows have a value of this step."""
    cdef uint64_t mask
    cdef int i
    if t.what == STEP_BITS or t.s == NULL:
        mask = first_rows(n)
    else:
        mask = valid_rows(t.s, row, n)
        if t.s.input_type == IN_DICTIONARY and (t.s.child.valid != NULL or not is_bytes(t.s.child)):
            for i in range(n):
                if mask >> i & 1 and not dictionary_has(t.s, row + i):
                    mask &= ~(<uint64_t>1 << i)
    if t.parent != NULL:
        mask &= valid_rows(t.parent, row, n)
    return mask


cdef bint dictionary_has(const Source* s, int64_t i) noexcept nogil:
    return find_value(&s, &i) != NO_VALUE


# ---- bytes ----

cdef int survey_texts(FastPlan* h, FastStep* t, int64_t row, int n, int32_t* ends) noexcept nogil:
    """A column of bytes that all rows have; 0 or FALLS_BACK. ends: room for its offsets."""
    cdef const Source* s = t.s
    cdef uint32_t largest = copy_ends(ends, s.ends + 4 * (s.at + row), n)
    largest = survey_column(h, s, ends, n, largest, s.text or t.what == STEP_SHORT)
    if largest > <uint32_t>(255 if t.what == STEP_SHORT else 0xFFFFFF):
        return FALLS_BACK
    t.data = s.data
    t.ends = ends
    t.size = <uint32_t>(ends[1] - ends[0])
    t.far = largest > 255
    t.way = WAY_TEXTS
    if largest <= FAST_SAME and have_size(ends, n, largest) \
            and (largest == 0 or same_values(s.data + ends[0], largest, n)):
        survey_same(t, s.data + ends[0], t.size)
    return 0


cdef int survey_bytes(FastPlan* h, FastStep* t, int64_t row, int n, uint64_t* at, uint32_t* sizes) noexcept nogil:
    """Bytes of any column; 0, or FALLS_BACK where something else is there."""
    cdef const Source* s = t.s
    cdef const Source* found
    cdef const uint8_t* p = NULL
    cdef uint64_t length = 0
    cdef int64_t k
    cdef bint alike = False
    cdef int i
    if all_rows(t, n):
        if s.input_type == IN_BYTES:
            return survey_texts(h, t, row, n, <int32_t*>at)
        alike = s.input_type == IN_DICTIONARY and same_indices(s, row, n) == n
    for i in range(n):
        if not t.mask >> i & 1:
            sizes[i] = 0
            continue
        found = s
        k = row + i
        if find_value(&found, &k) != HAS_VALUE or not is_bytes(found) or bytes_at(found, k, &p, &length) < 0:
            return FALLS_BACK
        if length > (255 if t.what == STEP_SHORT else 0xFFFFFF):
            return FALLS_BACK
        if (s.text or t.what == STEP_SHORT or found.text) and not is_utf8(p, <size_t>length):
            return FALLS_BACK
        if alike and length <= FAST_SAME:
            survey_same(t, p, <uint32_t>length)
            return 0
        at[i] = <uint64_t><uintptr_t>p
        sizes[i] = <uint32_t>length
    survey_some(h, t, n, sizes)
    return 0


cdef int same_indices(const Source* s, int64_t row, int n) noexcept nogil:
    """How many rows have the dictionary's value of this one; all of them are valid."""
    cdef int64_t first = index_at(s, row)
    cdef int i
    for i in range(1, n):
        if index_at(s, row + i) != first:
            return i
    return n


cdef int survey_made(Encoder* e, FastPlan* h, FastStep* t, int64_t row, int n, uint64_t* at,
                     uint32_t* sizes) noexcept nogil:
    """Tables and values that are put together in scratch; `at` is where, from its start."""
    cdef const Source* s
    cdef int64_t k
    cdef size_t start
    cdef int i, status
    for i in range(n):
        sizes[i] = 0
        if not t.mask >> i & 1:
            continue
        s = t.s
        k = row + i
        if find_value(&s, &k) != HAS_VALUE:
            return FALLS_BACK
        start = buffer_size(&e.scratch)
        if t.is_table:
            status = put_source_table(e, s, k)
        else:
            status = arrow_value(e, s, k, 1)
        if status != 0:
            return NO_MEMORY if status == NO_MEMORY else FALLS_BACK
        at[i] = start
        if buffer_size(&e.scratch) - start > 0xFFFFFF:
            return FALLS_BACK
        sizes[i] = <uint32_t>(buffer_size(&e.scratch) - start)
    survey_some(h, t, n, sizes)
    return 0


cdef void found_made(Encoder* e, const FastStep* t, int n, uint64_t* at) noexcept nogil:
    """Scratch stays where it is now."""
    cdef int i
    for i in range(n):
        if t.mask >> i & 1:
            at[i] += <uint64_t><uintptr_t>e.scratch.start
