# The fast path, after: all was surveyed. What goes into every row is laid out in order, as puts of encode/rows.h;
# then row after row is written, and what the fronts have left open is filled in, column by column.

# ---- room ----

cdef int begin_rows(Encoder* e, int64_t row, int n, uint64_t total) noexcept nogil:
    """Room for n rows of so many bytes at most, and what a row may be written over."""
    cdef Column* c = e.out
    cdef int status
    if row + n + e.rows > c.rows and column_grow(c, e.rows + row + n) < 0:
        return NO_MEMORY
    if c.data_hint == 0:
        guess_size(e, c.used + total, e.rows + row + n)
    status = out_room(e, total + 2 * PUT_SLACK)
    if status == COLUMN_FULL:
        return FALLS_BACK
    if status == 0 and c.filled < e.rows + row:
        column_fill(c, e.rows + row)
    return status


cdef inline int32_t* ends_of_rows(Encoder* e, int64_t row) noexcept nogil:
    """Where the one before ends, then each."""
    return <int32_t*>e.out.fixed.p + e.rows + row


cdef inline void end_rows(Encoder* e, int64_t row, int n, size_t used) noexcept nogil:
    e.out.used = used
    mark_rows(e.out, e.rows + row, n)


# ---- layout ----

cdef void begin_puts(FastPlan* h) noexcept nogil:
    h.block.n_put = 0
    h.block.n_at = 0
    h.block.front_from = 0
    h.block.front_n = 0
    h.block.front_at = NULL


cdef void mark_place(FastPlan* h, PutPlace* place) noexcept nogil:
    """Of what comes next."""
    if h.block.front_at == NULL:
        h.block.front_at = h.block.at[h.block.n_at]
        h.block.n_at += 1
    place.at = h.block.front_at
    place.on = h.block.front_n - h.block.front_from


cdef void add_front(FastPlan* h, const uint8_t* p, size_t size) noexcept nogil:
    copy_bytes(h.block.front + h.block.front_n, p, size)
    h.block.front_n += size


cdef void add_constants(FastPlan* h, const uint8_t* p, size_t size) noexcept nogil:
    """Of the plan, of which 32 bytes more may be read."""
    cdef size_t k
    for k in range(0, size, 32):
        copy_32(h.block.front + h.block.front_n + k, p + k)
    h.block.front_n += size


cdef void leave_open(FastPlan* h, size_t size) noexcept nogil:
    """Up to 8 bytes."""
    memset(h.block.front + h.block.front_n, 0, 8)
    h.block.front_n += size


cdef Put* add_put(FastPlan* h, uint8_t form) noexcept nogil:
    """What rows do not share, after the front so far."""
    cdef Put* p = &h.block.put[h.block.n_put]
    h.block.n_put += 1
    p.form = form
    p.front = h.block.front + h.block.front_from
    p.front_n = h.block.front_n - h.block.front_from
    p.at = h.block.front_at
    h.block.front_from = h.block.front_n
    h.block.front_at = NULL
    return p


cdef void bind_column(Put* p, const uint8_t* data, const int32_t* ends, int n) noexcept nogil:
    p.data = data
    p.ends = ends
    p.ahead = <size_t>(ends[n] - ends[0])


cdef void bind_values(Put* p, const uint64_t* value, const uint32_t* sizes) noexcept nogil:
    p.value = value
    p.sizes = sizes


cdef void add_step(Encoder* e, FastPlan* h, int k, int n) noexcept nogil:
    cdef FastStep* t = &h.step[k]
    cdef uint32_t wide = length_width(t)
    cdef Put* p
    cdef uint8_t tag
    cdef uint8_t[4] length
    if t.way == WAY_NONE:
        return
    if t.way == WAY_EACH:
        p = add_put(h, PUT_EACH)
        p.wide = <uint8_t>wide
        p.number = 1 if t.what == STEP_NUMBER else 0
        if t.what == STEP_INT:
            p.number = tag_of(FORM_int64, e.mode)
        p.always = t.part == PART_ARGUMENTS
        p.prefix = t.prefix
        p.prefix_n = t.prefix_n
        p.mask = t.mask
        bind_values(p, h.block.value[k], h.block.sizes[k])
        return
    add_constants(h, t.prefix, t.prefix_n)
    if t.way == WAY_SAME:
        store32(length, t.size)
        add_front(h, length + 4 - wide, wide)
        add_front(h, t.data, t.size)
    elif t.way == WAY_VALUES:
        if t.what == STEP_INT:
            tag = tag_of(FORM_int32, e.mode)
            add_front(h, &tag, 1)
        mark_place(h, &t.place)
        leave_open(h, t.size)
    elif t.way == WAY_TABLE:
        leave_open(h, 4)
        mark_place(h, &h.block.opened)
    else:
        if h.block.front_n + wide - h.block.front_from > 32:
            add_put(h, PUT_FRONT)
        leave_open(h, wide)
        p = add_put(h, PUT_LONG if t.far else PUT_TEXT)
        p.wide = <uint8_t>wide
        bind_column(p, t.data, t.ends, n)


