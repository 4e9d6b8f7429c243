# The fast way, where a block is as even as the one before: all sizes are those, and what all rows had
# they have still.
#
# A row of the block before is the pattern: where each value stands in it is known, and what stands
# between two of them. The columns are looked at for just that, with the checks of encode/look.pxi and
# encode/numbers.pxi; whatever is otherwise leaves the block to these, and may make another pattern.

cdef extern from "encode/even.h" nogil:
    bint are_even(const int32_t* ends, int n, uint32_t size)
    void look_words(const uint64_t* value, int n, uint64_t* seen, uint64_t* far, uint64_t* differ)


cdef bint even_source(const HotStep* t) noexcept nogil:
    """Whether the values of a step are of a kind that is looked at here."""
    if t.mask == 0 or t.what == STEP_LENGTH or t.what == STEP_BITS:
        return True
    if not all_rows(t, HOT_ROWS):
        return False            # some have a default
    if t.is_table or t.what == STEP_RAW:
        return False
    if t.what == STEP_SHORT or t.what == STEP_LONG:
        return t.s.kind == IN_OCTETS
    return (t.s.kind == IN_INT32 or t.s.kind == IN_INT64 or t.s.kind == IN_UINT64 or t.s.kind == IN_DOUBLE
            or t.s.kind == IN_TIME)


cdef void even_begin(Encoder* e, Hot* h, const uint8_t* first, uint32_t total) noexcept nogil:
    """A whole block of messages was written, the first one of `total` octets: make it the pattern, if it
    may be one."""
    cdef Even* v = &h.even
    cdef HotStep* t
    cdef EvenValue* value
    cdef uint32_t at = h.head_n, front = 0
    cdef int k
    if v.skip:
        v.skip -= 1
        return
    if (h.uneven or h.flags_vary or h.channels_vary or h.bodies_vary or h.body_n[0] < 16
            or (e.method != NULL and e.method.kind != IN_OCTETS)):
        return
    for k in range(h.n_steps):
        t = &h.step[k]
        if k == h.n_arguments:
            at += h.tail_n + 22
        if not even_source(t):
            return
        value = &v.value[k]
        value.varies = False
        if t.way == WAY_NONE:
            continue
        at += t.prefix_n
        if t.way != WAY_VALUES:
            at += length_octets(t)
        elif t.what == STEP_INT:
            at += 1             # its tag
        value.at = at
        value.front = front
        value.first = h.value[k][0]
        at += t.size
        if t.way == WAY_FIXED or t.way == WAY_VALUES:
            value.varies = True
            front = at
    if h.n_steps == h.n_arguments:
        at += h.tail_n + 22
    at += 8
    if at > EVEN_ROOM or at + h.body_n[0] + 1 != total:
        return
    v.total = total
    v.channel = h.channel[0]
    v.body_at = at
    v.body_front = front
    v.body_n = h.body_n[0]
    memcpy(v.row, first, at)
    v.on = True


# ---- before ----

cdef bint even_octets(const Source* s, int64_t row, uint32_t size) noexcept nogil:
    """Whether all rows have so many octets, inside of what there is."""
    cdef const int32_t* ends = <const int32_t*>s.ends + s.at + row
    return ends[0] >= 0 and are_even(ends, HOT_ROWS, size) and <uint64_t>ends[HOT_ROWS] <= s.last


cdef bint even_text(const Even* v, HotStep* t, const EvenValue* value, int64_t row) noexcept nogil:
    cdef const Source* s = t.s
    cdef const int32_t* ends = <const int32_t*>s.ends + s.at + row
    if not even_octets(s, row, t.size):
        return False
    t.data = s.data + ends[0]
    if t.way == WAY_SAME:
        return t.size == 0 or (memcmp(t.data, v.row + value.at, t.size) == 0
                               and same_values(t.data, t.size, HOT_ROWS))
    if t.size < 16 and s.last - <uint64_t>ends[HOT_ROWS] < <uint64_t>COPY_SLACK:
        return False
    return not (s.text or t.what == STEP_SHORT) or are_utf8(s.data, ends, HOT_ROWS)


cdef bint even_number(HotStep* t, const EvenValue* value, int64_t row, uint64_t* room,
                      uint8_t* octets) noexcept nogil:
    cdef const Source* s = t.s
    cdef const uint64_t* numbers = room
    cdef uint64_t seen, far, differ
    if s.kind == IN_TIME:
        if look_times(s, row, HOT_ROWS, room) != 0:
            return False
    elif s.kind == IN_INT32:
        look_integers(s, row, HOT_ROWS, room)
    else:
        numbers = <const uint64_t*>s.data + s.at + row
    look_words(numbers, HOT_ROWS, &seen, &far, &differ)
    if t.way == WAY_SAME:
        return differ == 0 and numbers[0] == value.first
    if t.what == STEP_INT:
        if far >> 32 or (seen >> 63 and s.kind == IN_UINT64):
            return False
    elif t.wire == W_LONGLONG or t.wire == W_TIMESTAMP:
        if seen >> 63 and s.kind != IN_UINT64:
            return False
    elif t.wire != 0xFF and seen > highest_of(t.wire):
        return False
    t.data = <const uint8_t*>numbers
    if t.size == 1:
        put_low_octets(octets, numbers, HOT_ROWS)
        t.data = octets
    return True


