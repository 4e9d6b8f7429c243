# Message level: frames put together by channel (0-9-1 §4.2.6), then made rows block by block.
#
# The input stays where it is until the end, so that what is open is a few pointers: memory grows with
# the frames that are there, never with what they announce.

cdef Assembly* assembly_new() noexcept nogil:
    cdef Assembly* a
    cdef Block memory
    memset(&memory, 0, sizeof(memory))
    if block_room(&memory, 0, sizeof(Assembly)) < 0:
        return NULL
    a = <Assembly*>memory.p
    memset(a, 0, sizeof(Assembly) - sizeof(a.block))    # which stands last
    a.memory = memory
    if block_room(&a.pending.items, 0, 16 * sizeof(Pending)) < 0:
        assembly_drop(a)
        return NULL
    memset(a.pending.items.p, 0, sizeof(Pending))
    return a


cdef void assembly_drop(Assembly* a) noexcept nogil:
    cdef Block memory
    if a != NULL:
        free(a.channel)
        block_give(&a.pending.items)
        block_give(&a.pieces.items)
        memory = a.memory
        block_give(&memory)


cdef inline Pending* pending_at(Assembly* a, uint32_t k) noexcept nogil:
    return <Pending*>a.pending.items.p + k


cdef inline BodyPart* piece_at(Assembly* a, uint32_t k) noexcept nogil:
    return <BodyPart*>a.pieces.items.p + k


# ---- what is open ----

cdef int open_pending(Assembly* a, const Entry* e, const ContentMachine* grammar) noexcept nogil:
    """A method whose content has yet to come."""
    cdef uint32_t k
    cdef Pending* m
    if a.channel == NULL:
        a.channel = <uint32_t*>calloc(65536, sizeof(uint32_t))
        if a.channel == NULL:
            return NO_MEMORY
    k = numbered_new(&a.pending, sizeof(Pending))
    if k == 0:
        return NO_MEMORY
    m = pending_at(a, k)
    memset(m, 0, sizeof(Pending))
    m.method = e[0]
    m.grammar = grammar[0]
    m.n_bytes = e.total
    m.before = pending_at(a, 0).before
    pending_at(a, m.before).after = k
    pending_at(a, 0).before = k
    a.channel[e.channel] = k
    a.n_open += 1
    return 0


cdef void close_pending(Assembly* a, uint32_t k) noexcept nogil:
    cdef Pending* m = pending_at(a, k)
    a.channel[m.method.channel] = 0
    pending_at(a, m.before).after = m.after
    pending_at(a, m.after).before = m.before
    numbered_free(&a.pending, k, m)
    a.n_open -= 1


cdef int add_piece(Assembly* a, Pending* m, const Entry* e) noexcept nogil:
    cdef uint32_t k = numbered_new(&a.pieces, sizeof(BodyPart))
    cdef BodyPart* piece
    if k == 0:
        return NO_MEMORY
    piece = piece_at(a, k)
    piece.start = e.start
    piece.total = e.total
    piece.next = 0
    if m.first:
        piece_at(a, m.last).next = k
    else:
        m.first = k
    m.last = k
    return 0


# ---- frames ----

cdef inline Pending* next_pending(Sink* s) noexcept nogil:
    """Where the next row goes; NULL where the block could not be made rows. The status is in
    s.status then."""
    cdef Assembly* a = s.assembly
    if AMQP_UNLIKELY(a.n == BLOCK):
        s.status = flush_pending(s)
        if s.status < 0:
            return NULL
    a.n += 1
    return &a.block[a.n - 1]


cdef int put_alone(Sink* s, const Entry* e, int bad, const char* what) noexcept nogil:
    """A row of one frame."""
    cdef Pending* m = next_pending(s)
    if m == NULL:
        return s.status
    memset(m, 0, sizeof(Pending))
    m.method = e[0]
    m.n_bytes = e.total
    m.bad = <uint8_t>bad
    m.what = what
    m.content = bad == OK
    return 0


