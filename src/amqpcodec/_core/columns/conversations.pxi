# Message level over several conversations: values by group, and what is open at the end of the input.

cdef int read_groups(object groups, Values* values, Block* order) except -1:
    """groups: a buffer of int32, the number of each value's conversation, from 0. Values of one group are read
    one after another, in the order of the input."""
    cdef Py_buffer view
    cdef int64_t i, k, n = values.n
    cdef int64_t* to
    cdef int64_t* next_
    cdef const int32_t* group
    PyObject_GetBuffer(groups, &view, PyBUF_SIMPLE)
    try:
        if view.len != n * <Py_ssize_t>sizeof(int32_t):
            raise ValueError(f"{n} values have {view.len // <Py_ssize_t>sizeof(int32_t)} keys")
        # The order, a place for each group, and the groups, which others could change.
        if block_room(order, 0, (2 * <size_t>n + 2) * sizeof(int64_t) + <size_t>view.len) < 0:
            raise MemoryError
        to = <int64_t*>order.p
        next_ = to + n
        memset(next_, 0, (<size_t>n + 1) * sizeof(int64_t))
        memcpy(next_ + n + 1, view.buf, <size_t>view.len)
    finally:
        PyBuffer_Release(&view)
    group = <const int32_t*>(next_ + n + 1)
    for i in range(n):
        if group[i] < 0 or group[i] >= n:
            raise ValueError(f"key {group[i]} of value {i}: keys are numbers from 0 to one below that of values")
        next_[group[i] + 1] += 1
    for i in range(n):
        next_[i + 1] += next_[i]
    for i in range(n):
        k = next_[group[i]]
        next_[group[i]] += 1
        to[k] = i
    values.order = to
    values.group = group
    return 0


cdef int begin_passing(Sink* s, list links) except -1:
    """links: what export_open gave of deliveries that were given up."""
    cdef V1Open* o
    for key in links:
        o = v1_begin_open(s.links, key)
        if o == NULL:
            raise MemoryError
        delivery_step(&o.grammar, DELIVERY_ON_DISCARD)
    return 0


cdef tuple export_open(Sink* s):
    """What is open: (row, bytes, link or -1) of each message, and the links whose deliveries were given up."""
    cdef Assembly* a = s.assembly
    cdef V1Open* o
    cdef Pending* m
    cdef uint32_t k = pending_at(a, 0).after
    messages = []
    links = []
    while k:
        m = pending_at(a, k)
        parts = [PyBytes_FromStringAndSize(<const char*>m.method.start, <Py_ssize_t>m.method.total),
                 PyBytes_FromStringAndSize(<const char*>m.header.start, <Py_ssize_t>m.header.total)]
        k = m.first
        while k:
            parts.append(PyBytes_FromStringAndSize(<const char*>piece_at(a, k).start,
                                                   <Py_ssize_t>piece_at(a, k).total))
            k = piece_at(a, k).next
        messages.append((m.method.row, b"".join(parts), -1))
        k = m.after
    k = v1_open_at(s.links, 0).after if s.links != NULL else 0
    while k:
        o = v1_open_at(s.links, k)
        if o.grammar == DELIVERY_SKIPS:
            links.append(o.key)
        else:
            parts = []
            k = o.first
            while k:
                parts.append(PyBytes_FromStringAndSize(<const char*>v1_piece_at(s.links, k).frame.start,
                                                       <Py_ssize_t>v1_piece_at(s.links, k).frame.total))
                k = v1_piece_at(s.links, k).next
            messages.append((v1_piece_at(s.links, o.first).frame.row, b"".join(parts), o.key))
        k = o.after
    return messages, links
