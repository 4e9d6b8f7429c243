# The fast path, before: columns of numbers. Ranges are checked, and what all rows have is found.

cdef int survey_integers(const Source* s, int64_t row, int n, uint64_t* out) noexcept nogil:
    """Integers as 64 bits, whatever they are where there is none."""
    cdef const uint8_t* data = s.data
    cdef int64_t at = s.at + row
    cdef int i
    if s.input_type == IN_INT32:
        for i in range(n):
            out[i] = <uint64_t><int64_t>(<const int32_t*>data)[at + i]
    elif s.input_type == IN_INT64 or s.input_type == IN_UINT64 or s.input_type == IN_DOUBLE:
        memcpy(out, <const int64_t*>data + at, 8 * <size_t>n)
    elif is_integer(s):
        for i in range(n):
            out[i] = <uint64_t>signed_at(s.input_type, data, at + i)
    else:
        return FALLS_BACK
    return 0


cdef int survey_times(const Source* s, int64_t row, int n, uint64_t* out) noexcept nogil:
    """Timestamps as seconds; 0 or FALLS_BACK."""
    cdef const int64_t* times = <const int64_t*>s.data + s.at + row
    cdef uint64_t seen = 0
    cdef int i
    memcpy(out, times, 8 * <size_t>n)       # others may write to the column
    if s.unit == 1000000:
        for i in range(n):
            seen |= out[i]
            out[i] = out[i] // <uint64_t>1000000
    else:
        for i in range(n):
            seen |= out[i]
            out[i] = out[i] // <uint64_t>s.unit
    # before 1970, if only under a null
    return FALLS_BACK if seen >> 63 else 0


cdef int survey_numbers(FastPlan* h, FastStep* t, int64_t row, int n, uint64_t* out, uint32_t* sizes) noexcept nogil:
    """Numbers in the range of their type; 0 or FALLS_BACK."""
    cdef const Source* s = t.s
    cdef uint64_t seen = 0, differ = 0
    cdef uint8_t* raw = <uint8_t*>sizes
    cdef int i
    if s.input_type == IN_TIME and (t.wire == W_TIMESTAMP or t.wire == 0xFF):
        if survey_times(s, row, n, out) != 0:
            return FALLS_BACK
    elif s.input_type == IN_DOUBLE and t.wire != 0xFF or survey_integers(s, row, n, out) != 0:
        return FALLS_BACK
    elif t.wire != 0xFF:
        if all_rows(t, n):
            for i in range(n):
                seen |= out[i]
        else:
            for i in range(n):
                seen |= out[i] if t.mask >> i & 1 else 0
        if t.wire == W_LONGLONG or t.wire == W_TIMESTAMP:
            if seen >> 63 and s.input_type != IN_UINT64:
                return FALLS_BACK
        elif seen > INT_LIMITS[t.wire]:     # it is all ones
            return FALLS_BACK
    if not all_rows(t, n):
        if t.part == PART_ARGUMENTS:
            for i in range(n):
                if not t.mask >> i & 1:
                    out[i] = 0
        else:
            for i in range(n):
                sizes[i] = t.width
            survey_some(h, t, n, sizes)
            return 0
    for i in range(n):
        differ |= out[i] ^ out[0]
    if differ == 0:
        same_number(t, out[0], t.width)
        return 0
    survey_values(t, out, t.width)
    if t.width == 1:
        store_low_bytes(raw, out, n)
        t.data = raw
    return 0


cdef void same_number(FastStep* t, uint64_t v, uint8_t width) noexcept nogil:
    """A number that all rows have."""
    cdef uint8_t[8] raw
    store64(raw, v)
    memcpy(t.constant, raw + 8 - width, width)
    survey_same(t, t.constant, width)


cdef int survey_bits(FastStep* t, int64_t row, int n, uint64_t* out, uint32_t* sizes) noexcept nogil:
    """Up to eight columns as one byte."""
    cdef uint8_t* raw = <uint8_t*>sizes
    cdef uint64_t mask, bits, all_ = first_rows(n)
    cdef const Source* s
    cdef uint8_t constant = 0
    cdef bint differ = False
    cdef int i, k
    for k in range(8):
        s = t.bits[k]
        if s == NULL:
            continue
        mask = valid_rows(s, row, n)
        if mask and s.input_type == IN_BOOL:
            mask &= bits_at(s.data, s.at + row, n)
        elif mask:
            if s.input_type == IN_DICTIONARY or survey_integers(s, row, n, out) != 0:
                return FALLS_BACK
            bits = 0
            for i in range(n):
                bits |= <uint64_t>(out[i] != 0) << i
            mask &= bits
        if mask == all_:
            constant |= <uint8_t>(1 << k)
        elif mask:
            if not differ:
                differ = True
                memset(raw, 0, FAST_ROWS)
            for i in range(0, n, 8):
                store_bits_apart(raw + i, <uint8_t>(mask >> i), k)
    if not differ:
        same_number(t, constant, 1)
        return 0
    if constant:
        for i in range(n):
            raw[i] |= constant
    survey_values(t, raw, 1)
    return 0


cdef int survey_ints(FastPlan* h, FastStep* t, int64_t row, int n, uint64_t* out, uint32_t* sizes) noexcept nogil:
    """Integers of a table: with their tag, 5 or 9 bytes."""
    cdef int i
    cdef int64_t v
    cdef uint64_t far = 0, differ = 0, seen = 0
    survey_integers(t.s, row, n, out)     # of which a step of this type is made
    if all_rows(t, n):
        for i in range(n):
            # above 31 bits, that and the sign are not all the same
            far |= (out[i] + <uint64_t>0x80000000) >> 32
            differ |= out[i] ^ out[0]
            seen |= out[i]
        if seen >> 63 and t.s.input_type == IN_UINT64:
            return FALLS_BACK
        if far == 0 and differ == 0:
            t.constant[0] = tag_of(FORM_int32, 0)
            store32(t.constant + 1, <uint32_t>out[0])
            survey_same(t, t.constant, 5)
            return 0
        if far == 0:
            survey_values(t, out, 4)
            return 0
    for i in range(n):
        if not t.mask >> i & 1:
            continue
        v = <int64_t>out[i]
        if t.s.input_type == IN_UINT64 and v < 0:
            return FALLS_BACK
        sizes[i] = <uint32_t>tagged_bytes(int_form(v))
    survey_some(h, t, n, sizes)
    return 0


# ---- channels ----

cdef int survey_channels(Encoder* e, FastPlan* h, int64_t row, int n) noexcept nogil:
    """Channels: the first one, or all where they vary; 0 or FALLS_BACK."""
    cdef uint64_t seen = 0, differ = 0, mask
    cdef const Source* s = e.sources.channel
    cdef int i
    cdef uint64_t[FAST_ROWS] number
    h.block.channels_vary = False
    h.block.channel[0] = 1
    mask = 0 if s == NULL else valid_rows(s, row, n)
    if mask == 0:
        return 0
    if s.input_type == IN_DICTIONARY or survey_integers(s, row, n, number) != 0:
        return FALLS_BACK
    for i in range(n):
        if not mask >> i & 1:
            number[i] = 1
        seen |= number[i]
        differ |= number[i] ^ number[0]
        h.block.channel[i] = <uint16_t>number[i]
    h.block.channels_vary = differ != 0
    prefetch_next(s, row, n, False)
    return FALLS_BACK if seen > 0xFFFF else 0
