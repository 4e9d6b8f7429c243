# Drop-ins for AMQP 1.0: what azure-eventhub, azure-servicebus and rstream make of bytes. They rely
# on counts alone and never look at a size, take what is there where the bytes of a string end too
# soon, and give bytes for every type of text. So does this.

from cpython.buffer cimport PyBUF_FULL_RO
from struct import error as _struct_error

cdef extern from "Python.h":
    double PyFloat_Unpack4(const char* p, int le) except? -1.0
    object PyMemoryView_FromObject(object o)
    object PySequence_GetSlice(object o, Py_ssize_t low, Py_ssize_t high)
    object PyType_GenericAlloc(PyTypeObject* t, Py_ssize_t n)
    void azure_fill "PyTuple_SET_ITEM"(object o, Py_ssize_t i, PyObject* v)
    PyObject* azure_item "PyList_GET_ITEM"(object o, Py_ssize_t i)

cdef extern from *:
    """
    #include "wire/python.h"
    /* Levels of values are counted apart from Python's frames: what is called at the deepest one, an
     * exception's class too, finds as many frames left as in the client, whose levels are frames.
     * Python's limit allows as many levels; from CPython 3.12 on its limit of C code does, too. At
     * most AZURE_LEVELS, whatever a user sets: a stack holds no more. */
    #define AZURE_LEVELS 4000
    static PYTHON_THREAD_LOCAL int azure_levels;
    static void azure_leave(void) {
        azure_levels--;
        PYTHON_LEAVE_LEVEL();
    }
    static int azure_deeper(void) {
        int most = Py_GetRecursionLimit();
        if (PYTHON_ENTER_LEVEL(" in an AMQP value")) return -1;
        if (++azure_levels <= (most < AZURE_LEVELS ? most : AZURE_LEVELS)) return 0;
        azure_leave();
        PyErr_SetString(PyExc_RecursionError, "AMQP values are nested too deep");
        return -1;
    }
    """
    void azure_leave()
    int azure_deeper() except -1

cdef enum:
    AZURE_FIRST_SECTION = 112
    AZURE_DATA = 117
    AZURE_SEQUENCE = 118
    AZURE_SECTIONS = 9
    AZURE_TRANSFER = 20


@cython.final
cdef class AzureTuple:
    """A client's NamedTuple whose fields are None where they are not given. name: what its module
    calls it; names: that module's dict."""

    cdef readonly type cls
    cdef str name
    cdef dict names
    cdef Py_ssize_t n

    def __cinit__(self, dict names not None, str name not None):
        cdef object cls = names[name]
        if (cls.__mro__ != (cls, tuple, object) or "__init__" in vars(cls)
                or set(cls._field_defaults) != set(cls._fields)
                or any([value is not None for value in cls._field_defaults.values()])):
            raise TypeError(f"{name} is not the tuple that it was")
        self.cls = cls
        self.name = name
        self.names = names
        self.n = len(cls._fields)

    cdef object make(self, object values):
        """As cls(*values)."""
        cdef PyObject* found = PyDict_GetItem(self.names, self.name)
        cdef object made
        cdef Py_ssize_t i, n
        if type(values) is not list or found != <PyObject*>self.cls or len(<list>values) > self.n:
            return (<object>found)(*values)
        n = len(<list>values)
        made = PyType_GenericAlloc(<PyTypeObject*>self.cls, self.n)
        for i in range(self.n):
            azure_fill(made, i, Py_NewRef(azure_item(values, i) if i < n else Py_None))
        return made


