# Message level, views: messages of a run that are octet for octet alike but for their values.
#
# Where consecutive messages of a run are of one size, the newest of them, which was read field by
# field, becomes a shape: which octets of the frames the next ones must have as well (those of
# envelopes, of lengths and of tags), and which bits (text is ASCII, numbers are in range). One
# comparison by mask makes every check of the fields then, and all values lie where they did: a column
# is written for many messages at once. What differs goes on field by field.

cdef extern from "columns/shape.h" nogil:
    int SHAPE_PIECE
    int SHAPE_GROUP
    void shape_look(bint allowed)
    void prefetch_octets(const uint8_t* p, size_t n)
    int count_alike(const uint8_t* p, size_t step, int rows, const uint8_t* same, const uint8_t* mask,
                    size_t n, uint8_t end)
    void put_shape_views(uint8_t* w, const uint8_t* p, size_t step, int rows, uint32_t n, uint32_t buffer,
                         uint32_t at)
    void put_shape_numbers(uint8_t* out, bint wide, const uint8_t* p, size_t step, int rows, int octets,
                           int64_t by)
    void put_shape_places(uint8_t* out, bint wide, int rows, int64_t first, int64_t on)
    void put_shape_bits(uint8_t* out, int64_t row, const uint8_t* p, size_t step, int rows, int bit)

# For whoever wants to see what machines without AVX2 do.
shape_look(getenv(b"AMQPCODEC_NO_AVX2") == NULL)


cdef inline void shape_same(Shape* h, const uint8_t* p, size_t n) noexcept nogil:
    """These octets of the first message all have."""
    memset(h.mask + (p - h.first), 0xFF, n)


cdef void shape_value(Shape* h, const RunOp* op, const uint8_t* p, size_t n) noexcept nogil:
    """A value that a column takes."""
    cdef ShapeValue* v = &h.value[h.n]
    if op.column != NULL:
        h.n += 1
        v.code = op.code
        v.bit = op.bit
        v.out = op.out
        v.at = <uint32_t>(p - h.first)
        v.octets = <uint32_t>n


cdef void shape_table(Shape* h, const uint8_t* p, const uint8_t* end, const int8_t* shapes) noexcept nogil:
    """A table that is in order: names and usual values may be any."""
    cdef uint8_t tag
    while p < end:
        shape_same(h, p, 1)
        p += <size_t>p[0] + 1
        tag = p[0]
        if tag == c'S':
            shape_same(h, p, 5)
            p += 5 + <size_t>load32(p + 1)
        elif shapes[tag] >= 0:
            shape_same(h, p, 1)
            p += 1 + shapes[tag]
        else:
            # with a table or array in it, the rest has to be the same
            shape_same(h, p, <size_t>(end - p))
            return


cdef inline size_t shape_octets(uint8_t code) noexcept nogil:
    """Of a number."""
    if code == RUN_16 or code == RUN_16_TO_32 or code == RUN_16_TO_64:
        return 2
    if code == RUN_32 or code == RUN_32_TO_64:
        return 4
    return 1 if code == RUN_8 or code == RUN_8_TO_32 or code == RUN_8_TO_64 else 8


cdef bint shape_begin(Sink* s, const uint8_t* p, const uint8_t* q, const uint8_t* b,
                      const uint8_t* next_) noexcept nogil:
    """Take the shape of the message at p, which is in order: its header is at q, its body at b.
    False where it has none."""
    cdef Run* run = &s.run
    cdef Shape* h = &run.shape
    cdef const RunOp* op = run.op
    cdef const uint8_t* at = p + 11
    cdef const uint8_t* bits = at
    cdef size_t span = <size_t>(b - p) + (7 if b < next_ else 0)
    cdef size_t n
    if span > SHAPE_ROOM:
        return False
    h.first = p
    h.n = 0
    h.step = <uint64_t>(next_ - p)
    h.span = (span + SHAPE_PIECE - 1) & ~<size_t>(SHAPE_PIECE - 1)
    h.same = h.room + (-<size_t><uintptr_t>h.room & 31)
    h.mask = h.same + SHAPE_ROOM
    memset(h.mask, 0, h.span)
    memcpy(h.same, p, span)
    memset(h.same + span, 0, h.span - span)
    shape_same(h, p, 11)
    shape_same(h, q, 9)
    shape_same(h, q + 11, 10)
    if b < next_:
        shape_same(h, b, 7)
    while True:
        if op.code == RUN_END:
            shape_same(h, at, 1)
            if op == run.last:
                return at == b - 1
            if at != q - 1:
                return False
            at = q + 21
        elif op.code == RUN_TEXT or op.code == RUN_TEXT_TO:
            n = at[0]
            shape_same(h, at, 1)
            at += 1
            if not is_ascii(at, n):
                return False
            memset(h.mask + (at - p), 0x80, n)
            shape_value(h, op, at, n)
            at += n
        elif op.code == RUN_TABLE or op.code == RUN_TABLE_TO or op.code == RUN_LONG or op.code == RUN_LONG_TO:
            n = load32(at)
            shape_same(h, at, 4)
            at += 4
            if op.code == RUN_TABLE or op.code == RUN_TABLE_TO:
                shape_table(h, at, at + n, s.shapes)
            shape_value(h, op, at, n)
            at += n
        elif op.code == RUN_BIT_TO:
            shape_value(h, op, bits, 1)
        elif op.code == RUN_BITS or op.code == RUN_BOOL_TO:
            bits = at
            shape_value(h, op, bits, 1)
            at += 1
        else:
            n = shape_octets(op.code)
            if op.code == RUN_64_TO:
                h.mask[at - p] = 0x80
            elif op.code == RUN_TIME or op.code == RUN_TIME_TO:
                # below 1 << 43 seconds, which is nearly all that there may be
                if load64(at) >> 43:
                    return False
                h.mask[at - p] = h.mask[at - p + 1] = 0xFF
                h.mask[at - p + 2] = 0xF8
            shape_value(h, op, at, n)
            at += n
        op += 1


