# The state of a reader between two records, as bytes: what resume() needs to go on as if it never stopped.
#
# Each struct is visited by one function, which writes or reads: see state_io.pxi. Whoever made the state, nothing that
# is read from it is believed: every number has its range, and what numbers say of each other is checked, so that
# a state that somebody made up gives wrong rows at worst. Checksum, key and encryption: capture/_seal.py.

cdef enum:
    OPEN_CHANNELS = 1 << 16         # of a direction that may have a message open
    NEEDED_LIMIT = 1 << 27          # bytes that a direction may wait for

cdef int io_pieces(StateIO* io, Reading* r, Half* h) noexcept nogil:
    """Segments that wait, in order."""
    cdef Piece* piece
    cdef Piece* before = NULL
    cdef Mark mark
    cdef size_t i, size, n = io_size(io, h.waiting.n, 1 << 30)
    cdef int64_t at, ack
    memset(&mark, 0, sizeof(Mark))
    if io.writing:
        sort_pieces(h)
    for i in range(n):
        if io.writing:
            piece = (<Piece**>h.waiting.heap.p)[i]
            io_mark(io, &piece.mark)
            io_number(io, piece.at)
            if r.level.events:
                io_number(io, piece.ack)
            io_size(io, piece.n, RECORD_LIMIT)
            io_bytes(io, <uint8_t*>(piece + 1), piece.n)
            continue
        io_mark(io, &mark)
        at = io_ranged(io, 0, LOWEST_POSITION, NUMBER_LIMIT)
        ack = io_ranged(io, 0, 0, MAX_U32) if r.level.events else 0
        size = io_size(io, 0, RECORD_LIMIT)
        if io.bad or (before != NULL and at < before.at):
            io.bad = True
            return 0
        before = <Piece*>malloc(sizeof(Piece) + size)
        if before == NULL:
            return NO_MEMORY
        before.at = at
        before.n = <uint32_t>size
        before.ack = <uint32_t>ack
        before.mark = mark
        io_bytes(io, <uint8_t*>(before + 1), size)
        if push_piece(r, h, before) < 0:
            return NO_MEMORY
    return 0


cdef bint is_open_message(Reading* r, const Open* o) noexcept nogil:
    """Whether the bytes are what is kept of a message: a method that has content, its header, and bodies
    that do not complete it; in 1.0, transfers of one delivery, none of them the last. Each is a whole frame."""
    cdef V1Look look
    cdef const Desc* d
    cdef const uint8_t* p = o.data.p
    cdef uint64_t total
    cdef size_t at = 0
    cdef int count = 0
    cdef bint opening
    cdef ContentMachine grammar
    cdef uint32_t fields = ALL_FIELDS if r.level.events else DELIVERY_FIELDS
    cdef DeliveryState delivery = DELIVERY_IDLE
    memset(&grammar, 0, sizeof(grammar))
    while at < o.n:
        if o.n - at < 8:
            return False
        if o.row.version == r.v1_number and r.v1 != NULL:
            total = load32(p + at)
            if total > o.n - at or not v1_read_performative(r.v1, p + at, <size_t>total, &look, fields) \
                    or look.desc.code != DESC_TRANSFER or p[at + 5] != V1_FRAME_AMQP:
                return False
            if load16(p + at + 6) != o.channel or look.v[TRANSFER_HANDLE].wire_type == V1_NULL \
                    or look.v[TRANSFER_HANDLE].u != o.handle or (count == 0 and v1_is_unidentified(look.v)):
                return False
            delivery_step(&delivery, delivery_event(v1_true(&look.v[TRANSFER_MORE]), v1_true(&look.v[TRANSFER_ABORTED]),
                                                    count != 0 and not v1_same(r, o, &look)))
            if delivery != DELIVERY_OPEN:
                return False
        else:
            total = <uint64_t>load32(p + at + 3) + 8
            if total > o.n - at or p[at + total - 1] != FRAME_END or load16(p + at + 1) != o.channel \
                    or o.channel == 0 or p[at] < FRAME_METHOD or p[at] > FRAME_BODY:
                return False
            opening = False
            if p[at] == FRAME_METHOD:
                d = method_of(&r.protocol[o.row.version], load32(p + at + 7)) if total >= 12 else NULL
                opening = d != NULL and d.has_content
            content_frame(&grammar, p + at, total, opening)
            if not content_is_open(grammar.state):
                return False
        at += <size_t>total
        count += 1
    if r.level.events and not is_delivery(r, o):        # its bodies are not kept
        return (count > 0 and grammar.state == o.grammar.state and grammar.size == o.grammar.size and grammar.have == 0
                and (o.grammar.have == 0 if grammar.state == CONTENT_AWAITS_HEADER else o.grammar.have < grammar.size)
                and o.body.n == o.grammar.have)
    return count > 0 and grammar.state == o.grammar.state and grammar.size == o.grammar.size \
        and grammar.have == o.grammar.have


