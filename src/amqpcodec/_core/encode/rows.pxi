# Rows of columns to frames, the slow path: every row, every type, every fault with its place.

cdef int read_method(Encoder* e, int64_t row) noexcept nogil:
    """Which method: e.desc."""
    cdef const Source* s = e.sources.method
    cdef const uint8_t* p = NULL
    cdef uint64_t n = 0
    cdef const Desc* d
    cdef int status, i
    if s == NULL:
        d = e.protocol.publish
        if d == NULL:
            return refuse(&e.fault, b"the protocol has no basic.publish: name the method", NULL, 0)
    else:
        status = read_name(e, s, row, b"no method", &p, &n)
        if status != 0:
            return status
        if e.desc != NULL and n == strlen(e.desc.name) and memcmp(p, e.desc.name, <size_t>n) == 0:
            return 0
        d = method_named(e.protocol.name_slot, e.protocol.name_mask, e.protocol.descs, p, n)
        if d == NULL:
            return refuse(&e.fault, b"the protocol has no such method", NULL, 0)
    if d != e.desc:
        if not e.protocol.methods[d - e.protocol.descs].ready:
            if find_sources(&e.protocol.methods[d - e.protocol.descs], d, e.sources.argument,
                            e.sources.n_arguments) < 0:
                return NO_MEMORY
        e.desc = d
        e.class_at = -1
        for i in range(e.protocol.n_contents):
            if d.properties == e.protocol.contents[i]:
                e.class_at = i
    return 0


cdef void clear_values(Encoder* e, const Desc* d, AmqpValue* v, bint present) noexcept nogil:
    cdef int k
    for k in range(d.n):
        v[k].wire_type = d.op[k].wire_type
        v[k].u = 0
        v[k].n = 0
        v[k].p = &NO_BYTES
        v[k].present = present
        e.kept[k] = 0


cdef void find_kept(Encoder* e, const Desc* d, AmqpValue* v) noexcept nogil:
    """Now scratch stays where it is."""
    cdef int k
    for k in range(d.n):
        if e.kept[k]:
            v[k].p = e.scratch.start + e.kept[k] - 1


cdef int load_arguments(Encoder* e, const Desc* d, int64_t row) noexcept nogil:
    cdef MethodSources* m = &e.protocol.methods[d - e.protocol.descs]
    cdef const Source* s
    cdef int64_t i = row
    cdef int k, status, which
    clear_values(e, d, e.v, True)
    status = json_fields(e, d, e.sources.arguments, row, e.v)
    if status != 0:
        return status
    for k in range(d.n):
        for which in range(2):
            s = m.plain[k] if which == 0 else m.named[k]
            if s == NULL:
                continue
            place_refusal(e, d, k, s.name)
            i = row
            status = find_value(&s, &i)
            if status == HAS_VALUE:
                status = load_source(e, d.op[k].wire_type, s, i, &e.v[k], &e.kept[k])
            if status != 0:
                return status
    for k in range(m.n_foreign):
        status = is_default_value(m.foreign[k], row)
        if status == 0:
            place_refusal(e, d, -1, m.foreign[k].name)
            return refuse(&e.fault, b"has no argument %s", m.foreign[k].name, 0)
        if status < 0:
            return status
    find_kept(e, d, e.v)
    return 0


cdef inline bint is_hidden(const PropertySource* p, int64_t row) noexcept nogil:
    return p.parent != NULL and not is_valid(p.parent, row)


