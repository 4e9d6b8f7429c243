# Bytes of a direction in order: to frames, or first through what stands between: TLS, WebSocket.
#
# Between them is a Python object (amqpcodec/capture/_layers): bytes as they were sent go in, those that
# frames are made of come out, of either direction, or how many bytes are lost, or that no more can be read.
# Positions (HalfLayer.at), marks and rows are of the latter: a row has the packet that completed the TLS record
# or the WebSocket frame with its bytes. Sequence numbers are TCP's (Half.offset). What the object holds of each
# connection is bounded, and is a part of the state, without keys.

cdef int keep_bytes(Half* h, const uint8_t* p, size_t n) noexcept nogil:
    """Behind those that are kept already."""
    # Many connections may wait at once: no more is expected than a frame needs nearly half of whose bytes are
    # there. Two full segments of the loopback miss 114 of 128 KiB.
    cdef uint8_t* w = block_reserve(&h.input.block, h.input.n, n, min(h.input.need, 2 * (h.input.n + n) + 512))
    if w == NULL:
        return NO_MEMORY
    memcpy(w, p, n)
    h.input.n += n
    return 0


cdef void drop_used(Half* h, size_t used) noexcept nogil:
    """Of the bytes in memory so many stand before those that are kept."""
    if used and h.input.n:
        memmove(h.input.block.p, h.input.block.p + used, h.input.n)
    if h.input.n == 0:
        h.marks.at = h.marks.n - 1
        if h.input.block.room > 1 << 14:
            block_give(&h.input.block)


cdef int add_layer_bytes(Reading* r, Conn* c, Half* h, const uint8_t* p, size_t n, const Mark* mark) noexcept nogil:
    """The next n > 0 bytes that frames are made of. mark: of the packet, with the rows that began in it."""
    cdef int64_t used
    cdef const Mark* last = <const Mark*>h.marks.block.p + h.marks.n - 1
    cdef int32_t rows = mark.rows
    if h.marks.n and last.turn == mark.turn:
        rows = max(rows, last.rows)     # a gap before it counts as its row
    if h.input.n == 0:
        h.marks.at = h.marks.n = 0          # nothing waits that was sent before
    if push_mark(h, mark, h.layer.at, rows) < 0:
        return NO_MEMORY
    h.layer.at += <int64_t>n
    if h.input.n == 0:
        h.input.base = h.layer.at - <int64_t>n
        used = scan_bytes(r, c, h, p, n, False)
        if used < 0:
            return NO_MEMORY
        if h.layer.kind == LAYER_FOUND:
            return begin_layer(r, c, h, p + used, n - <size_t>used, mark)
        h.input.base += used
        if <size_t>used < n and keep_bytes(h, p + used, n - <size_t>used) < 0:
            return NO_MEMORY
    else:
        if keep_bytes(h, p, n) < 0:
            return NO_MEMORY
        if h.input.n < h.input.need:
            return 0
        used = scan_bytes(r, c, h, h.input.block.p, h.input.n, False)
        if used < 0:
            return NO_MEMORY
        if h.layer.kind == LAYER_FOUND:
            return begin_layer(r, c, h, h.input.block.p + used, h.input.n - <size_t>used, mark)
        h.input.base += used
        h.input.n -= <size_t>used
        drop_used(h, <size_t>used)
        return 0
    if h.input.n == 0:
        drop_used(h, 0)
    return 0


cdef int flush_bytes(Reading* r, Conn* c, Half* h) noexcept nogil:
    """No byte follows those that are kept."""
    cdef Mark mark
    cdef int64_t used = scan_bytes(r, c, h, h.input.block.p, h.input.n, True) if h.input.n else 0
    if used < 0:
        return NO_MEMORY
    if h.layer.kind == LAYER_FOUND:
        mark = (<const Mark*>h.marks.block.p)[h.marks.n - 1]
        return begin_layer(r, c, h, h.input.block.p + used, h.input.n - <size_t>used, &mark)
    h.input.base += used
    h.input.n = 0
    h.input.held = 0
    h.input.need = 0
    h.input.scan = 0
    return 0


cdef int lose_bytes(Reading* r, Conn* c, Half* h, int64_t lost) noexcept nogil:
    """So many bytes that frames are made of are missing here. Of those that a layer has, nobody knows how
    many: then the frame that goes on there is looked for."""
    cdef int64_t to = h.layer.at + lost
    cdef int64_t expect = h.input.expect
    cdef uint8_t layer = h.layer.kind
    if h.state != EXPECTING:
        expect = 0
    if flush_bytes(r, c, h) < 0:
        return NO_MEMORY
    if h.layer.kind != layer:
        return layer_lost(r, c, h, lost)    # it began with the last of those that were kept
    if h.input.expect == 0:
        h.input.expect = expect       # nothing of the rest of that frame was there
    h.marks.at = h.marks.n - 1
    if c.left_out:
        r.count.left_out += <uint64_t>lost
    elif add_gap(r, c, h, h.layer.at, <uint64_t>lost) < 0:
        return NO_MEMORY
    if h.input.expect >= to and layer == LAYER_NONE:
        h.state = EXPECTING
    else:
        h.state = SEARCHING
        h.broken = LOST_CUT
        h.input.scan = 0
        h.input.expect = 0
    h.flags |= CAPTURED_GAP
    h.tokens.unseen = True
    h.layer.at = to
    h.input.base = to
    return 0


# ---- what stands between ----

