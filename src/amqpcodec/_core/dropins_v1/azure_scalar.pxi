# Drop-ins for AMQP 1.0: what azure-eventhub, azure-servicebus and rstream write. Types are exact, or
# the value is left to the client's own code, which knows what to do with it or what to raise.

cdef extern from "Python.h":
    int PyFloat_Pack4(double x, char* p, int le) except -1
    bint PyTuple_Check(object o)

cdef extern from *:
    """
    /* A NamedTuple that is read as any tuple is. */
    static int azure_plain_tuple(PyObject *o) {
        const PyTypeObject *t = Py_TYPE(o);
        return PyTuple_Check(o) && t->tp_iter == PyTuple_Type.tp_iter &&
               t->tp_as_sequence->sq_length == PyTuple_Type.tp_as_sequence->sq_length &&
               t->tp_as_mapping->mp_subscript == PyTuple_Type.tp_as_mapping->mp_subscript;
    }
    /* Subclasses of bytes, such as an enum of conditions, that count as bytes do. */
    static int azure_plain_bytes(PyObject *o) {
        return PyBytes_Check(o) && Py_TYPE(o)->tp_as_sequence->sq_length ==
                                       PyBytes_Type.tp_as_sequence->sq_length;
    }
    """
    bint azure_plain_tuple(object o)
    bint azure_plain_bytes(object o)
    Py_ssize_t azure_tuple_size "PyTuple_GET_SIZE"(object o)

# How a field is written, beside the types of AMQP.
cdef enum AzureWay:
    AZURE_FIELDS = 40
    AZURE_ANNOTATIONS
    AZURE_APPLICATION
    AZURE_FILTERS
    AZURE_NODE
    AZURE_MESSAGE_ID
    AZURE_OBJECT
    AZURE_UNKNOWN
    AZURE_ABSENT
    AZURE_LEFT
    AZURE_MULTIPLE = 64

cdef frozenset AZURE_UNWRITTEN = frozenset((V1_DECIMAL32, V1_DECIMAL64, V1_CHAR, V1_ANY, V1_COMPOSITE))

# Numbers for amqpcodec.compat.azure: of the types that have a writer here, and of the ways.
TYPES = {**{V1_NAMES[n].decode(): n for n in range(V1_ARRAY + 1) if azure_writes(n)}, "described": V1_DESCRIBED}
WAYS = {
    "fields": AZURE_FIELDS, "annotations": AZURE_ANNOTATIONS, "app_properties": AZURE_APPLICATION,
    "filter_set": AZURE_FILTERS, "node_properties": AZURE_NODE, "message_id": AZURE_MESSAGE_ID, "object": AZURE_OBJECT,
    "unknown": AZURE_UNKNOWN, "absent": AZURE_ABSENT, "left": AZURE_LEFT, "multiple": AZURE_MULTIPLE}


cdef bint azure_writes(int wire_type) noexcept:
    """Whether values of this type have a writer in azure_put_typed."""
    return 0 <= wire_type <= V1_DESCRIBED and wire_type not in AZURE_UNWRITTEN


cdef int azure_check_way(int way) except -1:
    if not (AZURE_FIELDS <= way <= AZURE_LEFT or azure_writes(way % AZURE_MULTIPLE)):
        raise ValueError(f"nothing here writes fields in the way {way}")
    return 0


cdef object AZURE_TYPE = _intern("TYPE")
cdef object AZURE_VALUE = _intern("VALUE")


@cython.final
cdef class AzureDefinition:
    """How a class's instances are written: its descriptor, and a way for each field."""

    cdef object cls_code, definition
    cdef int64_t code
    cdef bytes ways

    def __cinit__(self, code, definition, bytes ways not None):
        for way in ways:
            azure_check_way(way)
        self.cls_code = code
        self.definition = definition
        self.code = code
        self.ways = ways


cdef class AzureWriting:
    """A client's own way to write values, as its modules say it.

    types: numbers of its type names. define: makes an AzureDefinition of a class. decimal128: its
    own function, or None. wide_ints: an int beyond 32 bits is a long.
    """

    cdef dict types
    cdef dict definitions
    cdef object define
    cdef object decimal128
    cdef bint wide_ints
    cdef bint joins_data

    def __cinit__(self, *, dict types not None, define not None, decimal128, bint wide_ints,
                  bint joins_data):
        for name, number in types.items():
            if not azure_writes(number):
                raise ValueError(f"nothing here writes values of type {name!r}, number {number}")
        self.types = types
        self.definitions = {}
        self.define = define
        self.decimal128 = decimal128
        self.wide_ints = wide_ints
        self.joins_data = joins_data

    cdef AzureDefinition definition(self, object o):
        """Of the class of a NamedTuple; falls back on other objects."""
        cdef AzureDefinition found = self.definitions.get(type(o))
        if found is None:
            if not azure_plain_tuple(o) or len(self.definitions) > 1000:
                not_ours("unusual value")
            try:
                found = self.define(type(o))
            except (AttributeError, KeyError, TypeError):       # not a class of the client's
                not_ours("unusual value")
            self.definitions[type(o)] = found
        if (getattr(o, "_definition", self) is not found.definition
                or getattr(o, "_code", self) is not found.cls_code):
            not_ours("unusual value")
        return found


