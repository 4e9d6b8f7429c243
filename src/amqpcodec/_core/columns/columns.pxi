# The column sink of the waist: octets to Arrow columns, block by block, no Python object a row.
#
# A block of frames is found first; then each is decoded into the columns that only some rows have;
# then the columns that every row has are written, one after the other.

# Octets of captures that are no frame, by the upper octet of their number.
cdef const char** LOST_TEXTS = [
    b"", b"were not captured", b"of a frame whose rest was not captured",
    b"in which no frame was found", b"of a frame larger than frame_max"]


# ---- a frame ----

cdef inline int take_frame(Sink* s, const Entry* e, int64_t row) noexcept nogil:
    """Into the columns that not every row has; 0, BAD_FRAME or a status below 0."""
    cdef int status = 0
    if e.way == FRAME_METHOD:
        status = hot_method(s, e, row)
    elif e.way == FRAME_HEADER:
        status = hot_header(s, e, row)
    elif e.way == FRAME_BODY:
        if s.payload != NULL:
            return hot_octets(s.table, s.payload, place_of(row), e.start + 7, e.total - 8)
        return 0
    elif e.way == FRAME_V1:
        return take_v1_frame(s, e, row)
    else:
        return take_any_frame(s, e, row)
    if AMQP_UNLIKELY(status > 0):
        return take_any_frame(s, e, row)
    return status


cdef int take_any_frame(Sink* s, const Entry* e, int64_t row) noexcept nogil:
    """The same, the thorough way; of AMQP 1.0 only what is no frame."""
    cdef WireFrame f
    cdef uint64_t at = <uint64_t>(e.start - e.base)
    s.fault.code = OK
    s.fault.method = NULL
    s.fault.field = NULL
    if AMQP_UNLIKELY(e.odd):
        if e.lost != 0:
            s.fault.code = BAD_CAPTURE
            s.fault.scope = SCOPE_CONNECTION
            s.fault.what = LOST_TEXTS[e.lost >> 56]
            s.fault.have = e.lost & ((<uint64_t>1 << 56) - 1)
            s.fault.offset = at
            s.fault.in_frame = False
        elif (scan_frame(e.start, e.start + e.total, 0, at, &f, &s.fault) if s.v1 == NULL else
              v1_scan(e.start, e.start + e.total, 0, at, &f, &s.fault)) == SCAN_MORE:
            s.fault.code = BAD_INCOMPLETE
            s.fault.scope = SCOPE_CONNECTION
            s.fault.what = b"a frame"
            s.fault.have = e.total
            s.fault.offset = at
            s.fault.in_frame = not e.no_channel
            s.fault.frame_type = e.type
            s.fault.channel = e.channel
        return BAD_FRAME
    s.c.p = e.start + 7
    s.c.end = e.start + e.total - 1
    s.c.base = e.base
    if e.type == FRAME_METHOD:
        return take_method(s, e, row)
    if e.type == FRAME_HEADER:
        return take_header(s, e, row)
    if e.type == FRAME_BODY:
        if s.payload != NULL:
            return append_octets(s.table, s.payload, row, e.start + 7, e.total - 8)
        return 0
    if e.type == FRAME_HEARTBEAT and (e.total != 8 or e.channel != 0):
        s.fault.code = BAD_HEARTBEAT
        s.fault.scope = SCOPE_FRAME
        s.fault.have = e.total - 8
        s.fault.offset = at
        s.fault.channel = e.channel
        return BAD_FRAME
    return 0


cdef int put_error(Sink* s, int64_t row) noexcept nogil:
    cdef char[FAULT_TEXT_SIZE] text
    cdef int n
    cdef int status = 0
    if s.error != NULL:
        n = fault_text(&s.fault, text, FAULT_TEXT_SIZE) if s.v1 == NULL else v1_error_text(s, text)
        # A long name from an XML file may have been cut inside of a letter.
        while not is_utf8(<const uint8_t*>text, <size_t>n):
            n -= 1
        status = append_octets(s.table, s.error, row, text, <size_t>n)
    if status == 0 and s.error_offset != NULL:
        status = append_i64(s.error_offset, row, <int64_t>s.fault.offset)
    return status


