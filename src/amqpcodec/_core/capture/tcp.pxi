# TCP segments to bytes in order: each direction by itself, with a bounded number of bytes held back.

cdef enum:
    START_PIECES = 32               # to see before a direction without a SYN begins
    START_BYTES = 1 << 17
    ACKED_HOLD = 1 << 17            # bytes after a hole that the peer says it has
    RESET_LIMIT = 1 << 16           # that wait to be asked for
    CLOSING_LIMIT = 256             # connections that are kept for late segments
    FAR_BEHIND = 1 << 26            # bytes: no one sends those again
    FAR = 1 << 20                   # bytes from the end of a connection that is closed
    SYN_AHEAD = 1 << 20             # bytes that a SYN may stand before what came ahead of it


cdef int deliver(Reading* r, Conn* c, Half* h, const uint8_t* p, size_t n, const Mark* mark) noexcept nogil:
    """The next n > 0 bytes of a direction."""
    h.next += <uint32_t>n
    h.offset += <int64_t>n
    if AMQP_UNLIKELY(h.layer.kind != LAYER_NONE):
        return layer_bytes(r, c, h, p, n, mark)
    return add_layer_bytes(r, c, h, p, n, mark)


cdef int skip_to(Reading* r, Conn* c, Half* h, int64_t to) noexcept nogil:
    """Give up on the bytes before `to`."""
    cdef int64_t lost = to - h.offset
    if lost <= 0:
        return 0
    if AMQP_UNLIKELY(r.level.events) and (find_last(r, c, h) < 0 or read_in_turn(r, c) < 0):
        return NO_MEMORY
    h.next += <uint32_t>lost
    h.offset = to
    if AMQP_UNLIKELY(h.layer.kind != LAYER_NONE):
        return layer_lost(r, c, h, lost)
    return lose_bytes(r, c, h, lost)


cdef uint64_t count_different(const uint8_t* a, const uint8_t* b, size_t n) noexcept nogil:
    """Bytes that two copies do not share."""
    cdef uint64_t different = 0
    cdef size_t i
    if memcmp(a, b, n) == 0:
        return 0
    for i in range(n):
        different += a[i] != b[i]
    return different


cdef void compare_copies(Reading* r, const Half* h, const uint8_t* p, size_t n, int64_t at) noexcept nogil:
    """Count what n bytes at a position have otherwise than those that were taken before them, as far as these
    wait for the rest of their frame. Those that were taken first count."""
    cdef int64_t first = max(at, h.input.base)
    cdef int64_t end = min(at + <int64_t>n, h.input.base + <int64_t>h.input.n)
    if h.layer.kind == LAYER_NONE and h.layer.at == h.offset and first < end:
        r.count.conflicting += count_different(p + (first - at), h.input.block.p + (first - h.input.base),
                                               <size_t>(end - first))


cdef int drain(Reading* r, Conn* c, Half* h) noexcept nogil:
    """What follows without a hole."""
    return drain_before(r, c, h, <uint64_t>-1)


cdef int drain_before(Reading* r, Conn* c, Half* h, uint64_t turn) noexcept nogil:
    """The same of packets before one. Of copies of a byte, the one whose segment begins first counts."""
    cdef Piece* piece = first_waiting(h)
    cdef Piece* before = NULL       # the newest one that was taken: those after it may begin within it
    cdef int64_t old, end
    cdef int status = 0
    while (status == 0 and piece != NULL and piece.at <= h.offset and piece.mark.turn < turn
           and h.input.held == 0 and not waits_for_peer(r, c, h, piece.ack)):
        old = h.offset - piece.at
        r.count.repeated += <uint64_t>min(old, <int64_t>piece.n)
        if old > 0:
            if before == NULL:
                compare_copies(r, h, <uint8_t*>(piece + 1), min(piece.n, <size_t>old), piece.at)
            elif before.at <= piece.at:
                end = min(before.at + <int64_t>before.n, piece.at + <int64_t>piece.n)
                if piece.at < end:
                    r.count.conflicting += count_different(
                        <uint8_t*>(before + 1) + (piece.at - before.at), <uint8_t*>(piece + 1),
                        <size_t>(end - piece.at))
        pop_piece(r, h)
        if old < <int64_t>piece.n:
            if AMQP_UNLIKELY(r.level.events):
                mark_ahead(c, h, piece.ack, h.offset + <int64_t>piece.n - old)
            status = deliver(r, c, h, <uint8_t*>(piece + 1) + old, piece.n - <size_t>old, &piece.mark)
            free(before)
            before = piece
        else:
            free(piece)
        piece = first_waiting(h)
    free(before)
    return status


