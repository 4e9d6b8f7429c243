# Drop-ins: arguments and properties between bytes and the attributes of a client's class.

@cython.final
cdef class BoundMethod:
    """A method, or the property list of a class, and the client's class for it.

    cls: None where the client has no class, but a list or dict of values.
    fields: (name, wire type, flags) in wire order, as a lowered table has them.
    absent: what the properties that are not there are.
    """

    cdef readonly BoundClass cls
    cdef readonly uint32_t key          # class id, method id
    cdef DescTable descs
    cdef Desc* desc                     # tables are longstr here: their check is the profile's
    cdef uint64_t tables                # which fields are
    cdef tuple absent

    def __cinit__(self, BoundClass cls, int class_id, int method_id, tuple fields not None,
                  tuple absent=()):
        cdef int i
        cdef list lowered = []
        self.cls = cls
        self.key = (<uint32_t>class_id << 16) | <uint32_t>method_id
        for i, (name, wire_type, flags) in enumerate(fields):
            if wire_type == W_TABLE:
                self.tables |= <uint64_t>1 << i
            lowered.append((name, W_LONGSTR if wire_type == W_TABLE else wire_type, flags))
        self.descs = DescTable(1)
        self.descs.fill(self.descs.desc, "", <uint16_t>class_id, <uint16_t>method_id,
                        tuple(lowered))
        self.desc = self.descs.desc
        self.absent = absent
        if cls is not None and cls.n != self.desc.n:
            raise ValueError(f"{cls.cls} has {cls.n} attributes, the method has {self.desc.n}")


# ---- read ----

cdef object bound_text(ClientProfile t, const uint8_t* s, Py_ssize_t n, bint cached, TextCache* cache):
    """A shortstr."""
    cdef PyObject* text = text_of_utf8(cache if cached else NULL, s, n)
    if text != NULL:
        return owned(text)
    if not t.bytes_for_bad_text:
        not_ours("unusual bytes")
    return PyBytes_FromStringAndSize(<const char*>s, n)


cdef object bound_longstr(ClientProfile t, const uint8_t* s, Py_ssize_t n):
    if t.longstr != LONGSTR_BYTES:
        if is_utf8(s, <size_t>n):
            return text_new(s, n)
        if t.longstr == LONGSTR_TEXT:
            not_ours("unusual bytes")
    return PyBytes_FromStringAndSize(<const char*>s, n)


cdef object bound_next(ClientProfile t, const Op* op, bint table, const uint8_t** at,
                       const uint8_t* end, bint lenient, TextCache* cache):
    """The argument at *at, which is not a bit, as the client has it; moves *at after it.
    Falls back where `end` comes first."""
    cdef const uint8_t* p = at[0]
    cdef size_t left = <size_t>(end - p)
    cdef size_t n
    cdef uint8_t wire_type = op.wire_type
    if wire_type == W_SHORTSTR:
        if left == 0 or left - 1 < p[0]:
            not_ours("unusual bytes")
        at[0] = p + 1 + p[0]
        return bound_text(t, p + 1, p[0], op.cached, cache)
    if wire_type >= W_LONGSTR and wire_type != W_TIMESTAMP:
        if left < 4 or left - 4 < load32(p):
            not_ours("unusual bytes")
        n = load32(p)
        at[0] = p + 4 + n
        if table:
            return read_profile_table(t, p + 4, <uint32_t>n, lenient, cache)
        return bound_longstr(t, p + 4, <Py_ssize_t>n)
    n = WIRE_SIZES[wire_type]
    if left < n:
        not_ours("unusual bytes")
    at[0] = p + n
    if wire_type == W_OCTET:
        return p[0]
    if wire_type == W_SHORT:
        return load16(p)
    if wire_type == W_LONG:
        return load32(p)
    if wire_type == W_TIMESTAMP and t.timestamp != READ_PLAIN:
        return profile_content(t, t.timestamp, FORM_timestamp, p, cache)
    if wire_type == W_LONGLONG and t.signed:
        return <int64_t>load64(p)
    return load64(p)

# Bytes of arguments of one size; a bit has no byte of its own.
cdef uint8_t* WIRE_SIZES = [0, 1, 2, 4, 8, 0, 0, 8, 0, 0]


cdef enum:
    FLAGS_A_WORD = 15       # the last bit of a word of flags says that another one follows
    FLAGS_READ = 60         # of four words: more than a property list has properties


