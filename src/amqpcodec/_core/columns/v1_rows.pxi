# Frames of AMQP 1.0 to columns: how their fields are written, each as it may be.

# ---- budget ----

# An array of many elements without bytes takes some ten bytes, whatever their number. One value has a bound
# for them (v1/check.pxi); what all rows together have is bounded by the bytes of the input.

cdef inline uint64_t empty_over(const Sink* s) noexcept nogil:
    """By how many the rows so far have more of such elements than the input has bytes."""
    return s.empty - min(s.empty, s.input.total)


cdef inline void verify_begin(Sink* s, V1Check* k) noexcept nogil:
    """As v1_verify_begin, for what is written to columns."""
    v1_verify_begin(k, s.protocol.v1)
    k.zero_width = empty_over(s)


cdef inline void verify_end(Sink* s, const V1Check* k) noexcept nogil:
    """It was in order."""
    s.empty += k.zero_width - empty_over(s)


# ---- fields ----

cdef int report_v1_range(Sink* s, const V1Desc* d, int i, const V1Value* value, const Cursor* at,
                         const uint8_t* list_) noexcept nogil:
    """A field that its column cannot hold: the row's fault, unless it has one. at: in the same bytes; list_:
    where the list of fields begins."""
    cdef Cursor c = at[0]
    cdef V1Check k
    cdef V1Value v
    cdef int n
    if s.fault.code != OK:
        return 0
    c.p = list_
    v1_again(&c, &v)
    v1_inside(&c, &v, &c)
    v1_check_begin(&k, 0)
    for n in range(i):
        v1_check(&c, &k, 0)
    place_begin(&s.fault.at, d.name, d.field[i])
    fail(&c, BAD_RANGE, V1_NAMES[d.op[i].wire_type], value.u,
         SIGNED_RANGE if d.op[i].wire_type == V1_TIMESTAMP else 0)
    return 0


cdef int append_v1_json(Sink* s, const V1Op* op, const V1Value* v, Column* c, int64_t row) noexcept nogil:
    cdef JsonText text
    cdef int status = text_begin(&text, c, s.input.end)
    if status == 0:
        status = write_v1_json(s, op, v, &text)
    return data_commit(s.table, &text.out, c, row) if status == 0 else status


cdef int write_v1_json(Sink* s, const V1Op* op, const V1Value* v, JsonText* t) noexcept nogil:
    """A field that was read. op: NULL for a value by itself."""
    cdef Cursor c
    cdef bint alone = op != NULL and op.multiple and v.wire_type != V1_ARRAY
    cdef int status
    if alone and json_literal(t, b"[", 1) < 0:
        return NO_MEMORY
    if v.wire_type < V1_LIST:
        status = json_v1_scalar(t, v)
    else:
        c.p = v.p
        c.end = v.p + v.n
        c.base = v.p
        c.base_at = 0
        c.fault = &s.fault          # nothing can be wrong any more
        if v.wire_type == V1_DESCRIBED:
            status = json_v1_described(t, s.protocol.v1, &c)
        else:
            status = json_v1_compound(t, s.protocol.v1, &c, v)
    if alone and status == 0:
        status = json_literal(t, b"]", 1)
    return status


cdef int append_v1_field(Sink* s, const V1Op* op, const V1Value* v, Column* c, int64_t row) noexcept nogil:
    """A value that is there, into its column; BAD_FRAME where it is too large for it."""
    cdef uint8_t[SCALAR_TEXT] text
    cdef ScalarKind kind
    cdef Scalar x
    cdef int64_t us = 0
    if op.multiple or op.wire_type >= V1_LIST:
        return append_v1_json(s, op, v, c, row)
    v1_as_scalar(v, &x)
    kind = x.kind
    if kind == KIND_UNSIGNED:
        if AMQP_UNLIKELY(v.u > HIGHEST_INT64):
            return BAD_FRAME
        return append_i32(c, row, <int32_t>v.u) if c.arrow_type == AS_INT32 else append_i64(c, row, <int64_t>v.u)
    elif kind == KIND_SIGNED:
        return append_i32(c, row, <int32_t>v.u) if c.arrow_type == AS_INT32 else append_i64(c, row, <int64_t>v.u)
    elif kind == KIND_BYTES or kind == KIND_STRING or kind == KIND_SYMBOL:
        return append_bytes(s.table, c, row, v.p, v.n)
    elif kind == KIND_BOOLEAN:
        return append_bool(c, row, v.u != 0)
    elif kind == KIND_MILLISECONDS:
        return append_i64(c, row, us) if us_from_ms(<int64_t>v.u, &us) else BAD_FRAME
    elif kind == KIND_DOUBLE:
        return append_i64(c, row, <int64_t>v.u)
    elif kind == KIND_FLOAT:
        return append_i64(c, row, <int64_t>double_to_bits(bits_to_float(<uint32_t>v.u)))
    elif kind == KIND_UUID:
        return append_bytes(s.table, c, row, text, <size_t>(v1_store_uuid(text, v.p) - text))
    elif kind == KIND_CHAR:
        return append_bytes(s.table, c, row, text, <size_t>(store_utf8(text, <uint32_t>v.u) - text))
    elif kind == KIND_BID32 or kind == KIND_BID64 or kind == KIND_BID128:
        return append_bytes(s.table, c, row, text, <size_t>(store_bid(text, &x) - text))
    elif (kind == KIND_VOID or kind == KIND_DECIMAL or kind == KIND_SECONDS or kind == KIND_LONGSTR
            or kind == KIND_SHORTSTR):
        return append_v1_json(s, op, v, c, row)


cdef int append_v1_picks(Sink* s, const V1Desc* d, const MethodPlan* m, const uint8_t* list_,
                         int64_t row) noexcept nogil:
    """Fields that have columns of their own."""
    cdef const Target* target
    cdef uint32_t mask = s.protocol.masks[d - s.protocol.v1.desc]
    cdef int i = 0, k, status
    while mask:
        if mask & 1 and s.fields[i].wire_type != V1_NULL:
            k = s.protocol.targets[m.first + i]
            while k:
                target = &s.protocol.target[k]
                status = append_v1_field(s, &d.op[i], &s.fields[i], s.table.column + target.column, row)
                if AMQP_UNLIKELY(status != 0):
                    if status < 0:
                        return status
                    report_v1_range(s, d, i, &s.fields[i], &s.c, list_)
                k = target.next
        mask >>= 1
        i += 1
    return 0


cdef int append_v1_arguments(Sink* s, const V1Desc* d, const MethodPlan* m, int64_t row) noexcept nogil:
    """A JSON object of the fields that are there."""
    cdef JsonText text
    cdef bint first = True
    cdef int i
    cdef int status = text_begin(&text, s.asked[COL_ARGUMENTS], s.input.end)
    if status < 0 or json_literal(&text, b"{", 1) < 0:
        return NO_MEMORY
    for i in range(d.n):
        if s.fields[i].wire_type == V1_NULL:
            continue
        if json_literal(&text, m.field[i].key + first, m.field[i].key_n - first) < 0:
            return NO_MEMORY
        first = False
        status = write_v1_json(s, &d.op[i], &s.fields[i], &text)
        if status != 0:
            return status
    if json_literal(&text, b"}", 1) < 0:
        return NO_MEMORY
    return data_commit(s.table, &text.out, s.asked[COL_ARGUMENTS], row)