cdef int start_midstream(Reading* r, Conn* c, Half* h) noexcept nogil:
    """Begin at the first byte that was captured: in the middle, but where a client's protocol header is there."""
    cdef Piece* first = first_waiting(h)
    h.started = True
    if first != NULL:
        h.next += <uint32_t>(first.at - h.offset)
        h.offset = first.at
        h.layer.at = h.offset
        h.first = h.next
    if h != &c.half[0] or first == NULL or not is_header_segment(r, <uint8_t*>(first + 1), first.n):
        h.flags = CAPTURED_MIDSTREAM
        r.count.midstream += 1
    return drain(r, c, h)


cdef inline bint is_header_segment(Reading* r, const uint8_t* p, size_t n) noexcept nogil:
    """Whether a segment is a protocol header, or one and the first frame: the beginning of a connection."""
    return n >= 8 and p[0] == c'A' and is_opening(r, p, n, True) == CHAIN_YES


cdef int finish_half(Reading* r, Conn* c, Half* h) noexcept nogil:
    """What is missing now stays missing."""
    cdef Piece* first
    if not h.started:
        if h.waiting.n == 0:
            return 0
        if start_midstream(r, c, h) < 0:
            return NO_MEMORY
    while h.waiting.n:
        first = first_waiting(h)
        if skip_to(r, c, h, first.at) < 0 or drain(r, c, h) < 0:
            return NO_MEMORY
    if not h.fin and h.acked > h.offset + 1:
        # A FIN that was not captured takes one number too: one alone proves no lost byte.
        h.known_end = max(h.known_end, h.acked)
    if h.known_end > h.offset:
        return skip_to(r, c, h, h.known_end)
    return flush_bytes(r, c, h)


cdef void free_half(Reading* r, Half* h) noexcept nogil:
    while h.waiting.n:
        drop_piece(r, h)
    free_messages(r, h)
    block_give(&h.input.block)
    block_give(&h.marks.block)


# ---- at event level: frames that are found late ----

# Of a direction that begins in the middle, or that lost bytes, a frame is known by those that follow it. What the
# other side sent meanwhile was captured between the packets of these: it is read between them, too.

cdef size_t mark_after(const Half* h, int64_t at) noexcept nogil:
    """The first mark behind a position."""
    cdef const Mark* marks = <const Mark*>h.marks.block.p
    cdef size_t low = h.marks.at, high = h.marks.n, middle
    while low < high:
        middle = low + (high - low) // 2
        if marks[middle].at <= at:
            low = middle + 1
        else:
            high = middle
    return low


cdef inline int64_t held_position(const Half* h) noexcept nogil:
    return h.input.base + <int64_t>(h.input.n - h.input.held)


cdef uint64_t held_turn(const Half* h) noexcept nogil:
    """The packet that sent the first of the bytes that are held."""
    cdef size_t i = mark_after(h, held_position(h))
    return (<const Mark*>h.marks.block.p)[i - (i > 0)].turn


cdef int read_held(Reading* r, Conn* c, Half* h, size_t* used) noexcept nogil:
    """Make rows of the bytes of one packet more. used: bytes in memory before those that are kept."""
    cdef int64_t at = held_position(h), more
    cdef size_t i = mark_after(h, at)
    cdef size_t n
    if i < h.marks.n and (<const Mark*>h.marks.block.p)[i].at - at < <int64_t>h.input.held:
        h.input.held -= <size_t>((<const Mark*>h.marks.block.p)[i].at - at)
    else:
        h.input.held = 0
    n = h.input.n - h.input.held
    if h.input.held == 0 or n >= h.input.need:
        more = scan_bytes(r, c, h, h.input.block.p + used[0], n, False)
        if more < 0:
            return NO_MEMORY
        h.input.base += more
        h.input.n -= <size_t>more
        used[0] += <size_t>more
    if h.input.held == 0:
        drop_used(h, used[0])
        used[0] = 0
    return 0


