# Bytes of a direction to frames: versions, and finding the next frame where bytes are missing.

cdef enum:
    TLS_RECORD_LIMIT = (1 << 14) + 2048     # bytes of a record of TLS, without its head
    OPENING_BYTES = 1024   # in which a protocol header is looked for where a connection begins

cdef uint64_t LARGEST_SEARCHED = 1 << 24    # bytes of a frame whose content header vouches for it


cdef inline uint64_t search_limit(const Conn* c) noexcept nogil:
    """Bytes of a frame, envelope included, that are believed without knowing where it begins."""
    if 0 < c.frame_max < 1 << 20:
        return <uint64_t>c.frame_max + 8
    return DEFAULT_FRAME_MAX + 8


cdef bint is_plausible(Reading* r, uint8_t may, const uint8_t* p, size_t n, uint64_t limit) noexcept nogil:
    """Whether the n >= 7 bytes at p can be the beginning of a frame."""
    cdef uint64_t size = load32(p + 3)
    if size + 8 > limit:
        return False
    if p[0] == FRAME_BODY:
        return load16(p + 1) != 0
    if p[0] == FRAME_METHOD:
        return size >= 4 and (n < 11 or any_method(r, may, load32(p + 7)))
    if p[0] == FRAME_HEADER:
        return (size >= 14 and load16(p + 1) != 0
                and (n < 11 or load32(p + 7) & 0xFFFF == 0))      # weight
    return p[0] == FRAME_HEARTBEAT and size == 0 and load16(p + 1) == 0


cdef int follow_chain(Reading* r, uint8_t may, const uint8_t* p, size_t n, uint64_t limit, bint final) noexcept nogil:
    """Whether frames follow each other from p on, where one is plausible: to the end of the bytes where no more
    will come, else further than one frame can reach, so that they cannot all be part of a body; or very many do."""
    cdef size_t at = 0
    cdef uint64_t total
    cdef uint64_t body = 0      # bytes that a content header announced
    cdef int count = 0
    while True:
        if at == n:
            break
        if n - at < 7:
            if not (is_known_type(p[at]) or p[at] == c'A'):
                return CHAIN_NO
            break
        if not is_known_type(p[at]):
            return CHAIN_NO
        total = <uint64_t>load32(p + at + 3) + 8
        if total > limit and not (p[at] == FRAME_BODY and total - 8 <= min(body, LARGEST_SEARCHED)):
            return CHAIN_NO
        if total > n - at:
            break
        if p[at + total - 1] != FRAME_END:
            return CHAIN_NO
        if count == 0 and not any_strict(r, may, p, total):
            return CHAIN_NO
        if p[at] == FRAME_HEADER:
            body = load64(p + at + 11) if total >= 22 else 0
        count += 1
        at += <size_t>total
        # For an outline a guess is enough: the reader that follows it sees whether it was right.
        if count >= 3 and (at >= limit or (count >= CHAIN_FRAMES and (at >= CHAIN_BYTES or r.outline != NULL))):
            return CHAIN_YES
    if not final:
        return CHAIN_WAIT
    return CHAIN_YES if count > 0 else CHAIN_NO


cdef int is_opening(Reading* r, const uint8_t* p, size_t n, bint final) noexcept nogil:
    """Whether a protocol header stands at p, and after it nothing or a method of channel 0 (in 1.0: a frame)."""
    cdef uint32_t version
    if not is_protocol_header(p, n):
        return CHAIN_NO
    version = load32(p + 4)
    if not (version >> 8 == 0x000009 or version == 0x01010009 or version & 0x00FFFFFF == 0x00010000
            or version >> 8 == 0x010108 or version == 0x01010901):
        return CHAIN_NO
    if n == 8:
        return CHAIN_YES if final else CHAIN_WAIT
    if n < 12:
        return CHAIN_NO if final else CHAIN_WAIT
    if r.v1 != NULL and v1_is_header(p, n):
        return CHAIN_YES if p[4] == 2 or v1_plausible(r.v1, p + 8, n - 8, DEFAULT_FRAME_MAX) else CHAIN_NO
    return CHAIN_YES if p[8] == FRAME_METHOD and load16(p + 9) == 0 else CHAIN_NO