cdef uint64_t bound_flags(const uint8_t** at, const uint8_t* end) except? 0:
    """Which properties are there: the first one is the highest bit. Words after the fourth are
    skipped."""
    cdef uint64_t found = 0
    cdef uint16_t word
    cdef int count = 0
    while True:
        if end - at[0] < 2:
            not_ours("unusual bytes")
        word = load16(at[0])
        at[0] += 2
        if count < FLAGS_READ:
            found |= <uint64_t>(word & 0xFFFE) << 48 >> count
        count += FLAGS_A_WORD
        if not word & 1:
            return found


cdef int bound_properties(ClientProfile t, BoundMethod m, const uint8_t** at, const uint8_t* end,
                          bint lenient, TextCache* cache, PyObject** out, dict found=None,
                          tuple names=None) except -1:
    """All properties, as new references; moves *at after them. What follows the last one is left
    alone, as clients do.

    found, names: take those that are there, in the place of `out`.
    """
    cdef const Op* op = m.desc.op
    cdef object value
    cdef uint64_t flags = bound_flags(at, end)
    cdef int i = 0, n = m.desc.n
    try:
        while i < n:
            if flags >> (63 - i) & 1:
                if op[i].wire_type == W_BIT:
                    value = True        # the flag is the value
                else:
                    value = bound_next(t, &op[i], (m.tables >> i) & 1, at, end, lenient, cache)
                if found is None:
                    out[i] = Py_NewRef(<PyObject*>value)
                else:
                    PyDict_SetItem(found, <object>PyTuple_GET_ITEM(names, i), value)
            elif found is None:
                out[i] = Py_NewRef(PyTuple_GET_ITEM(m.absent, i))
            i += 1
    except BaseException:
        if found is None:
            values_drop(out, i)
        raise
    return 0


cdef int bound_arguments(ClientProfile t, BoundMethod m, const uint8_t** at, const uint8_t* end,
                         bint lenient, TextCache* cache, PyObject** out) except -1:
    """The same of all arguments."""
    cdef const Op* op = m.desc.op
    cdef object value
    cdef uint8_t bits = 0
    cdef int i = 0, n = m.desc.n
    try:
        while i < n:
            if op[i].wire_type == W_BIT:
                if op[i].run:
                    if at[0] == end:
                        not_ours("unusual bytes")
                    bits = at[0][0]
                    at[0] += 1
                out[i] = Py_NewRef(Py_True if (bits >> op[i].bit) & 1 else Py_False)
            else:
                value = bound_next(t, &op[i], (m.tables >> i) & 1, at, end, lenient, cache)
                out[i] = Py_NewRef(<PyObject*>value)
            i += 1
    except BaseException:
        values_drop(out, i)
        raise
    return 0

cdef object read_bound(ClientProfile t, BoundMethod m, const uint8_t* p, size_t n, bint properties,
                       bint lenient, TextCache* cache):
    """An instance of the client's class from the bytes of its arguments or properties."""
    cdef PyObject* out[MAX_FIELDS]
    if AMQP_UNLIKELY(not m.cls.may_make()):
        not_ours("client changed")
    if properties:
        bound_properties(t, m, &p, p + n, lenient, cache, out)
    else:
        bound_arguments(t, m, &p, p + n, lenient, cache, out)
    return m.cls.make(out)


# ---- write ----

cdef inline int parse_client_text(ClientProfile t, PyObject* o, const uint8_t** p, Py_ssize_t* n) except -1:
    """The bytes of a text, or of what the client takes as one; they live as long as it does."""
    if not utf8_bytes(o, p, n) and not plain_text(o, p, n):
        if t.bytes_text and type(<object>o) is bytes:
            p[0] = <const uint8_t*>PyBytes_AS_STRING(<object>o)
            n[0] = PyBytes_GET_SIZE(<object>o)
        elif t.none_text and o == Py_None:
            p[0], n[0] = <const uint8_t*><const char*>b"", 0     # memcpy takes no null pointer
        else:
            not_ours("unusual value")
    return 0


cdef inline int put_short_text(Buffer* b, ClientProfile t, PyObject* o) except -1:
    cdef uint8_t* w
    cdef Py_ssize_t n = 0
    cdef const uint8_t* p = NULL
    parse_client_text(t, o, &p, &n)
    if n > 255:
        not_ours("unusual value")
    w = buffer_extend(b, 1 + <size_t>n)
    w[0] = <uint8_t>n
    copy_bytes(w + 1, p, <size_t>n)
    return 0


cdef int put_long_text(Buffer* b, ClientProfile t, PyObject* o) except -1:
    cdef uint8_t* w
    cdef Py_ssize_t n = 0
    cdef const uint8_t* p = NULL
    parse_client_text(t, o, &p, &n)
    if <uint64_t>n > MAX_U32:
        not_ours("unusual value")
    w = buffer_extend(b, 4 + <size_t>n)
    store32(w, <uint32_t>n)
    memcpy(w + 4, p, <size_t>n)
    return 0