cdef int load_properties(Encoder* e, const Desc* d, int64_t row) noexcept nogil:
    """Properties of a content into e.w."""
    cdef const PropertySource* p
    cdef const Source* s
    cdef int64_t i = row
    cdef int k, field, status
    clear_values(e, d, e.w, False)
    status = json_fields(e, d, e.sources.properties_json, row, e.w)
    if status != 0:
        return status
    for k in range(e.sources.n_properties):
        p = &e.sources.properties[k]
        if is_hidden(p, row):
            continue
        s = p.source
        i = row
        status = find_value(&s, &i)
        if status == NO_VALUE:
            continue
        if status < 0:
            return status
        field = p.field[e.class_at]
        place_refusal(e, d, field, p.column)
        if field < 0:
            return refuse(&e.fault, b"has no %s", p.column, 0)
        status = load_source(e, d.op[field].wire_type, s, i, &e.w[field], &e.kept[field])
        if status != 0:
            return status
    if e.sources.n_headers:
        status = load_headers(e, d, row)
        if status != 0:
            return status
    find_kept(e, d, e.w)
    return 0


cdef int load_headers(Encoder* e, const Desc* d, int64_t row) noexcept nogil:
    """Columns of one header each: those that are not null, as one table."""
    cdef const HeaderSource* h
    cdef const Source* s
    cdef Buffer* b = &e.scratch
    cdef size_t at = buffer_size(b)
    cdef int k, field = -1, status
    cdef int64_t i
    cdef bint any_ = False
    for k in range(d.n):
        if d.op[k].wire_type == W_TABLE:
            field = k
            break
    for k in range(e.sources.n_headers):
        h = &e.sources.header[k]
        s = h.source
        i = row
        status = find_value(&s, &i)
        if status == NO_VALUE:
            continue
        if status < 0:
            return status
        place_refusal(e, d, field, h.column)
        if field < 0:
            return refuse(&e.fault, b"has no headers", NULL, 0)
        any_ = True
        status = put_name(e, h.name, h.name_n, False)
        if status == 0:
            status = arrow_value(e, s, i, 1)
        if status != 0:
            return status
    if any_:
        if e.w[field].present:
            place_refusal(e, d, field, e.sources.header[0].column)
            return refuse(&e.fault, b"headers come in properties_json as well", NULL, 0)
        e.w[field].present = True
        e.w[field].n = <uint32_t>(buffer_size(b) - at)
        e.kept[field] = at + 1
    return 0


cdef int refuse_content(Encoder* e, const Desc* d, int64_t row) noexcept nogil:
    """A method without content: that there is none."""
    cdef const PropertySource* p
    cdef const Source* s
    cdef const char* column = NULL
    cdef int64_t i
    cdef int k, status
    for k in range(e.sources.n_properties + e.sources.n_headers + 2):
        i = row
        if k < e.sources.n_properties:
            p = &e.sources.properties[k]
            if is_hidden(p, row):
                continue
            s = p.source
            column = p.column
        elif k < e.sources.n_properties + e.sources.n_headers:
            s = e.sources.header[k - e.sources.n_properties].source
            column = s.name
        elif k == e.sources.n_properties + e.sources.n_headers:
            s = e.sources.properties_json
        else:
            s = e.sources.body
        if s == NULL:
            continue
        if s == e.sources.body or s == e.sources.properties_json:
            column = s.name
        status = is_default_value(s, i) if s == e.sources.body else find_value(&s, &i)
        if status < 0:
            return status
        if (status == 0) == (s == e.sources.body):
            place_refusal(e, d, -1, column)
            return refuse(&e.fault, b"carries no content", NULL, 0)
    return 0


cdef int load_body(Encoder* e, const Desc* d, int64_t row, const uint8_t** p, uint64_t* n) noexcept nogil:
    cdef const Source* s = e.sources.body
    cdef int64_t i = row
    cdef int status
    p[0] = &NO_BYTES
    n[0] = 0
    if s == NULL:
        return 0
    status = find_value(&s, &i)
    if status != HAS_VALUE:
        return status
    place_refusal(e, d, -1, e.sources.body.name)
    if not is_bytes(s):
        return refuse(&e.fault, b"a body takes binary or text, not %s", s.type, 0)
    if bytes_at(s, i, p, n) < 0:
        return BAD_OFFSETS
    if s.text and not is_utf8(p[0], <size_t>n[0]):
        return refuse(&e.fault, b"text that is not UTF-8", NULL, 0)
    return 0


