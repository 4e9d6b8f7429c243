# Performatives of AMQP 1.0 to columns, the fast path: as columns/v1_fast.pxi, and of fields as JSON text alone many
# after one another, without all that columns of their own ask for.

# ---- fields as JSON text ----

cdef inline uint8_t* v1_json_name(uint8_t* w, const FieldPlan* f) noexcept nogil:
    """As copy_piece, with as few questions as a key of this protocol needs."""
    cdef const uint8_t* key = <const uint8_t*>f.key
    cdef uint32_t n = f.key_n
    copy_16(w, key)
    copy_16(w + 16, key + 16)
    if AMQP_UNLIKELY(n > 32):
        memcpy(w + 32, key + 32, n - 32)
    return w + n


cdef inline uint8_t* v1_json_outcome(Sink* s, uint8_t* w, const uint8_t* p) noexcept nogil:
    """A described type without fields, whose descriptor is at p + 1; NULL: it is none that is known."""
    cdef const V1Desc* d = s.protocol.v1.by_code[p[2]]
    cdef const MethodPlan* m
    if AMQP_UNLIKELY(d == NULL or not d.composite):
        return NULL
    m = &s.protocol.methods[d - s.protocol.v1.desc]
    memcpy(w, <const char*>b'{"$type":"', 10)
    w += 10
    copy_16(w, <const uint8_t*>m.name)
    if m.name_n > 16:
        memcpy(w + 16, m.name + 16, m.name_n - 16)
    w += m.name_n
    w[0] = c'"'
    w[1] = c'}'
    return w + 2


cdef inline uint8_t* v1_json_fields(Sink* s, const MethodPlan* m, const uint8_t* p, const uint8_t* end,
                                    uint32_t count, uint8_t* w) noexcept nogil:
    """Fields of a list of up to 255 bytes, each checked and written with a comma in front, where there is
    m.room: after them; or NULL, where one is not as most are."""
    cdef const V1Step* step = s.protocol.v1_steps + m.first
    cdef const FieldPlan* f = m.field
    cdef uint64_t u
    cdef uint32_t i, n
    cdef uint8_t code, wire_type, shape
    for i in range(count):
        if AMQP_UNLIKELY(p >= end):
            return NULL
        code = p[0]
        if code == CTOR_NULL:
            p += 1
            continue
        wire_type = CTOR_WIRE_TYPE[code]
        if AMQP_LIKELY(wire_type == step[i].wire_type):
            if AMQP_LIKELY(v1_is_unsigned(wire_type)):
                shape = CTOR_LAYOUT[code]
                u = v1_layout_number(p, shape)
                p += 1 + shape
                w = v1_json_name(w, &f[i])
                if AMQP_LIKELY(u < 10000):
                    w = store_four_digits(w, <uint32_t>u)
                elif AMQP_LIKELY(u < 100000000):
                    w = store_eight_digits(w, <uint32_t>u)
                else:
                    w = store_u64(w, u)
                continue
            if code == CTOR_TRUE or code == CTOR_FALSE:
                p += 1
                w = fast_bool(v1_json_name(w, &f[i]), code == CTOR_TRUE)
                continue
            n = p[1]
            if AMQP_UNLIKELY(CTOR_LAYOUT[code] != LAYOUT_TEXT or end - p < <int64_t>n + 2):
                return NULL
            w = v1_json_name(w, &f[i])
            if wire_type == V1_BINARY:
                memcpy(w, <const char*>b'{"$binary":"', 12)
                w = store_base64(w + 12, p + 2, n)
                w[0] = c'"'
                w[1] = c'}'
                w += 2
            else:
                w[0] = c'"'
                if AMQP_UNLIKELY(not copy_plain(w + 1, p + 2, n)) and (
                        wire_type == V1_SYMBOL or not is_plain_utf8(p + 2, n)):
                    return NULL
                w[n + 1] = c'"'
                w += n + 2
            p += 2 + n
        elif step[i].wire_type == V1_ANY and v1_is_empty_composite(p, end):
            w = v1_json_outcome(s, v1_json_name(w, &f[i]), p)
            if AMQP_UNLIKELY(w == NULL):
                return NULL
            p += 4
        else:
            return NULL
    return w if AMQP_LIKELY(p == end) else NULL