cdef int read_in_turn(Reading* r, Conn* c) noexcept nogil:
    """What is held in either direction, and what waits in the other one, in the order of their packets. It stays
    held behind a hole of the other side, and while no one knows where that one's frames begin."""
    cdef size_t[2] used
    cdef Half* h
    cdef Half* peer
    cdef const Piece* first
    cdef int status = 0, k
    used[0] = used[1] = 0
    while status == 0 and (c.half[0].input.held or c.half[1].input.held):
        k = 0
        if c.half[0].input.held == 0 or (c.half[1].input.held and held_turn(&c.half[1]) < held_turn(&c.half[0])):
            k = 1
        h = &c.half[k]
        peer = &c.half[1 - k]
        if peer.state == SEARCHING and peer.input.n and peer.input.held == 0 and peer.layer.kind == LAYER_NONE:
            break
        first = first_waiting(peer) if peer.started and peer.input.held == 0 else NULL
        if first == NULL or first.mark.turn >= held_turn(h) or waits_for_peer(r, c, peer, first.ack):
            status = read_held(r, c, h, &used[k])
        elif first.at <= peer.offset:
            status = drain_before(r, c, peer, held_turn(h))
        else:
            break
    for k in range(2):
        if used[k]:
            drop_used(&c.half[k], used[k])
    return status


cdef int find_last(Reading* r, Conn* c, Half* h) noexcept nogil:
    """Nothing follows the bytes in which a frame is looked for: what was found is held, or all of it is no frame."""
    cdef int64_t used = 1
    if h.state != SEARCHING or h.input.n == 0 or h.layer.kind != LAYER_NONE:
        return 0
    while h.state == SEARCHING and h.input.n and used > 0:
        used = search_bytes(r, c, h, h.input.block.p, h.input.n, h.input.base, True)
        if used < 0:
            return NO_MEMORY
        h.input.base += used
        h.input.n -= <size_t>used
        drop_used(h, <size_t>used)
    if h.state == SEARCHING:
        return flush_bytes(r, c, h)
    h.input.held = h.input.n
    h.input.need = 0
    return 0


cdef int release_held(Reading* r, Conn* c, Half* h) noexcept nogil:
    """Too much waits: what is held is read ahead of the other side."""
    cdef size_t used = 0
    while h.input.held:
        if read_held(r, c, h, &used) < 0:
            return NO_MEMORY
    return 0


cdef int drain_both(Reading* r, Conn* c) noexcept nogil:
    """At event level: what each direction has, as far as the other one has come."""
    cdef int64_t before = -1
    while before != c.half[0].offset + c.half[1].offset:
        before = c.half[0].offset + c.half[1].offset
        if read_in_turn(r, c) < 0:
            return NO_MEMORY
        if c.half[0].started and drain(r, c, &c.half[0]) < 0:
            return NO_MEMORY
        if c.half[1].started and drain(r, c, &c.half[1]) < 0:
            return NO_MEMORY
    return 0


