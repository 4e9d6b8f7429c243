# Sections of a message from columns (Part 3 §3.2): pieces of scratch memory, and the body where it lies.

cdef int v1e_list_section(Encoder* e, int i, const Source* whole, int64_t row) noexcept nogil:
    """Header or properties: there if their struct is, or a column of one of their fields."""
    cdef const V1Fields* f = e.v1.fields[SEC_FIRST_CODE + i]
    cdef size_t at = buffer_size(&e.scratch)
    cdef bint any_ = False
    cdef int status
    if whole != NULL and not f.singles and not is_valid(whole, row):
        return 0
    status = v1e_composite(e, f, row, NULL, MORE_GIVEN, &any_)
    if status == 0 and not any_ and (whole == NULL or not is_valid(whole, row)):
        buffer_truncate(&e.scratch, at)
    return status


cdef int v1e_map_section(Encoder* e, int i, int64_t row) noexcept nogil:
    """Annotations, application properties or footer."""
    cdef const Source* s = e.v1.section[i]
    cdef const V1Desc* d = e.v1.types.by_code[SEC_FIRST_CODE + i]
    cdef int status
    if s == NULL:
        return 0
    v1e_place(e, d, -1, s.name)
    status = find_value(&s, &row)
    if status != HAS_VALUE:
        return status
    status = v1e_described(&e.scratch, d.code)
    return v1e_map_column(e, s, row, 1, d.op[0].symbol_keys) if status == 0 else status


cdef int v1e_single_properties(Encoder* e, int64_t row) noexcept nogil:
    """Columns of one application property each: those that are not null."""
    cdef Buffer* b = &e.scratch
    cdef const HeaderSource* h
    cdef const Source* s
    cdef uint64_t count = 0
    cdef size_t at = 0
    cdef int64_t i
    cdef int k
    cdef int status = v1e_described(b, SEC_FIRST_CODE + SEC_APPLICATION_PROPERTIES)
    if status == 0:
        status = v1e_open(b, &at)
    for k in range(e.v1.n_properties):
        if status != 0:
            return status
        h = &e.v1.property_[k]
        s = h.source
        i = row
        status = find_value(&s, &i)
        if status != HAS_VALUE:
            continue
        v1e_place(e, e.v1.types.by_code[SEC_FIRST_CODE + SEC_APPLICATION_PROPERTIES], -1, h.column)
        status = v1e_run(b, V1_STRING, h.name, h.name_n, &e.fault)
        if status == 0:
            status = arrow_value(e, s, i, 2)
        count += 2
    if status == 0 and count == 0:
        buffer_truncate(b, at - 3)
        return 0
    return v1e_close(b, at, V1_MAP, count, &e.fault) if status == 0 else status


# ---- the body ----

cdef int v1e_body_section(Encoder* e, int64_t row, int* section) noexcept nogil:
    """SEC_DATA, SEC_AMQP_SEQUENCE or SEC_AMQP_VALUE, or -1 where the row does not say."""
    cdef const Source* s = e.v1.body_form
    cdef const uint8_t* p = NULL
    cdef uint64_t n = 0
    cdef int status
    section[0] = -1
    if s == NULL:
        return 0
    v1e_place(e, NULL, -1, s.name)
    status = find_value(&s, &row)
    if status != HAS_VALUE:
        return status
    if not is_bytes(s):
        return refuse(&e.fault, b"takes text, not %s", s.type, 0)
    if bytes_at(s, row, &p, &n) < 0:
        return BAD_OFFSETS
    if n == 4 and memcmp(p, <const char*>b"data", 4) == 0:
        section[0] = SEC_DATA
    elif n == 8 and memcmp(p, <const char*>b"sequence", 8) == 0:
        section[0] = SEC_AMQP_SEQUENCE
    elif n == 5 and memcmp(p, <const char*>b"value", 5) == 0:
        section[0] = SEC_AMQP_VALUE
    else:
        return refuse(&e.fault, b"is data, sequence or value", NULL, 0)
    return 0


cdef int v1e_body(Encoder* e, int64_t row) noexcept nogil:
    cdef V1Encode* m = e.v1
    cdef const Source* body = e.sources.body
    cdef const Source* value = m.value
    cdef int64_t at = row, i = row
    cdef int section = -1, has_body = NO_VALUE, has_value = NO_VALUE
    cdef int status = v1e_body_section(e, row, &section)
    if status != 0:
        return status
    if body != NULL:
        has_body = find_value(&body, &at)
    if value != NULL:
        has_value = find_value(&value, &i)
    if has_body < 0 or has_value < 0:
        return BAD_OFFSETS
    if section < 0:
        if has_body == NO_VALUE and has_value == NO_VALUE:
            return 0
        section = SEC_DATA if has_body == HAS_VALUE else SEC_AMQP_VALUE
    v1e_place(e, m.types.by_code[SEC_FIRST_CODE + section], -1, NULL)
    if section == SEC_DATA:
        if has_body == NO_VALUE:
            return refuse(&e.fault, b"there is no body", NULL, 0)
        if has_value == HAS_VALUE:
            e.fault.column = m.value.name
            return refuse(&e.fault, b"a message has a body or a value", NULL, 0)
        e.fault.column = e.sources.body.name
        return v1e_data(e, body, at)
    if has_body == HAS_VALUE:
        e.fault.column = e.sources.body.name
        return refuse(&e.fault, b"a message has a body or a value", NULL, 0)
    if value != NULL:
        e.fault.column = m.value.name
    if section == SEC_AMQP_SEQUENCE:
        if has_value == NO_VALUE:
            return refuse(&e.fault, b"there is no value", NULL, 0)
        return v1e_sequences(e, value, i)
    status = v1e_described(&e.scratch, SEC_FIRST_CODE + section)
    if status != 0:
        return status
    return v1e_any_column(e, value, i, 1) if has_value == HAS_VALUE else buffer_put_byte(&e.scratch, CTOR_NULL)