cdef void add_bodies(FastPlan* h, const uint8_t* data, int n) noexcept nogil:
    """The header frame's end, and a body frame."""
    cdef uint8_t[2] head
    cdef Put* p
    head[0] = FRAME_END
    head[1] = FRAME_BODY
    mark_place(h, &h.block.header_end)
    if h.block.body_form == PUT_END:
        add_front(h, head, 1)
        add_put(h, PUT_END)
        return
    add_front(h, head, 2)
    leave_open(h, 6)
    store16(h.block.front + h.block.front_n - 6, h.block.channel[0])
    p = add_put(h, h.block.body_form)
    if h.block.body_form == PUT_BODY:
        bind_column(p, data, h.block.body_ends, n)
    else:
        bind_values(p, h.block.body, h.block.body_n)


cdef void add_puts(Encoder* e, FastPlan* h, const Desc* d, int n) noexcept nogil:
    """All that goes into a row."""
    cdef uint8_t[22] head
    cdef int k
    begin_puts(h)
    mark_place(h, &h.block.start)
    add_constants(h, h.head, h.head_n)
    store16(h.block.front + 1, h.block.channel[0])
    for k in range(h.n_arguments):
        add_step(e, h, k, n)
    add_constants(h, h.tail, h.tail_n)
    mark_place(h, &h.block.method_end)
    memset(head, 0, 22)
    head[0] = FRAME_END
    if not d.has_content:
        add_front(h, head, 1)
        add_put(h, PUT_END)
        return
    head[1] = FRAME_HEADER
    store16(head + 2, h.block.channel[0])
    store16(head + 8, d.class_id)
    store16(head + 20, h.block.flags_same)
    add_front(h, head, 22)
    h.block.opened.at = NULL
    h.block.closed.at = NULL
    for k in range(h.n_arguments, h.n_steps):
        if h.block.opened.at != NULL and h.block.closed.at == NULL and h.step[k].part != PART_TABLE:
            mark_place(h, &h.block.closed)
        add_step(e, h, k, n)
    if h.block.opened.at != NULL and h.block.closed.at == NULL:
        mark_place(h, &h.block.closed)
    add_bodies(h, e.sources.body.data if e.sources.body != NULL else NULL, n)


# ---- what is left open ----

cdef void fill_numbers(const FastPlan* h, int n) noexcept nogil:
    cdef const FastStep* t
    cdef int k
    for k in range(h.n_steps):
        t = &h.step[k]
        if t.way == WAY_VALUES:
            store_numbers(t.place.at, t.place.on, n, t.data, <int>t.size)


cdef uint64_t fill_frames(FastPlan* h, const Desc* d, const uint8_t* data, const int32_t* ends, int n) noexcept nogil:
    """Sizes, and what varies besides: bytes of the largest method or header frame."""
    cdef PutPlace method = h.block.method_end, content = h.block.header_end
    cdef PutPlace opened = h.block.opened, closed = h.block.closed
    cdef uint8_t** starts = h.block.start.at
    cdef bint channels = h.block.channels_vary, flags = h.block.flags_vary
    cdef uint8_t* start
    cdef uint8_t* header
    cdef uint8_t* table
    cdef uint8_t* end
    cdef uint32_t size, most = 0
    cdef int i
    for i in range(n):
        start = starts[i]
        header = method.at[i] + method.on
        size = <uint32_t>(header - start) + 1
        most = max(most, size)
        store32(start + 3, size - 8)
        if channels:
            store16(start + 1, h.block.channel[i])
        if not d.has_content:
            continue
        end = content.at[i] + content.on
        size = <uint32_t>(end - header)
        most = max(most, size)
        store32(header + 4, size - 8)
        size = <uint32_t>(data + ends[i + 1] - end) - 1     # the body frame
        if channels:
            store16(header + 2, h.block.channel[i])
            if size:
                store16(end + 2, h.block.channel[i])
        store32(header + 16, size - 8 if size else 0)
        if flags:
            store16(header + 20, h.block.flags[i] | h.block.flags_same)
        if opened.at != NULL:
            table = opened.at[i] + opened.on
            store32(table - 4, <uint32_t>(closed.at[i] + closed.on - table))
    return most


cdef bint some_open_nothing(const FastPlan* h, int n) noexcept nogil:
    """Whether a table has no entries in some row."""
    cdef int i
    for i in range(n):
        if h.block.closed.at[i] + h.block.closed.on == h.block.opened.at[i] + h.block.opened.on:
            return True
    return False