cdef int find_tls_or_http(Reading* r, Conn* c, Half* h, const uint8_t* p, size_t n, bint final) noexcept nogil:
    """Whether a direction begins with TLS, or with a request or an answer of HTTP; CHAIN_WAIT: too few bytes."""
    cdef bint midstream = h.flags & CAPTURED_MIDSTREAM != 0
    cdef bint http = not midstream and (p[0] == c'G' or p[0] == c'H')
    cdef size_t total
    if midstream and c.info.server.port == TLS_PORT:
        find_layer(r, c, h, OVER_TLS)
        return CHAIN_YES
    if not (20 <= p[0] <= 23 or http):
        return CHAIN_NO
    if n < 5:
        return CHAIN_NO if final else CHAIN_WAIT
    if http:
        if memcmp(p, <const char*>(b"GET /" if h == &c.half[0] else b"HTTP/"), 5) != 0:
            return CHAIN_NO
        find_layer(r, c, h, OVER_HTTP)
        return CHAIN_YES
    if p[1] != 3 or p[2] > 4 or load16(p + 3) > TLS_RECORD_LIMIT:
        return CHAIN_NO
    total = 5 + <size_t>load16(p + 3)
    if n >= total + 2 and not (20 <= p[total] <= 23 and p[total + 1] == 3):
        return CHAIN_NO
    # Without the beginning, or after an alert, only what the other direction is tells more.
    if p[0] != 22 and not (c.over == OVER_TLS or midstream):
        return CHAIN_NO
    find_layer(r, c, h, OVER_TLS)
    return CHAIN_YES


cdef int find_foreign_protocol(Reading* r, Conn* c, const uint8_t* p, size_t n, bint final) noexcept nogil:
    """Whether a connection begins as one of another protocol, which is skipped then; CHAIN_WAIT: too few bytes."""
    cdef const char* name
    if p[0] < FOREIGN_LEAST or c.spoke or c.resolved:
        return CHAIN_NO
    name = foreign_protocol(p, n)
    if n < FOREIGN_BYTES or (name != NULL and name[0] == 0):
        return CHAIN_NO if final else CHAIN_WAIT
    if name == NULL:
        return CHAIN_NO
    leave_out(r, c, FOREIGN_HTTP if name[0] == c'H' else FOREIGN_TLS if name[0] == c'T' else
              FOREIGN_MQTT if name[0] == c'M' else FOREIGN_STOMP if name[1] == c'T' else FOREIGN_SSH)
    return CHAIN_YES


cdef int start_bytes(Reading* r, Conn* c, Half* h, const uint8_t* p, size_t n, bint final) noexcept nogil:
    """The first bytes of a direction; 0 where more are needed to tell."""
    cdef int found
    if p[0] == c'A' and n < 8 and not final:
        return 0
    if not is_protocol_header(p, n):
        if h.layer.kind == LAYER_NONE and not c.left_out:
            found = find_tls_or_http(r, c, h, p, n, final)
            if found != CHAIN_NO:
                return found == CHAIN_YES
        if h.flags & CAPTURED_MIDSTREAM:
            h.state = SEARCHING
            h.broken = LOST_CUT
            h.input.scan = 0
            return 1
        if not c.left_out and find_foreign_protocol(r, c, p, n, final) == CHAIN_WAIT:
            return 0
    h.state = IN_SYNC
    return 1


cdef bint is_large_header(Reading* r, const Conn* c, const uint8_t* p, size_t n) noexcept nogil:
    """Whether the n >= 7 bytes at p can begin a method or a content header: brokers send those also where they
    are larger than the agreed frame_max."""
    return (p[0] == FRAME_METHOD or p[0] == FRAME_HEADER) and is_plausible(r, c.may, p, n, r.limits.frame)


cdef int64_t sync_bytes(Reading* r, Conn* c, Half* h, const uint8_t* p, size_t n, int64_t at,
                        bint final) noexcept nogil:
    """Frames from p on: bytes used. The state changes where no frame begins after them."""
    cdef uint64_t total
    cdef size_t i = 0, size
    cdef const uint8_t* q
    if not c.sure and n >= 8 and not is_known_type(p[0]) and v1_plausible(r.v1, p, n, v1_search_limit(h)):
        speak_v1(r, c, True, True)
    if AMQP_UNLIKELY(c.v1):
        return v1_sync(r, c, h, p, n, at)
    while i < n:
        q = p + i
        if c.left_out and not is_protocol_header(q, n - i):
            break
        if n - i < 7:
            h.input.need = 8 if q[0] == c'A' else 7
            break
        if q[0] == c'A' and memcmp(q, <const char*>b"AMQP", 4) == 0:
            if n - i < 8:
                h.input.need = 8
                break
            if emit_frame(r, c, h, q, 8, at + <int64_t>i) < 0:
                return NO_MEMORY
            adopt_version(r, c, h, q)
            i += 8
            if c.v1:
                break
            continue
        total = <uint64_t>load32(q + 3) + 8
        if AMQP_UNLIKELY(not is_known_type(q[0])):
            if total > search_limit(c) or (total <= n - i and q[total - 1] != FRAME_END):
                h.state = SEARCHING
                h.broken = 0
                h.input.scan = 1
                break
        elif AMQP_UNLIKELY(total > sync_limit(r, c)) and not is_large_header(r, c, q, n - i):
            h.state = SEARCHING
            h.broken = LOST_LARGE
            h.input.scan = 1
            break
        elif AMQP_UNLIKELY(n - i < 11 and total > sync_limit(r, c)):
            h.input.need = 11     # to judge it
            break
        if total > n - i:
            h.input.need = <size_t>total
            break
        if AMQP_UNLIKELY(q[total - 1] != FRAME_END):
            h.state = SEARCHING
            h.broken = 0
            h.input.scan = 1
            break
        if r.level.messages:
            size = whole_message(r, c, h, q, n - i)
            if size:
                if emit_whole(r, c, h, q, size, at + <int64_t>i) < 0:
                    return NO_MEMORY
                i += size
                continue
        if emit_frame(r, c, h, q, <size_t>total, at + <int64_t>i) < 0:
            return NO_MEMORY
        i += <size_t>total
    c.spoke |= i != 0
    c.sure |= i != 0
    return <int64_t>i