cdef int begin_layer(Reading* r, Conn* c, Half* h, const uint8_t* p, size_t n, const Mark* mark) noexcept nogil:
    """From here on the bytes are a layer's: the first n of them."""
    cdef int status
    cdef uint8_t* first = <uint8_t*>malloc(n + 1)       # p may be those that are kept
    if first == NULL:
        return NO_MEMORY
    memcpy(first, p, n)
    h.layer.kind = LAYER_OPEN
    h.state = AT_START
    h.input.n = 0
    h.input.need = 0
    h.input.scan = 0
    h.input.base = h.layer.at
    h.marks.at = h.marks.n - 1
    status = layer_bytes(r, c, h, first, n, mark)
    free(first)
    return status


cdef int layer_bytes(Reading* r, Conn* c, Half* h, const uint8_t* p, size_t n, const Mark* mark) noexcept nogil:
    """The next n > 0 bytes of a direction that has a layer."""
    if h.layer.kind == LAYER_SEALED:
        r.count.left_out += n
        return 0
    if not h.layer.read:
        h.layer.covered += n
    if r.layers == NULL:
        return seal_half(r, c, h)
    return ask_layer(r, c, h, p, n, mark)


cdef int layer_lost(Reading* r, Conn* c, Half* h, int64_t lost) noexcept nogil:
    """Bytes of a direction that has a layer were not captured."""
    cdef Mark mark = (<const Mark*>h.marks.block.p)[h.marks.n - 1]
    if h.layer.kind == LAYER_SEALED or r.layers == NULL:
        r.count.left_out += <uint64_t>lost
        return 0
    return ask_layer(r, c, h, NULL, <size_t>lost, &mark)


cdef int seal_half(Reading* r, Conn* c, Half* h) noexcept nogil:
    """Nothing more can be read of a direction."""
    if h.layer.kind == LAYER_SEALED:
        return 0
    if flush_bytes(r, c, h) < 0:
        return NO_MEMORY
    if c.over == OVER_HTTP and not (c.read or c.left_out):
        leave_out(r, c, FOREIGN_HTTP)
    if h.layer.kind == LAYER_NONE and c.left_out:
        return 0        # skipped without a layer: a server may answer with its protocol header
    h.layer.kind = LAYER_SEALED
    r.count.left_out += h.layer.covered
    h.layer.covered = 0
    return 0


cdef void end_half_layer(Reading* r, Half* h) noexcept nogil:
    """What went into a layer that gave nothing counts as skipped."""
    r.count.left_out += h.layer.covered
    h.layer.covered = 0


cdef int add_plain_bytes(Reading* r, Conn* c, Half* h, const uint8_t* p, size_t n, const Mark* mark) noexcept nogil:
    """Bytes that a layer gave. mark: of the packet with which it did."""
    if n == 0:
        return 0
    if not h.layer.read:
        h.layer.read = True
        h.layer.covered = 0
    if not c.read:
        c.read = True
        r.count.decrypted += c.over == OVER_TLS
    return add_layer_bytes(r, c, h, p, n, mark)


cdef int ask_layer(Reading* r, Conn* c, Half* h, const uint8_t* p, size_t n, const Mark* mark) noexcept nogil:
    """Give n bytes to the layers, or tell them of n that are lost where p is NULL; take what they give.

    What the layers raise is kept: advance() raises it.
    """
    cdef int side = h == &c.half[1]
    cdef int other
    cdef int status = 0
    cdef Mark shared
    with gil:
        try:
            layers = <object>r.layers
            if p == NULL:
                found = layers.lost(c.info.index, side, n)
            else:
                found = layers.receive(c.info.index, side, c.over == OVER_TLS,
                                       PyBytes_FromStringAndSize(<const char*>p, <Py_ssize_t>n))
            for other, each in found:
                shared = mark[0]
                if other != side:
                    # Rows of both directions that begin in one packet are counted together.
                    shared.rows = (<const Mark*>h.marks.block.p)[h.marks.n - 1].rows
                if each is None:
                    status = seal_half(r, c, &c.half[other])
                elif c.half[other].layer.kind != LAYER_OPEN:
                    continue        # only a state that somebody made up can say so
                elif isinstance(each, bytes):
                    status = add_plain_bytes(r, c, &c.half[other], <const uint8_t*>PyBytes_AS_STRING(each),
                                             <size_t>PyBytes_GET_SIZE(each), &shared)
                else:
                    status = lose_bytes(r, c, &c.half[other], <int64_t>each)
                if status < 0:
                    return NO_MEMORY
        except BaseException as error:
            keep_fault(r, error)
            return NO_MEMORY
    return 0


cdef void keep_fault(Reading* r, object error) noexcept:
    if r.fault == NULL:
        r.fault = Py_NewRef(<PyObject*>error)


cdef int add_secrets(Reading* r, const uint8_t* p, uint32_t n) noexcept nogil:
    """A key log that the file itself has."""
    if r.layers == NULL:
        return 0
    with gil:
        try:
            (<object>r.layers).add_secrets(PyBytes_FromStringAndSize(<const char*>p, <Py_ssize_t>n))
        except BaseException as error:
            keep_fault(r, error)
            return NO_MEMORY
    want_tls_port(r)
    return 0


cdef void want_tls_port(Reading* r) noexcept nogil:
    """There are keys: its connections may be read."""
    want_port(&r.servers, TLS_PORT)


cdef void end_layers(Reading* r, Conn* c) noexcept nogil:
    """The connection is over."""
    end_half_layer(r, &c.half[0])
    end_half_layer(r, &c.half[1])
    with gil:
        try:
            (<object>r.layers).end(c.info.index)
        except BaseException as error:
            keep_fault(r, error)