cdef class AzureReading:
    """A client's own way with bytes, as its modules say it.

    deepest, most: levels and items of a compound it takes at most, 0 for no limit. wrappers: what
    it calls with a described value, by constructor. states: names of delivery states, by
    descriptor. absent: values of a performative's fields that are not there, by its code; or None.
    decimal128: its own function, or None. classes: Message, Header and Properties.
    """

    cdef int deepest
    cdef uint32_t most
    cdef dict wrappers
    cdef dict states
    cdef dict absent
    cdef object decimal128
    cdef AzureTuple message, header, properties
    cdef bint joins_data        # a list of data sections; else the last one

    def __cinit__(self, *, int deepest, uint32_t most, dict wrappers, dict states not None,
                  dict absent, decimal128, tuple classes not None):
        cdef AzureTuple message, header, properties
        message, header, properties = classes
        sections = ("header", "delivery_annotations", "message_annotations", "properties",
                    "application_properties", "data", "sequence", "value", "footer")
        fields = message.cls._fields
        if fields != sections and fields != (*sections[:5], "body", *sections[6:]):
            raise TypeError(f"Message has other fields: {', '.join(fields)}")
        self.deepest = deepest
        self.most = most
        self.wrappers = wrappers
        self.states = states
        self.absent = absent
        self.decimal128 = decimal128
        self.message = message
        self.header = header
        self.properties = properties
        self.joins_data = fields == sections


cdef struct AzureReader:
    const uint8_t* p
    const uint8_t* end
    uint64_t claimed            # items that counts spoke of
    uint32_t empty              # items of arrays that had no bytes


cdef bint azure_view(object v, Py_buffer* view) except -1:
    """Borrow the bytes of a memoryview whose items are bytes, as the clients have them; what else
    is given is left to their own code."""
    if type(v) is not memoryview:
        return False
    PyObject_GetBuffer(v, view, PyBUF_FULL_RO)
    if (view.ndim == 1 and view.itemsize == 1 and view.strides[0] == 1 and view.format != NULL
            and view.format[0] == c"B" and view.format[1] == 0):
        return True
    PyBuffer_Release(view)
    return False


# ---- what the clients raise ----

cdef object azure_ended():
    raise IndexError("index out of bounds on dimension 1")


cdef object azure_short(int n):
    raise _struct_error(f"unpack requires a buffer of {n} bytes")


cdef object azure_refused(str text):
    raise ValueError(text)


cdef object azure_unreadable():
    """No function of the client's reads this type."""
    raise TypeError("'NoneType' object is not callable")


# ---- values ----

cdef inline uint8_t azure_byte(AzureReader* r) except? 0xFF:
    """The byte at the cursor, which steps over it."""
    if AMQP_UNLIKELY(r.p >= r.end):
        azure_ended()
    r.p += 1
    return (r.p - 1)[0]


cdef inline object azure_value(AzureReading d, AzureReader* r, int depth):
    """A constructor and what is after it. depth: levels that are open around it."""
    return azure_content(d, r, azure_byte(r), depth)


cdef object azure_content(AzureReading d, AzureReader* r, uint8_t code, int depth):
    """What is after a constructor; the cursor is after it then."""
    cdef const uint8_t* p = r.p
    cdef size_t left = <size_t>(r.end - p)
    cdef size_t n
    cdef uint8_t wire_type = CTOR_WIRE_TYPE[code]
    if AMQP_LIKELY(v1_is_variable(wire_type)):
        if CTOR_WIDTH[code] == 1:
            if left < 1:
                azure_ended()
            n = p[0]
            p += 1
        else:
            if left < 4:
                azure_short(4)
            n = load32(p)
            p += 4
        n = min(n, <size_t>(r.end - p))
        r.p = p + n
        return PyBytes_FromStringAndSize(<const char*>p, <Py_ssize_t>n)
    if wire_type == V1_NULL:
        return None
    if wire_type >= V1_LIST:
        if wire_type == V1_UNKNOWN:
            azure_unreadable()
        return azure_nested(d, r, code, depth + 1)
    return azure_scalar(d, r, code, <V1Type>wire_type)