cdef int end_open(Sink* s, uint32_t k, int bad, const char* what, const Entry* other) noexcept nogil:
    """Make a row of what is open, whole or not. other: the frame at which the fault is, or NULL."""
    cdef Pending* open_ = pending_at(s.assembly, k)
    cdef Pending* m = next_pending(s)
    if m == NULL:
        return s.status
    m[0] = open_[0]
    m.bad = <uint8_t>bad
    m.what = what
    m.content = bad == OK
    if other != NULL:
        m.at_other = True
        m.other = other[0]
    close_pending(s.assembly, k)
    return 0


cdef int end_all(Sink* s) noexcept nogil:
    """What is open will not be complete any more."""
    cdef uint32_t k
    while True:
        k = pending_at(s.assembly, 0).after
        if k == 0:
            return 0
        if end_open(s, k, BAD_INCOMPLETE, b"a message", NULL) < 0:
            return s.status


cdef int step_frame(Sink* s, const Entry* e) noexcept nogil:
    """One frame, whatever it is."""
    cdef Assembly* a = s.assembly
    cdef const Desc* d
    cdef Pending* m
    cdef ContentMachine none
    cdef ContentMachine* grammar = &none
    cdef ContentOutcome outcome
    cdef uint32_t k = 0
    cdef bint opening = False
    if e.broken:
        if e.broken == BROKEN_LOST and end_all(s) < 0:
            return s.status
        return put_alone(s, e, OK, NULL)
    if e.type == FRAME_HEARTBEAT:
        if e.total == 8 and e.channel == 0:
            return 0
        return put_alone(s, e, OK, NULL)
    if e.type != FRAME_METHOD and e.type != FRAME_HEADER and e.type != FRAME_BODY:
        return 0                # a protocol header
    if e.type == FRAME_METHOD:
        d = find_method(s, load32(e.start + 7)) if e.total >= 12 else NULL
        opening = d != NULL and d.has_content
    if e.channel == 0 and (opening or e.type != FRAME_METHOD):
        return put_alone(s, e, BAD_CHANNEL, NULL)
    if a.n_open:
        k = a.channel[e.channel]
    if k:
        grammar = &pending_at(a, k).grammar
    memset(&none, 0, sizeof(none))
    outcome = content_frame(grammar, e.start, e.total, opening)
    if k and content_fault(outcome) != NULL:
        # A row of what is open; of the frame, as where nothing is, another one.
        if end_open(s, k, BAD_ORDER, content_fault(outcome), e) < 0:
            return s.status
        outcome = content_frame(&none, e.start, e.total, opening)
    if content_fault(outcome) != NULL:
        return put_alone(s, e, BAD_ORDER, content_fault(outcome))
    if outcome == CONTENT_ALONE:
        return put_alone(s, e, OK, NULL)
    if outcome == CONTENT_BEGUN:
        return open_pending(a, e, &none)
    m = pending_at(a, k)
    m.n_bytes += e.total
    if e.type == FRAME_HEADER:
        m.header = e[0]         # of one that is too short, reading it will say what is wrong
    elif m.first == 0 and outcome == CONTENT_COMPLETE:
        m.body = e.start
    elif add_piece(a, m, e) < 0:
        return NO_MEMORY
    return end_open(s, k, OK, NULL, NULL) if outcome == CONTENT_COMPLETE else 0


