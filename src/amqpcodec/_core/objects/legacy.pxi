# The legacy family (0-8, 0-9, 0-9-1): descriptors made from the specification, and the one reader
# and one writer of arguments and properties that they drive.

cdef enum:
    MAX_FIELDS = 64         # a method or property list with more fields is refused at load time

# How one argument lies on the wire.
cdef struct Op:
    uint8_t kind
    uint8_t bit             # its number in the byte
    uint8_t run             # at the first of neighbouring bits: how many share the byte; else 0
    bint cached             # text that comes again and again
    bint secret             # never shown

cdef struct Desc

# Fused reader and sink for one op signature: a new object, or NULL (no exception) for the table path.
ctypedef PyObject* (*hot_reader)(Desc* d, const uint8_t* p, const uint8_t* end, uintptr_t mode,
                                 TextCache* cache) except? NULL
# Fused source and writer: bytes written at w (at least HOT_ROOM are free), -1 for the table path.
ctypedef Py_ssize_t (*hot_writer)(KindObject* o, uint8_t* w) noexcept
# The same for a property list: 1, or 0 and nothing written for the table path.
ctypedef int (*hot_properties_writer)(Buffer* b, Desc* d, KindObject* o, uintptr_t mode) except -1

# A method, or the property list of a class (method_id 0, property_flags set).
cdef struct Desc:
    uint16_t class_id
    uint16_t method_id
    int n
    Op* op
    bint has_content        # a content header and body follow the method
    const char* name        # "basic.deliver", "basic.properties"
    const char** field      # Python names of the fields
    PyObject* cls           # the class that instances are made of
    PyObject* names         # str of `name` and of each field, for errors
    Desc* properties        # of the method's class, or NULL
    hot_reader read_hot
    hot_writer write_hot
    hot_properties_writer write_hot_properties

cdef enum:
    HOT_ROOM = 2048


# ---- reading ----

cdef int read_content_kind(Cursor* c, AmqpValue* v) noexcept nogil:
    """The byte before a content (0-9 §4.2.5.6)."""
    if short_of(c, 1, WIRE_NAMES[W_CONTENT]):
        return -1
    v.u = c.p[0]
    if v.u > 1:
        return fail(c, BAD_CONTENT, NULL, 0, c.p[0])
    c.p += 1
    return 0


cdef inline int read_one(const Op* op, Cursor* c, AmqpValue* v, uintptr_t mode) noexcept nogil:
    """One value that is not a bit; 0 or -1."""
    cdef uint32_t n
    cdef uint8_t kind = op.kind
    v.kind = kind
    if kind == W_SHORTSTR:
        if short_of(c, 1, b"shortstr"):
            return -1
        n = c.p[0]
        if AMQP_UNLIKELY(<size_t>(c.end - c.p) - 1 < n):
            c.p += 1
            return fail(c, BAD_TRUNCATED, b"shortstr", n, 0)
        v.p = c.p + 1
        v.n = n
        c.p += 1 + n
    elif kind == W_LONGLONG or kind == W_TIMESTAMP:
        if short_of(c, 8, WIRE_NAMES[kind]):
            return -1
        v.u = load64(c.p)
        c.p += 8
    elif kind == W_SHORT:
        if short_of(c, 2, b"short"):
            return -1
        v.u = load16(c.p)
        c.p += 2
    elif kind == W_LONG:
        if short_of(c, 4, b"long"):
            return -1
        v.u = load32(c.p)
        c.p += 4
    elif kind == W_OCTET:
        if short_of(c, 1, b"octet"):
            return -1
        v.u = c.p[0]
        c.p += 1
    else:
        if kind == W_CONTENT and read_content_kind(c, v) < 0:
            return -1
        if short_of(c, 4, WIRE_NAMES[kind]):
            return -1
        n = load32(c.p)
        if AMQP_UNLIKELY(<size_t>(c.end - c.p) - 4 < n):
            c.p += 4
            return fail(c, BAD_TRUNCATED, WIRE_NAMES[kind], n, 0)
        v.p = c.p + 4
        v.n = n
        if kind == W_TABLE and check_table(v.p, n, c, mode) < 0:
            return -1
        c.p += 4 + n
    return 0