cdef inline uint8_t* v1_json_list(Sink* s, const V1Desc* d, const uint8_t* p, const uint8_t* stop,
                                  const uint8_t** end, uint8_t* w) noexcept nogil:
    """The list of a performative's fields at p as a JSON object, where there is m.room: what follows it,
    or NULL, where something is not as most are. end: of the list, which ends before `stop`."""
    cdef const MethodPlan* m = &s.protocol.methods[d - s.protocol.v1.desc]
    cdef uint8_t* start = w
    cdef uint32_t count
    if AMQP_UNLIKELY(p[0] != CTOR_LIST8):
        return NULL
    p = fast_v1_open(p, stop, V1_LIST, <uint32_t>d.n, &count, end)
    if AMQP_UNLIKELY(p == NULL):
        return NULL
    w = v1_json_fields(s, m, p, end[0], count, start)
    if AMQP_UNLIKELY(w == NULL):
        return NULL
    if w == start:
        w += 1
    start[0] = c'{'         # for the first comma
    w[0] = c'}'
    return w + 1


cdef bint v1_may_run(const Sink* s) noexcept nogil:
    """Whether fields are asked for as JSON text, and none by itself."""
    cdef int i
    if s.protocol.v1 == NULL or s.asked[COL_ARGUMENTS] == NULL:
        return False
    for i in range(s.protocol.v1.count):
        if s.protocol.masks[i]:
            return False
    return True


cdef bint v1_run_begins(Table* t, Column* c, int64_t row, int n, size_t n_bytes) noexcept nogil:
    """Make place for n rows from `row` on, and for bytes; False where there is none, or c is a view."""
    if c.arrow_type != AS_TEXT or (row + n > c.rows and column_grow(c, row + n) < 0):
        return False
    if c.filled < row:
        column_fill(c, row)
    return data_room(t, c, n_bytes) == 0


cdef int run_v1_arguments(Sink* s, const Entry* e, int n, int64_t row) noexcept nogil:
    """Frames of a block, from this one on, as rows from `row` on, where v1_may_run: how many became such.

    Nothing but what the bytes must answer is asked for each; columns learn of their new rows in the end.
    Whatever is unusual ends it with nothing written; the caller reads it by itself."""
    cdef Column* to = s.asked[COL_ARGUMENTS]
    cdef Column* method = s.asked[COL_METHOD]
    cdef Column* payload = s.asked[COL_PAYLOAD]
    cdef const V1Desc* d
    cdef const MethodPlan* m
    cdef const uint8_t* p
    cdef const uint8_t* end
    cdef const uint8_t* stop
    cdef uint8_t* w
    cdef size_t used, more, names = 0, n_bytes = 0
    cdef int i = 0
    if not v1_run_begins(s.table, to, row, n, 0):
        return 0
    if method != NULL:
        if not v1_run_begins(s.table, method, row, n, <size_t>n * V1_NAME_ROOM):
            return 0
        names = method.used
    if payload != NULL:
        if not v1_run_begins(s.table, payload, row, n, 0):
            return 0
        n_bytes = payload.used
    used = to.used
    while i < n:
        AMQP_PREFETCH(e.start + AHEAD)
        AMQP_PREFETCH(e.start + AHEAD + 64)
        AMQP_PREFETCH(e.start + AHEAD + 128)
        stop = e.start + e.total
        if AMQP_UNLIKELY(e.way != FRAME_V1 or e.type > V1_FRAME_SASL or stop > s.input.v1_end):
            break
        p = e.start + 4 * <size_t>e.start[4]
        if AMQP_UNLIKELY(load16(p) != CTOR_DESCRIBED_SMALLULONG):
            break
        d = s.protocol.v1.by_code[p[2]]
        if AMQP_UNLIKELY(d == NULL or d.frame != (V1_SASL_FRAME if e.type else V1_AMQP_FRAME)):
            break
        m = &s.protocol.methods[d - s.protocol.v1.desc]
        if AMQP_UNLIKELY(to.data.room - used < m.room):
            break
        block_promise(&to.data, to.data.p + used, m.room)
        w = v1_json_list(s, d, p + 3, stop, &end, to.data.p + used)
        block_check(&to.data, w)
        if AMQP_UNLIKELY(w == NULL or <size_t>(w - to.data.p) > <size_t>s.table.limit):
            break
        more = <size_t>(stop - end)
        if AMQP_UNLIKELY(more and d.code != DESC_TRANSFER):
            break
        if payload != NULL:
            if d.code == DESC_TRANSFER:
                if AMQP_UNLIKELY(n_bytes + more >= payload.full_at):
                    break
                data_promise(payload, n_bytes, more)
                if more <= 16:
                    copy_16(payload.data.p + n_bytes, end)
                else:
                    memcpy(payload.data.p + n_bytes, end, more)
                n_bytes += more
                payload.valid.p[(row + i) >> 3] |= <uint8_t>(1 << ((row + i) & 7))
            (<int32_t*>payload.fixed.p)[row + i + 1] = <int32_t>n_bytes
        if method != NULL:
            copy_16(method.data.p + names, <const uint8_t*>m.name)
            copy_16(method.data.p + names + 16, <const uint8_t*>m.name + 16)
            names += m.name_n
            (<int32_t*>method.fixed.p)[row + i + 1] = <int32_t>names
        used = <size_t>(w - to.data.p)
        (<int32_t*>to.fixed.p)[row + i + 1] = <int32_t>used
        i += 1
        e += 1
    if i:
        to.used = used
        mark_rows(to, row, i)
        if method != NULL:
            method.used = names
            mark_rows(method, row, i)
        if payload != NULL:
            payload.used = n_bytes
            payload.filled = row + i
    return i