cdef object azure_scalar(AzureReading d, AzureReader* r, uint8_t code, V1Type wire_type):
    cdef size_t n = CTOR_WIDTH[code]
    if n == 0:
        return code == CTOR_TRUE if wire_type == V1_BOOLEAN else 0
    if wire_type == V1_UBYTE or wire_type == V1_USHORT or wire_type == V1_UINT or wire_type == V1_ULONG:
        if n == 1:
            return azure_byte(r)
        return PyLong_FromUnsignedLongLong(azure_number(azure_fixed(r, n), n))
    elif (wire_type == V1_BYTE or wire_type == V1_SHORT or wire_type == V1_INT or wire_type == V1_LONG
            or wire_type == V1_TIMESTAMP):
        return PyLong_FromLongLong(<int64_t>(azure_number(azure_fixed(r, n), n) << (64 - 8 * n)) >> (64 - 8 * n))
    elif wire_type == V1_BOOLEAN:
        return r.p < r.end and azure_byte(r) == 1
    elif wire_type == V1_FLOAT:
        return PyFloat_Unpack4(<const char*>azure_fixed(r, 4), 0)
    elif wire_type == V1_DOUBLE:
        return bits_to_double(load64(azure_fixed(r, 8)))
    elif wire_type == V1_UUID:
        if r.end - r.p < 16:
            azure_refused("bytes is not a 16-char string")
        return v1_read_uuid(azure_fixed(r, 16))
    elif wire_type == V1_DECIMAL128:
        return azure_decimal(d, r)
    elif wire_type == V1_CHAR or wire_type == V1_DECIMAL32 or wire_type == V1_DECIMAL64 or wire_type == V1_UNKNOWN:
        return azure_unreadable()
    elif (wire_type == V1_NULL or wire_type == V1_BINARY or wire_type == V1_STRING or wire_type == V1_SYMBOL
            or wire_type == V1_LIST or wire_type == V1_MAP or wire_type == V1_ARRAY or wire_type == V1_DESCRIBED
            or wire_type == V1_ANY or wire_type == V1_COMPOSITE):
        pass
    raise SystemError("no number of AMQP 1.0")


cdef inline const uint8_t* azure_fixed(AzureReader* r, size_t n) except NULL:
    """The n bytes of a number; the cursor is after them."""
    if AMQP_UNLIKELY(<size_t>(r.end - r.p) < n):
        azure_short(<int>n)
    r.p += n
    return r.p - n


cdef inline uint64_t azure_number(const uint8_t* p, size_t n) noexcept:
    if n == 1:
        return p[0]
    if n == 2:
        return load16(p)
    return load32(p) if n == 4 else load64(p)


cdef object azure_decimal(AzureReading d, AzureReader* r):
    """By the client's own function: how it reads an exponent is its own, too."""
    cdef Py_ssize_t left = min(r.end - r.p, 16)
    if d.decimal128 is None:
        azure_unreadable()
    raw = PyBytes_FromStringAndSize(<const char*>r.p, left)
    _, made = d.decimal128(PyMemoryView_FromObject(raw))
    r.p += left
    return made


cdef object azure_nested(AzureReading d, AzureReader* r, uint8_t code, int depth):
    """A compound or a described value."""
    if AMQP_UNLIKELY(d.deepest and depth > d.deepest):
        azure_refused(f"AMQP value nesting exceeds maximum depth of {d.deepest}")
    if code == CTOR_LIST0:
        return []
    azure_deeper()
    try:
        return azure_described(d, r, depth) if code == 0 else azure_compound(d, r, code, depth)
    finally:
        azure_leave()