cdef bint is_probe(const Half* h, int64_t at, size_t n) noexcept nogil:
    """Whether the first byte of a direction, of n that were captured at `at`, was sent alone: by a keep-alive."""
    cdef const Mark* mark = <const Mark*>h.marks.block.p + h.marks.at
    if not h.flags & CAPTURED_MIDSTREAM or h.marks.at >= h.marks.n or mark.at != at:
        return False
    return n == 1 if h.marks.at + 1 == h.marks.n else mark[1].at == at + 1


cdef int64_t search_bytes(Reading* r, Conn* c, Half* h, const uint8_t* p, size_t n, int64_t at,
                          bint final) noexcept nogil:
    """Look for a frame from p on: bytes used."""
    cdef size_t i
    cdef uint64_t limit = search_limit(c)
    cdef int found
    cdef bint v1 = False
    cdef bint both = not c.sure
    cdef size_t second, stop
    cdef size_t known = 0, failed = 0       # where frames begin that no chain goes on from, and its end
    i = h.input.scan
    while i < n:
        found = CHAIN_NO
        if c.v1 or both:
            if i == known and i < failed:
                known += 8 if p[i] == c'A' else load32(p + i)
            elif p[i] == c'A' or v1_plausible(r.v1, p + i, n - i, v1_search_limit(h)):
                found = v1_chain(r.v1, p + i, n - i, v1_search_limit(h), final, &second, &stop)
                v1 = found == CHAIN_YES
                if found == CHAIN_NO:
                    known = i + second
                    failed = i + stop
        if found != CHAIN_NO or (c.v1 and not both):
            pass
        elif is_known_type(p[i]):
            if n - i < 7:
                if not final:
                    break
            elif is_plausible(r, c.may, p + i, n - i, limit):
                found = follow_chain(r, c.may, p + i, n - i, limit, final)
        if found == CHAIN_NO and p[i] == c'A' and h.syn and at + <int64_t>i < FIRST_POSITION + OPENING_BYTES:
            # Something may stand before it.
            if n - i < 8 and not final:
                break
            found = is_opening(r, p + i, n - i, final)
        if found == CHAIN_WAIT:
            break
        if found == CHAIN_YES:
            if i == 1 and is_probe(h, at, n):
                r.count.repeated += 1
            elif add_rest(r, c, h, p, i, at, <uint64_t>h.broken) < 0:
                return NO_MEMORY
            elif i or not h.flags & CAPTURED_MIDSTREAM:
                h.flags |= CAPTURED_RESYNC
                h.tokens.unseen = True
                r.count.resyncs += 1
            h.state = IN_SYNC
            h.input.scan = 0
            if both:
                speak_v1(r, c, v1, not final)       # a few frames at an end are a guess
            return <int64_t>i
        i += 1
    h.input.scan = i
    if i > SEARCH_HELD:
        if add_rest(r, c, h, p, i, at, <uint64_t>h.broken) < 0:
            return NO_MEMORY
        h.broken = LOST_NONE
        h.input.scan = 0
        h.flags &= CAPTURED_GAP | CAPTURED_RESYNC
        return <int64_t>i
    h.input.need = n + max(n >> 3, <size_t>64)     # not after each segment: chains are followed anew
    return 0