cdef int io_open(StateIO* io, Reading* r, Open* o) noexcept nogil:
    cdef bint header
    o.channel = <uint16_t>io_ranged(io, o.channel, 0, 0xFFFF)
    o.handle = <uint32_t>io_ranged(io, o.handle, 0, MAX_U32)
    o.flags = <uint8_t>io_ranged(io, o.flags, 0, (1 << N_CAPTURED_FLAGS) - 1)
    header = io_flag(io, o.grammar.state == CONTENT_AWAITS_BODY)
    if r.level.events:
        io_content(io, o)
    o.grammar.size = io_count(io, o.grammar.size)
    o.grammar.have = io_count(io, o.grammar.have)
    o.row.position = <int32_t>io_ranged(io, o.row.position, 0, 1 << 30)
    o.row.file = io_slot(io, o.row.file)
    o.row.first_time = io_number(io, o.row.first_time)
    o.row.last_time = io_number(io, o.row.last_time)
    o.row.packet_at = <uint64_t>io_ranged(io, <int64_t>o.row.packet_at, 0, NUMBER_LIMIT)
    o.row.packet = <uint64_t>io_ranged(io, <int64_t>o.row.packet, 0, NUMBER_LIMIT)
    o.row.order_turn = <uint64_t>io_ranged(io, <int64_t>o.row.order_turn, 0, NUMBER_LIMIT)
    o.row.order_position = <int32_t>io_ranged(io, o.row.order_position, 0, 1 << 30)
    o.row.version = <uint8_t>io_ranged(io, o.row.version, 0, r.n_protocols - (r.v1 == NULL))
    if header:
        o.grammar.state = CONTENT_AWAITS_BODY
    elif o.row.version != r.v1_number or r.v1 == NULL:
        o.grammar.state = CONTENT_AWAITS_HEADER
    else:
        o.delivery = DELIVERY_OPEN
    if io.writing:
        io_size(io, o.n, MESSAGE_LIMIT)
        io_bytes(io, o.data.p, o.n)
        return 0
    o.n = io_size(io, 0, MESSAGE_LIMIT)
    if io.bad or r.level.open_bytes + o.n > OPEN_LIMIT:
        io.bad = True
        o.n = 0
        return 0
    if block_room(&o.data, 0, o.n) < 0:
        o.n = 0
        return NO_MEMORY
    r.level.open_bytes += o.n
    io_bytes(io, o.data.p, o.n)
    if not io.bad and not is_open_message(r, o):
        io.bad = True
    return 0


cdef int io_messages(StateIO* io, Reading* r, Half* h) noexcept nogil:
    """Those that are open, the newest first."""
    cdef Open* o = h.open
    cdef Open** at = &h.open
    cdef size_t i, n = 0
    while o != NULL:
        n += 1
        o = o.next
    n = io_size(io, n, OPEN_CHANNELS if r.level.messages else 0)
    for i in range(n):
        if not io.writing:
            if io.bad:
                return 0
            at[0] = <Open*>calloc(1, sizeof(Open))
            if at[0] == NULL:
                return NO_MEMORY
        o = at[0]
        at = &o.next
        h.n_open += not io.writing
        if io_open(io, r, o) < 0:
            return NO_MEMORY
    return 0


cdef void io_token_links(StateIO* io, TokenLinks* links) noexcept nogil:
    cdef int i
    for i in range(TOKEN_LINKS):
        links.attached[i] = <uint64_t>io_ranged(io, <int64_t>links.attached[i], 0, <int64_t>1 << 48)
        links.going[i] = <uint64_t>io_ranged(io, <int64_t>links.going[i], 0, <int64_t>1 << 48)
    links.unseen = io_flag(io, links.unseen)
    links.all_ = io_flag(io, links.all_)
    links.cut = io_flag(io, links.cut)