cdef int v1e_refuse_sequence(Encoder* e) noexcept nogil:
    return refuse(&e.fault, b"a sequence takes a list of lists, one for each section", NULL, 0)


cdef int v1e_sequences(Encoder* e, const Source* s, int64_t i) noexcept nogil:
    """A section for each list of a list."""
    cdef const Source* item
    cdef int64_t first = 0, n = 0, k, row
    cdef Json j
    cdef bint more = False
    cdef int status
    if is_bytes(s) and s.text:
        status = json_begin(&j, s, i, &e.fault)
        if status == 0:
            status = json_first(&j, c'[', c']', b"an array", &more)
        while status == 0 and more:
            if not json_at(&j, c'['):
                return v1e_refuse_sequence(e)
            status = v1e_described(&e.scratch, SEC_FIRST_CODE + SEC_AMQP_SEQUENCE)
            if status == 0:
                status = json_list(e, &j, 1)
            if status == 0:
                status = json_next(&j, c']', &more)
        return json_end(&j) if status == 0 else status
    if not IN_LIST <= s.input_type <= IN_FIXED_LIST:
        return v1e_refuse_sequence(e)
    status = items_at(s, i, &first, &n)
    for k in range(first, first + n):
        if status != 0:
            return status
        item = s.child
        row = k
        status = find_value(&item, &row)
        if status < 0:
            return status
        if status == NO_VALUE or not IN_LIST <= item.input_type <= IN_FIXED_LIST:
            return v1e_refuse_sequence(e)
        status = v1e_described(&e.scratch, SEC_FIRST_CODE + SEC_AMQP_SEQUENCE)
        if status == 0:
            status = arrow_list(e, item, row, 1)
    return status


cdef int v1e_data(Encoder* e, const Source* s, int64_t i) noexcept nogil:
    """A data section: its head in scratch, its bytes where they are."""
    cdef Buffer* b = &e.scratch
    cdef V1Encode* m = e.v1
    cdef int status
    if not is_bytes(s):
        return refuse(&e.fault, b"a body takes binary or text, not %s", s.type, 0)
    if bytes_at(s, i, &m.piece[1], &m.piece_n[1]) < 0:
        return BAD_OFFSETS
    status = v1e_check(V1_STRING if s.text else V1_BINARY, m.piece[1], m.piece_n[1], &e.fault)
    if status == 0:
        status = v1e_described(b, SEC_FIRST_CODE + SEC_DATA)
    if status != 0:
        return status
    if buffer_ensure(b, V1_RUN_BYTES) < 0:
        return NO_MEMORY
    buffer_commit(b, v1_store_size(b.p, V1_BINARY, <size_t>m.piece_n[1], V1_SMALLEST))
    return 0


# ---- the whole ----

cdef int v1e_raw(Encoder* e, const Source* s, int64_t row) noexcept nogil:
    """Bytes that are a message, or the part of one that a frame carries: HAS_VALUE where there are any."""
    cdef const Source* column = s
    cdef int status
    if s == NULL:
        return NO_VALUE
    status = find_value(&s, &row)
    if status != HAS_VALUE:
        return status
    v1e_place(e, e.v1.frame.desc, -1, column.name)
    if not is_bytes(s):
        return refuse(&e.fault, b"takes binary, not %s", s.type, 0)
    return HAS_VALUE if bytes_at(s, row, &e.v1.piece[0], &e.v1.piece_n[0]) == 0 else BAD_OFFSETS


cdef int v1e_message(Encoder* e, int64_t row) noexcept nogil:
    """The row's message as pieces; find them with v1e_pieces once scratch does not grow any more."""
    cdef Buffer* b = &e.scratch
    cdef V1Encode* m = e.v1
    cdef size_t at = buffer_size(b), middle
    cdef int status, i
    memset(m.piece_n, 0, sizeof(m.piece_n))
    memset(m.kept, 0, sizeof(m.kept))
    m.other_format = False
    m.piece[1] = &NO_BYTES
    status = v1e_raw(e, m.payload, row)
    m.whole = status == HAS_VALUE
    if status == NO_VALUE:
        status = v1e_raw(e, m.message, row)
    if status != NO_VALUE:
        return 0 if status == HAS_VALUE else status
    status = v1e_list_section(e, SEC_HEADER, m.header, row)
    if status == 0:
        status = v1e_map_section(e, SEC_DELIVERY_ANNOTATIONS, row)
    if status == 0:
        status = v1e_map_section(e, SEC_MESSAGE_ANNOTATIONS, row)
    if status == 0:
        status = v1e_list_section(e, SEC_PROPERTIES, m.properties, row)
    if status == 0:
        if m.n_properties:
            status = v1e_single_properties(e, row)
        else:
            status = v1e_map_section(e, SEC_APPLICATION_PROPERTIES, row)
    if status == 0:
        status = v1e_body(e, row)
    if status != 0:
        return status
    middle = buffer_size(b)
    status = v1e_map_section(e, SEC_FOOTER, row)
    m.kept[0] = at + 1
    m.piece_n[0] = middle - at
    m.kept[2] = middle + 1
    m.piece_n[2] = buffer_size(b) - middle
    return status


cdef uint64_t v1e_pieces(Encoder* e) noexcept nogil:
    """Now scratch stays where it is. How long the message is."""
    cdef V1Encode* m = e.v1
    cdef int i
    for i in range(3):
        if m.kept[i]:
            m.piece[i] = e.scratch.start + m.kept[i] - 1
    return m.piece_n[0] + m.piece_n[1] + m.piece_n[2]
