# Rows of columns to frames of AMQP 1.0: a performative, and with a transfer a message, split where it must be.

cdef int v1e_performative(Encoder* e, int64_t row) noexcept nogil:
    """Which performative: e.v1.frame."""
    cdef V1Encode* m = e.v1
    cdef const Source* s = m.performative
    cdef const V1Desc* d
    cdef const uint8_t* p = NULL
    cdef uint64_t n = 0
    cdef int status, i
    if s == NULL:
        m.frame = m.fields[DESC_TRANSFER]
        return 0
    status = read_name(e, s, row, b"no performative", &p, &n)
    if status != 0:
        return status
    if m.frame != NULL and n == strlen(m.frame.desc.name) and memcmp(p, m.frame.desc.name, <size_t>n) == 0:
        return 0
    for i in range(m.types.count):
        d = &m.types.desc[i]
        if d.frame != V1_NO_FRAME and n == strlen(d.name) and memcmp(p, d.name, <size_t>n) == 0:
            m.frame = m.fields[d.code]
            return 0
    return refuse(&e.fault, b"there is no such performative", NULL, 0)


cdef int v1e_arguments(Encoder* e, int64_t row) noexcept nogil:
    """The JSON text `arguments` into parts; and that no column says what this performative has no field for."""
    cdef V1Encode* m = e.v1
    cdef const Source* s = e.sources.arguments
    cdef Json j
    cdef bint more = False
    cdef int64_t i = row
    cdef int k, status
    if m.parts.last:
        memset(&m.parts, 0, sizeof(V1Parts))
    for k in range(m.frame.n_foreign):
        status = is_default_value(m.frame.foreign[k], row)
        if status == 0:
            v1e_place(e, m.frame.desc, -1, m.frame.foreign[k].name)
            return refuse(&e.fault, b"has no field %s", m.frame.foreign[k].name, 0)
        if status < 0:
            return status
    if s == NULL:
        return 0
    status = find_value(&s, &i)
    if status != HAS_VALUE:
        return status
    v1e_place(e, m.frame.desc, -1, e.sources.arguments.name)
    if not (is_bytes(s) and s.text):
        return refuse(&e.fault, b"takes JSON text, not %s", s.type, 0)
    status = json_begin(&j, s, i, &e.fault)
    if status == 0:
        status = json_first(&j, c'{', c'}', b"an object", &more)
    if status == 0 and more:
        status = v1e_json_fields(e, m.frame.desc, &j, &m.parts, 1, e.sources.arguments.name)
    if status == 0:
        v1e_place(e, m.frame.desc, -1, e.sources.arguments.name)
        status = json_end(&j)
    return status


cdef int v1e_no_message(Encoder* e, int64_t row) noexcept nogil:
    """A performative that is no transfer: that no column of a message says anything."""
    cdef V1Encode* m = e.v1
    cdef int k, status
    for k in range(m.n_content):
        status = is_default_value(m.content[k], row)
        if status < 0:
            return status
        if status == 0:
            v1e_place(e, m.frame.desc, -1, m.content[k].name)
            return refuse(&e.fault, b"carries no message", NULL, 0)
    return 0


cdef int v1e_row(Encoder* e, int64_t row) noexcept nogil:
    """All frames of a row after what is there; 0, REFUSED (and nothing is written) or worse."""
    cdef size_t used = e.out.used
    cdef int status = refuse_broken(e, row)
    if status == 0:
        status = v1e_performative(e, row)
    if status == 0:
        status = read_channel(e, row, &e.number)
    buffer_truncate(&e.scratch, 0)
    if status == 0:
        status = v1e_arguments(e, row)
    if status == 0:
        status = v1e_transfers(e, row) if e.v1.frame.desc.code == DESC_TRANSFER else v1e_alone(e, row)
    if status != 0:
        e.out.used = used
    return status


cdef int v1e_limit(Encoder* e, uint64_t n) noexcept nogil:
    """A frame that cannot be split, of n bytes."""
    if n > MAX_U32 or (e.frame_max and n > e.frame_max):
        v1e_place(e, e.v1.frame.desc, -1, NULL)
        e.fault.at.field = b"frame_max"
        return refuse(&e.fault, b"the limit does not hold a frame of %llu bytes", NULL, n)
    return 0


cdef int v1e_alone(Encoder* e, int64_t row) noexcept nogil:
    """A frame without a payload."""
    cdef const V1Desc* d = e.v1.frame.desc
    cdef size_t at, n
    cdef bint any_ = False
    cdef int status = v1e_no_message(e, row)
    at = buffer_size(&e.scratch)
    if status == 0:
        status = v1e_composite(e, e.v1.frame, row, &e.v1.parts, MORE_GIVEN, &any_)
    n = buffer_size(&e.scratch) - at
    if status == 0:
        status = v1e_limit(e, n + 8)
    if status == 0:
        status = v1e_frame(e, e.scratch.start + at, n, 0, 0,
                           V1_FRAME_SASL if d.frame == V1_SASL_FRAME else V1_FRAME_AMQP)
    return status


