# AMQP 1.0 to columns, the fast path: one pass over performatives and messages in which nothing is unusual.
#
# As columns/fast.pxi: each reader falls back (FALLS_BACK; the caller takes the row back) at whatever is not plainly
# right, and then the row is read once more by the slow path, which alone notes faults. A single field or
# section of an unusual form is read by the slow path's functions for these, in its place. Bytes up to COPY_SLACK
# after a frame can be read, so that a constructor and a number need one test of where they end.

# ---- a field ----

cdef uint64_t LAYOUT_MASK[LAYOUT_WIDEST + 1]


cdef int v1_masks_ready() except -1:
    cdef int i
    for i in range(1, LAYOUT_WIDEST + 1):
        LAYOUT_MASK[i] = LAYOUT_MASK[i - 1] << 8 | 0xFF
    return 0

v1_masks_ready()


cdef inline uint64_t v1_layout_number(const uint8_t* p, uint8_t layout) noexcept nogil:
    """The number in the bytes after a constructor, as its layout says; 7 bytes before them can be read."""
    return load64(p + layout - 7) & LAYOUT_MASK[layout]


cdef int slow_v1_field(Sink* s, const MethodPlan* m, const V1Desc* d, int i, Cursor* c, V1Check* k, V1Value* v,
                       bint matters, int64_t row) noexcept nogil:
    """The field at the cursor, whatever it is, verified as v1_verify_fields does it and written. matters: it is
    asked for, or everything is to be checked. k: of the whole list; its `types` are NULL before the first."""
    cdef const V1Step* step = s.protocol.v1_steps + m.first + i
    cdef const V1Op* op = &d.op[i]
    cdef const uint8_t* start = c.p
    cdef const uint8_t* inside
    cdef const V1Desc* outcome
    cdef Table* t = s.table
    cdef uint32_t target
    cdef int status = 0
    # An outcome without fields.
    if k.types == NULL:
        verify_begin(s, k)
    outcome = NULL
    if op.wire_type == V1_ANY and v1_is_empty_composite(start, c.end):
        outcome = s.protocol.v1.by_code[start[2]]
    if outcome != NULL and outcome.composite:
        v.wire_type = V1_DESCRIBED
        c.p = start + 4
        inside = start + 1
    else:
        if v1_read(c, v) < 0:
            return FALLS_BACK
        inside = c.p
        if matters:
            if v1_verify_field(op, c, v, start, k, 2) < 0:
                return FALLS_BACK
        elif v.wire_type == V1_DESCRIBED and v1_skip_described(c, 2, 0) < 0:
            return FALLS_BACK
    if v.wire_type == V1_DESCRIBED:
        v.p = inside
        v.n = <uint32_t>(c.p - inside)
    if step.write == V1_TO_NOTHING:
        return 0
    if step.write == V1_TO_SEVERAL:
        target = step.column
        while target and status == 0:
            status = append_v1_field(s, op, v, t.column + s.protocol.target[target].column, row)
            target = s.protocol.target[target].next
    elif step.write == V1_TO_ID:
        status = append_v1_id(s, v, t.column + step.column, row)
    else:
        status = append_v1_field(s, op, v, t.column + step.column, row)
    return min(status, <int>FALLS_BACK)


cdef inline int fast_v1_number(Column* to, RowPlace at, uint8_t write, uint64_t u) noexcept nogil:
    """The number of a field of fixed width into its column, as V1Step.write says it."""
    cdef int64_t us = 0
    if write == V1_TO_TIME:
        return fast_i64(to, at, us) if AMQP_LIKELY(us_from_ms(<int64_t>u, &us)) else FALLS_BACK
    if write == V1_TO_64:
        return FALLS_BACK if AMQP_UNLIKELY(<int64_t>u < 0) else fast_i64(to, at, <int64_t>u)
    if write == V1_TO_BOOL:
        if AMQP_UNLIKELY(at.row >= to.rows) and column_grow(to, at.row + 1) < 0:
            return NO_MEMORY
        to.filled = at.row + 1
        to.valid.p[at.byte] |= at.bit
        to.fixed.p[at.byte] |= <uint8_t>(at.bit * u)
        return 0
    if write == V1_TO_32:
        return fast_i32(to, at, <int32_t>u)
    return 0 if write == V1_TO_NOTHING else FALLS_BACK