# ---- scalars ----

cdef int azure_put_int(Buffer* b, object v, uint8_t wire_type, V1Encoding encoding) except -1:
    """An int of a given type of integers."""
    cdef uint64_t u = 0
    cdef int32_t small = 0
    cdef bint fits
    if exact_small(<PyObject*>v, &small):
        u = <uint64_t><int64_t>small
        fits = v1_holds_int(wire_type, small)
    elif type(v) is int or v is True or v is False:
        fits = v1_load_int(v, wire_type, &u)
    else:
        fits = (wire_type != V1_LONG and plain_u64(<PyObject*>v, &u) and <int64_t>u >= 0
                and v1_holds_int(wire_type, <int64_t>u))
    if not fits:
        not_ours("unusual value")
    if u == 0 and (wire_type == V1_UINT or wire_type == V1_ULONG):
        encoding = V1_SMALLEST      # in arrays, too
    return azure_put_number(b, wire_type, u, encoding)


cdef inline int azure_put_number(Buffer* b, uint8_t wire_type, uint64_t u, V1Encoding encoding) except -1:
    buffer_commit(b, v1_store_number(buffer_reserve(b, V1_NUMBER_BYTES), wire_type, u, encoding))
    return 0


cdef int azure_put_moment(Buffer* b, object v, V1Encoding encoding, uint8_t wire_type) except -1:
    """Milliseconds since 1970: of a datetime in UTC or without a zone by way of a double, as the
    clients do."""
    cdef double ms
    cdef int64_t n
    cdef uint64_t whole = 0
    cdef Place at
    if type(v) is not Datetime:
        if wire_type == V1_LONG:
            return azure_put_int(b, v, wire_type, encoding)
        if type(v) is not int:
            not_ours("unusual value")
        place_begin(&at, NULL, NULL)
        try:
            v1_parse_int(v, V1_TIMESTAMP, &whole, &at)
        except ValueError:
            not_ours("unusual value")
    else:
        if v.tzinfo is None:
            v = v.replace(tzinfo=UTC)
        if v.tzinfo is not UTC:
            not_ours("unusual value")
        place_begin(&at, NULL, NULL)
        v1_parse_moment(v.replace(microsecond=0), &whole, &at)
        ms = <double><int64_t>whole + <double>PyDateTime_DATE_GET_MICROSECOND(v) / 1000.0
        n = <int64_t>ms
        if wire_type == V1_LONG:
            return azure_put_int(b, n, wire_type, encoding)
        whole = <uint64_t>n
    return azure_put_number(b, V1_TIMESTAMP, whole, encoding)


cdef int azure_put_run(Buffer* b, uint8_t wire_type, const uint8_t* p, uint64_t n, V1Encoding encoding) except -1:
    if n > MAX_U32:
        not_ours("unusual value")
    buffer_commit(b, v1_store_run(buffer_reserve(b, V1_RUN_BYTES + <size_t>n), wire_type, p, <size_t>n, encoding))
    return 0


cdef int azure_bytes(object v, Py_buffer* view) except -1:
    """Borrow the bytes of bytes, a bytearray or a view of bytes; falls back on anything else."""
    if type(v) is bytes or type(v) is bytearray:
        PyObject_GetBuffer(v, view, PyBUF_SIMPLE)
    elif not azure_view(v, view):
        not_ours("unusual value")
    return 0


cdef int azure_put_text(Buffer* b, object v, uint8_t wire_type, V1Encoding encoding) except -1:
    """Bytes, or text where a string or symbol is due."""
    cdef const uint8_t* p = NULL
    cdef Py_ssize_t n = 0
    cdef Py_buffer view
    if wire_type != V1_BINARY and utf8_bytes(<PyObject*>v, &p, &n):
        return azure_put_run(b, wire_type, p, <uint64_t>n, encoding)
    if azure_plain_bytes(v):
        return azure_put_run(b, wire_type, <const uint8_t*>PyBytes_AS_STRING(v),
                             <uint64_t>PyBytes_GET_SIZE(v), encoding)
    azure_bytes(v, &view)
    try:
        return azure_put_run(b, wire_type, <const uint8_t*>view.buf, <uint64_t>view.len, encoding)
    finally:
        PyBuffer_Release(&view)


cdef int azure_put_decimal(AzureWriting w, Buffer* b, object v, V1Encoding encoding) except -1:
    """By the client's own function: its exponents are its own."""
    cdef bytearray out = bytearray()
    if w.decimal128 is None:
        not_ours("unusual value")
    try:
        w.decimal128(out, v, with_constructor=encoding != V1_BARE)
    except Exception:       # the client's own, which it raises once more
        not_ours("unusual value")
    return put_bytes(b, PyByteArray_AS_STRING(out), <size_t>len(out))


cdef int azure_put_uuid(Buffer* b, object v, V1Encoding encoding) except -1:
    if encoding != V1_BARE:
        put_byte(b, CTOR_UUID)
    if type(v) is UUID:
        return v1_put_uuid_bytes(b, v)
    if type(v) is not bytes or PyBytes_GET_SIZE(v) != 16:
        not_ours("unusual value")
    return put_bytes(b, PyBytes_AS_STRING(v), 16)
