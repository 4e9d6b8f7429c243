# The outline of a part of a file, made: see leaps.pxi.

cdef bint is_near(uint32_t before, uint32_t number) noexcept nogil:
    return number - before < NEAR


cdef bint can_leave_out(const Outline* o, const LeftOut* now) noexcept nogil:
    """Whether the numbers of the record at hand go on from those of a leap."""
    if o.flags & TCP_ACK and now.acked and not is_near(now.ack, o.ack):
        return False
    return o.size != 0 or not now.empty or is_near(now.last_empty, o.sequence)


cdef int hold_record(Outline* o, Half* h, const CapPacket* packet, const uint8_t* p, size_t n) noexcept nogil:
    """A record of a leap: what it changes, and its bytes, should it be kept after all."""
    cdef Leap* leap = h.leap
    cdef LeftOut* now = &leap.now
    cdef size_t before = leap.n_records
    now.last = packet.at
    now.packets += 1
    now.captured += packet.have
    now.n_bytes += o.size
    if o.size == 0:
        if not now.empty:
            now.first_empty = o.sequence
        now.empty = True
        now.last_empty = o.sequence
    if o.flags & TCP_ACK:
        if not now.acked:
            now.first_ack = o.ack
        now.acked = True
        now.ack = o.ack
    if add_entry(&leap.records, &leap.n_records, packet.at, o.packets - 1, KEPT_RECORD, p, n) < 0:
        return NO_MEMORY
    leap.n_held += 1
    o.held += leap.n_records - before
    o.whole |= o.n + o.held > o.most
    return 0


cdef void leap_to_here(Outline* o, Half* h) noexcept nogil:
    """The leap can end with the record at hand."""
    cdef Leap* leap = h.leap
    cdef uint32_t code
    cdef size_t i
    for i in range(leap.n_frames):
        code = (<uint32_t*>leap.frames.p)[i]
        o.left.types[code & 15] += 1
        if code >> 8:
            o.methods[code >> 4 & 15][(code >> 8) - 1] += 1
    if leap.now.n_bytes:
        leap.now.mark = half_mark(h)[0]
        leap.now.mark.at = h.layer.at - leap.now.mark.at
    leap.sure = leap.now
    leap.n_frames = 0
    o.held -= leap.n_records
    leap.n_records = 0
    leap.n_held = 0
    if leap.records.room > 1 << 14:
        block_give(&leap.records)


cdef uint64_t all_skipped(const CaptureCounts* count) noexcept nogil:
    cdef uint64_t n = 0
    cdef int i
    for i in range(N_SKIPS):
        n += count.skipped[i]
    return n


cdef int outline_packet(Reading* r, const CapPacket* packet, const uint8_t* p, size_t n) noexcept nogil:
    """Read a packet, out of a record of n bytes at p, and see whether it is left out."""
    cdef Outline* o = r.outline
    cdef CaptureCounts* count = &r.count
    cdef uint64_t skipped = all_skipped(count), tls = count.tls
    cdef uint64_t unusual = count.types[4] + count.types[5]
    cdef Half* h
    cdef bint settled
    o.packets += 1
    o.last_time = packet.time
    o.last_at = packet.at
    o.conn = NULL
    o.gone = False
    if read_packet(r, packet) < 0:
        return NO_MEMORY
    o.open_bytes = max(o.open_bytes, r.level.open_bytes + packet.have)
    if count.fragments or r.conns.n >= r.limits.conns:
        o.whole = True
    if o.conn == NULL:
        if all_skipped(count) == skipped or o.gone:
            return add_outlined(o, packet.at, o.packets - 1, KEPT_RECORD, p, n)
        o.left.packets += 1
        o.left.captured += packet.have
        o.left.tls += count.tls - tls
        return 0
    h = &o.conn.half[o.side]
    settled = (o.frame_max == o.conn.frame_max and o.fails == all_fails(o.conn)
               and unusual == count.types[4] + count.types[5] and o.flags & (TCP_SYN | TCP_FIN | TCP_RST) == 0
               and o.turn == turn_of(h) and not (o.turn < 0 and o.size) and not is_waiting(o.conn))
    if h.leap != NULL and o.plain and settled and can_leave_out(o, &h.leap.now):
        if hold_record(o, h, packet, p, n) < 0:
            return NO_MEMORY
        if h.leap.now.n_bytes == h.leap.sure.n_bytes or is_steady(o.conn, h):
            leap_to_here(o, h)
        if h.leap.n_records <= LEAP_WAITS and h.leap.now.n_bytes <= LEAP_LIMIT:
            return 0
        if end_leap(o, o.conn, o.side) < 0:
            return NO_MEMORY
    else:
        if end_leap(o, o.conn, o.side) < 0 or (not settled and end_leap(o, o.conn, 1 - o.side) < 0):
            return NO_MEMORY
        if add_outlined(o, packet.at, o.packets - 1, KEPT_RECORD, p, n) < 0:
            return NO_MEMORY
    return 0 if o.conn.closes or is_waiting(o.conn) else begin_leap(o.conn, h, packet.at)


