# What other files use of legacy.pxi.

cdef enum:
    MAX_FIELDS = 64         # a method or property list with more fields is refused at load time

# How one argument lies on the wire.
cdef struct Op:
    uint8_t wire_type
    uint8_t bit             # its number in the byte
    uint8_t run             # at the first of neighbouring bits: how many share the byte; else 0
    bint cached             # text that comes again and again
    bint secret             # never shown

cdef struct Desc

# Fused reader and sink for one op signature: a new object, or NULL (no exception) for the table path.
ctypedef PyObject* (*fast_reader)(Desc* d, const uint8_t* p, const uint8_t* end, uintptr_t mode,
                                  TextCache* cache) noexcept

# Fused source and writer: bytes written at w (at least FAST_ROOM are free), -1 for the table path.
ctypedef Py_ssize_t (*fast_writer)(MessageObject* o, uint8_t* w) noexcept

# The same for a property list: 1, or 0 and nothing written for the table path.
ctypedef int (*fast_properties_writer)(Buffer* b, Desc* d, MessageObject* o, uintptr_t mode) except -1

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
    Desc* properties        # of the method's class, or NULL
    fast_reader read_fast
    fast_writer write_fast
    fast_properties_writer write_fast_properties

cdef int read_content_form(Cursor* c, AmqpValue* v) noexcept nogil

cdef inline int read_one(const Op* op, Cursor* c, AmqpValue* v, uintptr_t mode) noexcept nogil:
    """One value that is not a bit; 0 or -1."""
    cdef uint32_t n
    cdef uint8_t wire_type = op.wire_type
    v.wire_type = wire_type
    if wire_type == W_SHORTSTR:
        if short_of(c, 1, b"shortstr"):
            return -1
        n = c.p[0]
        if AMQP_UNLIKELY(<size_t>(c.end - c.p) - 1 < n):
            c.p += 1
            return fail(c, BAD_TRUNCATED, b"shortstr", n, 0)
        v.p = c.p + 1
        v.n = n
        c.p += 1 + n
    elif wire_type == W_LONGLONG or wire_type == W_TIMESTAMP:
        if short_of(c, 8, WIRE_NAMES[wire_type]):
            return -1
        v.u = load64(c.p)
        c.p += 8
    elif wire_type == W_SHORT:
        if short_of(c, 2, b"short"):
            return -1
        v.u = load16(c.p)
        c.p += 2
    elif wire_type == W_LONG:
        if short_of(c, 4, b"long"):
            return -1
        v.u = load32(c.p)
        c.p += 4
    elif wire_type == W_OCTET:
        if short_of(c, 1, b"octet"):
            return -1
        v.u = c.p[0]
        c.p += 1
    else:
        if wire_type == W_CONTENT and read_content_form(c, v) < 0:
            return -1
        if short_of(c, 4, WIRE_NAMES[wire_type]):
            return -1
        n = load32(c.p)
        if AMQP_UNLIKELY(<size_t>(c.end - c.p) - 4 < n):
            c.p += 4
            return fail(c, BAD_TRUNCATED, WIRE_NAMES[wire_type], n, 0)
        v.p = c.p + 4
        v.n = n
        if wire_type == W_TABLE and check_table(v.p, n, c, mode) < 0:
            return -1
        c.p += 4 + n
    return 0

cdef int read_arguments(const Desc* d, Cursor* c, AmqpValue* v, uintptr_t mode,
                        bint* unusual) noexcept nogil

cdef int read_properties(const Desc* d, Cursor* c, AmqpValue* v, uintptr_t mode,
                         bint* unusual) noexcept nogil

cdef int place_fault(const Desc* d, Cursor* c, int i) noexcept nogil
cdef size_t values_room(const Desc* d, const AmqpValue* v) noexcept nogil
cdef uint8_t* write_one(const AmqpValue* v, uint8_t* w) noexcept nogil
cdef uint8_t* write_arguments(const Desc* d, const AmqpValue* v, uint8_t* w) noexcept nogil
cdef uint8_t* write_properties(const Desc* d, const AmqpValue* v, uint8_t* w) noexcept nogil