cdef object azure_compound(AzureReading d, AzureReader* r, uint8_t code, int depth):
    cdef uint32_t i, count
    cdef dict pairs
    cdef list items
    cdef size_t left = <size_t>(r.end - r.p)
    if CTOR_WIDTH[code] == 4:
        if left < 8:
            azure_short(4)
        count = load32(r.p + 4)
        r.p += 8
        if d.most and count > d.most:
            azure_refused(f"AMQP element count {count} exceeds maximum {d.most}")
    else:
        if left < 2:
            azure_ended()
        count = r.p[1]
        r.p += 2
    r.claimed += count
    if code == CTOR_ARRAY8 or code == CTOR_ARRAY32:
        return azure_array(d, r, count, depth)
    if CTOR_WIRE_TYPE[code] == V1_LIST:
        items = []
        for i in range(count):
            items.append(azure_value(d, r, depth))
        return items
    if d.most and count & 1:
        azure_refused(f"AMQP map element count {count} must be even (key/value pairs)")
    pairs = {}
    for i in range(count // 2):
        key = azure_value(d, r, depth)
        pairs[key] = azure_value(d, r, depth)
    return pairs


cdef object azure_array(AzureReading d, AzureReader* r, uint32_t count, int depth):
    cdef list items = []
    cdef object descriptor = None
    cdef const uint8_t* before
    cdef uint8_t code
    cdef uint32_t i
    cdef bint described
    if not count:
        return items
    code = azure_byte(r)
    described = code == 0 and d.wrappers is not None
    if described:
        descriptor = azure_value(d, r, depth)
        code = azure_byte(r)
    for i in range(count):
        before = r.p
        if described:
            if d.deepest and depth >= d.deepest:
                azure_refused(f"AMQP value nesting exceeds maximum depth of {d.deepest}")
            items.append(azure_named(d, descriptor, code, azure_content(d, r, code, depth + 1)))
        else:
            items.append(azure_content(d, r, code, depth))
        if AMQP_UNLIKELY(r.p == before):
            r.empty += 1
            if r.empty > V1_EMPTY_LIMIT:
                # The one thing that the clients take and this does not: bytes say how many.
                r.claimed = MAX_U32 + 1
                azure_refused(f"more than {V1_EMPTY_LIMIT} elements without bytes")
    return items


cdef object azure_described(AzureReading d, AzureReader* r, int depth):
    cdef object descriptor = azure_value(d, r, depth)
    cdef uint8_t code = azure_byte(r)
    return azure_named(d, descriptor, code, azure_content(d, r, code, depth))


cdef object azure_named(AzureReading d, object descriptor, uint8_t code, object value):
    """What a client makes of a described value: a delivery state is a dict of one entry."""
    cdef object wrapper, name
    if d.wrappers is not None:
        wrapper = d.wrappers.get(code)
        if wrapper is not None:
            value = wrapper(value, descriptor=descriptor)
    name = d.states.get(descriptor)
    return value if name is None else {name: value}


# ---- frames and messages ----

cdef object azure_read_frame(AzureReading d, AzureReader* r, object data):
    """(code, fields) of a performative; a transfer's fields end with a view of its payload."""
    cdef const uint8_t* start = r.p
    cdef Py_ssize_t size = r.end - r.p
    cdef int64_t i, count
    cdef list fields = []
    cdef list absent = None
    cdef uint8_t code
    if size < 4:
        azure_ended()
    code = start[2]
    if start[3] == CTOR_LIST32:
        if size < 12:
            azure_short(4)
        count = load32(start + 8)
        r.p += 12
        if not d.most:
            count = <int32_t>count
        elif count > d.most:
            azure_refused(f"AMQP frame field count {count} exceeds maximum {d.most}")
    elif start[3] == CTOR_LIST0 and d.absent is not None:
        count = 0
        r.p += 4
    else:
        if size < 6:
            azure_ended()
        count = start[5]
        r.p += 6
    if count > 0:
        r.claimed += <uint64_t>count
    for i in range(count):
        fields.append(azure_value(d, r, 0))
    if d.absent is not None:
        absent = d.absent.get(code)
    if absent is not None:
        fields.extend(absent[len(fields):])
        for i in range(len(absent)):
            if fields[i] is None:
                fields[i] = absent[i]
    if code == AZURE_TRANSFER:
        fields.append(PySequence_GetSlice(data, r.p - start, size))
    return code, fields


cdef object azure_read_message(AzureReading d, AzureReader* r):
    cdef list sections = [None] * AZURE_SECTIONS
    cdef object value
    cdef uint8_t code
    cdef int i
    while r.p < r.end:
        if r.end - r.p < 4:
            azure_ended()
        code = r.p[2]
        r.p += 3
        value = azure_value(d, r, 0)
        i = code - AZURE_FIRST_SECTION
        if not 0 <= i < AZURE_SECTIONS:
            continue
        if i == 0:
            value = d.header.make(value)
        elif i == 3:
            value = d.properties.make(value)
        elif code == AZURE_SEQUENCE or (code == AZURE_DATA and d.joins_data):
            if sections[i] is not None:
                (<list>sections[i]).append(value)
                continue
            value = [value]
        sections[i] = value
    return d.message.make(sections)
