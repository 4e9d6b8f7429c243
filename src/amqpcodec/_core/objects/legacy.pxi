# The legacy family (0-8, 0-9, 0-9-1): descriptors made from the specification, and the one reader
# and one writer of arguments and properties that they drive.

# ---- reading ----

cdef int read_content_form(Cursor* c, AmqpValue* v) noexcept nogil:
    """The byte before a content (0-9 §4.2.5.6)."""
    if short_of(c, 1, WIRE_NAMES[<int>W_CONTENT]):
        return -1
    v.u = c.p[0]
    if v.u > 1:
        return fail(c, BAD_CONTENT, NULL, 0, c.p[0])
    c.p += 1
    return 0


cdef inline int check_end(const Desc* d, Cursor* c, uintptr_t mode, bint* unusual) noexcept nogil:
    """Whether anything stands after the last field, and may."""
    if AMQP_UNLIKELY(c.p < c.end):
        unusual[0] = True
        if not mode & MODE_TRAILING:
            fail(c, BAD_TRAILING, NULL, 0, 0)
            return place_fault(d, c, -1)
    return 0


cdef int read_arguments(const Desc* d, Cursor* c, AmqpValue* v, uintptr_t mode,
                        bint* unusual) noexcept nogil:
    """All arguments of a method; 0 or -1 with the fault noted. unusual: not the canonical bytes."""
    cdef int i
    cdef uint8_t bits = 0
    unusual[0] = False
    for i in range(d.n):
        if d.op[i].wire_type == W_BIT:
            if d.op[i].run:
                if short_of(c, 1, b"bits"):
                    return place_fault(d, c, i)
                bits = c.p[0]
                c.p += 1
                if AMQP_UNLIKELY(bits >> d.op[i].run):
                    unusual[0] = True       # bits that no argument uses
            v[i].wire_type = W_BIT
            v[i].u = (bits >> d.op[i].bit) & 1
        elif read_one(&d.op[i], c, &v[i], mode) < 0:
            return place_fault(d, c, i)
    return check_end(d, c, mode, unusual)


cdef int read_properties(const Desc* d, Cursor* c, AmqpValue* v, uintptr_t mode,
                         bint* unusual) noexcept nogil:
    """Flag words, then the properties that they name (0-9-1 §4.2.6.1)."""
    cdef int i
    cdef int count = 0      # flags seen
    cdef uint64_t flags = 0     # of properties, the first one's uppermost: of all that a class can have
    cdef uint64_t some
    cdef uint16_t word = 1
    unusual[0] = False
    for i in range(d.n):
        v[i].present = False
        v[i].wire_type = d.op[i].wire_type
    while word & 1:
        if short_of(c, 2, b"property flags"):
            return place_fault(d, c, -1)
        word = load16(c.p)
        c.p += 2
        some = <uint64_t>(word & 0xFFFE) << 48
        if count == 0:
            flags = some
        elif count >= 64:
            unusual[0] |= some != 0
        else:
            flags |= some >> count
            unusual[0] |= some << (64 - count) != 0
        count += 15
    if d.n < 64 and flags << d.n != 0:
        unusual[0] = True                   # a flag without a property: no bytes can belong to it
    if count > 15 * ((max(d.n, 1) + 14) // 15):
        unusual[0] = True                   # more flag words than are needed
    i = 0
    while flags != 0 and i < d.n:
        if flags >> 63:
            v[i].present = True
            if v[i].wire_type == W_BIT:
                v[i].u = 1                  # the flag is the value
            elif read_one(&d.op[i], c, &v[i], mode) < 0:
                return place_fault(d, c, i)
        flags <<= 1
        i += 1
    return check_end(d, c, mode, unusual)


cdef int place_fault(const Desc* d, Cursor* c, int i) noexcept nogil:
    place_begin(&c.fault.at, d.name, NULL)
    if i >= 0:
        c.fault.at.field = d.field[i]
    return -1


# ---- writing ----

cdef size_t values_room(const Desc* d, const AmqpValue* v) noexcept nogil:
    """Bytes that the values take at most."""
    cdef size_t n = 8
    cdef int i
    for i in range(d.n):
        n += 9
        if d.op[i].wire_type >= W_SHORTSTR and d.op[i].wire_type != W_TIMESTAMP:
            n += v[i].n
    return n


cdef uint8_t* write_one(const AmqpValue* v, uint8_t* w) noexcept nogil:
    """One value that is not a bit. Ranges and lengths were checked when it was loaded."""
    if v.wire_type == W_SHORTSTR:
        w[0] = <uint8_t>v.n
        memcpy(w + 1, v.p, v.n)
        return w + 1 + v.n
    if v.wire_type == W_LONGLONG or v.wire_type == W_TIMESTAMP:
        store64(w, v.u)
        return w + 8
    if v.wire_type == W_SHORT:
        store16(w, <uint16_t>v.u)
        return w + 2
    if v.wire_type == W_LONG:
        store32(w, <uint32_t>v.u)
        return w + 4
    if v.wire_type == W_OCTET:
        w[0] = <uint8_t>v.u
        return w + 1
    if v.wire_type == W_CONTENT:
        w[0] = <uint8_t>v.u
        w += 1
    store32(w, v.n)
    memcpy(w + 4, v.p, v.n)
    return w + 4 + v.n


cdef uint8_t* write_arguments(const Desc* d, const AmqpValue* v, uint8_t* w) noexcept nogil:
    """The caller has made values_room; neighbouring bits share a byte, the first is the lowest."""
    cdef int i
    cdef uint8_t* bits = NULL
    for i in range(d.n):
        if d.op[i].wire_type == W_BIT:
            if d.op[i].run:
                bits = w
                bits[0] = 0
                w += 1
            bits[0] |= <uint8_t>(v[i].u << d.op[i].bit)
        else:
            w = write_one(&v[i], w)
    return w


cdef uint8_t* write_properties(const Desc* d, const AmqpValue* v, uint8_t* w) noexcept nogil:
    """As few flag words as the class needs, then the properties that are present."""
    cdef int i = 0, k
    cdef uint16_t word
    while True:
        word = 0
        for k in range(15):
            if i + k < d.n and v[i + k].present and (d.op[i + k].wire_type != W_BIT or v[i + k].u):
                word |= 0x8000 >> k
        i += 15
        if i < d.n:
            word |= 1
        store16(w, word)
        w += 2
        if i >= d.n:
            break
    for i in range(d.n):
        if v[i].present and d.op[i].wire_type != W_BIT:
            w = write_one(&v[i], w)
    return w