cdef int finish_both(Reading* r, Conn* c) noexcept nogil:
    """At event level: what waits in both directions, in the order in which it was sent, as far as that is known."""
    cdef Piece* first
    cdef Half* h
    cdef Half* later
    cdef int k
    for k in range(2):
        if not c.half[k].started and c.half[k].waiting.n and start_midstream(r, c, &c.half[k]) < 0:
            return NO_MEMORY
    while True:
        if drain_both(r, c) < 0 or find_last(r, c, &c.half[0]) < 0 or find_last(r, c, &c.half[1]) < 0:
            return NO_MEMORY
        h = &c.half[0]
        later = &c.half[1]
        if h.input.held or later.input.held:
            if h.input.held:
                h = later
            if h.waiting.n and h.input.held == 0 and skip_to(r, c, h, first_waiting(h).at) < 0:
                return NO_MEMORY
            continue
        if h.waiting.n == 0 and later.waiting.n == 0:
            return 0
        # A direction with a hole is what the other one waits for; of two, the one that was captured first.
        if h.waiting.n == 0 or (later.waiting.n and is_further(later, h)):
            h = later
        first = first_waiting(h)
        later = other_half(c, h)
        if first.at > h.offset:
            if skip_to(r, c, h, first.at) < 0:
                return NO_MEMORY
        elif later.waiting.n == 0 and later.started and later.state != SEARCHING:
            if skip_to(r, c, later, acknowledged_to(later, first.ack)) < 0:     # what it had was not captured
                return NO_MEMORY
            first.ack = 0
        else:
            mark_ahead(c, h, first.ack, first.at + <int64_t>first.n)
            first.ack = 0


cdef int64_t acknowledged_to(const Half* h, uint32_t ack) noexcept nogil:
    """Up to where the peer has the bytes of a direction. A FIN takes a number, too."""
    cdef int64_t to = position_of(h, ack)
    return min(to, h.known_end) if h.fin else to


cdef bint is_further(const Half* a, const Half* b) noexcept nogil:
    """Whether what waits in a goes on before what waits in b."""
    cdef const Piece* x = first_waiting(a)
    cdef const Piece* y = first_waiting(b)
    if (x.at > a.offset) != (y.at > b.offset):
        return x.at > a.offset
    return x.mark.turn < y.mark.turn


# ---- connections ----

cdef uint64_t mix(uint64_t h, const uint8_t* p, size_t n) noexcept nogil:
    """FNV-1a, with a final stir."""
    cdef size_t i
    for i in range(n):
        h = (h ^ p[i]) * <uint64_t>0x100000001B3
    h ^= h >> 32
    h *= <uint64_t>0x9E3779B97F4A7C15
    return h ^ h >> 29


cdef Conn* find_conn(Reading* r, const Endpoint* client, const Endpoint* server) noexcept nogil:
    cdef Conn* c = r.conns.bucket[bucket_of(client, server)]
    while c != NULL and not (same_end(&c.info.client, client) and same_end(&c.info.server, server)):
        c = c.bucket
    return c


cdef void append_conn(Reading* r, Conn* c) noexcept nogil:
    c.older = r.conns.newest
    c.newer = NULL
    (&r.conns.newest.newer if r.conns.newest != NULL else &r.conns.oldest)[0] = c
    r.conns.newest = c


cdef void unchain_conn(Reading* r, Conn* c) noexcept nogil:
    (&c.older.newer if c.older != NULL else &r.conns.oldest)[0] = c.newer
    (&c.newer.older if c.newer != NULL else &r.conns.newest)[0] = c.older


cdef void link_holder(Reading* r, Conn* c) noexcept nogil:
    c.holds = True
    c.holder_before = NULL
    c.holder = r.conns.holder
    if r.conns.holder != NULL:
        r.conns.holder.holder_before = c
    r.conns.holder = c


cdef void unlink_holder(Reading* r, Conn* c) noexcept nogil:
    c.holds = False
    (&c.holder_before.holder if c.holder_before != NULL else &r.conns.holder)[0] = c.holder
    if c.holder != NULL:
        c.holder.holder_before = c.holder_before


cdef inline bint half_holds(const Half* h) noexcept nogil:
    return h.input.n != 0 or h.waiting.n != 0 or h.open != NULL


cdef void link_conn(Reading* r, Conn* c) noexcept nogil:
    cdef uint32_t k = bucket_of(&c.info.client, &c.info.server)
    c.bucket = r.conns.bucket[k]
    r.conns.bucket[k] = c
    append_conn(r, c)
    link_holder(r, c)
    r.conns.n += 1