cdef inline bint v1_is_other_id(const uint8_t* p, size_t n) noexcept nogil:
    """Whether a string in place of a message id stands for one of another type: see append_v1_id."""
    return n > 9 and memcmp(p, <const char*>b"AMQP_", 5) == 0


cdef inline int fast_v1_bytes(Table* t, Column* to, RowPlace at, uint8_t write, const V1Value* v) noexcept nogil:
    """A string, symbol or binary of at most 255 bytes that is not of the column's own constructor."""
    if to.arrow_type == AS_VIEW and (
            write == V1_TO_TEXT or (write == V1_TO_ID and v.wire_type == V1_STRING and not v1_is_other_id(v.p, v.n))):
        return fast_text(t, to, at, v.p, v.n, v.wire_type, True)
    if write == V1_TO_NOTHING and (v.wire_type == V1_BINARY or is_ascii(v.p, v.n)):
        return 0
    return FALLS_BACK


# ---- a list or a map ----

cdef inline const uint8_t* fast_v1_open(const uint8_t* p, const uint8_t* stop, uint8_t wire_type, uint32_t most,
                                        uint32_t* count, const uint8_t** end) noexcept nogil:
    """Where the items of the list or map (wire_type) at p begin, how many they are and where they end; NULL: it is
    none, or one with more than `most`, or does not end before `stop`."""
    cdef int64_t size
    if AMQP_UNLIKELY(CTOR_WIRE_TYPE[p[0]] != wire_type):
        return NULL
    if AMQP_LIKELY(p[0] >> 4 == CATEGORY_COMPOUND1):
        size = <int64_t>p[1] - 1
        count[0] = p[2]
        p += 3
    elif p[0] >> 4 == CATEGORY_COMPOUND4:
        size = <int64_t>load32(p + 1) - 4
        count[0] = load32(p + 5)
        p += 9
    else:
        size = 0
        count[0] = 0
        p += 1
    if AMQP_UNLIKELY(size < 0 or stop - p < size or count[0] > most):
        return NULL
    end[0] = p + size
    return p


# ---- a composite ----

