# AMQP 1.0 at frame level: the fast path, and the slow one where that falls back.

cdef const V1Desc* read_v1_head(Sink* s, const Entry* e) noexcept nogil:
    """The performative of a whole frame that is no heartbeat, or NULL and the fault is noted. s.c is then
    over what follows the descriptor."""
    cdef const uint8_t* body = e.start + 4 * <size_t>e.start[4]
    cdef const V1Desc* d
    s.fault.code = OK
    place_begin(&s.fault.at, NULL, NULL)
    s.c.p = body
    s.c.end = e.start + e.total
    s.c.base = e.base
    if AMQP_UNLIKELY(s.c.p == s.c.end):
        fail(&s.c, BAD_TRUNCATED, b"SASL frame body", 1, 0)
        return NULL
    if AMQP_UNLIKELY(body[0] != 0):
        fail(&s.c, V1_BAD_FIELD, b"performative", 0, body[0])
        return NULL
    s.c.p += 1
    d = v1_known(s.protocol.v1, &s.c)
    if AMQP_UNLIKELY(d == NULL or d.frame != (V1_SASL_FRAME if e.type else V1_AMQP_FRAME)):
        v1_bad_descriptor(&s.c, body, d, e.type == V1_FRAME_AMQP)
        return NULL
    s.fault.at.method = d.name
    return d


cdef inline uint32_t v1_mask(const Sink* s, const V1Desc* d) noexcept nogil:
    """The fields of a performative that matter."""
    if s.options.check or s.asked[COL_ARGUMENTS] != NULL:
        return ~<uint32_t>0
    return s.protocol.masks[d - s.protocol.v1.desc]


cdef int slow_v1_frame(Sink* s, const Entry* e, int64_t row) noexcept nogil:
    """As append_v1_frame, on the slow path."""
    cdef const V1Desc* d = read_v1_head(s, e)
    cdef const MethodPlan* m
    cdef const uint8_t* list_
    cdef V1Check k
    cdef uint32_t mask
    cdef int status
    if AMQP_UNLIKELY(d == NULL):
        return BAD_FRAME
    m = &s.protocol.methods[d - s.protocol.v1.desc]
    mask = v1_mask(s, d)
    if s.asked[COL_METHOD] != NULL:
        status = append_bytes(s.table, s.asked[COL_METHOD], row, d.name, m.name_n)
        if status < 0:
            return status
    if mask == 0 and s.asked[COL_PAYLOAD] == NULL:
        return 0
    list_ = s.c.p
    verify_begin(s, &k)
    if AMQP_UNLIKELY(v1_verify_fields(d, &s.c, &k, 1, s.fields, mask) < 0):
        return BAD_FRAME
    verify_end(s, &k)
    s.fault.at.method = NULL
    if AMQP_UNLIKELY(s.c.p != s.c.end and d.code != DESC_TRANSFER):
        s.fault.at.method = d.name
        fail(&s.c, BAD_TRAILING, NULL, 0, 0)
        return BAD_FRAME
    status = append_v1_picks(s, d, m, list_, row)
    if status == 0 and s.asked[COL_ARGUMENTS] != NULL:
        status = append_v1_arguments(s, d, m, row)
    if status == 0 and s.asked[COL_PAYLOAD] != NULL and d.code == DESC_TRANSFER:
        status = append_bytes(s.table, s.asked[COL_PAYLOAD], row, s.c.p, <size_t>(s.c.end - s.c.p))
    if status < 0:
        return status
    return BAD_FRAME if s.fault.code != OK else 0


cdef inline int append_v1_frame(Sink* s, const Entry* e, int64_t row) noexcept nogil:
    """A whole frame of AMQP 1.0 into the columns that not every row has; 0, BAD_FRAME or a status below 0.

    For captures: select_protocol() first, with the number of a ProtocolPlan whose protocol is AMQP 1.0 (of
    values.version; `others` of fill_columns takes a V1Core beside Protocols, the protocol itself may be
    one). With columns of 0-x that were asked for, a row has performative, its fields and a transfer's
    payload in method, arguments and payload, and frame_type, channel, frame and errors of its own.
    """
    cdef const V1Desc* d
    cdef uint64_t empty = s.empty
    cdef uint32_t mask
    cdef int status
    if AMQP_UNLIKELY(e.type == FRAME_HEARTBEAT or e.type == V1_FRAME_HEADER):
        return 0
    d = fast_v1_head(s, e)
    if AMQP_LIKELY(d != NULL):
        mask = v1_mask(s, d)
        if AMQP_LIKELY(mask != 0) or s.asked[COL_PAYLOAD] != NULL:
            status = fast_v1_performative(s, d, mask, place_of(row))
            if AMQP_LIKELY(status <= 0):
                return status
            s.empty = empty
            table_rewind(s.table, 0, s.table.n, row)
    return slow_v1_frame(s, e, row)