cdef bint is_half_sound(const Conn* c, const Half* h) noexcept nogil:
    """Whether what the layers above take for granted holds for a direction that was read from a state."""
    # What came in the other one may have sealed both.
    cdef bint unread = h.layer.kind == LAYER_NONE or (c.over and h.layer.kind == LAYER_SEALED)
    if not h.seen:
        return (not h.started and not h.syn and h.waiting.n == 0 and h.input.n == 0 and h.state == AT_START
                and h.marks.n == 0 and h.open == NULL and unread and h.flags == 0
                and h.input.base == 0 and h.input.expect == 0 and h.input.scan == 0 and h.input.need == 0)
    if h.marks.n == 0:
        return False
    if h.offset < LOWEST_POSITION or h.known_end > h.offset + FAR_AHEAD or h.acked > h.offset + FAR_AHEAD:
        return False
    if not h.started and (h.input.n or h.state != AT_START or not unread):
        return False
    if h.layer.kind == LAYER_FOUND or (h.layer.kind == LAYER_NONE and h.layer.at != h.offset):
        return False
    if h.input.n and h.input.base + <int64_t>h.input.n != h.layer.at:
        return False
    if h.input.expect > h.layer.at + HIGHEST_FRAME_MAX + 8:
        return False
    if h.state == EXPECTING and h.input.expect < (h.input.base if h.input.n else h.layer.at):
        return False
    if h.input.held and (h.input.held > h.input.n or h.layer.kind != LAYER_NONE):
        return False
    return h.input.scan <= h.input.n


cdef int io_half(StateIO* io, Reading* r, const Conn* c, Half* h) noexcept nogil:
    cdef size_t i, n
    cdef Mark mark
    h.seen = io_flag(io, h.seen)
    h.started = io_flag(io, h.started)
    h.syn = io_flag(io, h.syn)
    h.fin = io_flag(io, h.fin)
    h.first = <uint32_t>io_ranged(io, h.first, 0, MAX_U32)
    h.next = <uint32_t>io_ranged(io, h.next, 0, MAX_U32)
    h.offset = io_ranged(io, h.offset, 0, NUMBER_LIMIT)
    h.layer.at = io_ranged(io, h.layer.at, LOWEST_POSITION if h.seen else 0, NUMBER_LIMIT)
    h.layer.kind = <uint8_t>io_ranged(io, h.layer.kind, LAYER_NONE, LAYER_SEALED)
    h.layer.read = io_flag(io, h.layer.read)
    h.layer.covered = <uint64_t>io_ranged(io, <int64_t>h.layer.covered, 0, NUMBER_LIMIT)
    h.known_end = io_ranged(io, h.known_end, 0, NUMBER_LIMIT)
    h.acked = io_ranged(io, h.acked, 0, NUMBER_LIMIT)
    if r.level.events:
        h.order.unordered_to = io_ranged(io, h.order.unordered_to, 0, NUMBER_LIMIT)
        h.order.first_ack = <uint32_t>io_ranged(io, h.order.first_ack, 0, MAX_U32)
    if io_pieces(io, r, h) < 0:
        return NO_MEMORY
    h.state = <uint8_t>io_ranged(io, h.state, AT_START, EXPECTING)
    h.flags = <uint8_t>io_ranged(io, h.flags, 0, (1 << N_CAPTURED_FLAGS) - 1)
    h.broken = <uint8_t>io_ranged(io, h.broken, 0, LOST_LARGE)
    h.cut_type = <uint8_t>io_ranged(io, h.cut_type, 0, 255)
    h.cut_method = <uint32_t>io_ranged(io, h.cut_method, 0, MAX_U32)
    h.takes = <uint64_t>io_ranged(io, <int64_t>h.takes, 0, MAX_U32)
    h.tls = io_flag(io, h.tls)
    h.past_sasl = io_flag(io, h.past_sasl)
    io_token_links(io, &h.tokens)
    h.input.base = io_ranged(io, h.input.base, 0, NUMBER_LIMIT)
    h.input.expect = io_ranged(io, h.input.expect, 0, NUMBER_LIMIT)
    h.input.scan = <size_t>io_ranged(io, <int64_t>h.input.scan, 0, 1 << 30)
    h.input.need = <size_t>io_ranged(io, <int64_t>h.input.need, 0, NEEDED_LIMIT)
    n = io_size(io, h.input.n, 1 << 30)
    if not io.writing and n:
        if block_room(&h.input.block, 0, n) < 0:
            return NO_MEMORY
        h.input.n = n
    io_bytes(io, h.input.block.p, n)
    n = io_size(io, h.marks.n - h.marks.at, 1 << 30)
    for i in range(n):
        if io.writing:
            mark = half_mark(h)[i]
        else:
            memset(&mark, 0, sizeof(Mark))
        io_mark(io, &mark)
        if not io.writing and not io.bad and push_mark(h, &mark, mark.at, mark.rows) < 0:
            return NO_MEMORY
    if io_messages(io, r, h) < 0:
        return NO_MEMORY
    if r.level.events:
        h.input.held = io_size(io, h.input.held, 1 << 30)
    if not io.writing and not is_half_sound(c, h):
        io.bad = True
    return 0