cdef int fast_v1_both(Sink* s, const V1Desc* d, RowPlace at) noexcept nogil:
    """The fields at s.c as JSON text, which checks them all, and into their columns."""
    cdef const MethodPlan* m = &s.protocol.methods[d - s.protocol.v1.desc]
    cdef Column* to = s.asked[COL_ARGUMENTS]
    cdef const uint8_t* end
    cdef uint8_t* w
    # Deliveries are put together from any of them.
    cdef uint32_t mask = ~<uint32_t>0 if s.links != NULL else s.protocol.masks[d - s.protocol.v1.desc]
    cdef int status
    if AMQP_UNLIKELY(to.data.room - to.used < m.room):
        status = data_grow(s.table, to, m.room)
        if status < 0:
            return status
    block_promise(&to.data, to.data.p + to.used, m.room)
    w = v1_json_list(s, d, s.c.p, s.c.end, &end, to.data.p + to.used)
    if AMQP_UNLIKELY(w == NULL):
        return FALLS_BACK
    status = fast_commit(s.table, to, at, w)
    if status == 0 and mask:
        return fast_v1_fields(s, d, &s.c, s.fields, mask, at)
    s.c.p = end
    return status


# ---- all of it ----

cdef inline const V1Desc* fast_v1_head(Sink* s, const Entry* e) noexcept nogil:
    """As read_v1_head, for a descriptor as most are; else NULL, and nothing is noted."""
    cdef const uint8_t* body = e.start + 4 * <size_t>e.start[4]
    cdef const V1Desc* d
    if AMQP_UNLIKELY(e.start + e.total > s.input.v1_end or load16(body) != CTOR_DESCRIBED_SMALLULONG):
        return NULL
    d = s.protocol.v1.by_code[body[2]]
    if AMQP_UNLIKELY(d == NULL or d.frame != (V1_SASL_FRAME if e.type else V1_AMQP_FRAME)):
        return NULL
    s.c.p = body + 3
    s.c.end = e.start + e.total
    return d


cdef int fast_v1_performative(Sink* s, const V1Desc* d, uint32_t mask, RowPlace at) noexcept nogil:
    """A performative whose fields s.c is over, into the columns for it; then s.fields has them, at message level,
    and s.c is over what follows."""
    cdef const MethodPlan* m = &s.protocol.methods[d - s.protocol.v1.desc]
    cdef Column* to = s.asked[COL_ARGUMENTS]
    cdef int status
    if to == NULL:
        status = fast_v1_fields(s, d, &s.c, s.fields, mask, at)
    else:
        status = fast_v1_both(s, d, at)
    if status == 0 and AMQP_UNLIKELY(s.c.p != s.c.end) and d.code != DESC_TRANSFER:
        return FALLS_BACK
    if status == 0 and s.asked[COL_METHOD] != NULL:
        status = fast_bytes(s.table, s.asked[COL_METHOD], at, <const uint8_t*>m.name, m.name_n)
    if status == 0 and s.asked[COL_PAYLOAD] != NULL and d.code == DESC_TRANSFER:
        status = fast_bytes(s.table, s.asked[COL_PAYLOAD], at, s.c.p, <size_t>(s.c.end - s.c.p))
    return status
