# Sections of messages of AMQP 1.0 to columns. Each is read as a whole, or not at all.

cdef enum:
    V1_ALL_SECTIONS = (1 << SEC_COUNT) - 1


cdef inline Column* v1_asked(Sink* s, int k) noexcept nogil:
    return &s.table.column[k] if s.table.column[k].asked else NULL


cdef int v1_wanted_sections(Sink* s) noexcept nogil:
    """Those that some column takes something of, as a bit mask."""
    cdef Table* t = s.table
    cdef int i, mask = 0
    for i in range(HEADER_FIELDS):
        s.sections.header |= <uint32_t>t.column[V1_HEADER_CHILDREN + i].asked << i
    for i in range(PROPERTIES_FIELDS):
        s.sections.properties |= <uint32_t>t.column[V1_PROPERTIES_CHILDREN + i].asked << i
    if s.options.check:
        return V1_ALL_SECTIONS
    mask |= (s.sections.header != 0) << SEC_HEADER | (s.sections.properties != 0) << SEC_PROPERTIES
    mask |= t.column[V1_COL_DELIVERY_ANNOTATIONS].asked << SEC_DELIVERY_ANNOTATIONS
    mask |= t.column[V1_COL_MESSAGE_ANNOTATIONS].asked << SEC_MESSAGE_ANNOTATIONS
    mask |= (t.column[V1_COL_APPLICATION_PROPERTIES].asked or s.columns.n_wanted != 0) << SEC_APPLICATION_PROPERTIES
    mask |= t.column[COL_BODY].asked << SEC_DATA
    mask |= t.column[V1_COL_VALUE].asked << SEC_AMQP_SEQUENCE | t.column[V1_COL_VALUE].asked << SEC_AMQP_VALUE
    mask |= t.column[V1_COL_FOOTER].asked << SEC_FOOTER
    mask |= t.column[V1_COL_BODY_KIND].asked << SEC_COUNT       # is known without reading any
    return mask


# ---- message ids and addresses ----

cdef const char** V1_ID_PREFIXES = [
    "AMQP_STRING:", "AMQP_ULONG:", "AMQP_UUID:", "AMQP_BINARY:", "AMQP_VALUE:"]


cdef int append_v1_id(Sink* s, const V1Value* v, Column* c, int64_t row) noexcept nogil:
    """A message id or address as text, which says the type where that is no string; a value of a type that
    may not stand there as JSON text."""
    cdef JsonText text
    cdef int i, k, status
    cdef size_t n
    if v.wire_type == V1_STRING:
        k = 0
        if AMQP_UNLIKELY(v.n > 9 and memcmp(v.p, <const char*>b"AMQP_", 5) == 0):
            for i in range(5):
                n = strlen(V1_ID_PREFIXES[i])
                if v.n >= n and memcmp(v.p, V1_ID_PREFIXES[i], n) == 0:
                    k = 1
        if AMQP_LIKELY(k == 0):
            return append_bytes(s.table, c, row, v.p, v.n)
        k = 0
    else:
        k = 1 if v.wire_type == V1_ULONG else 2 if v.wire_type == V1_UUID else 3 if v.wire_type == V1_BINARY else 4
    status = text_begin(&text, c, s.input.end)
    if status == 0:
        status = json_literal(&text, V1_ID_PREFIXES[k], strlen(V1_ID_PREFIXES[k]))
    if status < 0 or buffer_ensure(&text.out, 2 * <size_t>v.n if k == 3 else 40) < 0:
        return NO_MEMORY
    if k == 0:
        status = json_literal(&text, <const char*>v.p, v.n)
    elif k == 1:
        buffer_commit(&text.out, store_u64(text.out.p, v.u))
    elif k == 2:
        buffer_commit(&text.out, v1_store_uuid(text.out.p, v.p))
    elif k == 3:
        buffer_commit(&text.out, v1_store_hex(text.out.p, v.p, v.n, True))
    else:
        status = write_v1_json(s, NULL, v, &text)
    return data_commit(s.table, &text.out, c, row) if status == 0 else status


# ---- composites: header and properties ----