cdef Conn* new_conn(Reading* r, const Endpoint* client, const Endpoint* server, uint8_t family,
                    const CapPacket* packet) noexcept nogil:
    cdef uint8_t[60] id
    cdef Conn* c = <Conn*>calloc(1, sizeof(Conn))
    if c == NULL:
        return NULL
    c.info.client = client[0]
    c.info.server = server[0]
    c.info.family = family
    c.info.index = r.conns.first_index + <int32_t>r.count.connections
    r.count.connections += 1
    memcpy(id, client.address, 16)
    memcpy(id + 16, server.address, 16)
    store16(id + 32, client.port)
    store16(id + 34, server.port)
    store64(id + 36, packet.at)
    store64(id + 44, <uint64_t>packet.time)
    store64(id + 52, <uint64_t>r.files.number)
    c.info.id = mix(r.conns.seed, id, 60 if r.files.number else 52)
    c.frame_max = -1
    c.v1 = r.v1 != NULL and r.forced
    c.sure = r.v1 == NULL or r.forced
    c.now = r.v1_number if c.v1 else 0
    c.may = <uint8_t>((1 << r.n_protocols) - 1)
    if r.servers.n_detected:
        count_detected(&r.servers, server.port)
    link_conn(r, c)
    link_port(r, c)
    return c


cdef void remove_conn(Reading* r, Conn* c) noexcept nogil:
    """Out of all lists, and freed."""
    cdef Named* named
    cdef uint32_t k = bucket_of(&c.info.client, &c.info.server)
    cdef Conn** at = &r.conns.bucket[k]
    cdef Conn* before
    while at[0] != c:
        at = &at[0].bucket
    at[0] = c.bucket
    unchain_conn(r, c)
    unlink_port(r, c)
    settle_all(r, c)
    if c.holds:
        unlink_holder(r, c)
    r.conns.n -= 1
    if c.named:
        named = <Named*>r.named.block.p + (c.named - 1)
        named.conn = NULL
        named.before += 1
    if c.closes:
        before = NULL
        at = &r.conns.closing
        while at[0] != c:
            before = at[0]
            at = &at[0].closing
        at[0] = c.closing
        if r.conns.closing_last == c:
            r.conns.closing_last = before
        r.conns.n_closing -= 1
    end_leaps(r, c)
    free_half(r, &c.half[0])
    free_half(r, &c.half[1])
    free_tracker(&r.level.tracking, c.tracker)
    free(c)


cdef int finish_conn(Reading* r, Conn* c) noexcept nogil:
    """The connection is over: its last rows."""
    cdef int status = finish_both(r, c) if r.level.events else 0
    if status == 0:
        status = finish_half(r, c, &c.half[0])
    if status == 0:
        status = end_messages(r, c, &c.half[0])
    if status == 0:
        status = finish_half(r, c, &c.half[1])
    if status == 0:
        status = end_messages(r, c, &c.half[1])
    if status == 0 and r.level.events:
        status = end_tracking(r, c)
    if c.over and r.layers != NULL:
        end_layers(r, c)
    if c.spoke and not c.left_out and (c.read or not c.over):
        r.count.versions[c.now if c.v1 else c.version] += 1
    remove_conn(r, c)
    return status


cdef int close_conn(Reading* r, Conn* c) noexcept nogil:
    """Both ends are done; late segments may still come."""
    if c.closes:
        return 0
    c.closes = True
    (&r.conns.closing_last.closing if r.conns.closing_last != NULL else &r.conns.closing)[0] = c
    r.conns.closing_last = c
    r.conns.n_closing += 1
    if r.conns.n_closing > CLOSING_LIMIT:
        return finish_conn(r, r.conns.closing)
    return 0


# ---- segments ----

cdef int add_reset(Reading* r, const Conn* c, int side) noexcept nogil:
    cdef Reset* one
    r.count.resets += 1
    if r.n_resets == RESET_LIMIT:
        return 0
    one = <Reset*>items_add(&r.resets, &r.n_resets, sizeof(Reset))
    if one == NULL:
        return NO_MEMORY
    one.time = r.last.time
    one.index = c.info.index
    one.of_server = side
    return 0


