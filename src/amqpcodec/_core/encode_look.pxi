# The fast way, before: a column is looked at for all rows of a block. Offsets, UTF-8, lengths and ranges
# are checked, and sizes added up.

cdef inline bint all_rows(const HotStep* t, int n) noexcept nogil:
    return t.mask == first_rows(n)


cdef int look_octets(HotStep* t, int64_t row, int n, uint64_t* at, uint32_t* sizes,
                     uint32_t* total) noexcept nogil:
    """Octets of a column; 0 or GIVE_UP. total: of the part, by row."""
    cdef const Source* s = t.s
    cdef const int32_t* ends
    cdef uint32_t seen = 0, size, more = 4 if t.what == STEP_LONG else 1
    cdef uint64_t length = 0
    cdef const uint8_t* p = NULL
    cdef const Source* found
    cdef int64_t k
    cdef bint text = s.text or t.what == STEP_SHORT
    cdef int i
    t.ends = NULL
    t.least = 0
    if s.kind == IN_OCTETS and all_rows(t, n):
        ends = <const int32_t*>s.ends + s.at + row
        for i in range(n):
            size = <uint32_t>ends[i + 1] - <uint32_t>ends[i]
            seen |= size
            total[i] += size + more
        if ends[0] < 0 or seen > (255 if t.what == STEP_SHORT else <uint32_t>0x7FFFFFFF >> 7) \
                or <uint64_t>ends[n] > s.last:
            return GIVE_UP
        size = <uint32_t>(ends[n] - ends[0])
        if text and not is_ascii(s.data + ends[0], size):
            for i in range(n):
                if not is_utf8(s.data + ends[i], <size_t>(ends[i + 1] - ends[i])):
                    return GIVE_UP
        t.ends = ends
        t.loose = s.last - <uint64_t>ends[n] >= <uint64_t>COPY_SLACK
        t.least = more
        return 0
    t.loose = False
    for i in range(n):
        if not t.mask >> i & 1:
            sizes[i] = 0
            if t.part == PART_ARGUMENTS:
                total[i] += more        # the default, an empty one
            continue
        found = s
        k = row + i
        if find_value(&found, &k) != HAS_VALUE or octets_at(found, k, &p, &length) < 0:
            return GIVE_UP
        if length > (255 if t.what == STEP_SHORT else 0xFFFFFF):
            return GIVE_UP
        if (text or found.text) and not is_utf8(p, <size_t>length):
            return GIVE_UP
        at[i] = <uint64_t><uintptr_t>p
        sizes[i] = <uint32_t>length
        total[i] += <uint32_t>length + more
    return 0


cdef int look_made(Encoder* e, HotStep* t, int64_t row, int n, uint64_t* at, uint32_t* sizes,
                   uint32_t* total) noexcept nogil:
    """Tables and values that are put together in scratch; `at` is where, from its start."""
    cdef const Source* s
    cdef int64_t k
    cdef size_t start
    cdef int i, status
    t.ends = NULL
    t.least = 0
    t.loose = False
    for i in range(n):
        sizes[i] = 0
        if not t.mask >> i & 1:
            if t.part == PART_ARGUMENTS:
                total[i] += 4
            continue
        s = t.s
        k = row + i
        if find_value(&s, &k) != HAS_VALUE:
            return GIVE_UP
        start = <size_t>(e.text.w - e.scratch.p)
        if t.is_table:
            status = put_source_table(&e.text, s, k, e.mode, &e.refusal)
        else:
            status = put_table_value(&e.text, s, k, e.mode, 1, &e.refusal)
        if status != 0:
            return NO_MEMORY if status == NO_MEMORY else GIVE_UP
        at[i] = start
        if <size_t>(e.text.w - e.scratch.p) - start > 0xFFFFFF:
            return GIVE_UP
        sizes[i] = <uint32_t>(<size_t>(e.text.w - e.scratch.p) - start)
        total[i] += sizes[i] + (4 if t.is_table else 0)
    return 0


cdef void found_made(Encoder* e, const HotStep* t, int n, uint64_t* at) noexcept nogil:
    """Scratch stays where it is now."""
    cdef int i
    for i in range(n):
        if t.mask >> i & 1:
            at[i] += <uint64_t><uintptr_t>e.scratch.p