cdef int append_v1_composite(Sink* s, const V1Desc* d, Cursor* c, Column* whole, int first,
                             int64_t row) noexcept nogil:
    """The fields of a section into the columns from `first` on; the cursor is after the descriptor."""
    cdef V1Value v[V1_MAX_FIELDS]
    cdef V1Check k
    cdef Column* to
    cdef const uint8_t* list_ = c.p
    cdef uint32_t mask = s.sections.header if first == V1_HEADER_CHILDREN else s.sections.properties
    cdef int i, status
    if s.options.check:
        mask = ~<uint32_t>0
    verify_begin(s, &k)
    if AMQP_UNLIKELY(v1_verify_fields(d, c, &k, 1, v, mask) < 0):
        return BAD_FRAME
    verify_end(s, &k)
    if whole != NULL and column_at(whole, row) < 0:
        return NO_MEMORY
    for i in range(d.n):
        if v[i].wire_type == V1_NULL:
            continue
        to = s.table.column + first + i
        if not to.asked:
            continue
        if d.op[i].wire_type == V1_ANY:
            status = append_v1_id(s, &v[i], to, row)
        else:
            status = append_v1_field(s, &d.op[i], &v[i], to, row)
        if AMQP_UNLIKELY(status != 0):
            if status < 0:
                return status
            report_v1_range(s, d, i, &v[i], c, list_)
    return 0


# ---- maps ----

cdef int append_v1_text(Sink* s, Table* t, Cursor* c, Column* to, int64_t row) noexcept nogil:
    """The verified value at the cursor as JSON text."""
    cdef JsonText text
    cdef int status = text_begin(&text, to, s.input.end)
    if status == 0:
        status = json_v1(&text, s.protocol.v1, c)
    return data_commit(t, &text.out, to, row) if status == 0 else status


cdef int append_v1_wanted_value(Sink* s, Cursor* c, const Wanted* w, Column* to, int64_t row) noexcept nogil:
    """The value at the cursor as the type that was asked for; one of another type is null. DOES_NOT_FIT: it
    is of that type, and the column cannot hold it."""
    cdef V1Value v
    cdef Scalar x
    if w.type == AS_WANTED_JSON:
        return append_v1_text(s, s.table, c, to, row)
    v1_again(c, &v)
    if v.wire_type >= V1_LIST:
        return 0
    v1_as_scalar(&v, &x)
    return append_wanted_scalar(s.table, to, row, w, &x, s.input.end)


cdef int report_v1_wanted_range(Sink* s, const V1Value* v, const Cursor* at, const Wanted* w) noexcept nogil:
    """Note an application property whose column cannot hold its value, which the cursor is at."""
    cdef Cursor c = at[0]
    if s.fault.code != OK:
        return 0
    place_begin(&s.fault.at, s.protocol.v1.by_code[SEC_FIRST_CODE + SEC_APPLICATION_PROPERTIES].name, NULL)
    c.fault = &s.fault
    if w.type == AS_WANTED_DECIMAL:
        fail(&c, BAD_DIGITS, V1_NAMES[v.wire_type], <uint64_t>w.precision << 8 | w.scale, 0)
    else:
        fail(&c, BAD_RANGE, V1_NAMES[v.wire_type], v.u, SIGNED_RANGE if v.wire_type == V1_TIMESTAMP else 0)
    return 0


cdef int append_v1_wanted(Sink* s, Cursor c, uint32_t count, int64_t row) noexcept nogil:
    """The wanted entries of a verified map, of keys that are text; where one comes twice the last."""
    cdef V1Value v
    cdef const Wanted* w
    cdef uint32_t i
    cdef Cursor at
    cdef int k, status
    memset(s.columns.found, 0, <size_t>s.columns.n_wanted * sizeof(uint8_t*))
    for i in range(count):
        if CTOR_WIRE_TYPE[c.p[0]] == V1_STRING or CTOR_WIRE_TYPE[c.p[0]] == V1_SYMBOL:
            v1_again(&c, &v)
            for k in range(s.columns.n_wanted):
                w = &s.columns.wanted[k]
                if w.name_n == v.n and memcmp(w.name, v.p, v.n) == 0:
                    s.columns.found[k] = c.p
        else:
            v1_pass(&c)
        v1_pass(&c)
    for k in range(s.columns.n_wanted):
        if s.columns.found[k] != NULL:
            c.p = s.columns.found[k]
            w = &s.columns.wanted[k]
            at = c
            status = append_v1_wanted_value(s, &c, w, s.table.column + w.column, row)
            if AMQP_UNLIKELY(status == DOES_NOT_FIT):
                c = at
                v1_again(&c, &v)
                report_v1_wanted_range(s, &v, &at, w)
            elif status < 0:
                return status
    return 0