cdef void io_end(StateIO* io, Endpoint* e) noexcept nogil:
    io_bytes(io, e.address, 16)
    e.port = <uint16_t>io_ranged(io, e.port, 0, 0xFFFF)


cdef bint is_conn_sound(const Reading* r, const Conn* c) noexcept nogil:
    """Whether the protocols of a connection that was read from a state are the reader's."""
    if c.v1:
        if r.v1 == NULL or c.now != r.v1_number:
            return False
    elif c.now >= r.n_protocols:
        return False
    if c.may >> r.n_protocols or (r.n_protocols and (c.may == 0 or c.version >= r.n_protocols)):
        return False
    if not c.sure and (r.v1 == NULL or r.forced):
        return False
    return c.info.family == 4 or c.info.family == 6


cdef int io_conn(StateIO* io, Reading* r, Conn* c) noexcept nogil:
    c.info.id = io_count(io, c.info.id)
    c.info.index = <int32_t>io_ranged(io, c.info.index, 0, 0x7FFFFFFF)
    c.info.family = <uint8_t>io_ranged(io, c.info.family, 0, 6)
    io_end(io, &c.info.client)
    io_end(io, &c.info.server)
    c.info.peer.form = <uint8_t>io_ranged(io, c.info.peer.form, PEER_NONE, PEER_TEXT6)
    c.info.peer.n = <uint8_t>io_ranged(io, c.info.peer.n, 0, sizeof(c.info.peer.address))
    io_bytes(io, c.info.peer.address, sizeof(c.info.peer.address))
    c.info.peer.port = <uint16_t>io_ranged(io, c.info.peer.port, 0, 0xFFFF)
    c.left_out = io_flag(io, c.left_out)
    c.over = <uint8_t>io_ranged(io, c.over, 0, OVER_HTTP)
    c.read = io_flag(io, c.read)
    c.version = <uint8_t>io_ranged(io, c.version, 0, max(r.n_protocols - 1, 0))
    c.may = <uint8_t>io_ranged(io, c.may, 0, 255)
    c.now = <uint8_t>io_ranged(io, c.now, 0, MAX_PROTOCOLS)
    io_bytes(io, c.fails, MAX_PROTOCOLS)
    c.v1 = io_flag(io, c.v1)
    c.sure = io_flag(io, c.sure)
    c.resolved = io_flag(io, c.resolved)
    c.spoke = io_flag(io, c.spoke)
    c.frame_max = io_ranged(io, c.frame_max, -1, MAX_U32)
    if r.level.events and io_events(io, r, c) < 0:
        return NO_MEMORY
    if not io.writing and not is_conn_sound(r, c):
        io.bad = True
    if io_half(io, r, c, &c.half[0]) < 0:
        return NO_MEMORY
    return io_half(io, r, c, &c.half[1])