cdef inline const uint8_t* step_whole(Sink* s, const Entry* e, const uint8_t* p,
                                      const uint8_t* end) noexcept nogil:
    """The most frequent message in one go: header and one body frame stand after its method. p: after the
    method. Where the next frame is, or NULL: take them one by one."""
    cdef Assembly* a = s.assembly
    cdef const MethodPlan* plan = s.plan
    cdef const Desc* d
    cdef Pending* m
    cdef uint32_t key
    if e.way != FRAME_METHOD or e.total < 12 or (a.n_open and a.channel[e.channel]):
        return NULL
    key = load32(e.start + 7)
    if key != s.key or plan == NULL:
        d = find_method(s, key)
        if d == NULL:
            return NULL
        s.key = key
        s.plan = plan = &s.protocol.methods[d - s.protocol.descs]
    m = next_pending(s)
    if m == NULL:
        return NULL
    m.header.total = 0
    m.grammar.size = 0
    m.body = NULL
    m.raw = NULL
    m.first = 0
    m.content = True
    m.bad = OK
    m.at_other = False
    if not plan.has_content:
        m.method = e[0]
        m.n_bytes = e.total
        return p
    if e.channel != 0 and p < end:
        m.header.base = e.base
        m.header.row = e.row
        p = find_frame(s, &m.header, p, end)
        if m.header.way == FRAME_HEADER and m.header.channel == e.channel and m.header.total >= 20:
            m.method = e[0]
            m.n_bytes = e.total + m.header.total
            m.grammar.size = load64(m.header.start + 11)
            if m.grammar.size == 0:
                return p
            if end - p >= 8 and p[0] == FRAME_BODY and load16(p + 1) == e.channel \
                    and load32(p + 3) == m.grammar.size and <uint64_t>(end - p) - 8 >= m.grammar.size \
                    and p[m.grammar.size + 7] == FRAME_END:
                m.body = p
                m.n_bytes += m.grammar.size + 8
                return p + m.grammar.size + 8
    a.n -= 1
    return NULL


cdef int step_value(Sink* s, const uint8_t* p, const uint8_t* end, int64_t row) noexcept nogil:
    """All frames of a value."""
    cdef Entry e
    cdef const uint8_t* base = p
    cdef const uint8_t* q
    while p < end:
        if s.run.reader != NULL:        # nothing pends then
            p = s.run.reader(s, p, end, base, row)
            s.input.seen = <uint64_t>(p - s.input.start)
            if p == end:
                break
            run_end(s)
        e.base = base
        e.row = row
        p = find_frame(s, &e, p, end)
        s.status = 0
        q = step_whole(s, &e, p, end)
        if AMQP_LIKELY(q != NULL):
            p = q
            if s.options.runs and seen_alike(s):
                s.input.seen = <uint64_t>(p - s.input.start)
                if flush_pending(s) < 0:
                    return s.status
                run_begin(s, &s.assembly.block[s.assembly.was - 1])
        elif s.status < 0 or step_frame(s, &e) < 0:
            return s.status if s.status < 0 else NO_MEMORY
        s.input.seen = <uint64_t>(p - s.input.start)
    return 0


cdef int step_single(Sink* s, const uint8_t* p, const uint8_t* end, int64_t row) noexcept nogil:
    """A value that is one message, or else one row that says why not."""
    cdef Assembly* a = s.assembly
    cdef Pending* m
    cdef Entry e
    cdef const uint8_t* base = p
    cdef int before
    cdef bint more
    # A frame gives two rows at most: the block must not be emptied meanwhile.
    if a.n > BLOCK - 4 and flush_pending(s) < 0:
        return s.status
    before = a.n
    while p < end and a.n == before:
        e.base = base
        e.row = row
        p = find_frame(s, &e, p, end)
        if step_frame(s, &e) < 0:
            return s.status if s.status < 0 else NO_MEMORY
    if a.n_open and a.n == before:
        if end_open(s, pending_at(a, 0).after, BAD_INCOMPLETE, b"a message", NULL) < 0:
            return s.status
    more = a.n_open != 0 or a.n > before + 1 or p < end
    while a.n_open:
        close_pending(a, pending_at(a, 0).after)
    if a.n == before:           # nothing that gives a row
        memset(&e, 0, sizeof(Entry))
        e.start = e.base = base
        e.row = row
        e.total = <uint64_t>(end - base)
        e.no_channel = True
        if put_alone(s, &e, BAD_ORDER, b"no message") < 0:
            return s.status
    m = &a.block[before]
    if more:
        # The rest belongs to the same row.
        a.n = before + 1
        m.raw = base
        m.raw_n = <uint64_t>(end - base)
        if m.bad == OK and m.content:
            m.bad = BAD_ORDER
            m.what = b"bytes after the message"
    return 0


