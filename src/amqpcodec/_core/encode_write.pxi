# The fast way, after: a column is written for all rows of a block. There is room, and all was checked.
#
# What all rows have next gathers in h.front, until something follows that they do not share: one goes over
# the rows then, and writes both.

# ---- rows ----

cdef inline void guess_octets(Encoder* e, size_t used, int64_t rows) noexcept nogil:
    """How large the messages will be in the end, from what so many are."""
    cdef Column* c = e.out
    if c.data_hint == 0 or rows & (rows - 1) == 0:
        c.row_hint = e.total
        c.data_hint = <size_t>min(<double>used / <double>rows * 1.07 * <double>e.total + 65536.0,
                                  <double>e.table.limit)


cdef int begin_rows(Encoder* e, Hot* h, int64_t row, int n, uint64_t total) noexcept nogil:
    """Room for n rows of so many octets, then where each begins."""
    cdef Column* c = e.out
    cdef int32_t* ends
    cdef uint8_t* w
    cdef size_t used
    cdef int i, status
    if row + n + e.rows > c.rows and column_grow(c, e.rows + row + n) < 0:
        return NO_MEMORY
    if c.data_hint == 0:
        guess_octets(e, c.used + total, e.rows + row + n)
    status = out_room(e, total + 32)
    if status == COLUMN_FULL:
        return GIVE_UP
    if status != 0:
        return status
    if c.filled < e.rows + row:
        column_fill(c, e.rows + row)
    ends = <int32_t*>c.fixed.p + e.rows + row + 1
    used = c.used
    w = c.data.p + used
    for i in range(n):
        h.w[i] = w
        # where the next block goes
        prefetch_lines(w + total, h.total[i])
        w += h.total[i]
        used += h.total[i]
        ends[i] = <int32_t>used
    return 0


cdef inline void end_rows(Encoder* e, int64_t row, int n, uint64_t total) noexcept nogil:
    e.out.used += <size_t>total
    mark_rows(e.out, e.rows + row, n)


# ---- steps ----

cdef inline void drop_front(Hot* h, int n) noexcept nogil:
    """Write it, and nothing behind it: h.w is where each row goes on."""
    if h.front_n or h.on:
        put_tight(h.w, h.on, n, h.front, h.front_n)
        h.front_n = 0
        h.on = 0


cdef inline void wrote(Hot* h, size_t size) noexcept nogil:
    """The front, and a value of this size in each row."""
    h.on += h.front_n + size
    h.front_n = 0


cdef inline void add_front(Hot* h, const uint8_t* p, size_t size, int n) noexcept nogil:
    if AMQP_UNLIKELY(h.front_n + size > FRONT_ROOM):
        drop_front(h, n)
        if size > FRONT_ROOM:
            put_tight(h.w, 0, n, p, size)
            return
    copy_octets(h.front + h.front_n, p, size)
    h.front_n += size


cdef inline void add_length(Hot* h, const HotStep* t, int n) noexcept nogil:
    """The length of values of one size."""
    cdef uint8_t[4] octets
    store32(octets, t.size)
    add_front(h, octets + 4 - length_octets(t), length_octets(t), n)


cdef void write_fixed(Hot* h, const uint8_t* p, uint32_t size, bint slack, uint32_t after, int n) noexcept nogil:
    """Values of one size that lie behind one another."""
    cdef int i
    if size >= 16 or (slack and size + after >= 16):
        put_fixed(h.w, h.on, n, h.front, h.front_n, p, size)
        wrote(h, size)
        return
    drop_front(h, n)
    for i in range(n):
        copy_octets(h.w[i], p, size)
        h.w[i] += size
        p += size


cdef void write_texts(Hot* h, const HotStep* t, int n) noexcept nogil:
    cdef uint32_t size
    cdef uint8_t* w
    cdef int i
    if t.slack and t.after >= 16:
        put_texts(h.w, h.on, n, h.front, h.front_n, t.data, t.ends, t.what == STEP_LONG)
        h.front_n = 0
        h.on = 0
        return
    drop_front(h, n)
    for i in range(n):
        w = h.w[i]
        size = <uint32_t>(t.ends[i + 1] - t.ends[i])
        if t.what == STEP_SHORT:
            w[0] = <uint8_t>size
            w += 1
        elif t.what == STEP_LONG:
            store32(w, size)
            w += 4
        copy_octets(w, t.data + t.ends[i], size)
        h.w[i] = w + size


cdef void write_values(Hot* h, const HotStep* t, int n) noexcept nogil:
    cdef const uint64_t* value = <const uint64_t*>t.data
    cdef int i
    if t.size + t.after >= 16:
        put_values(h.w, h.on, n, h.front, h.front_n, t.data, <int>t.size)
        wrote(h, t.size)
        return
    drop_front(h, n)
    for i in range(n):
        h.w[i] = write_number(h.w[i], t.data[i] if t.size == 1 else value[i], t.size)


cdef inline uint8_t* write_number(uint8_t* w, uint64_t v, uint32_t width) noexcept nogil:
    if width == 1:
        w[0] = <uint8_t>v
    elif width == 8:
        store64(w, v)
    elif width == 4:
        store32(w, <uint32_t>v)
    else:
        store16(w, <uint16_t>v)
    return w + width