cdef int io_conns(StateIO* io, Reading* r) noexcept nogil:
    cdef Conn* c = r.conns.oldest
    cdef size_t i, n = 0
    while c != NULL:
        n += 1
        c = c.newer
    n = io_size(io, n, <size_t>r.limits.conns + 1 if r.files.begun else 0)
    c = r.conns.oldest
    for i in range(n):
        if not io.writing:
            c = <Conn*>calloc(1, sizeof(Conn))
            if c == NULL:
                return NO_MEMORY
            if io_conn(io, r, c) < 0 or io.bad:
                free_half(r, &c.half[0])
                free_half(r, &c.half[1])
                free_tracker(&r.level.tracking, c.tracker)
                free(c)
                if io.bad:
                    return 0
                return NO_MEMORY
            link_conn(r, c)
            continue
        if io_conn(io, r, c) < 0:
            return NO_MEMORY
        c = c.newer
    return 0


cdef int io_closing(StateIO* io, Reading* r) noexcept nogil:
    """Connections that are over, in that order, by their index."""
    cdef Conn* c = r.conns.closing
    cdef size_t i, n = io_size(io, <size_t>r.conns.n_closing, CLOSING_LIMIT)
    cdef int64_t index
    for i in range(n):
        if io.writing:
            io_number(io, c.info.index)
            c = c.closing
            continue
        index = io_ranged(io, 0, 0, 0x7FFFFFFF)
        c = r.conns.oldest
        while c != NULL and c.info.index != index:
            c = c.newer
        if c == NULL or c.closes:
            io.bad = True
            return 0
        if close_conn(r, c) < 0:
            return NO_MEMORY
    return 0


cdef int io_file(StateIO* io, CapFile* f) noexcept nogil:
    cdef size_t i, n
    cdef CapInterface* one
    f.format = <int>io_ranged(io, f.format, FILE_UNKNOWN, FILE_PCAPNG)
    f.big = io_flag(io, f.big)
    f.nano = io_flag(io, f.nano)
    f.link = <uint32_t>io_ranged(io, f.link, 0, MAX_U32)
    f.at = <uint64_t>io_ranged(io, <int64_t>f.at, 0, NUMBER_LIMIT)
    f.skip = <uint64_t>io_ranged(io, <int64_t>f.skip, 0, MAX_U32)
    f.packets = <uint64_t>io_ranged(io, <int64_t>f.packets, 0, NUMBER_LIMIT)
    n = io_size(io, f.n_interfaces, INTERFACE_LIMIT)
    for i in range(n):
        if io.writing:
            one = <CapInterface*>f.interfaces.p + i
        else:
            one = <CapInterface*>items_add(&f.interfaces, &f.n_interfaces, sizeof(CapInterface))
            if one == NULL:
                return NO_MEMORY
            memset(one, 0, sizeof(CapInterface))
        one.link = <uint32_t>io_ranged(io, one.link, 0, MAX_U32)
        one.snap = <uint32_t>io_ranged(io, one.snap, 0, MAX_U32)
        one.resolution = <uint8_t>io_ranged(io, one.resolution, 0, 255)
        one.offset = io_number(io, one.offset)
    return 0


