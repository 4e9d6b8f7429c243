# Descriptors of AMQP 1.0's described types, made from the lowered table, and how they are found.

# MessageClass.what of this family's classes.
cdef enum:
    CLASS_V1_DESCRIBED = 40            # a described type
    CLASS_V1_HEADER
    CLASS_V1_HEARTBEAT
    CLASS_V1_BAD_FRAME
    CLASS_V1_DELIVERY

# An object whose frame had an extended header keeps it: `origin` begins with it, and the bits of `mode`
# from this one on say how many bytes it has, by fours.
cdef enum:
    V1_EXTENDED = 16
    V1_EXTENDED_ROOM = 1012         # 255 words, without the two that each frame's head has

cdef V1Desc* v1_by_symbol(const V1Types* types, const uint8_t* p, uint32_t n) noexcept nogil:
    cdef int i
    for i in range(types.count):
        if types.desc[i].symbol_n == n and memcmp(types.desc[i].symbol, p, n) == 0:
            return &types.desc[i]
    return NULL


cdef V1Desc* v1_known_slow(const V1Types* types, Cursor* c) noexcept nogil:
    """A descriptor in another form than a smallulong: known and stepped over, or NULL and untouched."""
    cdef Cursor at = c[0]
    cdef Fault none
    cdef V1Value v
    cdef V1Desc* d = NULL
    none.code = OK
    at.fault = &none
    memset(&v, 0, sizeof(v))
    if v1_read(&at, &v) < 0:
        return NULL
    if v.wire_type == V1_ULONG and v.u < 256:
        d = types.by_code[v.u]
    elif v.wire_type == V1_SYMBOL:
        d = v1_by_symbol(types, v.p, v.n)
    if d != NULL:
        c.p = at.p
    return d


cdef bint v1_names_choice(const V1Op* op, const uint8_t* p, size_t n) noexcept nogil:
    """Whether a symbol is the name of one of the field's choices."""
    cdef const char* s = op.symbols
    cdef size_t length
    while s[0]:
        length = strlen(s)
        if length == n and memcmp(s, p, n) == 0:
            return True
        s += length + 1
    return False


cdef int v1_check_restricted(const V1Desc* d, Cursor* c) noexcept nogil:
    """Whether the value of a restricted type, at the cursor, begins as one of its type; -1 with the
    fault noted."""
    cdef uint8_t wire_type = d.op[0].wire_type
    if wire_type == V1_ANY:
        return 0
    if AMQP_UNLIKELY(c.p >= c.end):
        return fail(c, BAD_TRUNCATED, b"constructor", 1, 0)
    if AMQP_UNLIKELY(CTOR_WIRE_TYPE[c.p[0]] != wire_type):
        return fail(c, V1_BAD_FIELD, V1_NAMES[wire_type], 0, c.p[0])
    return 0


@cython.final
cdef class V1DescTable:
    """Owns the descriptors; classes keep it alive."""

    def __cinit__(self, tuple specs not None):
        cdef int i
        self.keep = []
        self.types.count = <int>len(specs)
        self.types.desc = <V1Desc*>calloc(<size_t>self.types.count, sizeof(V1Desc))
        if self.types.desc == NULL:
            raise MemoryError
        for i in range(self.types.count):
            self.fill(&self.types.desc[i], specs[i])

    def __dealloc__(self):
        cdef int i
        if self.types.desc != NULL:
            for i in range(self.types.count):
                free(self.types.desc[i].op)
                free(self.types.desc[i].field)
            free(self.types.desc)

    cdef const char* text(self, str s) except NULL:
        cdef bytes b = s.encode()
        self.keep.append(b)
        return PyBytes_AS_STRING(b)

    cdef int fill(self, V1Desc* d, dict spec) except -1:
        cdef tuple fields = spec["fields"]
        cdef int i
        d.code = spec["code"]
        d.n = <int>len(fields)
        if d.n > V1_MAX_FIELDS:
            raise ValueError(f"{spec['name']}: {d.n} fields, at most {V1_MAX_FIELDS} can be handled")
        d.composite = spec["composite"]
        d.section = "section" in spec["provides"]
        d.frame = (V1_AMQP_FRAME if "frame" in spec["provides"]
                   else V1_SASL_FRAME if "sasl-frame" in spec["provides"] else V1_NO_FRAME)
        d.payload = d.n if d.frame == V1_AMQP_FRAME else -1
        d.symbol = self.text(spec["symbol"])
        d.symbol_n = <uint8_t>len(spec["symbol"])
        d.name = self.text(spec["name"])
        d.op = <V1Op*>calloc(<size_t>max(d.n, 1), sizeof(V1Op))
        d.field = <const char**>calloc(<size_t>max(d.n, 1), sizeof(char*))
        if d.op == NULL or d.field == NULL:
            raise MemoryError
        for i in range(d.n):
            name, wire_type, flags = fields[i][:3]
            d.field[i] = self.text(name)
            d.op[i].wire_type = wire_type
            d.op[i].mandatory = (flags & V1_FIELD_MANDATORY) != 0
            if d.op[i].mandatory and d.composite:
                d.mandatory = i + 1
            d.op[i].multiple = (flags & V1_FIELD_MULTIPLE) != 0
            d.op[i].fixed = not d.op[i].multiple and v1_is_number(wire_type)
            d.op[i].longest = V1_SHARED if flags & V1_FIELD_CACHED else 0
            d.op[i].secret = (flags & V1_FIELD_SECRET) != 0
            d.op[i].ulong = (flags & V1_FIELD_ULONG) != 0
            d.op[i].symbol_keys = wire_type == V1_MAP and fields[i][6] != "map"
            d.op[i].compact = V1_UNKNOWN
            if wire_type == V1_ANY:
                d.op[i].compact = V1_STRING
            elif fields[i][4] is None and (
                    d.op[i].fixed or not d.op[i].multiple and v1_is_variable(wire_type)):
                d.op[i].compact = wire_type
            requires = fields[i][5]
            self.keep.append(requires)
            d.op[i].requires = <PyObject*>requires
        self.types.by_code[d.code] = d
        return 0