cdef int v1e_frame(Encoder* e, const uint8_t* p, size_t n, uint64_t from_, uint64_t size,
                   uint8_t frame_type) noexcept nogil:
    """A frame: a performative of n bytes, and `size` bytes of the message's pieces from `from_` on."""
    cdef V1Encode* m = e.v1
    cdef uint8_t* w
    cdef uint64_t part
    cdef int i
    cdef int status = out_room(e, 8 + n + size)
    if status != 0:
        return status
    w = e.out.data.p + e.out.used
    v1_store_frame_head(w, <uint32_t>(8 + n + size), frame_type, e.number)
    copy_bytes(w + 8, p, n)
    w += 8 + n
    e.out.used += 8 + n + size
    i = 0
    while size:
        if from_ >= m.piece_n[i]:
            from_ -= m.piece_n[i]
        else:
            part = min(size, m.piece_n[i] - from_)
            copy_bytes(w, m.piece[i] + from_, <size_t>part)
            w += part
            size -= part
            from_ = 0
        i += 1
    return 0


cdef int v1e_transfers(Encoder* e, int64_t row) noexcept nogil:
    """The transfers of a delivery, or of one frame whose payload is given."""
    cdef V1Encode* m = e.v1
    cdef const V1Column* c
    cdef uint64_t limit = e.frame_max if e.frame_max else MAX_U32
    cdef uint64_t total
    cdef size_t at, n
    cdef bint any_ = False
    cdef int status = v1e_message(e, row)
    if status != 0:
        return status
    at = buffer_size(&e.scratch)
    status = v1e_composite(e, m.frame, row, &m.parts, MORE_GIVEN if m.whole else MORE_NOT, &any_)
    if status != 0:
        return status
    n = buffer_size(&e.scratch) - at
    if AMQP_UNLIKELY(m.other_format and m.kept[0] != 0):
        c = &m.frame.named[TRANSFER_MESSAGE_FORMAT]
        if c.source == NULL:
            c = &m.frame.plain[TRANSFER_MESSAGE_FORMAT]
        v1e_place(e, m.frame.desc, TRANSFER_MESSAGE_FORMAT, c.column)
        return refuse(&e.fault, b"only 0 has sections: message takes the bytes of others", NULL, 0)
    total = v1e_pieces(e)
    if total > <uint64_t>e.table.limit:
        e.table.full = 0
        return COLUMN_FULL
    if m.whole:
        status = v1e_limit(e, 8 + n + total)
        if status != 0:
            return status
    elif total + n + 24 > limit:    # 8 of the head; `more` may take up to 11
        return v1e_split(e, row, at, n, total, limit)
    return v1e_frame(e, e.scratch.start + at, n, 0, total, V1_FRAME_AMQP)


cdef int v1e_split(Encoder* e, int64_t row, size_t at, size_t n, uint64_t total, uint64_t limit) noexcept nogil:
    """Several transfers, if it must be; n bytes of the only one's performative are at `at`."""
    cdef V1Encode* m = e.v1
    cdef Buffer* b = &e.scratch
    cdef const V1Fields* f = m.frame
    cdef size_t more_at = buffer_size(b), more_n
    cdef uint64_t done = 0, room, size
    cdef bint any_ = False, more = True
    cdef int status = v1e_composite(e, f, row, &m.parts, MORE_YES, &any_)
    if status != 0:
        return status
    more_n = buffer_size(b) - more_at
    while True:
        room = limit - 8 - more_n if limit > 8 + more_n else 0
        more = total - done > room
        if not more:
            room = limit - 8 - n if limit > 8 + n else 0
        size = min(room, total - done)
        if size == 0 and done < total:
            v1e_place(e, f.desc, -1, NULL)
            e.fault.at.field = b"frame_max"
            return refuse(&e.fault, b"%llu bytes do not hold the performative", NULL, limit)
        v1e_pieces(e)
        status = v1e_frame(e, b.start + (more_at if more else at), more_n if more else n, done, size,
                           V1_FRAME_AMQP)
        if status != 0:
            return status
        done += size
        if done >= total:
            return 0
        if done == size:
            # What the first transfer said holds for the others, too.
            at = buffer_size(b)
            status = v1e_next_transfer(e, row, False)
            if status != 0:
                return status
            more_at = buffer_size(b)
            n = more_at - at
            status = v1e_next_transfer(e, row, True)
            if status != 0:
                return status
            more_n = buffer_size(b) - more_at


cdef int v1e_next_transfer(Encoder* e, int64_t row, bint more) noexcept nogil:
    """A transfer that goes on: handle, delivery-id and perhaps `more`."""
    cdef Buffer* b = &e.scratch
    cdef uint64_t count = 1
    cdef size_t at = 0
    cdef int k, status
    status = v1e_described(b, DESC_TRANSFER)
    if status == 0:
        status = v1e_open(b, &at)
    if status != 0:
        return status
    for k in range(TRANSFER_HANDLE, TRANSFER_DELIVERY_ID + 1):
        status = v1e_field_of(e, e.v1.frame, k, row, &e.v1.parts, MORE_GIVEN)
        if status == HAS_VALUE:
            count = <uint64_t>k + 1
        elif status != NO_VALUE:
            return status
    if more:
        while count < TRANSFER_MORE:
            status = buffer_put_byte(b, CTOR_NULL)
            if status != 0:
                return status
            count += 1
        status = buffer_put_byte(b, CTOR_TRUE)
        if status != 0:
            return status
        count += 1
    return v1e_close(b, at, V1_LIST, count, &e.fault)


cdef int v1e_rows(Encoder* e, int64_t rows) noexcept nogil:
    """Every row of the array at hand."""
    cdef int64_t row = 0
    cdef int status = 0
    while row < rows and status == 0:
        status = encode_rows(e, v1e_row, row, min(rows - row, <int64_t>256))
        row += 256
    return status