cdef int fast_v1_fields(Sink* s, const V1Desc* d, Cursor* c, V1Value* x, uint32_t mask,
                        RowPlace at) noexcept nogil:
    """The list of a composite's fields at the cursor, each checked and written to its columns.
    x: of a performative at message level, as `out` of v1_verify_fields; mask: likewise."""
    cdef const MethodPlan* m = &s.protocol.methods[d - s.protocol.v1.desc]
    cdef const V1Step* step = s.protocol.v1_steps + m.first
    cdef const uint8_t* p
    cdef const uint8_t* q
    cdef const uint8_t* end
    cdef char* columns = <char*>s.table.column
    cdef Column* to
    cdef Cursor f
    cdef V1Check k
    cdef V1Value* v = x
    cdef uint32_t count, n, shape, i = 0
    cdef uint8_t code, wire_type
    cdef int status
    p = fast_v1_open(c.p, c.end, V1_LIST, <uint32_t>d.n, &count, &end)
    if AMQP_UNLIKELY(p == NULL):
        return FALLS_BACK
    k.types = NULL
    n = count
    if mask != ~<uint32_t>0:
        while n and not mask >> (n - 1):
            n -= 1
    while i < n:
        if AMQP_UNLIKELY(p >= end):
            return FALLS_BACK
        code = p[0]
        if code == CTOR_NULL:
            v.wire_type = V1_NULL
            p += 1
            v += 1
            step += 1
            i += 1
            continue
        status = FALLS_BACK
        q = p
        wire_type = CTOR_WIRE_TYPE[code]
        shape = CTOR_LAYOUT[code]
        to = <Column*>(columns + step.offset)
        v.wire_type = wire_type
        if shape <= LAYOUT_WIDEST:
            if AMQP_LIKELY(wire_type == step.wire_type):
                v.u = v1_layout_number(p, shape) | (code == CTOR_TRUE)
                q = p + 1 + shape
                status = fast_v1_number(to, at, step.write, v.u)
        elif code == step.compact or (
                shape == LAYOUT_TEXT and (wire_type == step.wire_type or step.wire_type == V1_ANY)):
            q = p + 2
            v.p = q
            v.n = p[1]
            if AMQP_UNLIKELY(end - q < <int64_t>v.n):
                return FALLS_BACK
            if code != step.compact:
                status = fast_v1_bytes(s.table, to, at, step.write, v)
            elif AMQP_LIKELY(step.write != V1_TO_ID or not v1_is_other_id(q, v.n)):
                status = fast_text(s.table, to, at, q, v.n, wire_type, False)
            q += v.n
        if AMQP_UNLIKELY(status != 0):
            if status < 0:
                return status
            f = c[0]
            f.p = p
            f.end = end
            status = slow_v1_field(s, m, d, <int>i, &f, &k, v, mask >> i & 1, at.row)
            if status != 0:
                return status
            q = f.p
        p = q
        v += 1
        step += 1
        i += 1
    if AMQP_UNLIKELY(p != end) and (p > end or n == count):
        return FALLS_BACK
    if d.frame != V1_NO_FRAME and s.links != NULL:
        for i in range(n, <uint32_t>d.n):
            x[i].wire_type = V1_NULL
    if AMQP_UNLIKELY(k.types != NULL):
        verify_end(s, &k)
    c.p = end
    return 0


# ---- sections of a message ----

cdef struct FastKeys:
    uint64_t marks[FAST_KEYS]
    const uint8_t* key[FAST_KEYS]
    uint64_t seen
    uint32_t n


cdef inline bint is_new_v1_key(FastKeys* keys, const uint8_t* p) noexcept nogil:
    """Note the key whose length is at p. False: one like it was there before."""
    cdef uint64_t mark = key_mark(p)
    cdef uint64_t bit = <uint64_t>1 << ((mark * <uint64_t>0x9E3779B97F4A7C15) >> 58)
    cdef uint32_t j
    if AMQP_UNLIKELY(keys.seen & bit):
        for j in range(keys.n):
            if keys.marks[j] == mark and same_key(keys.key[j], p):
                return False
    keys.seen |= bit
    keys.marks[keys.n] = mark
    keys.key[keys.n] = p
    keys.n += 1
    return True


cdef inline uint8_t* fast_v1_quoted(uint8_t* w, const uint8_t* p, size_t n, uint8_t code) noexcept nogil:
    """The text in quotes, or NULL where it needs escapes or is not what its constructor says."""
    w[0] = c'"'
    if AMQP_UNLIKELY(not copy_plain(w + 1, p, n)) and (code == CTOR_SYM8 or not is_plain_utf8(p, n)):
        return NULL
    w[n + 1] = c'"'
    return w + n + 2


cdef int slow_v1_entry(Sink* s, JsonText* text, uint8_t** w, Cursor* f, V1Check* k) noexcept nogil:
    """The value at the cursor, whatever it is, after what was written up to w; then there is room for the others."""
    cdef const uint8_t* p = f.p
    cdef int status
    if k.types == NULL:
        verify_begin(s, k)
    if v1_check(f, k, 2) < 0:
        return FALLS_BACK
    f.p = p
    buffer_commit(&text.out, w[0])
    status = json_v1(text, s.protocol.v1, f)
    if status == 0:
        status = buffer_ensure(&text.out, <size_t>(f.end - f.p) + FAST_KEYS * FAST_ENTRY)
    w[0] = text.out.p
    return min(status, <int>FALLS_BACK)