cdef inline bint seen_alike(Sink* s) noexcept nogil:
    """Whether the newest message is the last of some that make a run likely."""
    cdef const Pending* m = &s.assembly.block[s.assembly.n - 1]
    cdef uint32_t flags
    if not s.plan.has_content or m.header.total < 22 or s.assembly.n_open:
        s.alike.n = 0
        return False
    flags = load16(m.header.start + 19)
    if s.plan != s.alike.plan or flags != s.alike.flags:
        s.alike.plan = s.plan
        s.alike.flags = flags
        s.alike.n = 0
        return False
    s.alike.n += 1
    if s.alike.n < RUN_AFTER:
        return False
    s.alike.n = 0
    return True


# ---- rows ----

cdef int put_body(Sink* s, Pending* m, int64_t row) noexcept nogil:
    cdef Column* c = s.asked[COL_BODY]
    cdef BodyPart* piece
    cdef uint32_t k = m.first
    cdef uint8_t* w
    cdef int status
    if k == 0:
        if AMQP_LIKELY(m.grammar.size != 0 and m.body + 7 + m.grammar.size <= s.input.fast_end):
            return fast_bytes(s.table, c, place_of(row), m.body + 7, m.grammar.size)
        return append_bytes(s.table, c, row, m.body + 7 if m.grammar.size else NULL, m.grammar.size)
    status = data_room(s.table, c, m.grammar.size)
    if status < 0:
        return status
    w = c.data.p + c.used
    while k:
        piece = piece_at(s.assembly, k)
        copy_run(w, piece.start + 7, piece.total - 8)
        w += piece.total - 8
        k = piece.next
    return commit_bytes(c, row, m.grammar.size)


cdef int put_raw(Sink* s, Pending* m, int64_t row) noexcept nogil:
    """The bytes of all frames."""
    cdef Column* c = s.asked[COL_FRAME]
    cdef BodyPart* piece
    cdef uint64_t n = m.raw_n if m.raw != NULL else m.n_bytes
    cdef uint32_t k = m.first
    cdef const uint8_t* start
    cdef uint8_t* w
    cdef int status
    if c.arrow_type == AS_VIEW and k == 0:
        if m.raw != NULL:
            return append_view(s.table, c, row, m.raw, n)
        start = m.method.start
        if (m.header.total == 0 or m.header.start == start + m.method.total) \
                and (m.body == NULL or m.body == start + m.method.total + m.header.total):
            return append_view(s.table, c, row, start, n)
    if AMQP_UNLIKELY(s.input.borrow) and own_frames(s) < 0:   # rows of 1.0 may be before it
        return NO_MEMORY
    status = data_room(s.table, c, n)
    if status < 0:
        return status
    w = c.data.p + c.used
    if m.raw != NULL:
        copy_run(w, m.raw, n)
        return commit_bytes(c, row, n)
    copy_run(w, m.method.start, m.method.total)
    w += m.method.total
    copy_run(w, m.header.start, m.header.total)
    w += m.header.total
    if m.body != NULL:
        copy_run(w, m.body, m.grammar.size + 8)
    while k:
        piece = piece_at(s.assembly, k)
        copy_run(w, piece.start, piece.total)
        w += piece.total
        k = piece.next
    return commit_bytes(c, row, n)


cdef int assembly_fault(Sink* s, const Pending* m) noexcept nogil:
    """The fault that only assembly sees, as the row's, where it has none yet."""
    cdef const Entry* e = &m.other if m.at_other else &m.method
    cdef const Desc* d
    cdef Fault* f = &s.fault
    memset(f, 0, sizeof(Fault))
    f.code = m.bad
    f.scope = SCOPE_CONNECTION if m.bad == BAD_INCOMPLETE else SCOPE_CHANNEL
    f.what = m.what
    f.have = m.n_bytes
    if m.method.type == FRAME_METHOD:
        d = find_method(s, load32(m.method.start + 7))
        if d != NULL:
            f.at.method = d.name
    f.offset = <uint64_t>(e.start - e.base)
    s.fault_row = e.row
    return BAD_FRAME


