# Which protocol a connection speaks: by its header, or else by what its frames can be read as.

cdef inline const Desc* method_of(const KnownProtocol* r, uint32_t key) noexcept nogil:
    cdef uint32_t i = slot_index(key) & r.slot_mask
    while r.slot[i].desc != NULL:
        if r.slot[i].key == key:
            return r.slot[i].desc
        i = (i + 1) & r.slot_mask
    return NULL


cdef bint any_method(Reading* r, uint8_t may, uint32_t key) noexcept nogil:
    """Whether one of these protocols has the method."""
    cdef int k
    for k in range(r.n_protocols):
        if may >> k & 1 and method_of(&r.protocol[k], key) != NULL:
            return True
    return False


cdef bint is_strict(Reading* r, int k, const uint8_t* p, uint64_t total) noexcept nogil:
    """Whether all of a whole frame reads as its type says, in protocol k."""
    cdef const KnownProtocol* known = &r.protocol[k]
    cdef Cursor cursor
    cdef Fault fault
    cdef const Desc* d = NULL
    cdef int i
    cdef bint unusual
    begin_cursor(&cursor, &fault, p + 11, p + total - 1, p, 0)
    if p[0] == FRAME_METHOD:
        d = method_of(known, load32(p + 7)) if total >= 12 else NULL
        return d != NULL and read_arguments(d, &cursor, r.v, r.dialect, &unusual) == 0
    if p[0] == FRAME_HEADER:
        if total < 22:
            return False
        for i in range(known.n_contents):
            if known.contents[i].class_id == load16(p + 7):
                d = known.contents[i]
        cursor.p = p + 19
        return d != NULL and read_properties(d, &cursor, r.v, r.dialect, &unusual) == 0
    return True


cdef bint any_strict(Reading* r, uint8_t may, const uint8_t* p, uint64_t total) noexcept nogil:
    cdef int k
    for k in range(r.n_protocols):
        if may >> k & 1 and is_strict(r, k, p, total):
            return True
    return False


cdef void judge_frame(Reading* r, Conn* c, const uint8_t* p, size_t n) noexcept nogil:
    """Which protocol a method or content header is of, where the connection may speak several: the
    connection's, unless only others can read it. After two such frames it is taken to speak one of those."""
    cdef const Desc* d = NULL
    cdef uint8_t good = 0
    cdef int i, k, best = -1
    if n < 12:
        return
    if p[0] == FRAME_METHOD:
        d = method_of(&r.protocol[0], load32(p + 7))
    else:
        for i in range(r.protocol[0].n_contents):
            if r.protocol[0].contents[i].class_id == load16(p + 7):
                d = r.protocol[0].contents[i]
    if d != NULL and c.may & ~r.alike[d - r.protocol[0].descs] == 0:
        return
    for k in range(r.n_protocols):
        if c.may >> k & 1 and is_strict(r, k, p, n):
            good |= <uint8_t>(1 << k)
    if good == 0 or good == c.may:
        return
    for k in range(r.n_protocols):
        if good >> k & 1 and (best < 0 or c.fails[k] < c.fails[best]):
            best = k
        if c.may & ~good & (1 << k) and c.fails[k] < 255:
            c.fails[k] += 1
    if not good >> c.version & 1:
        c.now = <uint8_t>best
        if c.fails[c.version] >= c.fails[best] + 2:
            c.version = <uint8_t>best


cdef void speak_v1(Reading* r, Conn* c, bint v1, bint sure) noexcept nogil:
    """The connection was found to speak 1.0, or one of the others."""
    cdef int i
    for i in range(2):
        # Only the protocol by which bytes are wrong can say why.
        if c.v1 != v1 and c.half[i].state == SEARCHING and c.half[i].broken == 0:
            c.half[i].broken = LOST_NONE
    c.v1 = v1
    c.sure = sure
    c.now = r.v1_number if v1 else c.version


cdef int adopt_version(Reading* r, Conn* c, Half* h, const uint8_t* p) noexcept nogil:
    """What a protocol header means for the rest of the connection."""
    cdef uint32_t version = load32(p + 4)
    cdef bint client = h == &c.half[0]
    cdef uint8_t found
    if c.left_out:
        return 0
    if r.v1 != NULL and v1_is_header(p, 8):
        h.tls = p[4] == 2
        h.past_sasl = p[4] == 0
        if not r.forced and (client or not c.resolved):
            speak_v1(r, c, True, True)
        c.resolved |= client
        return 0
    if r.forced:
        return 0
    if client:
        c.resolved = True
        speak_v1(r, c, False, True)
    if version >> 8 == 0x000009 or version == 0x01010009:
        # Most clients that send the header of 0-9 by the letter speak 0-9-1, and are answered so.
        if client:
            found = 1 if version >> 8 == 0x000009 else 3
            if c.may & found == 0:      # it follows that of 0-8
                c.may = <uint8_t>((1 << r.n_protocols) - 1)
                c.version = 0
            c.may &= found
        return 0
    if client and c.may & 4 and (version == 0x01010800 or version == 0x01010901):
        c.may = 4
        c.version = 2
        return 0
    if client:
        leave_out(r, c, FOREIGN_AMQP)
    return 0


cdef inline void count_frame(Reading* r, Conn* c, Half* h, const uint8_t* p, size_t n) noexcept nogil:
    cdef const KnownProtocol* known
    cdef const Desc* d
    cdef int k = type_number(p[0]), method = 0
    r.count.types[5 if k < 0 else k] += 1
    c.now = c.version
    if AMQP_UNLIKELY(c.may & (c.may - 1)) and k <= 1:
        judge_frame(r, c, p, n)
    if k == 0 and n >= 12:
        known = &r.protocol[c.now]
        d = method_of(known, load32(p + 7))
        if d != NULL:
            known.methods[d - known.descs] += 1
            method = <int>(d - known.descs) + 1
        if load32(p + 7) == CONNECTION_TUNE_OK and n >= 20 and h == &c.half[0]:
            c.frame_max = load32(p + 13)
    if AMQP_UNLIKELY(r.outline != NULL):
        outline_frame(r, c, h, 5 if k < 0 else k, method, n)