cdef int look_integers(const Source* s, int64_t row, int n, uint64_t* out) noexcept nogil:
    """Integers as 64 bits, whatever they are where there is none."""
    cdef const uint8_t* data = s.data
    cdef int64_t at = s.at + row
    cdef int i
    if s.kind == IN_INT32:
        for i in range(n):
            out[i] = <uint64_t><int64_t>(<const int32_t*>data)[at + i]
    elif s.kind == IN_INT64 or s.kind == IN_UINT64 or s.kind == IN_DOUBLE:
        memcpy(out, <const int64_t*>data + at, 8 * <size_t>n)
    elif is_integer(s):
        for i in range(n):
            out[i] = <uint64_t>signed_at(s.kind, data, at + i)
    else:
        return GIVE_UP
    return 0


cdef int look_numbers(HotStep* t, int64_t row, int n, uint64_t* out) noexcept nogil:
    """Numbers in the range of their type; 0 or GIVE_UP."""
    cdef const Source* s = t.s
    cdef const int64_t* times
    cdef uint64_t limit = highest_of(t.wire) if t.wire != 0xFF else ~<uint64_t>0
    cdef uint64_t seen = 0
    cdef int i
    if s.kind == IN_TIME and (t.wire == W_TIMESTAMP or t.wire == 0xFF):
        times = <const int64_t*>s.data + s.at + row
        if s.unit == 1000000:
            for i in range(n):
                seen |= <uint64_t>times[i]
                out[i] = <uint64_t>times[i] // <uint64_t>1000000
        else:
            for i in range(n):
                seen |= <uint64_t>times[i]
                out[i] = <uint64_t>times[i] // <uint64_t>s.unit
        # before 1970, if only under a null
        return GIVE_UP if seen >> 63 else 0
    if look_integers(s, row, n, out) != 0:
        return GIVE_UP
    if t.wire == 0xFF:
        return 0
    if s.kind == IN_DOUBLE:
        return GIVE_UP
    for i in range(n):
        if not t.mask >> i & 1:
            out[i] = 0
    for i in range(n):
        seen |= out[i]
    if t.wire == W_LONGLONG or t.wire == W_TIMESTAMP:
        return GIVE_UP if seen >> 63 and s.kind != IN_UINT64 else 0
    return GIVE_UP if seen > limit else 0      # limits are all ones


cdef int look_bits(HotStep* t, int64_t row, int n, uint64_t* out) noexcept nogil:
    """Up to eight columns as one octet."""
    cdef uint64_t bit[HOT_ROWS]
    cdef uint64_t mask
    cdef const Source* s
    cdef int i, k
    memset(out, 0, 8 * <size_t>n)
    for k in range(8):
        s = t.bits[k]
        if s == NULL:
            continue
        mask = valid_rows(s, row, n)
        if mask == 0:
            continue
        if s.kind == IN_DICTIONARY or look_integers(s, row, n, bit) != 0:
            return GIVE_UP
        for i in range(n):
            out[i] |= <uint64_t>((bit[i] != 0) & (mask >> i & 1)) << k
    return 0


cdef int look_ints(HotStep* t, int64_t row, int n, uint64_t* out, uint32_t* sizes,
                   uint32_t* total) noexcept nogil:
    """Integers of a table: with their tag, 5 or 9 octets."""
    cdef int i
    cdef int64_t v
    if look_integers(t.s, row, n, out) != 0:
        return GIVE_UP
    for i in range(n):
        if not t.mask >> i & 1:
            continue
        v = <int64_t>out[i]
        if t.s.kind == IN_UINT64 and v < 0:
            return GIVE_UP
        sizes[i] = 5 if v == <int32_t>v else 9
        total[i] += sizes[i]
    t.least = 5 if all_rows(t, n) else 0
    return 0


