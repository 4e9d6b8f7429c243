# A performative of AMQP 1.0 to columns, the fast way: as columns_v1_hot.pxi, and for fields as JSON text alone a
# loop without all that columns of their own ask for.

# ---- fields as JSON text ----

cdef int v1_json_end(Sink* s, uint8_t* w, RowPlace at) noexcept nogil:
    """The fields are written, each with a comma in front, up to w, and there is room for two octets: make an
    object of them."""
    cdef Column* to = s.arguments
    cdef uint8_t* start = to.data.p + to.used
    if w == start:
        w += 1
    start[0] = c'{'         # for the first comma
    w[0] = c'}'
    return hot_commit(s.table, to, at, w + 1)


cdef inline uint8_t* v1_json_name(uint8_t* w, const FieldPlan* f) noexcept nogil:
    """As hot_key, with as few questions as a key of this protocol needs."""
    cdef const uint8_t* key = <const uint8_t*>f.key
    cdef uint32_t n = f.key_n
    copy_16(w, key)
    copy_16(w + 16, key + 16)
    if AMQP_UNLIKELY(n > 32):
        memcpy(w + 32, key + 32, n - 32)
    return w + n


cdef inline uint8_t* v1_json_outcome(Sink* s, uint8_t* w, const uint8_t* p) noexcept nogil:
    """A described type without fields, whose descriptor is at p + 1; NULL: it is none that is known."""
    cdef const V1Desc* d = s.v1.by_code[p[2]]
    cdef const MethodPlan* m
    if AMQP_UNLIKELY(d == NULL or not d.composite):
        return NULL
    m = &s.methods[d - s.v1.desc]
    memcpy(w, <const char*>b'{"$type":"', 10)
    w += 10
    copy_16(w, <const uint8_t*>m.name)
    if m.name_n > 16:
        memcpy(w + 16, m.name + 16, m.name_n - 16)
    w += m.name_n
    w[0] = c'"'
    w[1] = c'}'
    return w + 2


cdef int hot_v1_arguments(Sink* s, const V1Desc* d, RowPlace at) noexcept nogil:
    """The list of up to 255 octets at s.c: each field checked and written; then s.c is behind it."""
    cdef const MethodPlan* m = &s.methods[d - s.v1.desc]
    cdef const V1Step* step = s.v1_steps + m.first
    cdef const FieldPlan* f = m.field
    cdef Column* to = s.arguments
    cdef const uint8_t* p = s.c.p
    cdef const uint8_t* end
    cdef uint8_t* w
    cdef Text text
    cdef Cursor c
    cdef V1Check k
    cdef V1Value v
    cdef uint64_t u
    cdef uint32_t count = p[2], i, n
    cdef uint8_t code, kind, shape
    cdef int status
    end = p + 2 + p[1]
    p += 3
    if AMQP_UNLIKELY(end > s.c.end or end < p or count > <uint32_t>d.n):
        return GIVE_UP
    if AMQP_UNLIKELY(to.data.room - to.used < m.room):
        if text_begin(&text, to, s.input_end) < 0 or text_room(&text, m.room) < 0:
            return NO_MEMORY
    k.types = NULL
    w = to.data.p + to.used
    for i in range(count):
        if AMQP_UNLIKELY(p >= end):
            return GIVE_UP
        code = p[0]
        if code == 0x40:
            p += 1
            continue
        kind = V1_KIND[code]
        if AMQP_LIKELY(kind == step[i].kind):
            if AMQP_LIKELY(V1_UBYTE <= kind <= V1_ULONG):
                shape = V1_SHAPE[code]
                u = v1_usual_number(p, shape)
                p += 1 + shape
                w = v1_json_name(w, &f[i])
                w[0] = <uint8_t>(c'0' + u)
                if u < 10:
                    w += 1
                elif AMQP_LIKELY(u < 100000000):
                    w = put_few_digits(w, <uint32_t>u)
                else:
                    w = put_u64(w, u)
                continue
            if code == 0x41 or code == 0x42:
                p += 1
                w = hot_bool(v1_json_name(w, &f[i]), code == 0x41)
                continue
            n = p[1]
            if code == 0xA0 and AMQP_LIKELY(end - p >= <int64_t>n + 2):
                w = v1_json_name(w, &f[i])
                memcpy(w, <const char*>b'{"$binary":"', 12)
                w = put_base64(w + 12, p + 2, n)
                w[0] = c'"'
                w[1] = c'}'
                w += 2
                p += 2 + n
                continue
        elif step[i].kind == V1_ANY and code == 0 and end - p >= 4 and p[1] == 0x53 and p[3] == 0x45:
            w = v1_json_outcome(s, v1_json_name(w, &f[i]), p)
            if AMQP_UNLIKELY(w == NULL):
                return GIVE_UP
            p += 4
            continue
        # anything else
        c = s.c
        c.p = p
        c.end = end
        status = cool_v1_field(s, m, d, <int>i, &c, &k, &v, True, at.row)
        if status == 0:
            text.block = &to.data
            text.w = w
            text.end = to.data.p + to.data.room
            text.input_end = s.input_end
            status = hot_v1_member(s, &f[i], &d.op[i], &v, &text)
        if status == 0:
            status = text_room(&text, m.room)
        if AMQP_UNLIKELY(status != 0):
            return min(status, <int>GIVE_UP)
        w = text.w
        p = c.p
    if AMQP_UNLIKELY(p != end):
        return GIVE_UP
    s.c.p = end
    return v1_json_end(s, w, at)