cdef int outline_records(Reading* r, const uint8_t* p, size_t n, size_t* used) noexcept nogil:
    """Read the whole records from p on."""
    cdef Outline* o = r.outline
    cdef CapPacket packet
    cdef uint64_t at
    cdef size_t step
    cdef int found
    used[0] = 0
    while r.file.at < r.stop and not o.whole:
        at = r.file.at
        found = next_packet(&r.file, p + used[0], n - used[0], &packet, &step)
        if found == FILE_MORE:
            break
        if found < 0:
            o.whole = True
            return NO_MEMORY if found == NO_MEMORY else 0
        if found == FILE_PACKET:
            found = outline_packet(r, &packet, p + used[0], step)
        else:
            found = add_outlined(o, at, o.packets, KEPT_RECORD, p + used[0], step)
        if found < 0:
            return NO_MEMORY
        used[0] += step
        if r.rows.n >= OUTLINE_ROWS and drop_rows(r) < 0:
            return NO_MEMORY
    return 0


cdef int compare_outlined(const void* a, const void* b) noexcept nogil:
    cdef const OutlineOrder* x = <const OutlineOrder*>a
    cdef const OutlineOrder* y = <const OutlineOrder*>b
    if x.at != y.at:
        return -1 if x.at < y.at else 1
    return <int>x.kind - <int>y.kind


cdef void write_outline(StateIO* io, Reading* r, Outline* o) noexcept nogil:
    cdef size_t n = o.n_entries, i = 0, at = 0
    cdef OutlineOrder* order = <OutlineOrder*>malloc((n + 1) * sizeof(OutlineOrder))
    cdef Outlined* one
    if order == NULL:
        io.bad = True
        return
    while at < o.n:
        one = <Outlined*>(o.out.p + at)
        order[i].at = one.at
        order[i].kind = one.kind
        order[i].place = at
        at += outlined_size(one.size)
        i += 1
    qsort(order, n, sizeof(OutlineOrder), compare_outlined)
    io.bad = block_room(&io.out, 0, o.n) < 0
    io_outline(io, r, o)
    io_bytes(io, o.skipped.read, sizeof(o.skipped.read))
    io_detected(io, &r.servers)
    io_openings(io, &r.servers)
    io_number(io, o.n_assumed)
    io_number(io, <int64_t>r.file.at)
    io_size(io, n, MAX_U32)
    for i in range(n):
        one = <Outlined*>(o.out.p + order[i].place)
        io_outlined(io, one)
        if one.kind == KEPT_RECORD:
            io_size(io, one.size, MAX_U32)
            io_bytes(io, <uint8_t*>(one + 1), one.size)
        else:
            io_leap_ends(io, <LeapEnds*>(one + 1))
    free(order)
    block_give(&o.out)


@cython.final
cdef class CaptureOutline:
    """What of a part of a file another reader, which comes to it, has to read."""

    cdef CaptureReader reader

    def __cinit__(self, CaptureReader reader not None, uint64_t start, uint64_t most, detected_ports=()):
        """reader: a new one, which knows the format of the file if start is not 0. most: bytes that are
        held for the outline. detected_ports: those that the reader which comes to the part has detected,
        as far as is known; if it has not, it cannot follow."""
        cdef InUse held = reader.use()
        cdef Reading* r = reader.r
        if r.files.between or r.rows.n or r.count.packets or r.outline != NULL:
            raise ValueError("outlining begins with a new reader")
        r.outline = new_outline(r)
        r.outline.start = start
        r.outline.most = most
        r.file.at = start
        r.limits.hold_total = <size_t>-1
        for port in detected_ports:
            if r.servers.detects and not is_read(&r.servers, port) and add_detected(&r.servers, port) != NULL:
                want_port(&r.servers, port)
                r.outline.n_assumed += 1
        reader.drop_input()
        self.reader = reader

    def feed(self, data):
        """Read the whole records at the beginning of these bytes, up to where the reader stops: how many
        bytes they are."""
        cdef InUse held = self.reader.use()
        cdef Py_buffer view
        cdef size_t used = 0
        cdef int status
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        with nogil:
            status = outline_records(self.reader.r, <const uint8_t*>view.buf, <size_t>view.len, &used)
        PyBuffer_Release(&view)
        if status < 0:
            raise MemoryError
        return used

    def take(self):
        """The outline, for follow(); None: all has to be read. Nothing is fed after that."""
        cdef InUse held = self.reader.use()
        cdef Reading* r = self.reader.r
        cdef Outline* o = r.outline
        cdef StateIO io
        cdef Conn* c = r.conns.oldest
        cdef int i, status = 0
        while c != NULL and status == 0:
            for i in range(2):
                if end_leap(o, c, i) < 0:
                    status = NO_MEMORY
            c = c.newer
        if status < 0:
            raise MemoryError
        if o.whole or r.file.skip or r.file.format == FILE_UNKNOWN:
            return None
        if r.servers.n_detected > o.n_assumed and r.servers.noted > MOST_OPENINGS:
            return None     # an opening that told the sides may be forgotten
        memcpy(o.left.skipped, r.count.skipped, sizeof(r.count.skipped))
        memcpy(o.left.links, r.count.links, sizeof(r.count.links))
        memset(&io, 0, sizeof(StateIO))
        io.writing = True
        try:
            write_outline(&io, r, o)
            if io.bad:
                raise MemoryError
            return PyBytes_FromStringAndSize(<char*>io.out.p, <Py_ssize_t>io.n)
        finally:
            block_give(&io.out)