cdef void shape_rows(Run* run, const uint8_t* p, int64_t row, int n, const uint8_t* base, int64_t value,
                     uint32_t buffer, uint32_t place) noexcept nogil:
    """Write n messages from p on. buffer, place: where p is, as views say it."""
    cdef Shape* h = &run.shape
    cdef const ShapeValue* v
    cdef const uint8_t* at
    # Those that are next are asked for line by line meanwhile, so that memory is never idle: all at
    # once, the comparison would wait for them.
    cdef const uint8_t* ask = p + n * h.step
    cdef size_t some = 0
    cdef int k
    if h.step <= SHAPE_FAR:
        some = (<size_t>n * h.step // <size_t>(h.n + 1) + 64) & ~<size_t>63
    else:
        for k in range(n):
            prefetch_octets(ask + k * h.step, h.span)
    for k in range(h.n):
        v = &h.value[k]
        at = p + v.at
        prefetch_octets(ask, some)
        ask += some
        if v.code == RUN_TEXT_TO or v.code == RUN_TABLE_TO or v.code == RUN_LONG_TO:
            put_shape_views(v.out + 16 * row, at, h.step, n, v.octets, buffer, place + v.at)
        elif v.code == RUN_BIT_TO or v.code == RUN_BOOL_TO:
            put_shape_bits(v.out, row, at, h.step, n, v.bit)
        elif v.code == RUN_8_TO_32 or v.code == RUN_16_TO_32:
            put_shape_numbers(v.out + 4 * row, False, at, h.step, n, <int>v.octets, 1)
        else:
            put_shape_numbers(v.out + 8 * row, True, at, h.step, n, <int>v.octets,
                              1000000 if v.code == RUN_TIME_TO else 1)
    prefetch_octets(ask, some)
    if run.channel != NULL:
        put_shape_places(<uint8_t*>(run.channel + row), False, n, load16(p + 1), 0)
    if run.body != NULL:
        put_shape_views(run.body + 16 * row, p + h.body, h.step, n, <uint32_t>h.body_octets, buffer,
                        place + h.body)
    if run.row != NULL:
        put_shape_places(<uint8_t*>(run.row + row), True, n, value, 0)
    if run.offset != NULL:
        put_shape_places(<uint8_t*>(run.offset + row), True, n, p - base, <int64_t>h.step)
    if run.body_size != NULL:
        put_shape_places(<uint8_t*>(run.body_size + row), True, n, <int64_t>h.body_octets, 0)


cdef const uint8_t* shape_messages(Sink* s, const uint8_t* p, const uint8_t* q, const uint8_t* b,
                                   const uint8_t* next_, const uint8_t* end, const uint8_t* base,
                                   int64_t value) noexcept nogil:
    """The messages behind the one at p (its header at q, its body at b, all of it written) that are
    of its shape: where the first is that is not, or does not lie before end."""
    cdef Run* run = &s.run
    cdef Shape* h = &run.shape
    cdef uint64_t piece = <uint64_t>1 << s.table.shift
    cdef uint64_t left, place
    cdef int64_t first = s.rows
    cdef int n, most
    h.alike = 0
    # As far as may be read: a comparison goes on behind the message.
    end = min(end, s.input_end - SHAPE_SLACK)
    left = <uint64_t>min((end - next_) // (next_ - p), run.room - first)
    if left >= SHAPE_LEAST and shape_begin(s, p, q, b, next_):
        h.body = <uint32_t>(b + 7 - p)
        h.body_octets = h.step - h.body - 1 if b < next_ else 0
        p = next_
        while left:
            most = <int>min(left, <uint64_t>SHAPE_ROWS)
            place = <uint64_t>(p - s.table.base)
            if AMQP_UNLIKELY((place & (piece - 1)) + most * h.step > piece):
                # each view tells the place in the piece of the input in which its message begins
                most = <int>min(<uint64_t>most, (piece - (place & (piece - 1)) + h.step - 1) // h.step)
            n = count_alike(p, h.step, most, h.same, h.mask, h.span, FRAME_END)
            n &= -SHAPE_GROUP
            if n:
                shape_rows(run, p, s.rows, n, base, value, 1 + <uint32_t>(place >> s.table.shift),
                           <uint32_t>(place & (piece - 1)))
            s.rows += n
            p += n * h.step
            left -= <uint64_t>n
            if n < most:
                break
        next_ = p
    # A shape costs about what some messages do: take none for a while where few have it.
    if s.rows - first >= SHAPE_WORTH:
        h.wait = SHAPE_AFTER
    elif h.wait < SHAPE_LONGEST_WAIT:
        h.wait *= 4
    return next_