cdef int append_v1_map(Sink* s, Column* c, int64_t row, Cursor* map_, uint32_t count) noexcept nogil:
    """A verified map as one from text to text, by the rules of append_map."""
    cdef Table* items = c.items
    cdef JsonText text
    cdef Cursor at
    cdef V1Value v
    cdef Scalar x
    cdef uint32_t i
    cdef int keys = v1_keys(map_, count), status = 0
    if keys < 0:
        return keys
    if keys != V1_KEYS_TEXT:
        # One entry: what JSON text has for such a map, under the same name.
        at = map_[0]
        status = append_bytes(items, &items.column[0], items.rows,
                              b"$table" if keys == V1_KEYS_TWICE else b"$map", 6 if keys == V1_KEYS_TWICE else 4)
        if status == 0:
            status = text_begin(&text, &items.column[1], s.input.end)
        if status == 0:
            status = json_v1_pairs(&text, s.protocol.v1, &at, count, keys)
        if status == 0:
            status = data_commit(items, &text.out, &items.column[1], items.rows)
        items.rows += 1
        count = 0
    for i in range(count):
        v1_again(map_, &v)
        status = append_v1_key(items, &v)
        if status == 0 and CTOR_WIRE_TYPE[map_.p[0]] < V1_LIST:
            v1_again(map_, &v)
            v1_as_scalar(&v, &x)
            status = append_map_scalar(items, &x, s.input.end)
        elif status == 0:
            status = append_v1_text(s, items, map_, &items.column[1], items.rows)
        items.rows += 1
        if status != 0:
            break
    return end_map(s.table, c, row, status)


cdef int append_v1_key(Table* items, const V1Value* v) noexcept nogil:
    """As JSON text has it: one more $ in front of one."""
    cdef Column* c = &items.column[0]
    cdef int status
    if AMQP_UNLIKELY(v.n != 0 and v.p[0] == c'$'):
        status = data_grow(items, c, <size_t>v.n + 1)
        if status < 0:
            return status
        c.data.p[c.used] = c'$'
        memcpy(c.data.p + c.used + 1, v.p, v.n)
        return commit_bytes(c, items.rows, <size_t>v.n + 1)
    return append_bytes(items, c, items.rows, v.p, v.n)


cdef int append_v1_variant(Sink* s, Column* c, int64_t row, const Cursor* map_, uint32_t count) noexcept nogil:
    cdef Buffer value, names
    cdef int status = variant_begin(s.table, c, &value, &names)
    if status == 0:
        status = variant_v1(s.variants, &value, &names, map_, count)
    return variant_commit(s.table, c, row, &value, &names, status)


cdef int append_v1_application(Sink* s, Cursor* c, int64_t row) noexcept nogil:
    """A verified map with application properties."""
    cdef Column* to = v1_asked(s, V1_COL_APPLICATION_PROPERTIES)
    cdef Cursor inner
    cdef V1Value v
    cdef int status = 0
    if s.columns.n_wanted or (to != NULL and to.form != FORM_JSON):
        inner = c[0]
        v1_again(&inner, &v)
        v1_inside(&inner, &v, &inner)
        if s.columns.n_wanted:
            status = append_v1_wanted(s, inner, v.count >> 1, row)
        if status == 0 and to != NULL and to.form == FORM_MAP:
            return append_v1_map(s, to, row, &inner, v.count >> 1)
        if status == 0 and to != NULL and to.form == FORM_VARIANT:
            return append_v1_variant(s, to, row, &inner, v.count >> 1)
    if status == 0 and to != NULL:
        status = append_v1_text(s, s.table, c, to, row)
    return status


# ---- the body ----

cdef int append_v1_data(Sink* s, Cursor* c, uint64_t most, int64_t row) noexcept nogil:
    """The bytes of verified data sections, joined. most: bytes that they cannot pass."""
    cdef Column* to = s.asked[COL_BODY]
    cdef V1Value v
    cdef size_t used
    cdef int status
    c.p += 1
    v1_known(s.protocol.v1, c)
    v1_again(c, &v)
    if AMQP_LIKELY(c.p == c.end):
        return append_bytes(s.table, to, row, v.p, v.n)
    status = data_room(s.table, to, most)
    if status < 0:
        return status
    used = to.used
    while True:
        copy_run(to.data.p + used, v.p, v.n)
        used += v.n
        if c.p == c.end:
            break
        c.p += 1
        v1_known(s.protocol.v1, c)
        v1_again(c, &v)
    return commit_bytes(to, row, used - to.used)


cdef int append_v1_sequences(Sink* s, Cursor* c, int64_t row) noexcept nogil:
    """Verified amqp-sequence sections as a list of lists."""
    cdef JsonText text
    cdef Column* to = v1_asked(s, V1_COL_VALUE)
    cdef int status = text_begin(&text, to, s.input.end)
    cdef bint first = True
    while status == 0 and c.p < c.end:
        status = json_literal(&text, b"[" if first else b",", 1)
        first = False
        c.p += 1
        v1_known(s.protocol.v1, c)
        if status == 0:
            status = json_v1(&text, s.protocol.v1, c)
    if status == 0:
        status = json_literal(&text, b"]", 1)
    return data_commit(s.table, &text.out, to, row) if status == 0 else status