cdef int read_arguments(const Desc* d, Cursor* c, AmqpValue* v, uintptr_t mode,
                        bint* unusual) noexcept nogil:
    """All arguments of a method; 0 or -1 with the fault noted. unusual: not the canonical bytes."""
    cdef int i
    cdef uint8_t bits = 0
    unusual[0] = False
    for i in range(d.n):
        if d.op[i].kind == W_BIT:
            if d.op[i].run:
                if short_of(c, 1, b"bits"):
                    return place_fault(d, c, i)
                bits = c.p[0]
                c.p += 1
                if AMQP_UNLIKELY(bits >> d.op[i].run):
                    unusual[0] = True       # bits that no argument uses
            v[i].kind = W_BIT
            v[i].u = (bits >> d.op[i].bit) & 1
        elif read_one(&d.op[i], c, &v[i], mode) < 0:
            return place_fault(d, c, i)
    if AMQP_UNLIKELY(c.p < c.end):
        unusual[0] = True
        if not mode & MODE_TRAILING:
            fail(c, BAD_TRAILING, NULL, 0, 0)
            return place_fault(d, c, -1)
    return 0


cdef int read_properties(const Desc* d, Cursor* c, AmqpValue* v, uintptr_t mode,
                         bint* unusual) noexcept nogil:
    """Flag words, then the properties that they name (0-9-1 §4.2.6.1)."""
    cdef int i = 0
    cdef int count = 0      # flags seen
    cdef uint16_t word
    cdef int k
    unusual[0] = False
    for i in range(d.n):
        v[i].present = False
        v[i].kind = d.op[i].kind
    while True:
        if short_of(c, 2, b"property flags"):
            return place_fault(d, c, -1)
        word = load16(c.p)
        c.p += 2
        if word & 0xFFFE:
            for k in range(15):
                i = count + k
                if word & (0x8000 >> k):
                    if i < d.n:
                        v[i].present = True
                    else:
                        unusual[0] = True   # a flag without a property: no bytes can belong to it
        count += 15
        if not word & 1:
            break
    if count > 15 * ((max(d.n, 1) + 14) // 15):
        unusual[0] = True                   # more flag words than are needed
    for i in range(d.n):
        if not v[i].present:
            continue
        if v[i].kind == W_BIT:
            v[i].u = 1                  # the flag is the value
        elif read_one(&d.op[i], c, &v[i], mode) < 0:
            return place_fault(d, c, i)
    if AMQP_UNLIKELY(c.p < c.end):
        unusual[0] = True
        if not mode & MODE_TRAILING:
            fail(c, BAD_TRAILING, NULL, 0, 0)
            return place_fault(d, c, -1)
    return 0


cdef int place_fault(const Desc* d, Cursor* c, int i) noexcept nogil:
    c.fault.method = d.name
    c.fault.field = NULL
    if i >= 0:
        c.fault.field = d.field[i]
    return -1


# ---- writing ----

cdef size_t values_room(const Desc* d, const AmqpValue* v) noexcept nogil:
    """Bytes that the values take at most."""
    cdef size_t n = 8
    cdef int i
    for i in range(d.n):
        n += 9
        if d.op[i].kind >= W_SHORTSTR and d.op[i].kind != W_TIMESTAMP:
            n += v[i].n
    return n


cdef uint8_t* write_one(const AmqpValue* v, uint8_t* w) noexcept nogil:
    """One value that is not a bit. Ranges and lengths were checked when it was loaded."""
    if v.kind == W_SHORTSTR:
        w[0] = <uint8_t>v.n
        memcpy(w + 1, v.p, v.n)
        return w + 1 + v.n
    if v.kind == W_LONGLONG or v.kind == W_TIMESTAMP:
        store64(w, v.u)
        return w + 8
    if v.kind == W_SHORT:
        store16(w, <uint16_t>v.u)
        return w + 2
    if v.kind == W_LONG:
        store32(w, <uint32_t>v.u)
        return w + 4
    if v.kind == W_OCTET:
        w[0] = <uint8_t>v.u
        return w + 1
    if v.kind == W_CONTENT:
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
        if d.op[i].kind == W_BIT:
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
            if i + k < d.n and v[i + k].present and (d.op[i + k].kind != W_BIT or v[i + k].u):
                word |= 0x8000 >> k
        i += 15
        if i < d.n:
            word |= 1
        store16(w, word)
        w += 2
        if i >= d.n:
            break
    for i in range(d.n):
        if v[i].present and d.op[i].kind != W_BIT:
            w = write_one(&v[i], w)
    return w