cdef void skip_segment(Reading* r, const Segment* s) noexcept nogil:
    """Count a segment of ports that are not read."""
    if s.source.port == TLS_PORT or s.target.port == TLS_PORT:
        r.count.skipped[SKIP_TLS] += 1
        if s.flags & TCP_SYN and not s.flags & TCP_ACK:
            r.count.tls += 1
        return
    r.count.skipped[SKIP_PORTS] += 1
    remember_skipped(&r.servers, s)
    if AMQP_UNLIKELY(r.outline != NULL):
        want_port(&r.outline.skipped, s.source.port)
        want_port(&r.outline.skipped, s.target.port)


cdef int begin_at_header(Reading* r, Conn* c, int side, const Segment* s) noexcept nogil:
    """Begin a connection whose opening was skipped at the protocol header that one side sends here. What the
    client's segment acknowledges is where the server's direction begins."""
    cdef Segment opening = opening_before(s, False)
    if add_payload(r, c, &c.half[side], &opening, &r.last) < 0:
        return NO_MEMORY
    if side == 0 and s.flags & TCP_ACK and s.ack:
        opening = opening_before(s, True)
        return add_payload(r, c, &c.half[1], &opening, &r.last)
    return 0


cdef inline int end_idle(Reading* r) noexcept nogil:
    """After another one began: of more connections than may be open, the one ends that was idle for longest."""
    return finish_conn(r, r.conns.oldest) if r.conns.n + r.conns.translations.n > r.limits.conns else 0


cdef inline bint is_known(Reading* r, const Endpoint* client, const Endpoint* server) noexcept nogil:
    return find_conn(r, client, server) != NULL or find_translated(r, client, server) != NULL


cdef int add_segment(Reading* r, const CapPacket* packet, const Segment* s) noexcept nogil:
    cdef bint to_server = is_read(&r.servers, s.target.port)
    cdef bint from_server = is_read(&r.servers, s.source.port)
    cdef bint detected = False
    cdef Translated* t
    cdef Conn* c
    cdef int side
    if not (to_server or from_server):
        side = -1
        if AMQP_UNLIKELY(starts_with_header(s)):
            if r.outline != NULL and find_opening(&r.servers, &s.source, &s.target) == NULL:
                r.outline.whole = True      # what came before may tell the sides
            side = detect_port(&r.servers, s)
        if AMQP_LIKELY(side < 0):
            skip_segment(r, s)
            return 0
        detected = True
    elif to_server and from_server:
        # Only a connection's opening tells two wanted ports apart.
        side = 1 if s.flags & TCP_SYN and s.flags & TCP_ACK else 0
        if is_known(r, &s.source, &s.target):
            side = 0
        elif is_known(r, &s.target, &s.source):
            side = 1
    else:
        side = 0 if to_server else 1
    c = find_conn(r, &s.target, &s.source) if side else find_conn(r, &s.source, &s.target)
    if c != NULL and (begins_anew(&c.half[side], s.sequence + 1) if s.flags & TCP_SYN
                      else is_foreign(r, c, &c.half[side], s)):
        if finish_conn(r, c) < 0:    # the same ports, used again
            return NO_MEMORY
        c = NULL
    if c == NULL:
        if AMQP_UNLIKELY(r.conns.translations.n != 0):
            t = find_translated(r, &s.target, &s.source) if side else find_translated(r, &s.source, &s.target)
            if t != NULL and not opens_another(t, side, s):
                return compare_translated(r, t, side, s, &r.last)
            if t != NULL:
                settle(r, t)
                return NO_MEMORY if read_parted(r) < 0 else add_segment(r, packet, s)
        if s.flags & TCP_RST or (not s.flags & TCP_SYN and s.size == 0):
            return 0        # the end of a connection that nothing is known of
        c = find_original(r, side, s)
        if AMQP_UNLIKELY(c != NULL):
            if r.outline != NULL:
                r.outline.whole = True      # what is held is compared with what came before
            return begin_translated(r, c, side, s, detected) or end_idle(r)
        if side:
            c = new_conn(r, &s.target, &s.source, s.family, packet)
        else:
            c = new_conn(r, &s.source, &s.target, s.family, packet)
        if c == NULL:
            return NO_MEMORY
        # What it bound before the recording is not known.
        r.level.tracking.doubted |= not s.flags & TCP_SYN and not detected
        if end_idle(r) < 0:
            return NO_MEMORY
        if AMQP_UNLIKELY(detected) and begin_at_header(r, c, side, s) < 0:
            return NO_MEMORY
    else:
        if AMQP_UNLIKELY(c.original != NULL):
            compare_original(r, c, side, s)
        if c.newer != NULL:
            unchain_conn(r, c)
            append_conn(r, c)
    if AMQP_UNLIKELY(r.outline != NULL):
        outline_segment(r, c, side, s)
    if s.flags & TCP_RST and not c.closes and add_reset(r, c, side) < 0:
        return NO_MEMORY
    if not s.flags & TCP_RST:
        if s.flags & TCP_ACK:
            update_acked(&c.half[1 - side], s.ack)
        if add_payload(r, c, &c.half[side], s, &r.last) < 0:
            return NO_MEMORY
        if AMQP_UNLIKELY(r.level.events) and add_events(r, c, side, s) < 0:
            return NO_MEMORY
        if not c.holds and (half_holds(&c.half[side]) or (c.over and half_holds(&c.half[1 - side])) or c.end.pending):
            link_holder(r, c)
        if not (c.half[0].fin and c.half[1].fin):
            return 0
    elif r.level.events:
        if s.flags & TCP_ACK:
            update_acked(&c.half[1 - side], s.ack)
        update_acked(&c.half[side], s.sequence)
        if add_events(r, c, side, s) < 0:
            return NO_MEMORY
        if not c.holds and c.end.pending:
            link_holder(r, c)
    # What a reset carries is text about the reset.
    return close_conn(r, c)