cdef int check_frame(Encoder* e, const Desc* d, uint64_t n) noexcept nogil:
    """A method or header frame of n bytes with its envelope."""
    if (e.frame_max and n > e.frame_max) or n > MAX_U32 + 8:
        place_refusal(e, d, -1, NULL)
        e.fault.at.field = b"frame_max"
        return refuse(&e.fault, b"the limit does not hold a frame of %llu bytes", NULL, n)
    return 0


cdef int encode_row(Encoder* e, int64_t row) noexcept nogil:
    """All frames of a message after what is there; 0, REFUSED (and nothing is written) or worse."""
    cdef size_t used = e.out.used
    cdef int status = begin_row(e, row)
    if status == 0:
        buffer_truncate(&e.scratch, 0)
        status = put_method(e, e.desc, row)
    if status == 0:
        buffer_truncate(&e.scratch, 0)      # the arguments are written
        if e.desc.has_content:
            status = put_content(e, e.desc, row)
        else:
            status = refuse_content(e, e.desc, row)
    if status != 0:
        e.out.used = used
    return status


cdef int begin_row(Encoder* e, int64_t row) noexcept nogil:
    """Method and channel."""
    cdef int status = refuse_broken(e, row)
    if status == 0:
        status = read_method(e, row)
    return read_channel(e, row, &e.number) if status == 0 else status


cdef int put_method(Encoder* e, const Desc* d, int64_t row) noexcept nogil:
    """The method frame."""
    cdef uint8_t* start
    cdef uint8_t* w
    cdef int status = load_arguments(e, d, row)
    if status == 0:
        status = out_room(e, values_room(d, e.v) + 12)
    if status != 0:
        return status
    start = e.out.data.p + e.out.used
    store16(start + 7, d.class_id)
    store16(start + 9, d.method_id)
    w = write_arguments(d, e.v, start + 11)
    status = check_frame(e, d, <uint64_t>(w - start) + 1)
    if status != 0:
        return status
    store_envelope(start, FRAME_METHOD, e.number, <uint32_t>(w - start - 7))
    w[0] = FRAME_END
    e.out.used += <size_t>(w - start) + 1
    return 0


cdef int put_content(Encoder* e, const Desc* d, int64_t row) noexcept nogil:
    """The header frame and the body frames."""
    cdef const uint8_t* body = NULL
    cdef uint8_t* start
    cdef uint8_t* w
    cdef uint64_t n = 0, piece, k
    cdef int status = load_properties(e, d.properties, row)
    if status == 0:
        status = load_body(e, d, row, &body, &n)
    if status == 0:
        status = out_room(e, values_room(d.properties, e.w) + 2 * MAX_FIELDS + 20)
    if status != 0:
        return status
    start = e.out.data.p + e.out.used
    store16(start + 7, d.class_id)
    store16(start + 9, 0)
    store64(start + 11, n)
    w = write_properties(d.properties, e.w, start + 19)
    status = check_frame(e, d, <uint64_t>(w - start) + 1)
    if status != 0:
        return status
    store_envelope(start, FRAME_HEADER, e.number, <uint32_t>(w - start - 7))
    w[0] = FRAME_END
    e.out.used += <size_t>(w - start) + 1
    if n == 0:
        return 0
    piece = (e.frame_max if e.frame_max else MAX_U32 + 8) - 8       # the header's frame took more
    if n > <uint64_t>e.table.limit:
        e.table.full = 0
        return COLUMN_FULL
    status = out_room(e, n + 8 * ((n + piece - 1) // piece))
    if status != 0:
        return status
    w = e.out.data.p + e.out.used
    while n:
        k = min(n, piece)
        w = store_envelope(w, FRAME_BODY, e.number, <uint32_t>k)
        memcpy(w, body, <size_t>k)
        w[k] = FRAME_END
        w += k + 1
        body += k
        n -= k
    e.out.used = <size_t>(w - e.out.data.p)
    return 0