cdef int hot_v1_both(Sink* s, const V1Desc* d, uint32_t mask, RowPlace at) noexcept nogil:
    """The fields at s.c into their columns and as JSON text."""
    cdef Column* to = s.arguments
    cdef Text text
    cdef int status
    if text_begin(&text, to, s.input_end) < 0:
        return NO_MEMORY
    status = hot_v1_fields(s, d, &s.c, s.fields, mask, &text, at)
    if status != 0:
        return status
    if text_room(&text, 2) < 0:
        return NO_MEMORY
    return v1_json_end(s, text.w, at)


# ---- all of it ----

cdef inline const V1Desc* hot_v1_head(Sink* s, const Entry* e) noexcept nogil:
    """As read_v1_head, for a descriptor as most are; else NULL, and nothing is noted."""
    cdef const uint8_t* body = e.start + 4 * <size_t>e.start[4]
    cdef const V1Desc* d
    if AMQP_UNLIKELY(e.start + e.total > s.v1_end or load16(body) != 0x53):
        return NULL
    d = s.v1.by_code[body[2]]
    if AMQP_UNLIKELY(d == NULL or d.frame != (V1_SASL_FRAME if e.type else V1_AMQP_FRAME)):
        return NULL
    s.c.p = body + 3
    s.c.end = e.start + e.total
    return d


cdef int hot_v1_performative(Sink* s, const V1Desc* d, uint32_t mask, RowPlace at) noexcept nogil:
    """A performative whose fields s.c is over, into the columns for it; then s.fields has them, at message level,
    and s.c is over what follows."""
    cdef const MethodPlan* m = &s.methods[d - s.v1.desc]
    cdef Column* to = s.arguments
    cdef int status
    if to == NULL:
        status = hot_v1_fields(s, d, &s.c, s.fields, mask, NULL, at)
    elif s.links == NULL and s.c.p[0] == 0xC0 and s.masks[d - s.v1.desc] == 0:
        status = hot_v1_arguments(s, d, at)
    else:
        status = hot_v1_both(s, d, mask, at)
    if status == 0 and AMQP_UNLIKELY(s.c.p != s.c.end) and d.code != V1_TRANSFER:
        return GIVE_UP
    if status == 0 and s.method != NULL:
        status = hot_octets(s.table, s.method, at, <const uint8_t*>m.name, m.name_n)
    if status == 0 and s.payload != NULL and d.code == V1_TRANSFER:
        status = hot_octets(s.table, s.payload, at, s.c.p, <size_t>(s.c.end - s.c.p))
    return status