cdef int read_parted(Reading* r) noexcept nogil:
    """What is held of connections that were taken for others, as they came."""
    cdef Mark now = r.last
    cdef int64_t number = r.files.number
    cdef Translated* t
    cdef HeldSegment* held
    cdef CapPacket packet
    cdef int status = 0
    r.conns.translations.reading = True
    while status == 0 and r.conns.translations.parted != NULL:
        t = r.conns.translations.parted
        r.conns.translations.parted = t.next
        if t.next == NULL:
            r.conns.translations.parted_last = NULL
        r.files.number = t.file_number
        held = pop_in_turn(t)
        while status == 0 and held != NULL:
            r.last = held.mark
            packet.at = held.mark.file_at
            packet.time = held.mark.time
            status = add_segment(r, &packet, &held.segment)
            free_held(r, held)
            held = pop_in_turn(t) if status == 0 else NULL
        free_translated(r, t)
    r.conns.translations.reading = False
    r.files.number = number
    r.last = now
    return status


cdef int add_events(Reading* r, Conn* c, int side, const Segment* s) noexcept nogil:
    """At event level, after a segment of one side: what waited for it, and whether it ends the connection."""
    if c.half[0].waiting.n or c.half[1].waiting.n or c.half[0].input.held or c.half[1].input.held:
        if drain_both(r, c) < 0:
            return NO_MEMORY
    if s.flags & (TCP_RST | TCP_FIN):
        see_tcp_end(r, c, side, s)
    return check_tcp_end(r, c) if c.end.pending else 0


cdef bint begins_anew(const Half* h, uint32_t first) noexcept nogil:
    """Whether a SYN opens another connection than the one this direction belongs to. One that comes late, after
    the direction has begun without it, stands right before the first byte that was captured."""
    cdef int64_t before
    if not h.seen:
        return False
    if h.syn or h.started:
        return h.first != first
    if h.waiting.n == 0:
        return True
    before = first_waiting(h).at - position_of(h, first)
    return before < 0 or before > SYN_AHEAD