cdef int look_step(Encoder* e, Hot* h, int k, int64_t row, int n) noexcept nogil:
    """A column: what there is in this block, and what it takes."""
    cdef HotStep* t = &h.step[k]
    cdef uint32_t* total = h.size[t.part]
    cdef uint64_t* value = h.value[k]
    cdef uint64_t mask
    cdef int i, status
    if t.what == STEP_LENGTH:
        t.mask = first_rows(n) if t.s == NULL else valid_rows(t.s, row, n)
    elif t.what == STEP_BITS:
        t.mask = first_rows(n)
    else:
        t.mask = valid_rows(t.s, row, n)
        if t.s.kind == IN_DICTIONARY:
            for i in range(n):
                if t.mask >> i & 1 and not dictionary_has(t.s, row + i):
                    t.mask &= ~(<uint64_t>1 << i)
    if t.parent != NULL:
        mask = valid_rows(t.parent, row, n)
        t.mask &= mask
    t.least = 0
    t.ends = NULL
    if t.what == STEP_LENGTH:
        # the table is there, or not, in all rows
        if t.s != NULL and t.mask != 0 and not all_rows(t, n):
            return GIVE_UP
        if t.mask:
            for i in range(n):
                total[i] += 4
                h.flags[i] |= t.flag
            t.least = 4
        return 0
    if t.mask == 0 and t.part != PART_ARGUMENTS:
        return 0
    if t.flag:
        if all_rows(t, n):
            for i in range(n):
                h.flags[i] |= t.flag
        else:
            for i in range(n):
                if t.mask >> i & 1:
                    h.flags[i] |= t.flag
    if t.is_table or t.what == STEP_RAW:
        status = look_made(e, t, row, n, value, h.octets[k], total)
    elif t.what == STEP_SHORT or t.what == STEP_LONG:
        if t.mask and not is_octets(t.s) and t.s.kind != IN_DICTIONARY:
            return GIVE_UP
        status = look_octets(t, row, n, value, h.octets[k], total)
    elif t.mask == 0:
        memset(value, 0, 8 * <size_t>n)
        for i in range(n):
            total[i] += t.width
        status = 0
        t.least = t.width
    elif t.what == STEP_INT:
        status = look_ints(t, row, n, value, h.octets[k], total)
    else:
        status = look_bits(t, row, n, value) if t.what == STEP_BITS else look_numbers(t, row, n, value)
        if all_rows(t, n) or t.part == PART_ARGUMENTS:
            for i in range(n):
                total[i] += t.width
            t.least = t.width
        else:
            for i in range(n):
                if t.mask >> i & 1:
                    total[i] += t.width
    if status != 0:
        return status
    if t.prefix_n:
        if all_rows(t, n) or t.part == PART_ARGUMENTS:
            for i in range(n):
                total[i] += t.prefix_n
            t.least += t.prefix_n
        else:
            for i in range(n):
                if t.mask >> i & 1:
                    total[i] += t.prefix_n
    return 0


cdef bint dictionary_has(const Source* s, int64_t i) noexcept nogil:
    return find_value(&s, &i) != NO_VALUE


cdef int look_body(Encoder* e, Hot* h, int64_t row, int n, uint32_t* least) noexcept nogil:
    cdef const Source* s = e.body
    cdef const Source* found
    cdef const int32_t* ends
    cdef uint64_t mask = 0 if s == NULL else valid_rows(s, row, n)
    cdef uint64_t size = 0
    cdef uint32_t seen = 0, low = 0xFFFFFF
    cdef int64_t k
    cdef int i
    if mask == first_rows(n) and s.kind == IN_OCTETS and not s.text:
        ends = <const int32_t*>s.ends + s.at + row
        for i in range(n):
            h.body_n[i] = <uint32_t>ends[i + 1] - <uint32_t>ends[i]
            h.body[i] = s.data + ends[i]
            seen |= h.body_n[i]
            low = min(low, h.body_n[i])
        if seen > 0xFFFFFF or ends[0] < 0 or <uint64_t>ends[n] > s.last:
            return GIVE_UP
    else:
        for i in range(n):
            h.body_n[i] = 0
            low = 0
            if not mask >> i & 1:
                continue
            found = s
            k = row + i
            if find_value(&found, &k) == NO_VALUE:
                continue
            if not is_octets(found) or octets_at(found, k, &h.body[i], &size) < 0 or size > 0xFFFFFF:
                return GIVE_UP
            if found.text and not is_utf8(h.body[i], <size_t>size):
                return GIVE_UP
            h.body_n[i] = <uint32_t>size
            seen |= h.body_n[i]
    least[0] = low + 8 if low else 0
    if e.frame_max and seen + 8 > e.frame_max:
        for i in range(n):
            if h.body_n[i] + 8 > e.frame_max:
                return GIVE_UP
    return 0


cdef int look_channels(Encoder* e, Hot* h, int64_t row, int n) noexcept nogil:
    cdef uint64_t seen = 0, mask
    cdef const Source* s = e.channel
    cdef int i
    cdef uint64_t[HOT_ROWS] number
    mask = valid_rows(s, row, n)
    if mask == 0:
        for i in range(n):
            h.channel[i] = 1
        return 0
    if s.kind == IN_DICTIONARY or look_integers(s, row, n, number) != 0:
        return GIVE_UP
    for i in range(n):
        if not mask >> i & 1:
            number[i] = 1
        seen |= number[i]
        h.channel[i] = <uint16_t>number[i]
    return GIVE_UP if seen > 0xFFFF else 0