cdef int io_counts(StateIO* io, Reading* r) noexcept nogil:
    """All counts are numbers of 8 bytes."""
    cdef uint64_t* count = <uint64_t*>&r.count
    cdef int64_t high
    cdef size_t i
    cdef int k
    for i in range(sizeof(CaptureCounts) // 8):
        count[i] = <uint64_t>io_ranged(io, <int64_t>count[i], 0, NUMBER_LIMIT)
    if r.v1 != NULL:
        for k in range(256):
            high = 0 if r.v1.by_code[k] == NULL else NUMBER_LIMIT
            r.v1_counts[k] = <uint64_t>io_ranged(io, <int64_t>r.v1_counts[k], 0, high)
    for k in range(r.n_protocols):
        for i in range(<size_t>r.protocol[k].n_descs):
            r.protocol[k].methods[i] = <uint64_t>io_ranged(io, <int64_t>r.protocol[k].methods[i], 0, NUMBER_LIMIT)
    if not io.writing and r.count.connections > 1 << 30:
        io.bad = True
    return 0


cdef size_t count_runs(const Partial* d) noexcept nogil:
    """Of bytes that are there."""
    cdef size_t n = 0
    cdef uint32_t block
    for block in range((d.reach + 7) >> 3):
        n += is_there(d, block) and (block == 0 or not is_there(d, block - 1))
    return n


cdef int io_runs(StateIO* io, Reading* r, Partial* d, uint32_t size) noexcept nogil:
    """What is there of a packet of so many bytes, or of 0 where that is not known."""
    cdef size_t i, n = io_size(io, count_runs(d), 1024 * 64)
    cdef uint32_t block = 0, at = 0, end = 0
    for i in range(n):
        if io.writing:
            while not is_there(d, block):
                block += 1
            at = 8 * block
            while block < 1024 * 64 and is_there(d, block):
                block += 1
            end = min(8 * block, d.reach)
        at = <uint32_t>io_ranged(io, at, 0, PARTIAL_SIZE)
        end = at + <uint32_t>io_ranged(io, end - at, 1, PARTIAL_SIZE - at)
        if io.writing:
            io_bytes(io, d.data.p + at, end - at)
            continue
        if io.bad or <size_t>(io.end - io.p) < end - at or at & 7 or (end & 7 and end != size) or (
                copy_fragment(r, d, io.p, at, end - at, end != size) != SKIP_NONE):
            io.bad = True
            return 0
        io.p += end - at
    return 0


cdef int io_partial(StateIO* io, Reading* r, Partial* d) noexcept nogil:
    """d: NULL where it is read."""
    cdef Partial one
    cdef uint32_t size
    memset(&one, 0, sizeof(Partial))
    if d != NULL:
        one = d[0]
    one.ends.family = <uint8_t>io_ranged(io, one.ends.family, 4, 6)
    io_bytes(io, one.ends.source.address, 16)
    io_bytes(io, one.ends.target.address, 16)
    one.protocol = <uint8_t>io_ranged(io, one.protocol, 0, 255)
    one.id = <uint32_t>io_ranged(io, one.id, 0, MAX_U32)
    one.depth = <int>io_ranged(io, one.depth, 0, TUNNEL_LIMIT)
    one.refused = io_flag(io, one.refused)
    one.since = io_number(io, one.since)
    io_mark(io, &one.mark)
    one.n = <uint32_t>io_ranged(io, one.n, 1, PARTIAL_SIZE)
    size = <uint32_t>io_ranged(io, one.size, 0, PARTIAL_SIZE)
    if not io.writing:
        if io.bad or find_partial(r, &one.ends, one.protocol, one.id) != NULL:
            io.bad = True
            return 0
        d = new_partial(r, &one.ends, one.protocol, one.id)
        if d == NULL:
            return NO_MEMORY
        d.depth = one.depth
        d.refused = one.refused
        d.since = one.since
        d.mark = one.mark
        d.n = one.n
    if d.refused:
        d.size = size
        return 0
    io_runs(io, r, d, size)
    if d.have == 0 or d.have == size or (size and d.reach > size):
        io.bad = True
    d.size = size
    return 0


cdef int io_partials(StateIO* io, Reading* r) noexcept nogil:
    """IP packets of which fragments are missing, the oldest first."""
    cdef Partial* d = r.partials.oldest
    cdef size_t i, n = io_size(io, <size_t>r.partials.n, PARTIAL_LIMIT if r.files.begun else 0)
    for i in range(n):
        if io.bad:
            return 0
        if io_partial(io, r, d) < 0:
            return NO_MEMORY
        if io.writing:
            d = d.newer
    return 0


cdef void io_detected(StateIO* io, ServerPorts* ports) noexcept nogil:
    """Ports to which protocol headers were sent, in the order in which they were detected."""
    cdef size_t i, n = io_size(io, <size_t>ports.n_detected, MOST_DETECTED)
    cdef DetectedPort one
    for i in range(n):
        one = ports.detected[i]
        one.port = <uint16_t>io_ranged(io, one.port, 1, 0xFFFF)
        one.n = <uint64_t>io_ranged(io, <int64_t>one.n, 0, NUMBER_LIMIT)
        if not io.writing:
            io.bad |= find_detected(ports, one.port) != NULL
            if io.bad:
                return
            ports.detected[i] = one
            ports.n_detected += 1


cdef void io_openings(StateIO* io, ServerPorts* ports) noexcept nogil:
    """Who opened the newest connections that are not read."""
    cdef size_t i, n = io_size(io, <size_t>ports.n_openings, MOST_OPENINGS)
    cdef Opening one
    for i in range(n):
        if io.writing:
            one = ports.openings[i]
        else:
            memset(&one, 0, sizeof(Opening))
        io_end(io, &one.client)
        io_end(io, &one.server)
        one.known = io_flag(io, one.known)
        if not io.writing:
            io.bad |= find_opening(ports, &one.client, &one.server) != NULL
            if io.bad:
                return
            remember_opening(ports, &one.client, &one.server, one.known)


# ---- connections that may be others, behind an address translation ----

cdef int io_held(StateIO* io, Reading* r, const Translated* t, int side, uint64_t most,
                 HeldSegment** held) noexcept nogil:
    """held: the segment, or where the one that is read goes."""
    cdef Segment s
    cdef Mark mark
    cdef uint64_t number = 0
    cdef bint same = False
    memset(&s, 0, sizeof(Segment))
    memset(&mark, 0, sizeof(Mark))
    if io.writing:
        s = held[0].segment
        mark = held[0].mark
        number = held[0].number
        same = held[0].same
    s.sequence = <uint32_t>io_ranged(io, s.sequence, 0, MAX_U32)
    s.ack = <uint32_t>io_ranged(io, s.ack, 0, MAX_U32)
    s.flags = <uint8_t>io_ranged(io, s.flags, 0, 255)
    s.size = <uint32_t>io_ranged(io, s.size, 0, MAX_U32)
    number = <uint64_t>io_ranged(io, <int64_t>number, 0, <int64_t>most)
    same = io_flag(io, same)
    io_mark(io, &mark)
    s.have = <uint32_t>io_size(io, s.have, RECORD_LIMIT)
    if io.writing:
        io_bytes(io, <uint8_t*>s.data, s.have)
        return 0
    if io.bad or s.have > s.size:
        io.bad = True
        return 0
    s.family = t.original.info.family
    s.source = t.server if side else t.client
    s.target = t.client if side else t.server
    s.data = io.p
    io.p += s.have
    held[0] = new_held(r, &s, &mark, number)
    if held[0] == NULL:
        return NO_MEMORY
    held[0].same = same
    return 0


cdef int io_translated_half(StateIO* io, Reading* r, Translated* t, int side) noexcept nogil:
    cdef TranslatedHalf* h = &t.half[side]
    cdef HeldSegment* held = h.first
    cdef size_t i, n
    h.n = <uint64_t>io_ranged(io, <int64_t>h.n, 0, NUMBER_LIMIT)
    h.newest_same = <uint64_t>io_ranged(io, <int64_t>h.newest_same, 0, <int64_t>h.n)
    h.late = io_flag(io, h.late)
    h.since = <uint32_t>io_ranged(io, h.since, 0, MAX_U32)
    if io_flag(io, h.opening != NULL) and io_held(io, r, t, side, 0, &h.opening) < 0:
        return NO_MEMORY
    n = io_size(io, <size_t>h.n_held, 2 * SEEN_KEPT)
    for i in range(n):
        if io_held(io, r, t, side, h.n, &held) < 0:
            return NO_MEMORY
        if io.bad:
            return 0
        if io.writing:
            held = held.next
        else:
            append_held(h, held)
            held = NULL
    return 0


cdef int io_translated(StateIO* io, Reading* r, Conn* c, Translated* t) noexcept nogil:
    """t: NULL where it is read."""
    cdef Translated one
    cdef int side
    memset(&one, 0, sizeof(Translated))
    if t != NULL:
        one = t[0]
    io_end(io, &one.client)
    io_end(io, &one.server)
    one.file_number = io_ranged(io, one.file_number, 0, NUMBER_LIMIT)
    one.same = <uint64_t>io_ranged(io, <int64_t>one.same, 0, NUMBER_LIMIT)
    if not io.writing:
        if io.bad or is_known(r, &one.client, &one.server):
            io.bad = True
            return 0
        t = new_translated(r, c, &one.client, &one.server)
        if t == NULL:
            return NO_MEMORY
        t.file_number = one.file_number
        t.same = one.same
    for side in range(2):
        if io_translated_half(io, r, t, side) < 0:
            return NO_MEMORY
    return 0


cdef void io_seen(StateIO* io, SeenSegment* seen) noexcept nogil:
    seen.sequence = <uint32_t>io_ranged(io, seen.sequence, 0, MAX_U32)
    seen.ack = <uint32_t>io_ranged(io, seen.ack, 0, MAX_U32)
    seen.size = <uint32_t>io_ranged(io, seen.size, 0, MAX_U32)
    seen.have = <uint32_t>io_ranged(io, seen.have, 0, MAX_U32)
    seen.flags = <uint8_t>io_ranged(io, seen.flags, 0, 255)
    seen.content = io_number(io, seen.content)


cdef int io_original(StateIO* io, Reading* r, Conn* c) noexcept nogil:
    """What of a connection is compared, and those that may be it."""
    cdef Translated* t = c.original.first if io.writing else NULL
    cdef int32_t i, n = <int32_t>io_ranged(io, c.original.n_others if io.writing else 0, 1, OTHERS_LIMIT)
    cdef uint64_t k
    cdef int side
    for i in range(n):
        if io_translated(io, r, c, t) < 0:
            return NO_MEMORY
        if io.bad:
            return 0
        if io.writing:
            t = t.next
    for side in range(2):
        c.original.n[side] = <uint64_t>io_ranged(io, <int64_t>c.original.n[side], 0, NUMBER_LIMIT)
        for k in range(min(c.original.n[side], <uint64_t>SEEN_KEPT)):
            io_seen(io, &c.original.seen[side][k])
    return 0


cdef int io_translations(StateIO* io, Reading* r) noexcept nogil:
    cdef Conn* c = r.conns.oldest
    cdef size_t i, n = 0
    cdef int64_t index
    while c != NULL:
        n += c.original != NULL
        c = c.newer
    r.conns.translations.same = <uint64_t>io_ranged(io, <int64_t>r.conns.translations.same, 0, NUMBER_LIMIT)
    n = io_size(io, n, <size_t>r.limits.conns)
    c = r.conns.oldest
    for i in range(n):
        if io.writing:
            while c.original == NULL:
                c = c.newer
            io_number(io, c.info.index)
        else:
            index = io_ranged(io, 0, 0, 0x7FFFFFFF)
            while c != NULL and c.info.index != index:
                c = c.newer
            if c == NULL:
                io.bad = True
        if io.bad:
            return 0
        if io_original(io, r, c) < 0:
            return NO_MEMORY
        c = c.newer
    return 0


cdef int io_reading(StateIO* io, Reading* r) noexcept nogil:
    cdef int status
    cdef bint translated = r.conns.translations.n != 0 or r.conns.translations.same != 0
    # Before what depends on it: whether connections may be there at all.
    r.files.begun = io_flag(io, r.files.begun)
    r.files.between = io_flag(io, r.files.between)
    if r.files.begun != (io.files > 0) or not (r.files.begun or r.files.between):
        io.bad = True
    status = io_file(io, &r.file)
    if status == 0 and r.level.events:
        status = io_event_counts(io, r)
    r.conns.seed = io_count(io, r.conns.seed)
    r.files.slot = io_slot(io, r.files.slot)
    r.files.number = io_ranged(io, r.files.number, 0, NUMBER_LIMIT)
    io_mark(io, &r.last)
    if status == 0:
        status = io_counts(io, r)
    if status == 0 and not io.bad:
        status = io_conns(io, r)
    if status == 0 and not io.bad and not io.writing:
        status = link_ports(r)
    if status == 0 and not io.bad:
        status = io_closing(io, r)
    if status == 0 and not io.bad:
        status = io_partials(io, r)
    # States of 0.1.0 end here. Each part that follows is there if it, or one after it, says something.
    if status == 0 and not io.bad and (r.servers.n_detected + r.servers.n_openings != 0 or translated if io.writing
                                       else io.p != io.end):
        io_detected(io, &r.servers)
        if not io.bad and (r.servers.n_openings != 0 or translated if io.writing else io.p != io.end):
            io_openings(io, &r.servers)
        if not io.bad and (translated if io.writing else io.p != io.end):
            status = io_translations(io, r)
            translated = r.conns.translations.n != 0 or r.conns.translations.same != 0
        io.bad |= r.servers.n_detected == 0 and r.servers.n_openings == 0 and not translated
    if not io.writing and io.p != io.end:
        io.bad = True
    return status