cdef bint is_foreign(Reading* r, const Conn* c, const Half* h, const Segment* s) noexcept nogil:
    """Whether bytes cannot be of this connection: then its ports are used again, and the opening was
    not captured; or so much was not that the numbers went round."""
    cdef int64_t at
    if s.have == 0 or not h.started or s.flags & TCP_RST:
        return False
    at = position_of(h, s.sequence)
    if (AMQP_UNLIKELY(at != h.offset and s.data[0] == c'A') and h == &c.half[0] and s.sequence != h.first
            and (c.closes or at < h.offset - FAR or at > h.offset + FAR)
            and is_header_segment(r, s.data, s.have)):
        return True         # far from where the connection is, another one begins
    if at + <int64_t>s.have < h.offset - (FAR if c.closes else FAR_BEHIND):
        return True
    return c.closes and at > h.known_end + FAR


cdef void update_acked(Half* h, uint32_t ack) noexcept nogil:
    """The peer has everything before, captured or not."""
    if h.seen:
        h.acked = max(h.acked, position_of(h, ack))


cdef int add_payload(Reading* r, Conn* c, Half* h, const Segment* s, const Mark* mark) noexcept nogil:
    cdef uint32_t sequence = s.sequence + (s.flags & TCP_SYN != 0)
    cdef uint32_t ack = s.ack if s.flags & TCP_ACK else 0
    cdef Piece* first
    cdef int64_t at, old
    if not h.seen:
        if not s.flags & TCP_SYN and s.size == 0:
            return 0
        h.seen = True
        h.first = sequence
        h.next = sequence
        h.offset = FIRST_POSITION
        h.layer.at = FIRST_POSITION
        h.known_end = FIRST_POSITION
        if push_mark(h, mark, FIRST_POSITION, 0) < 0:   # what is missing before the first byte is told of here
            return NO_MEMORY
    if s.flags & TCP_SYN and not h.syn:
        h.syn = True
        h.first = sequence
        if not h.started:
            at = position_of(h, sequence)
            h.next = sequence
            h.offset = at
            h.layer.at = at
            h.started = True
            if drain(r, c, h) < 0:
                return NO_MEMORY
    at = position_of(h, sequence)
    if s.size or s.flags & TCP_FIN:
        h.known_end = max(h.known_end, at + <int64_t>s.size)
    else:
        h.acked = max(h.acked, at)      # as what the peer says: a FIN may have taken a number before it
    if s.flags & TCP_FIN:
        h.fin = True
    if s.have == 0:
        return 0
    old = h.offset - at
    if h.started:
        if AMQP_UNLIKELY(old > 0 and s.size > 1):       # a keep-alive's byte means nothing
            compare_copies(r, h, s.data, min(s.have, <size_t>old), at)
        if old >= <int64_t>s.have:
            r.count.repeated += s.have
            return 0        # a retransmission or a keep-alive
        if old >= 0 and h.waiting.n == 0 and not waits_for_peer(r, c, h, ack):
            r.count.repeated += <uint64_t>old
            if AMQP_UNLIKELY(r.level.events):
                mark_ahead(c, h, ack, at + <int64_t>s.have)
            return deliver(r, c, h, s.data + old, s.have - <size_t>old, mark)
    if hold_back(r, h, s.data, s.have, at, mark, ack) < 0:
        return NO_MEMORY
    if not h.started:
        if h.waiting.n >= START_PIECES or h.waiting.held >= START_BYTES:
            return start_midstream(r, c, h)
        return 0
    if drain(r, c, h) < 0:
        return NO_MEMORY
    while h.waiting.n:
        first = first_waiting(h)
        if first.at <= h.offset:        # it waits for the peer, at event level
            if not is_too_much(r, h):
                break
            if release_held(r, c, h) < 0:
                return NO_MEMORY
            mark_ahead(c, h, first.ack, first.at + <int64_t>first.n)
            first.ack = 0
            if drain(r, c, h) < 0:
                return NO_MEMORY
            continue
        if is_too_much(r, h):
            r.count.overflows += 1
        elif not (h.waiting.held > ACKED_HOLD and h.acked >= first.at):
            break
        if skip_to(r, c, h, first.at) < 0 or drain(r, c, h) < 0:
            return NO_MEMORY
    return 0
