# AMQP 1.0 at message level: a row for each delivery, whole, and for each other performative.

cdef inline uint32_t v1_row_mask(const Sink* s, const V1Desc* d) noexcept nogil:
    """As v1_mask, with what putting deliveries together takes."""
    cdef uint32_t mask = v1_mask(s, d)
    if d.code == DESC_TRANSFER:
        return mask | ASSEMBLY_FIELDS
    return mask | 1 << DETACH_HANDLE if d.code == DESC_DETACH else mask


cdef int fast_v1_row(Sink* s, const Entry* e) noexcept nogil:
    """A frame that is a row of its own, and its message. As the readers of columns/v1_fast.pxi it falls back
    at anything else."""
    cdef V1Links* a = s.links
    cdef const V1Desc* d = fast_v1_head(s, e)
    cdef const V1Value* v = s.fields
    cdef Column* whole = v1_asked(s, V1_COL_MESSAGE) if s.sections.own_columns else s.asked[COL_BODY]
    cdef RowPlace at = place_of(s.rows)
    cdef size_t n
    cdef int status
    if AMQP_UNLIKELY(d == NULL) or a.n_open and (d.code == DESC_DETACH or d.code == DESC_END or d.code == DESC_CLOSE):
        return FALLS_BACK
    status = fast_v1_performative(s, d, v1_row_mask(s, d), at)
    if status != 0 or d.code != DESC_TRANSFER:
        return status
    if AMQP_UNLIKELY(v1_true(&v[TRANSFER_MORE]) or v1_true(&v[TRANSFER_ABORTED]) or v1_true(&v[TRANSFER_RESUME])):
        return FALLS_BACK
    if AMQP_UNLIKELY(a.n_open != 0) and v1_find_open(a, v1_link_key(e, &v[TRANSFER_HANDLE])):
        return FALLS_BACK
    if a.single != NULL and v1_is_unidentified(v):
        return FALLS_BACK
    n = <size_t>(s.c.end - s.c.p)
    if whole != NULL:
        status = fast_bytes(s.table, whole, at, s.c.p, n)
        if status < 0:
            return status
    if s.sections.mask == 0 or (v[TRANSFER_MESSAGE_FORMAT].wire_type != V1_NULL and v[TRANSFER_MESSAGE_FORMAT].u != 0):
        return 0
    return fast_v1_message(s, &s.c, at)


cdef int step_v1_frame(Sink* s, const Entry* e) noexcept nogil:
    """One frame, whatever it is."""
    cdef V1Links* a = s.links
    cdef const V1Desc* d
    cdef const MethodPlan* m
    cdef const uint8_t* list_
    cdef V1Check k
    cdef uint64_t empty
    cdef uint32_t mask, number
    cdef int status
    if AMQP_UNLIKELY(e.broken):
        status = end_v1_all(s) if e.broken == BROKEN_LOST else 0
        return append_v1_alone(s, e) if status == 0 else status
    if AMQP_UNLIKELY(e.type == FRAME_HEARTBEAT or e.type == V1_FRAME_HEADER):
        return 0
    s.fault_row = e.row
    empty = s.empty
    status = fast_v1_row(s, e)
    if AMQP_LIKELY(status <= 0):
        return end_v1_row(s, e, NULL, status)
    s.empty = empty
    table_rewind(s.table, 0, s.table.n, s.rows)
    d = read_v1_head(s, e)
    if AMQP_UNLIKELY(d == NULL):
        return end_v1_row(s, e, NULL, BAD_FRAME)
    m = &s.protocol.methods[d - s.protocol.v1.desc]
    mask = v1_row_mask(s, d)
    if d.code != DESC_TRANSFER and s.asked[COL_METHOD] != NULL:
        status = append_bytes(s.table, s.asked[COL_METHOD], s.rows, d.name, m.name_n)
        if status < 0:
            return status
    list_ = s.c.p
    verify_begin(s, &k)
    if AMQP_UNLIKELY(v1_verify_fields(d, &s.c, &k, 1, s.fields, mask) < 0):
        if d.code == DESC_TRANSFER and s.asked[COL_METHOD] != NULL:
            status = append_bytes(s.table, s.asked[COL_METHOD], s.rows, d.name, m.name_n)
            if status < 0:
                return status
        return end_v1_row(s, e, NULL, BAD_FRAME)
    verify_end(s, &k)
    s.fault.at.method = NULL
    if AMQP_LIKELY(d.code == DESC_TRANSFER):
        return step_v1_transfer(s, e, list_)
    if AMQP_UNLIKELY(s.c.p != s.c.end):
        s.fault.at.method = d.name
        fail(&s.c, BAD_TRAILING, NULL, 0, 0)
        return end_v1_row(s, e, NULL, BAD_FRAME)
    if AMQP_UNLIKELY(a.n_open != 0):
        if d.code == DESC_DETACH:
            number = v1_find_open(a, v1_link_key(e, &s.fields[TRANSFER_HANDLE]))
            if number:
                v1_close_open(a, v1_open_at(a, number))
        elif d.code == DESC_END:
            v1_close_channel(a, e.channel)
        elif d.code == DESC_CLOSE:
            v1_close_all(a)
    status = append_v1_picks(s, d, m, list_, s.rows)
    if status == 0 and s.asked[COL_ARGUMENTS] != NULL:
        status = append_v1_arguments(s, d, m, s.rows)
    if status == 0 and s.fault.code != OK:
        status = BAD_FRAME
    return end_v1_row(s, e, NULL, status)


cdef int step_v1_value(Sink* s, const uint8_t* p, const uint8_t* end, int64_t row) noexcept nogil:
    """All frames of a value."""
    cdef Entry e
    cdef const uint8_t* base = p
    cdef int status
    while p < end:
        AMQP_PREFETCH(p + RUN_AHEAD)
        e.base = base
        e.row = row
        p = find_v1_frame(s, &e, p, end)
        status = step_v1_frame(s, &e)
        if AMQP_UNLIKELY(status < 0):
            return status
    return 0


cdef int step_v1_single(Sink* s, const uint8_t* p, const uint8_t* end, int64_t row) noexcept nogil:
    """A value that is one delivery or other performative, or else one row that says why not."""
    cdef V1Links* a = s.links
    cdef Entry e
    cdef const uint8_t* base = p
    cdef int64_t before = s.rows
    cdef int status = 0
    a.single = p
    a.single_end = end
    while p < end and s.rows == before and status == 0:
        e.base = base
        e.row = row
        p = find_v1_frame(s, &e, p, end)
        status = step_v1_frame(s, &e)
    if status == 0 and s.rows == before and a.n_open:
        status = end_v1_all(s)
    v1_close_all(a)
    if status == 0 and s.rows == before:        # nothing that gives a row
        memset(&e, 0, sizeof(Entry))
        e.start = e.base = base
        e.row = row
        e.total = <uint64_t>(end - base)
        e.type = 0xFF
        e.no_channel = True
        s.fault_row = row
        status = end_v1_row(s, &e, NULL, v1_out_of_place(s, &e, b"no message"))
    a.single = NULL
    return status