cdef void write_each(Hot* h, const HotStep* t, const uint64_t* value, const uint32_t* sizes, int n,
                     uint8_t wide) noexcept nogil:
    """The rows that have it."""
    cdef uint8_t* w
    cdef int i
    drop_front(h, n)
    for i in range(n):
        if not t.mask >> i & 1 and t.part != PART_ARGUMENTS:
            continue
        w = h.w[i]
        copy_octets(w, t.prefix, t.prefix_n)
        w += t.prefix_n
        if t.what == STEP_NUMBER:
            h.w[i] = write_number(w, value[i], sizes[i])
            continue
        if t.what == STEP_INT:
            w[0] = c'I' if sizes[i] == 5 else wide
            h.w[i] = write_number(w + 1, value[i], sizes[i] - 1)
            continue
        if t.what == STEP_SHORT:
            w[0] = <uint8_t>sizes[i]
            w += 1
        elif t.what == STEP_LONG:
            store32(w, sizes[i])
            w += 4
        if sizes[i]:
            copy_octets(w, <const uint8_t*><uintptr_t>value[i], sizes[i])
        h.w[i] = w + sizes[i]


cdef void write_step(Encoder* e, Hot* h, int k, int n) noexcept nogil:
    cdef HotStep* t = &h.step[k]
    if t.way == WAY_NONE:
        return
    if t.way == WAY_EACH:
        write_each(h, t, h.value[k], h.octets[k], n, c'L' if e.mode & MODE_LETTER else c'l')
        return
    add_front(h, t.prefix, t.prefix_n, n)
    if t.way == WAY_SAME:
        add_length(h, t, n)
        add_front(h, t.data, t.size, n)
    elif t.way == WAY_FIXED:
        add_length(h, t, n)
        write_fixed(h, t.data, t.size, t.slack, t.after, n)
    elif t.way == WAY_TEXTS:
        write_texts(h, t, n)
    else:
        if t.what == STEP_INT:
            add_front(h, <const uint8_t*>b"I", 1, n)
        write_values(h, t, n)


# ---- frames ----

cdef void add_method(Hot* h, int n) noexcept nogil:
    """The envelope and what is the same in all; what is not comes in patch_frames."""
    add_front(h, h.head, h.head_n, n)
    store16(h.front + 1, h.channel[0])
    store32(h.front + 3, h.head_n - 7 + h.same[PART_ARGUMENTS] + h.tail_n)


cdef void add_header(Hot* h, const Desc* d, int n) noexcept nogil:
    """The method frame's end, the header frame up to its flags."""
    cdef uint8_t[22] head
    memset(head, 0, 22)
    head[0] = FRAME_END
    head[1] = FRAME_HEADER
    store16(head + 2, h.channel[0])
    store32(head + 4, 14 + h.same[PART_PROPERTIES] + h.same[PART_TABLE])
    store16(head + 8, d.class_id)
    store32(head + 16, h.body_n[0])
    store16(head + 20, h.flags_same)
    add_front(h, h.tail, h.tail_n, n)
    add_front(h, head, 22, n)


cdef void write_bodies(Hot* h, int n) noexcept nogil:
    """The header frame's end and the body frame, if there is one."""
    cdef uint8_t[9] head
    cdef uint8_t* w
    cdef uint32_t size
    cdef int i
    head[0] = FRAME_END
    head[1] = FRAME_BODY
    store16(head + 2, h.channel[0])
    store32(head + 4, h.body_n[0])
    if not h.bodies_vary:
        if h.body_n[0] == 0:
            add_front(h, head, 1, n)
            drop_front(h, n)
            return
        add_front(h, head, 8, n)
        write_fixed(h, h.body[0], h.body_n[0], False, 1, n)
        for i in range(n):
            h.w[i][h.on] = FRAME_END
        return
    drop_front(h, n)
    for i in range(n):
        w = h.w[i]
        size = h.body_n[i]
        if size:
            copy_octets(w, head, 4)
            store32(w + 4, size)
            copy_octets(w + 8, h.body[i], size)
            w += 8 + size
        w[0] = FRAME_END


cdef void patch_frames(Hot* h, const Desc* d, uint8_t* w, int n) noexcept nogil:
    """What varies in the envelopes and in the header. w: the first row."""
    cdef bint sizes = h.varies[PART_PROPERTIES] or h.varies[PART_TABLE]
    cdef uint32_t more = h.same[PART_PROPERTIES] + h.same[PART_TABLE] + 14
    cdef uint32_t size, arguments = h.head_n + h.same[PART_ARGUMENTS] + h.tail_n
    cdef uint8_t* header
    cdef uint8_t* end = w
    cdef int i
    if not (h.varies[PART_ARGUMENTS] or sizes or h.channels_vary or h.flags_vary or h.bodies_vary):
        return
    for i in range(n):
        w = end
        end += h.total[i]
        size = arguments
        if h.varies[PART_ARGUMENTS]:
            size += h.size[PART_ARGUMENTS][i]
            store32(w + 3, size - 7)
        header = w + size       # behind the end of the method frame
        if h.channels_vary:
            store16(w + 1, h.channel[i])
        if not d.has_content:
            continue
        if h.channels_vary:
            store16(header + 2, h.channel[i])
            size = h.body_n[i if h.bodies_vary else 0]
            if size:
                store16(end - size - 7, h.channel[i])
        if sizes:
            size = more
            if h.varies[PART_PROPERTIES]:
                size += h.size[PART_PROPERTIES][i]
            if h.varies[PART_TABLE]:
                size += h.size[PART_TABLE][i]
            store32(header + 4, size)
        if h.bodies_vary:
            store32(header + 16, h.body_n[i])
        if h.flags_vary:
            store16(header + 20, h.flags[i] | h.flags_same)
