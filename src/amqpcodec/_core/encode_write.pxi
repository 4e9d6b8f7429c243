# The fast way, after: a column is written for all rows of a block. There is room, and all was checked.

cdef inline uint8_t* put_prefix(uint8_t* w, const uint8_t* p, size_t n, bint loose) noexcept nogil:
    cdef size_t i
    if n == 0:
        return w
    if loose:
        copy_16(w, p)
        i = 16
        while i < n:
            copy_16(w + i, p + i)
            i += 16
    else:
        copy_octets(w, p, n)
    return w + n


cdef inline void put_run(uint8_t* w, const uint8_t* p, size_t n) noexcept nogil:
    """Sixteen octets at a time, at least."""
    cdef size_t i = 16
    copy_16(w, p)
    while AMQP_UNLIKELY(i < n):
        copy_16(w + i, p + i)
        i += 16


cdef void write_direct(Hot* h, const HotStep* t, int n) noexcept nogil:
    """Octets of every row, straight from the column."""
    cdef const int32_t* ends = t.ends
    cdef const uint8_t* data = t.s.data
    cdef uint8_t* w
    cdef uint32_t size
    cdef int i
    cdef const uint8_t* prefix = t.prefix
    cdef size_t prefix_n = t.prefix_n
    if t.loose and t.what == STEP_SHORT:
        for i in range(n):
            w = put_prefix(h.w[i], prefix, prefix_n, True)
            size = <uint32_t>(ends[i + 1] - ends[i])
            w[0] = <uint8_t>size
            put_run(w + 1, data + ends[i], size)
            h.w[i] = w + 1 + size
    elif t.loose:
        for i in range(n):
            w = put_prefix(h.w[i], prefix, prefix_n, True)
            size = <uint32_t>(ends[i + 1] - ends[i])
            store32(w, size)
            put_run(w + 4, data + ends[i], size)
            h.w[i] = w + 4 + size
    else:
        for i in range(n):
            w = put_prefix(h.w[i], prefix, prefix_n, False)
            size = <uint32_t>(ends[i + 1] - ends[i])
            if t.what == STEP_SHORT:
                w[0] = <uint8_t>size
                w += 1
            else:
                store32(w, size)
                w += 4
            copy_octets(w, data + ends[i], size)
            h.w[i] = w + size


cdef void write_gathered(Hot* h, const HotStep* t, const uint64_t* at, const uint32_t* sizes,
                         int n) noexcept nogil:
    """Octets of the rows that have them."""
    cdef uint8_t* w
    cdef int i
    for i in range(n):
        if not t.mask >> i & 1 and t.part != PART_ARGUMENTS:
            continue
        w = put_prefix(h.w[i], t.prefix, t.prefix_n, False)
        if t.what == STEP_SHORT:
            w[0] = <uint8_t>sizes[i]
            w += 1
        elif t.what == STEP_LONG:
            store32(w, sizes[i])
            w += 4
        if sizes[i]:
            copy_octets(w, <const uint8_t*><uintptr_t>at[i], sizes[i])
        h.w[i] = w + sizes[i]


cdef void write_numbers(Hot* h, const HotStep* t, const uint64_t* value, int n) noexcept nogil:
    cdef uint8_t* w
    cdef int i
    cdef int width = t.width
    cdef bint each = t.part == PART_ARGUMENTS or all_rows(t, n)
    for i in range(n):
        if not each and not t.mask >> i & 1:
            continue
        w = put_prefix(h.w[i], t.prefix, t.prefix_n, t.loose)
        if width == 1:
            w[0] = <uint8_t>value[i]
        elif width == 8:
            store64(w, value[i])
        elif width == 4:
            store32(w, <uint32_t>value[i])
        else:
            store16(w, <uint16_t>value[i])
        h.w[i] = w + width


cdef void write_ints(Hot* h, const HotStep* t, const uint64_t* value, const uint32_t* sizes, int n,
                     uint8_t wide) noexcept nogil:
    cdef uint8_t* w
    cdef int i
    for i in range(n):
        if not t.mask >> i & 1:
            continue
        w = put_prefix(h.w[i], t.prefix, t.prefix_n, t.loose)
        if AMQP_LIKELY(sizes[i] == 5):
            w[0] = c'I'
            store32(w + 1, <uint32_t>value[i])
        else:
            w[0] = wide
            store64(w + 1, value[i])
        h.w[i] = w + sizes[i]


cdef void write_step(Encoder* e, Hot* h, int k, int n) noexcept nogil:
    cdef HotStep* t = &h.step[k]
    cdef int i
    if t.mask == 0 and t.part != PART_ARGUMENTS:
        return
    if t.what == STEP_LENGTH:
        for i in range(n):
            store32(h.w[i], h.size[PART_TABLE][i])
            h.w[i] += 4
    elif t.ends != NULL:
        write_direct(h, t, n)
    elif t.what == STEP_NUMBER or t.what == STEP_BITS:
        write_numbers(h, t, h.value[k], n)
    elif t.what == STEP_INT:
        write_ints(h, t, h.value[k], h.octets[k], n, c'L' if e.mode & MODE_LETTER else c'l')
    else:
        write_gathered(h, t, h.value[k], h.octets[k], n)


cdef void write_methods(Hot* h, int n) noexcept nogil:
    """Where each row begins: the envelope and what is the same in all."""
    cdef uint8_t* w
    cdef uint32_t same = h.head_n - 7
    cdef int i
    cdef size_t k
    for i in range(n):
        w = h.w[i]
        k = 0
        while k < h.head_n:
            copy_16(w + k, h.head + k)
            k += 16
        store16(w + 1, h.channel[i])
        store32(w + 3, h.size[PART_ARGUMENTS][i] + same + h.tail_n)
        h.w[i] = w + h.head_n


cdef void write_headers(Hot* h, const Desc* d, int n) noexcept nogil:
    """The method frame's end, the header frame up to its flags."""
    cdef uint8_t[32] head
    cdef uint8_t* w
    cdef int i
    memset(head, 0, 32)
    head[0] = FRAME_END
    head[1] = FRAME_HEADER
    store16(head + 8, d.class_id)
    for i in range(n):
        w = h.w[i]
        if h.tail_n:
            copy_octets(w, h.tail, h.tail_n)
            w += h.tail_n
        copy_16(w, head)
        store16(w + 2, h.channel[i])
        store32(w + 4, h.size[PART_PROPERTIES][i] + h.size[PART_TABLE][i] + 14)
        store64(w + 12, h.body_n[i])
        store16(w + 20, h.flags[i])
        h.w[i] = w + 22


cdef void write_ends(Hot* h, int n) noexcept nogil:
    """The header frame's end and the body frame, if there is one."""
    cdef uint8_t* w
    cdef uint32_t size
    cdef int i
    for i in range(n):
        w = h.w[i]
        w[0] = FRAME_END
        size = h.body_n[i]
        if size:
            w[1] = FRAME_BODY
            store16(w + 2, h.channel[i])
            store32(w + 4, size)
            copy_octets(w + 8, h.body[i], size)
            w[8 + size] = FRAME_END