cdef bint even_bits(HotStep* t, int64_t row, uint8_t* octets) noexcept nogil:
    cdef uint64_t mask
    cdef const Source* s
    cdef int i, k
    memset(octets, 0, HOT_ROWS)
    for k in range(8):
        s = t.bits[k]
        if s == NULL:
            continue
        mask = valid_rows(s, row, HOT_ROWS)
        if mask:
            if s.kind != IN_BOOL:
                return False
            mask &= bits_at(s.data, s.at + row, HOT_ROWS)
        if t.way == WAY_SAME:
            if mask != (first_rows(HOT_ROWS) if t.constant[0] >> k & 1 else 0):
                return False
        elif mask:
            for i in range(0, HOT_ROWS, 8):
                put_bits_apart(octets + i, <uint8_t>(mask >> i), k)
    if t.way != WAY_SAME:
        t.data = octets
    return True


cdef bint even_looks(Encoder* e, Hot* h, int64_t row) noexcept nogil:
    """Whether a block is as the pattern is."""
    cdef Even* v = &h.even
    cdef const Source* s = e.body
    cdef HotStep* t
    cdef bint as_ever
    cdef int k
    if look_channels(e, h, row, HOT_ROWS) != 0 or h.channels_vary or h.channel[0] != v.channel:
        return False
    for k in range(h.n_foreign):
        if valid_rows(h.foreign[k], row, HOT_ROWS):
            return False
    for k in range(h.n_steps):
        t = &h.step[k]
        if t.what == STEP_BITS:
            as_ever = even_bits(t, row, <uint8_t*>h.octets[k])
        elif step_rows(t, row, HOT_ROWS) != t.mask:
            return False
        elif t.mask == 0 or t.what == STEP_LENGTH:
            continue
        elif t.what == STEP_SHORT or t.what == STEP_LONG:
            as_ever = even_text(v, t, &v.value[k], row)
        else:
            as_ever = even_number(t, &v.value[k], row, h.value[k], <uint8_t*>h.octets[k])
        if not as_ever:
            return False
        prefetch_next(t.s, row, HOT_ROWS, t.way == WAY_SAME)
    if valid_rows(s, row, HOT_ROWS) != first_rows(HOT_ROWS) or not even_octets(s, row, v.body_n):
        return False
    if s.text and not are_utf8(s.data, <const int32_t*>s.ends + s.at + row, HOT_ROWS):
        return False
    prefetch_next(s, row, HOT_ROWS, False)
    h.body[0] = <uint64_t><uintptr_t>(s.data + (<const int32_t*>s.ends)[s.at + row])
    return True


# ---- after ----

cdef void even_rows(Hot* h, int first) noexcept nogil:
    """Write EVEN_ROWS of the block's rows."""
    cdef const Even* v = &h.even
    cdef const EvenValue* value
    cdef const HotStep* t
    cdef uint8_t** rows = h.w + first
    cdef uint8_t* w = rows[0]
    cdef int k
    for k in range(h.n_steps):
        t = &h.step[k]
        value = &v.value[k]
        if not value.varies:
            continue
        if t.way == WAY_FIXED:
            put_fixed(rows, value.front, EVEN_ROWS, v.row + value.front, value.at - value.front,
                      t.data + first * t.size, t.size)
        else:
            put_values(rows, value.front, EVEN_ROWS, v.row + value.front, value.at - value.front,
                       t.data + first * (1 if t.size == 1 else 8), <int>t.size)
    put_fixed(rows, v.body_front, EVEN_ROWS, v.row + v.body_front, v.body_at - v.body_front,
              <const uint8_t*><uintptr_t>h.body[0] + first * v.body_n, v.body_n)
    for k in range(EVEN_ROWS):
        w += v.total
        (w - 1)[0] = FRAME_END
        if v.total > LINES:
            # even_block asked for what is before
            prefetch_lines(w + (HOT_ROWS - 1) * v.total + LINES, v.total - LINES)


cdef int even_block(Encoder* e, Hot* h, int64_t row) noexcept nogil:
    """HOT_ROWS rows of the method e.desc, all of them valid: 0, GIVE_UP and nothing written, or worse."""
    cdef Even* v = &h.even
    cdef int32_t* ends
    cdef uint8_t* w
    cdef size_t used, all_ = <size_t>v.total * HOT_ROWS
    cdef int k, status
    if not even_looks(e, h, row):
        v.on = False
        v.skip = v.wait
        v.wait = min(2 * v.wait + 1, 31)
        return GIVE_UP
    status = begin_rows(e, row, HOT_ROWS, all_)
    if status != 0:
        return status
    v.wait = 0
    ends = ends_of_rows(e, row)
    used = e.out.used
    w = e.out.data.p + used
    for k in range(HOT_ROWS):
        h.w[k] = w
        prefetch_lines(w + all_, v.total)       # where the next block goes
        w += v.total
        used += v.total
        ends[k + 1] = <int32_t>used
    for k in range(HOT_ROWS // EVEN_ROWS):
        even_rows(h, k * EVEN_ROWS)
    end_rows(e, row, HOT_ROWS, used)
    return 0
