# The column sink of the waist: bytes to Arrow columns, block by block, no Python object a row.
#
# A block of frames is found first; then each is decoded into the columns that only some rows have;
# then the columns that every row has are written, one after the other. This file alone uses the
# decoders of both families.

cdef int append_block(Sink* s, int n) noexcept nogil:
    """Decode the block's frames; how many became rows, or a status below 0."""
    cdef int i = 0, kept = 0, done, status
    cdef Entry* e
    cdef int tries = 8 if v1_may_run(s) else 0
    while i < n:
        e = &s.block[i]
        if tries:
            done = run_v1_arguments(s, e, n - i, s.rows + kept)
            tries -= done == 0          # a few unusual frames, or all of them
            if kept != i and done:
                memmove(&s.block[kept], e, <size_t>done * sizeof(Entry))
            kept += done
            i += done
            if i == n:
                break
            e = &s.block[i]
        i += 1
        # Ask for bytes of the next block meanwhile: to find frames is to wait for memory.
        AMQP_PREFETCH(e.start + AHEAD)
        AMQP_PREFETCH(e.start + AHEAD + 64)
        AMQP_PREFETCH(e.start + AHEAD + 128)
        if s.protocol.v1 == NULL:
            status = append_frame(s, e, s.rows + kept)
        elif AMQP_LIKELY(e.way == FRAME_V1):
            status = append_v1_frame(s, e, s.rows + kept)
        else:
            status = put_no_frame(s, e)
        if AMQP_UNLIKELY(status != 0):
            if status < 0:
                return status
            if not e.broken:
                s.fault.in_frame = True
                s.fault.frame_type = e.type
                s.fault.channel = e.channel
            s.fault_row = e.row
            status = put_bad_row(s, s.rows + kept)
            if status < 0:
                return status
            if status:
                continue
        if e != &s.block[kept]:
            s.block[kept] = e[0]
        kept += 1
    return kept


cdef int flush_block(Sink* s, int n, uint64_t seen) noexcept nogil:
    """Make rows of the frames that were found. seen: bytes of input up to here."""
    cdef int status
    if n == 0:
        return 0
    s.blocks += 1
    if s.blocks & (s.blocks - 1) == 0:
        guess_sizes(s, n, seen)     # after 1, 2, 4, 8, ... blocks
    status = append_block(s, n)
    if status > 0:
        n = status
        status = write_block(s, n)
        s.rows += n
    s.unusual_block = False
    return status if status < 0 else advance_progress(s, seen)


# ---- the loop ----

cdef void find_lost(Sink* s, Entry* e, uint64_t lost, const uint8_t* p, const uint8_t* end,
                    int64_t row) noexcept nogil:
    """A value of a capture that is no frame: one row, also where it is empty."""
    memset(e, 0, sizeof(Entry))
    e.start = p
    e.base = p
    e.row = row
    e.total = <uint64_t>(end - p)
    e.lost = lost
    e.broken = BROKEN_LOST
    e.no_channel = True
    s.unusual_block = True


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
        if AMQP_UNLIKELY(values.version != NULL and values.version[i] != s.protocol_number):
            status = flush_block(s, n, from_ - first)
            if status < 0:
                return status
            n = 0
            select_protocol(s, values.version[i])
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
            if AMQP_UNLIKELY(s.protocol.v1 != NULL):
                p = find_v1_frame(s, e, p, end)
            else:
                p = find_frame(s, e, p, end)
            n += 1
            if n == BLOCK:
                status = flush_block(s, n, <uint64_t>(p - values.data) - first)
                if status < 0:
                    return status
                n = 0
    status = flush_block(s, n, s.input.total)
    return status if status < 0 else table_finish(s.table, s.rows)


cdef int end_conversation(Sink* s) noexcept nogil:
    """What is open will not be complete any more: what follows is of others."""
    if s.assembly.n_open and end_all(s) < 0:
        return s.status
    return end_v1_all(s) if s.links != NULL and s.links.n_open else 0


cdef int end_value(Sink* s) noexcept nogil:
    """What is open goes on in no other value."""
    if s.assembly.n_open and end_all(s) < 0:
        return s.status
    return end_v1_value(s) if s.links != NULL and s.links.n_open else 0


cdef int decode_messages(Sink* s, const Values* values) noexcept nogil:
    """All messages of all values."""
    cdef int64_t i, k
    cdef int status
    cdef uint64_t from_, to, seen = 0
    cdef uint64_t first = value_end(values, 0) if values.n else 0
    cdef int32_t group = -1
    cdef Entry e
    s.input.start = values.data + first
    s.input.whole = values.whole
    for k in range(values.n):
        i = k if values.order == NULL else values.order[k]
        from_ = value_end(values, i)
        to = value_end(values, i + 1)
        if AMQP_UNLIKELY(from_ < first or to < from_ or to > values.last):
            return BAD_OFFSETS
        if values.group != NULL and values.group[i] != group:
            if group >= 0:
                status = end_conversation(s)
                if status < 0:
                    return status
            group = values.group[i]
        if AMQP_UNLIKELY(not value_present(values, i)):
            continue
        if values.order != NULL:
            # What was seen is counted from here, wherever the value lies.
            s.input.start = <const uint8_t*>(<uintptr_t>(values.data + from_) - <uintptr_t>seen)
        seen += to - from_
        if AMQP_UNLIKELY(values.version != NULL and values.version[i] != s.protocol_number):
            status = flush_pending(s)
            if status == 0:
                status = flush_v1_places(s)
            if status < 0:
                return status
            select_protocol(s, values.version[i])
        if AMQP_UNLIKELY(s.protocol.v1 != NULL):
            if values.lost == NULL:
                status = step_v1_value(s, values.data + from_, values.data + to, i)
            elif values.lost[values.at + i] != 0:
                find_lost(s, &e, values.lost[values.at + i], values.data + from_, values.data + to, i)
                status = append_v1_alone(s, &e)
            else:
                status = step_v1_single(s, values.data + from_, values.data + to, i)
        elif values.lost != NULL:
            if values.lost[values.at + i] != 0:
                find_lost(s, &e, values.lost[values.at + i], values.data + from_, values.data + to, i)
                status = put_alone(s, &e, OK, NULL)
            else:
                status = step_single(s, values.data + from_, values.data + to, i)
        else:
            status = step_value(s, values.data + from_, values.data + to, i)
        if status == 0 and values.whole:
            status = end_value(s)
        if status < 0:
            return status
        s.input.seen = seen
    status = 0 if values.hold else end_conversation(s)
    if status == 0:
        status = flush_pending(s)
    if s.run.reader != NULL:
        run_end(s)
    if status == 0:
        status = flush_v1_places(s)
    return status if status < 0 else table_finish(s.table, s.rows)