# ---- all of them ----

# Thirty-two bytes each: copying a short text reads so many, however few it needs.
cdef const char** V1_KIND_NAMES = [
    "data\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
    "sequence\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
    "value\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"]
cdef uint8_t* V1_KIND_BYTES = [4, 8, 5]


cdef int check_v1_section(Sink* s, const V1Desc* d, Cursor* c) noexcept nogil:
    """Every part of the section (all of a kind) that the cursor is over, and no composite."""
    cdef V1Check k
    verify_begin(s, &k)
    if s.fault.code == OK:
        s.fault.at.method = d.name
    while c.p < c.end:
        c.p += 1
        v1_known(s.protocol.v1, c)
        if v1_check_restricted(d, c) < 0 or v1_check(c, &k, 1) < 0:
            return BAD_FRAME
    verify_end(s, &k)
    if s.fault.code == OK:
        s.fault.at.method = NULL
    return 0


cdef int append_v1_message(Sink* s, const uint8_t* p, size_t n, const uint8_t* base, int64_t row) noexcept nogil:
    """A message into its columns; 0, BAD_FRAME or a status below 0. base: what offsets count from."""
    cdef uint32_t[SEC_COUNT] offset
    cdef uint32_t[SEC_COUNT] length
    cdef const V1Desc* d
    cdef Column* to
    cdef Cursor c = s.c
    cdef int i, have, status = 0
    if n > MAX_U32:
        return NO_MEMORY
    place_begin(&s.fault.at, NULL, NULL)
    c.p = p
    c.end = p + n
    c.base = base
    have = v1_scan_sections(&c, s.protocol.v1, offset, length)
    if AMQP_UNLIKELY(have < 0):
        return BAD_FRAME
    for i in range(SEC_COUNT):
        if not have >> i & 1:
            continue
        if SEC_DATA <= i <= SEC_AMQP_VALUE:
            to = v1_asked(s, V1_COL_BODY_KIND)
            if to != NULL:
                status = append_bytes(s.table, to, row, V1_KIND_NAMES[i - SEC_DATA],
                                      V1_KIND_BYTES[i - SEC_DATA])
                if status < 0:
                    return status
        if not s.sections.mask >> i & 1:
            continue
        c.p = p + offset[i]
        c.end = c.p + length[i]
        d = s.protocol.v1.by_code[SEC_FIRST_CODE + i]
        if d.composite:
            c.p += 1
            v1_known(s.protocol.v1, &c)
            s.fault.at.method = d.name
            if i == SEC_HEADER:
                status = append_v1_composite(s, d, &c, v1_asked(s, V1_COL_HEADER), V1_HEADER_CHILDREN, row)
            else:
                status = append_v1_composite(s, d, &c, s.asked[COL_PROPERTIES], V1_PROPERTIES_CHILDREN, row)
        else:
            status = check_v1_section(s, d, &c)
            if status == 0:
                c.p = p + offset[i]
                status = append_v1_section(s, i, &c, length[i], row)
        if status != 0:
            return status
    return BAD_FRAME if s.fault.code != OK else 0


cdef int append_v1_section(Sink* s, int i, Cursor* c, uint64_t n, int64_t row) noexcept nogil:
    """A verified section (all of a kind) that is no composite. n: its bytes."""
    cdef Column* to
    if i == SEC_DATA:
        return 0 if s.asked[COL_BODY] == NULL else append_v1_data(s, c, n, row)
    if i == SEC_AMQP_SEQUENCE:
        return 0 if v1_asked(s, V1_COL_VALUE) == NULL else append_v1_sequences(s, c, row)
    c.p += 1
    v1_known(s.protocol.v1, c)
    if i == SEC_APPLICATION_PROPERTIES:
        return append_v1_application(s, c, row)
    to = v1_asked(s, V1_COL_DELIVERY_ANNOTATIONS if i == SEC_DELIVERY_ANNOTATIONS else
                  V1_COL_MESSAGE_ANNOTATIONS if i == SEC_MESSAGE_ANNOTATIONS else
                  V1_COL_VALUE if i == SEC_AMQP_VALUE else V1_COL_FOOTER)
    return 0 if to == NULL else append_v1_text(s, s.table, c, to, row)