cdef int take_block(Sink* s, int n) noexcept nogil:
    """Decode the block's frames; how many became rows, or a status below 0."""
    cdef int i = 0, kept = 0, done, status
    cdef Entry* e
    cdef int tries = 8 if v1_may_run(s) else 4 if s.by_kind and s.v1 == NULL else 0
    while i < n:
        e = &s.block[i]
        if tries:
            if s.v1 != NULL:
                done = run_v1_arguments(s, e, n - i, s.rows + kept)
                tries -= done == 0      # a few odd frames, or all of them
            elif n - i < KINDS_LEAST:
                done = tries = 0
            else:
                done = take_kinds(s, e, n - i, s.rows + kept)
                if done < 0:
                    return done
                tries = tries - (done < KINDS_LEAST) if s.by_kind else 0
            if kept != i and done:
                memmove(&s.block[kept], e, <size_t>done * sizeof(Entry))
            kept += done
            i += done
            if i == n:
                break
            e = &s.block[i]
        i += 1
        # Ask for octets of the next block meanwhile: to find frames is to wait for memory.
        AMQP_PREFETCH(e.start + AHEAD)
        AMQP_PREFETCH(e.start + AHEAD + 64)
        AMQP_PREFETCH(e.start + AHEAD + 128)
        status = take_frame(s, e, s.rows + kept)
        if AMQP_UNLIKELY(status != 0):
            if status < 0:
                return status
            if not e.odd:
                s.fault.in_frame = True
                s.fault.frame_type = e.type
                s.fault.channel = e.channel
            if s.mode == FAILFAST:
                s.fault_row = e.row
                return FAILED
            if s.mode == DROPMALFORMED:
                table_rewind(s.table, 0, s.table.n, s.rows + kept)
                continue
            status = put_error(s, s.rows + kept)
            if status < 0:
                return status
        if e != &s.block[kept]:
            s.block[kept] = e[0]
        kept += 1
    return kept


cdef void guess_sizes(Sink* s, int n, uint64_t seen) noexcept nogil:
    """How large the columns will be in the end, from what they are so far: where they grow, they
    need not grow again. seen: octets of input up to the end of the block."""
    cdef int i
    cdef Column* c
    cdef int64_t rows = s.rows + n
    cdef double octets = 0
    cdef double most = min(2.0 * <double>s.total + 65536.0, <double>s.table.limit)
    if 0 < seen < s.total:
        rows = <int64_t>(<double>rows * (<double>s.total / <double>seen) * 1.07) + 64
        rows = min(rows, s.rows + n + <int64_t>(s.total - seen))
    if s.done:
        octets = <double>s.total / <double>s.done * 1.07
    for i in range(s.table.n):
        c = &s.table.column[i]
        c.row_hint = rows
        # At first, a third of the input: memory that is not written to costs nothing.
        c.data_hint = <size_t>min(<double>c.used * octets if s.done else <double>s.total / 3, most)


cdef int flush_block(Sink* s, int n, uint64_t seen) noexcept nogil:
    """Make rows of the frames that were found. seen: octets of input up to here."""
    cdef int status
    if n == 0:
        return 0
    s.blocks += 1
    if s.blocks & (s.blocks - 1) == 0:
        guess_sizes(s, n, seen)     # after 1, 2, 4, 8, ... blocks
    status = take_block(s, n)
    if status > 0:
        n = status
        status = write_block(s, n)
        s.rows += n
    s.done = seen
    s.odd_block = False
    return status


# ---- the loop ----