cdef int fast_v1_map(Sink* s, Cursor* c, Column* to, RowPlace at) noexcept nogil:
    """The map at the cursor, checked while it is written as a JSON object."""
    cdef FastKeys keys
    cdef const uint8_t* p
    cdef const uint8_t* end
    cdef JsonText text
    cdef V1Check k
    cdef Cursor f
    cdef uint8_t* w
    cdef size_t n
    cdef uint32_t count, i
    cdef uint8_t code, wire_type
    cdef int status
    p = fast_v1_open(c.p, c.end, V1_MAP, 2 * FAST_KEYS, &count, &end)
    if AMQP_UNLIKELY(p == NULL or count & 1):
        return FALLS_BACK
    # As in fast_pairs: text takes in JSON what it takes on the wire, a number little more.
    if text_begin(&text, to, s.input.end) < 0 or buffer_ensure(
            &text.out, <size_t>(end - p) + FAST_KEYS * FAST_ENTRY) < 0:
        return NO_MEMORY
    k.types = NULL
    keys.seen = keys.n = 0
    w = text.out.p
    w[0] = c'{'
    w += 1
    for i in range(count >> 1):
        # the key
        code = p[0]
        n = p[1]
        p += 1
        if AMQP_UNLIKELY((code != CTOR_STR8_UTF8 and code != CTOR_SYM8) or end - p < <int64_t>n + 2 or p[1] == c'$'
                         or not is_new_v1_key(&keys, p)):
            return FALLS_BACK
        w = fast_v1_quoted(w, p + 1, n, code)
        if AMQP_UNLIKELY(w == NULL):
            return FALLS_BACK
        w[0] = c':'
        w += 1
        p += n + 1
        # the value
        code = p[0]
        wire_type = CTOR_WIRE_TYPE[code]
        if code == CTOR_STR8_UTF8 or code == CTOR_SYM8:
            n = p[1]
            p += 2
            if AMQP_UNLIKELY(end - p < <int64_t>n):
                return FALLS_BACK
            w = fast_v1_quoted(w, p, n, code)
            if AMQP_UNLIKELY(w == NULL):
                return FALLS_BACK
            p += n
        elif V1_UBYTE <= wire_type <= V1_LONG:
            n = CTOR_WIDTH[code]
            p += 1
            if AMQP_UNLIKELY(end - p < <int64_t>n):
                return FALLS_BACK
            if wire_type >= V1_BYTE:
                w = store_i64(w, <int64_t>load64(p) >> (64 - 8 * n))
            else:
                w = store_u64(w, load64(p) >> (64 - 8 * n) if n else 0)
            p += n
        elif code == CTOR_TRUE or code == CTOR_FALSE:
            w = fast_bool(w, code == CTOR_TRUE)
            p += 1
        else:
            f = c[0]
            f.p = p
            f.end = end
            status = slow_v1_entry(s, &text, &w, &f, &k)
            if status != 0:
                return status
            p = f.p
        w[0] = c','
        w += 1
    if AMQP_UNLIKELY(p != end):
        return FALLS_BACK
    if count:
        w -= 1              # no comma after the last
    w[0] = c'}'
    if AMQP_UNLIKELY(k.types != NULL):
        verify_end(s, &k)
    c.p = end
    return fast_commit(s.table, to, at, w + 1)