cdef int append_pending(Sink* s, Pending* m, int64_t row) noexcept nogil:
    """Into the columns that not every row has; 0, BAD_FRAME or a status below 0."""
    cdef int status, found = 0
    cdef Fault fault
    cdef const Entry* e = &m.method
    s.fault_row = e.row
    if e.type != FRAME_METHOD or e.broken:
        if m.bad:
            return assembly_fault(s, m)
        return append_frame_slow(s, e, row)
    status = append_frame(s, e, row)
    if status < 0:
        return status
    if AMQP_UNLIKELY(status != 0):
        found = status
        fault = s.fault
    if m.header.total:
        e = &m.header
        if AMQP_UNLIKELY(e.total >= 20 and load16(e.start + 7) != load16(m.method.start + 7)):
            s.fault.code = OK
            s.c.base = e.base
            s.c.p = e.start + 7
            s.c.end = e.start + e.total - 1
            fail(&s.c, BAD_HEADER_CLASS, b"method", 0, 0)
            s.fault.scope = SCOPE_CHANNEL
            s.fault.class_id = load16(s.c.p)
            place_begin(&s.fault.at, find_method(s, load32(m.method.start + 7)).name, NULL)
            status = BAD_FRAME
        else:
            status = append_frame(s, e, row)
            if status < 0:
                return status
        if AMQP_UNLIKELY(status != 0 and found == 0):
            found = status
            fault = s.fault
            s.fault_row = e.row
        if m.content and e.total >= 20 and s.asked[COL_BODY] != NULL:
            status = put_body(s, m, row)
            if status < 0:
                return status
    if AMQP_UNLIKELY(found != 0):
        s.fault = fault
        return found
    return assembly_fault(s, m) if m.bad else 0


cdef int flush_pending(Sink* s) noexcept nogil:
    """Make rows of the messages of the block; a status below 0, or 0."""
    cdef Assembly* a = s.assembly
    cdef Pending* m
    cdef Entry* e
    cdef int i, status = 0, n = a.n, kept = 0
    cdef int64_t row
    a.was = n
    a.n = 0
    s.status = 0
    if n == 0:
        return 0
    row = s.rows
    s.blocks += 1
    if s.blocks & (s.blocks - 1) == 0:
        guess_sizes(s, n, s.input.seen)
    for i in range(n):
        m = &a.block[i]
        AMQP_PREFETCH(m.method.start + AHEAD)
        AMQP_PREFETCH(m.method.start + AHEAD + 64)
        status = append_pending(s, m, row)
        if AMQP_UNLIKELY(status > 0):
            status = put_bad_pending(s, m, row)
        if AMQP_LIKELY(status == 0):
            e = &s.block[kept]
            e[0] = m.method
            e.total = m.n_bytes if m.raw == NULL else m.raw_n
            if AMQP_UNLIKELY(e.broken or e.no_channel):
                s.unusual_block = True
            if s.asked[COL_FRAME] != NULL:
                status = put_raw(s, m, row)
            kept += 1
            row += 1
        if status < 0:
            s.status = status
            return status
        if AMQP_UNLIKELY(m.first != 0):
            numbered_free(&a.pieces, m.first, piece_at(a, m.last))
    s.status = write_rows(s, kept)
    s.unusual_block = False
    s.rows = row
    if s.status == 0:
        s.status = advance_progress(s, s.input.seen)
    return s.status


cdef int put_bad_pending(Sink* s, Pending* m, int64_t row) noexcept nogil:
    """As put_bad_row."""
    if not m.method.broken and not s.fault.in_frame:
        s.fault.in_frame = True
        s.fault.frame_type = m.other.type if m.at_other else m.method.type
        s.fault.channel = m.method.channel
    return put_bad_row(s, row)