cdef const uint8_t* find_odd_frame(Entry* e, const uint8_t* p, const uint8_t* end) noexcept nogil:
    """The frame at p, whatever it is: where the next one starts."""
    cdef WireFrame f
    cdef Fault fault
    cdef int found = scan_frame(p, end, 0, 0, &f, &fault)
    e.way = 0
    e.lost = 0
    e.odd = False
    e.no_channel = False
    if found == SCAN_FRAME:
        e.type = f.type
        e.channel = f.channel
        e.total = f.total
        return p + f.total
    e.odd = ODD_TYPE
    e.type = 0
    e.channel = 0
    if found == SCAN_BAD and fault.scope == SCOPE_FRAME:
        e.channel = f.channel       # the type is undefined, the frame is not
        e.total = f.total
        return p + f.total
    e.odd = ODD_LOST
    e.total = <uint64_t>(end - p)
    e.no_channel = e.total < 7 or not is_known_type(p[0])
    if not e.no_channel:
        e.type = p[0]
        e.channel = load16(p + 1)
    return end


cdef inline const uint8_t* find_frame(Sink* s, Entry* e, const uint8_t* p, const uint8_t* end) noexcept nogil:
    """The frame at p: where the next one starts. e.base and e.row are set by the caller."""
    cdef uint64_t head, total
    e.start = p
    if AMQP_LIKELY(end - p >= 8):
        head = load64(p)            # type, channel, size and an octet of the payload
        total = <uint64_t><uint32_t>(head >> 8) + 8
        if AMQP_LIKELY(total <= <uint64_t>(end - p) and p[total - 1] == FRAME_END
                       and (head >> 56) - 1 <= 2):
            e.total = total
            e.type = <uint8_t>(head >> 56)
            e.way = <uint8_t>(head >> 56) if p + total <= s.hot_end else 0
            e.channel = <uint16_t>(head >> 40)
            e.odd = False
            e.no_channel = False
            return p + total
    p = find_odd_frame(e, p, end)
    if e.odd:
        s.odd_block = True
    return p


cdef void find_lost(Sink* s, Entry* e, uint64_t lost, const uint8_t* p, const uint8_t* end,
                    int64_t row) noexcept nogil:
    """A value of a capture that is no frame: one row, also where it is empty."""
    memset(e, 0, sizeof(Entry))
    e.start = p
    e.base = p
    e.row = row
    e.total = <uint64_t>(end - p)
    e.lost = lost
    e.odd = ODD_LOST
    e.no_channel = True
    s.odd_block = True


cdef int decode_values(Sink* s, const Values* values) noexcept nogil:
    """All frames of all values."""
    cdef int64_t i
    cdef int n = 0, status
    cdef uint64_t from_, to
    cdef uint64_t first = value_end(values, 0) if values.n else 0
    cdef const uint8_t* base
    cdef const uint8_t* p
    cdef const uint8_t* end
    cdef Entry* e
    to = first
    for i in range(values.n):
        from_ = to
        to = value_end(values, i + 1)
        if AMQP_UNLIKELY(to < from_ or to > values.last):
            return BAD_OFFSETS
        if AMQP_UNLIKELY(not value_present(values, i)):
            continue
        if AMQP_UNLIKELY(values.version != NULL and values.version[i] != s.speaks):
            status = flush_block(s, n, from_ - first)
            if status < 0:
                return status
            n = 0
            speak(s, values.version[i])
        p = base = values.data + from_
        end = values.data + to
        if values.lost != NULL and values.lost[values.at + i] != 0:
            find_lost(s, &s.block[n], values.lost[values.at + i], p, end, i)
            p = end
            n += 1
            if n == BLOCK:
                status = flush_block(s, n, <uint64_t>(p - values.data) - first)
                if status < 0:
                    return status
                n = 0
        while p < end:
            e = &s.block[n]
            e.base = base
            e.row = i
            if AMQP_UNLIKELY(s.v1 != NULL):
                p = find_v1_frame(s, e, p, end)
            else:
                p = find_frame(s, e, p, end)
            n += 1
            if n == BLOCK:
                status = flush_block(s, n, <uint64_t>(p - values.data) - first)
                if status < 0:
                    return status
                n = 0
    status = flush_block(s, n, s.total)
    return status if status < 0 else table_finish(s.table, s.rows)
