# AMQP 1.0, bytes to objects, the fast path: compact fields of a composite.

cdef const uint8_t* v1_compact_fields(V1Reader* r, const V1Desc* d, const uint8_t* p, const uint8_t* end,
                                      int* at, int count, MessageObject* o, int depth,
                                      int* last, bint* unusual) noexcept:
    """Fields of a composite from the one at p on; up to the first that is not compact: where that is,
    and its number in `at`. They hold None still. last: one more than the last that is not null.
    unusual: set where a mandatory field is null."""
    cdef int i = at[0]
    cdef int there = last[0]
    cdef const V1Op* op = d.op + i
    cdef V1Cache* cache = r.cache
    cdef const uint8_t* after
    cdef PyObject* made
    while i < count and p < end:
        if p[0] == CTOR_NULL:
            p += 1
            if AMQP_UNLIKELY(op.mandatory):
                unusual[0] = True
        else:
            if AMQP_LIKELY(CTOR_WIRE_TYPE[p[0]] == op.compact):
                after = v1_compact(cache, p, end, op.longest, &made)
            else:
                after = v1_compact_choice(r, op, p, end, depth, &made)
            if AMQP_UNLIKELY(after == NULL):
                break
            p = after
            class_fill(o, i, made)
            there = i + 1
        i += 1
        op += 1
    at[0] = i
    last[0] = there
    return p


cdef inline const uint8_t* v1_compact_choice(V1Reader* r, const V1Op* op, const uint8_t* p,
                                             const uint8_t* end, int depth, PyObject** made) noexcept:
    """As v1_compact: a role or a mode, and a state without fields."""
    cdef uint8_t code = p[0]
    cdef int i = code == CTOR_TRUE
    cdef V1Desc* d
    if op.choices:
        if CTOR_WIRE_TYPE[code] != op.wire_type:
            return NULL
        if code == CTOR_UBYTE:
            if AMQP_UNLIKELY(end - p < 2):
                return NULL
            p += 1
            i = p[0]
        elif code != CTOR_TRUE and code != CTOR_FALSE:
            return NULL
        if AMQP_UNLIKELY(not v1_takes_number(op, <uint64_t>i)):
            return NULL
        made[0] = Py_NewRef(op.choice[i])
        return p + 1
    if op.wire_type != V1_ANY or not v1_is_empty_composite(p, end) or depth + 3 >= DEPTH_LIMIT:
        return NULL
    d = r.types.by_code[p[2]]
    if AMQP_UNLIKELY(d == NULL or not d.composite or d.mandatory):
        return NULL
    made[0] = <PyObject*>class_new(<PyTypeObject*>d.cls)
    if AMQP_UNLIKELY(made[0] == NULL):
        PyErr_Clear()
        return NULL
    (<MessageObject*>made[0]).mode = <uint32_t>r.mode
    return p + 4