cdef int64_t expect_bytes(Reading* r, Conn* c, Half* h, const uint8_t* p, size_t n, int64_t at,
                          bint final) noexcept nogil:
    """The rest of a frame that a gap cut, up to where the next one begins: bytes used."""
    cdef size_t rest = <size_t>(h.input.expect - at)
    cdef uint64_t total
    cdef const uint8_t* q = p + rest
    cdef bint good = True
    if n < rest + 12 and not final:
        h.input.need = rest + 12
        return 0
    if n < rest:
        if add_rest(r, c, h, p, n, at, LOST_CUT) < 0:
            return NO_MEMORY
        return <int64_t>n
    if c.v1:
        good = v1_expected(r, h, q, n - rest)
    elif n >= rest + 7:
        good = is_known_type(q[0])
        total = <uint64_t>load32(q + 3) + 8
        if total > search_limit(c) or (total <= n - rest and q[total - 1] != FRAME_END):
            good = False
    elif n > rest:
        good = is_known_type(q[0])
    if rest != 0 and p[rest - 1] != FRAME_END and not c.v1:
        good = False
    if not good:
        h.state = SEARCHING
        h.broken = LOST_CUT
        h.input.scan = 0
        return 0
    if add_rest(r, c, h, p, rest, at, LOST_CUT) < 0:
        return NO_MEMORY
    h.state = IN_SYNC
    return <int64_t>rest


cdef int end_bytes(Reading* r, Conn* c, Half* h, const uint8_t* p, size_t n, int64_t at) noexcept nogil:
    """n > 0 bytes that are left where the run of bytes ends: they are no whole frame."""
    cdef uint64_t reason = LOST_CUT
    h.input.expect = 0
    if n == 1 and h.state == SEARCHING and is_probe(h, at, n):
        r.count.repeated += 1
        h.input.scan = 0
        return 0
    if h.state == IN_SYNC and c.v1:
        if n >= 8 and p[0] != c'A' and 8 <= load32(p) <= v1_search_limit(h):
            h.input.expect = at + <int64_t>load32(p)
        h.cut_type = p[5] if n >= 6 else V1_FRAME_SASL
    elif h.state == IN_SYNC and n >= 7:
        if <uint64_t>load32(p + 3) + 8 <= search_limit(c):
            h.input.expect = at + <int64_t>load32(p + 3) + 8
            h.cut_type = p[0]
            h.cut_method = load32(p + 7) if n >= 11 else 0
            if load16(p + 1) == 0 or not is_known_type(p[0]):
                # the channel of logins: another type or method may be damage
                h.cut_type = FRAME_METHOD
                h.cut_method = 0
    elif h.state == SEARCHING:
        reason = h.broken
    if add_rest(r, c, h, p, n, at, reason) < 0:
        return NO_MEMORY
    h.flags &= CAPTURED_RESYNC
    h.input.scan = 0
    return 0


cdef int64_t scan_bytes(Reading* r, Conn* c, Half* h, const uint8_t* p, size_t n, bint final) noexcept nogil:
    """Make rows of the bytes at h.input.base: how many were used; all of them if no more will follow."""
    cdef size_t i = 0
    cdef int64_t used
    cdef int state
    while i < n:
        if h.state == AT_START:
            if AMQP_UNLIKELY(h == &c.half[0] and not h.flags & CAPTURED_MIDSTREAM and (p[i] == c'P' or p[i] == c'\r')):
                used = proxy_header(p + i, n - i, &c.info.peer)
                if used < 0 and not final:
                    h.input.need = <size_t>-used
                    break
                if used > 0:
                    r.count.proxied += 1
                    c.batch = 0         # rows from here on are of that peer, not those before
                    i += <size_t>used
                    continue
            if start_bytes(r, c, h, p + i, n - i, final) == 0:
                h.input.need = 8
                break
        if c.left_out and not (h.state == IN_SYNC and is_protocol_header(p + i, n - i)):
            r.count.left_out += n - i
            h.input.need = 0
            h.input.scan = 0
            return <int64_t>n
        if h.layer.kind == LAYER_FOUND:
            break
        state = h.state
        h.input.need = 0
        if state == IN_SYNC:
            used = sync_bytes(r, c, h, p + i, n - i, h.input.base + <int64_t>i, final)
        elif state == SEARCHING:
            used = search_bytes(r, c, h, p + i, n - i, h.input.base + <int64_t>i, final)
        else:
            used = expect_bytes(r, c, h, p + i, n - i, h.input.base + <int64_t>i, final)
        if used < 0:
            return used
        i += <size_t>used
        if AMQP_UNLIKELY(state == SEARCHING and h.state == IN_SYNC and r.level.events and not final
                         and h.layer.kind == LAYER_NONE):
            h.input.held += n - i       # what the other side sent meanwhile goes between them
            return <int64_t>i
        if used == 0 and h.state == state:
            break
    if h.layer.kind == LAYER_FOUND:
        return <int64_t>i
    if final and i < n:
        if end_bytes(r, c, h, p + i, n - i, h.input.base + <int64_t>i) < 0:
            return NO_MEMORY
        return <int64_t>n
    return <int64_t>i