cdef int put_bound_table(Buffer* b, ClientProfile t, PyObject* o) except -1:
    """Length and pairs; None is an empty table."""
    cdef size_t start
    cdef uint64_t n
    buffer_extend(b, 4)
    start = buffer_size(b)
    if o != Py_None:
        if type(<object>o) is not dict:
            not_ours("unusual value")
        put_profile_pairs(b, t, <dict><object>o, 1)
    n = buffer_size(b) - start
    if n > MAX_U32:
        not_ours("unusual value")
    store32(b.start + start - 4, <uint32_t>n)
    return 0


cdef int bit_of(ClientProfile t, PyObject* o) except -1:
    cdef uint64_t u = 0
    if o == Py_True:
        return 1
    if o == Py_False:
        return 0
    if exact_u64(o, &u) and (u <= 1 or t.any_bits):
        return u != 0
    if o != Py_None or not t.any_bits:
        not_ours("unusual value")
    return 0


cdef inline int put_bound_field(Buffer* b, ClientProfile t, uint8_t wire_type, bint table, PyObject* o) except -1:
    """One argument that is not a bit."""
    cdef uint64_t u = 0
    cdef int width
    cdef int64_t signed
    cdef int overflow = 0
    if wire_type == W_SHORTSTR:
        return put_short_text(b, t, o)
    if table:
        return put_bound_table(b, t, o)
    if wire_type == W_LONGSTR:
        return put_long_text(b, t, o)
    if wire_type == W_TIMESTAMP and t.timestamp != READ_PLAIN:
        if type(<object>o) is not Datetime:
            not_ours("unusual value")
        profile_seconds(<object>o, &u)
    elif not plain_u64(o, &u):
        if wire_type != W_LONGLONG or not t.signed or type(<object>o) is not int:
            not_ours("unusual value")
        signed = PyLong_AsLongLongAndOverflow(<object>o, &overflow)
        if overflow:
            not_ours("unusual value")
        u = <uint64_t>signed
    elif wire_type <= W_LONGLONG and u > INT_LIMITS[wire_type] or wire_type == W_LONGLONG and t.signed and u >> 63:
        not_ours("unusual value")
    width = WIRE_SIZES[wire_type]
    if width == 0:
        not_ours("unusual value")
    store_uint(buffer_extend(b, <size_t>width), u, width)
    return 0


cdef int put_bound_arguments(Buffer* b, ClientProfile t, BoundMethod m, PyObject** values, int n) except -1:
    """The first n arguments; neighbouring bits share a byte, the first is the lowest."""
    cdef const Desc* d = m.desc
    cdef size_t bits = 0
    cdef int i
    for i in range(n):
        if d.op[i].wire_type == W_BIT:
            if d.op[i].run:
                bits = buffer_size(b)
                put_byte(b, 0)
            b.start[bits] |= <uint8_t>(bit_of(t, values[i]) << d.op[i].bit)
        else:
            put_bound_field(b, t, d.op[i].wire_type, (m.tables >> i) & 1, values[i])
    return 0


cdef int put_bound_properties(Buffer* b, ClientProfile t, BoundMethod m, PyObject** values) except -1:
    """One flag word, then the properties that are there. values: NULL is absent, too."""
    cdef const Desc* d = m.desc
    cdef size_t start = buffer_size(b)
    cdef uint16_t word = 0
    cdef Py_ssize_t n = 0
    cdef const uint8_t* p = NULL
    cdef int i
    buffer_extend(b, 2)
    for i in range(d.n):
        if values[i] == NULL or values[i] == Py_None:
            continue
        if (t.empty_absent and (utf8_bytes(values[i], &p, &n) or plain_text(values[i], &p, &n))
                and n == 0):
            continue
        word |= 0x8000 >> i
        put_bound_field(b, t, d.op[i].wire_type, (m.tables >> i) & 1, values[i])
    store16(b.start + start, word)
    return 0


cdef int put_bound(Buffer* b, ClientProfile t, BoundMethod m, object o, bint properties) except -1:
    """Arguments or properties of an instance of the client's class."""
    cdef PyObject* values[MAX_FIELDS]
    if AMQP_UNLIKELY(not m.cls.may_take()):
        not_ours("client changed")
    m.cls.adopt(<PyObject*>o, values)
    try:
        if properties:
            return put_bound_properties(b, t, m, values)
        return put_bound_arguments(b, t, m, values, m.desc.n)
    finally:
        values_drop(values, m.desc.n)