cdef int slow_v1_section(Sink* s, int i, Cursor* c, int64_t row) noexcept nogil:
    """The section at the cursor, whose descriptor is a smallulong, whatever else it is; it must be the only one of
    its kind and no composite, unless nothing of it is asked for."""
    cdef const uint8_t* start = c.p
    cdef const uint8_t* end = c.end
    cdef const uint8_t* after
    cdef V1Value v
    cdef int status = 0
    c.p += 3
    if v1_read(c, &v) < 0 or (v.wire_type == V1_DESCRIBED and v1_skip_described(c, 2, 0) < 0):
        return FALLS_BACK
    after = c.p
    if s.sections.mask >> i & 1:
        c.p = start
        c.end = after
        s.fault.code = OK
        status = check_v1_section(s, s.protocol.v1.by_code[SEC_FIRST_CODE + i], c)
        if status == 0:
            c.p = start
            status = append_v1_section(s, i, c, <uint64_t>(after - start), row)
        if status == 0 and s.fault.code != OK:      # a value that does not fit its column
            status = FALLS_BACK
    c.p = after
    c.end = end
    return min(status, <int>FALLS_BACK)


cdef int fast_v1_message(Sink* s, Cursor* c, RowPlace at) noexcept nogil:
    """The message that the cursor is over into its columns."""
    cdef V1Value x[V1_MAX_FIELDS]
    cdef Table* t = s.table
    cdef Column* to
    cdef const uint8_t* p
    cdef int64_t n
    cdef uint32_t mask
    cdef int i, last = -1, status
    while c.p < c.end:
        p = c.p
        i = <int>p[2] - SEC_FIRST_CODE
        # Sections of one kind are put together elsewhere.
        if AMQP_UNLIKELY(load16(p) != CTOR_DESCRIBED_SMALLULONG or i <= last or i >= SEC_COUNT
                         or SEC_DATA <= last < i <= SEC_AMQP_VALUE):
            return FALLS_BACK
        last = i
        p += 3
        if SEC_DATA <= i <= SEC_AMQP_VALUE and t.column[V1_COL_BODY_KIND].asked:
            status = fast_bytes(t, &t.column[V1_COL_BODY_KIND], at, <const uint8_t*>V1_KIND_NAMES[i - SEC_DATA],
                                V1_KIND_BYTES[i - SEC_DATA])
            if AMQP_UNLIKELY(status < 0):
                return status
        status = FALLS_BACK
        if i == SEC_DATA and CTOR_WIRE_TYPE[p[0]] == V1_BINARY:
            n = p[1] if p[0] == CTOR_VBIN8 else load32(p + 1)
            p += 2 if p[0] == CTOR_VBIN8 else 5
            if AMQP_UNLIKELY(c.end - p < n):
                return FALLS_BACK
            c.p = p + n
            status = fast_bytes(t, s.asked[COL_BODY], at, p, <size_t>n) if s.asked[COL_BODY] != NULL else 0
        elif not s.sections.mask >> i & 1:
            # Of at most 255 bytes only where they end.
            if v1_is_short(p, c.end):
                c.p = p + 2 + p[1]
                continue
        elif i == SEC_HEADER or i == SEC_PROPERTIES:
            to = s.asked[COL_PROPERTIES]
            mask = s.sections.properties
            if i == SEC_HEADER:
                to = v1_asked(s, V1_COL_HEADER)
                mask = s.sections.header
            c.p = p
            status = fast_v1_fields(s, s.protocol.v1.by_code[SEC_FIRST_CODE + i], c, x,
                                    ~<uint32_t>0 if s.options.check else mask, at)
            if status == 0 and to != NULL:
                status = column_at(to, at.row)
            if AMQP_UNLIKELY(status != 0):
                return status
        elif i == SEC_APPLICATION_PROPERTIES and s.columns.n_wanted == 0:
            to = &t.column[V1_COL_APPLICATION_PROPERTIES]
            if to.asked and to.form == FORM_JSON:
                c.p = p
                status = fast_v1_map(s, c, to, at)
        if AMQP_UNLIKELY(status != 0):
            if status < 0:
                return status
            c.p = p - 3
            status = slow_v1_section(s, i, c, at.row)
            if status != 0:
                return status
    return 0
