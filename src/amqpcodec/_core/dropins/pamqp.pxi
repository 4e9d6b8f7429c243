# pamqp: methods stand for themselves, content headers and bodies have classes of their own.

# What pamqp checks before it writes a method. Names in CHECKS; what does not pass is left to it.
cdef enum:
    CHECK_NOTHING = 0
    CHECK_DEFAULT           # 0, False, "" or None, whichever a new instance has
    CHECK_NAME              # at most 127 of the characters that names have
    CHECK_LONG_NAME         # at most 255

cdef dict CHECKS = {
    "": CHECK_NOTHING, "default": CHECK_DEFAULT, "name": CHECK_NAME, "long name": CHECK_LONG_NAME,
}

@cython.final
cdef class CheckedMethod:
    """A method of pamqp and what its `validate` asks, field by field (names of CHECKS).

    defaults: the values of a new instance. name_table: one byte for each of 256, not 0 if names
    may have it.
    """

    cdef BoundMethod method
    cdef tuple defaults
    cdef uint8_t check[MAX_FIELDS]
    cdef bytes name_table               # 256 bytes: whether names may have each; methods share it
    cdef const uint8_t* name_byte       # of name_table

    def __cinit__(self, BoundMethod method not None, tuple checks not None, tuple defaults not None,
                  bytes name_table not None):
        cdef int i
        if len(name_table) != 256:
            raise ValueError("the table of names' bytes has not 256 entries")
        self.name_table = name_table
        self.name_byte = <const uint8_t*><const char*>name_table
        self.method = method
        self.defaults = defaults
        memset(self.check, CHECK_NOTHING, MAX_FIELDS)
        for i in range(method.desc.n):
            self.check[i] = CHECKS[checks[i]]

    cdef int passes(self, PyObject** values) except -1:
        """Falls back unless pamqp's own check is sure to find nothing."""
        cdef int i
        cdef Py_ssize_t n = 0, k
        cdef const uint8_t* p = NULL
        for i in range(self.method.desc.n):
            if self.check[i] == CHECK_NOTHING or values[i] == Py_None:
                continue
            if self.check[i] == CHECK_DEFAULT:
                value = <object>values[i]
                default = self.defaults[i]
                if type(value) is not type(default) or value != default:
                    not_ours("unusual value")
                continue
            if (not ascii_bytes(values[i], &p, &n)
                    or n > (127 if self.check[i] == CHECK_NAME else 255)):
                not_ours("unusual value")
            for k in range(n):
                if not self.name_byte[p[k]]:
                    not_ours("unusual value")
        return 0


@cython.final
cdef class PamqpCodec(DropIn):
    """What `pamqp.frame`, `pamqp.encode` and `pamqp.decode` do.

    deprecated: the profile while support_deprecated_rabbitmq() is on.
    checks: of the methods, in their order. properties: of Basic.Properties.
    classes: the bound classes of ContentHeader, ContentBody and Heartbeat. encode, exceptions:
    modules of pamqp.
    """

    cdef ClientProfile deprecated
    cdef dict checked                   # class -> CheckedMethod
    cdef BoundMethod properties
    cdef BoundClass header, body, heartbeat
    cdef dict encode_names, exception_names

    def __cinit__(self, ClientBinding binding not None, ClientProfile deprecated not None, list checks not None,
                  BoundMethod properties not None, tuple classes not None, object encode not None,
                  object exceptions not None):
        cdef CheckedMethod each
        self.set_up(binding)
        self.deprecated = deprecated
        self.checked = {}
        for each in checks:
            self.checked[each.method.cls.cls] = each
        self.properties = properties
        self.header, self.body, self.heartbeat = classes
        self.encode_names = vars(encode)
        self.exception_names = vars(exceptions)

    # ---- frames ----

    def unmarshal(self, data_in):
        """As pamqp.frame.unmarshal: (bytes consumed, channel, frame)."""
        cdef WireFrame f
        cdef object missing = None
        self.calls += 1
        if type(data_in) is bytes:
            try:
                if whole_frame(<const uint8_t*>PyBytes_AS_STRING(data_in),
                               <size_t>PyBytes_GET_SIZE(data_in), &f):
                    frame = self.read(&f)
                    return <Py_ssize_t>f.total, f.channel, frame
                missing = self.missing(data_in)
            except Exception as error:
                self.remember(error)
            if missing is not None:
                raise missing
        return self.own("unmarshal")(data_in)

    cdef object missing(self, object data):
        """What pamqp raises for the beginning of a frame, which is how its users learn to wait."""
        cdef const uint8_t* p = <const uint8_t*>PyBytes_AS_STRING(data)
        if PyBytes_GET_SIZE(data) < 7:
            text = "No frame size"
        elif load32(p + 3) == 0:
            not_ours("unusual value")
        else:
            text = "Not all data received"
        return self.exception_names["UnmarshalingException"]("Unknown", text)

    cdef object read(self, const WireFrame* f):
        cdef PyObject* out[4]
        cdef object inner
        cdef BoundMethod m
        if f.type == FRAME_HEARTBEAT:
            if f.size:
                not_ours("unusual bytes")
            return self.heartbeat.make_of_new(out)
        if f.type == FRAME_METHOD:
            if f.size < 4:
                not_ours("unusual bytes")
            self.may_read()
            m = self.find(load32(f.payload))
            return read_bound(self.profile, m, f.payload + 4, f.size - 4, False, self.lenient,
                              ONE_SHOT_CACHE)
        if f.type == FRAME_HEADER:
            if f.size < 12:
                not_ours("unusual bytes")
            self.may_read()
            inner = read_bound(self.profile, self.properties, f.payload + 12, f.size - 12, True,
                               self.lenient, ONE_SHOT_CACHE)
            out[0] = PyLong_FromU64(load16(f.payload))
            out[1] = PyLong_FromU64(load16(f.payload + 2))
            out[2] = PyLong_FromU64(load64(f.payload + 4))
            out[3] = Py_NewRef(<PyObject*>inner)
            return self.header.make_of_new(out)
        if f.size == 0:
            not_ours("unusual bytes")
        out[0] = PyBytes_FromPointer(<const char*>f.payload, f.size)
        return self.body.make_of_new(out)

    def marshal(self, frame_value, channel_id):
        """As pamqp.frame.marshal: the frame's bytes."""
        cdef PyTypeObject* cls = Py_TYPE(<PyObject*>frame_value)
        cdef uint16_t channel
        self.calls += 1
        try:
            if cls == self.heartbeat.type:
                if self.heartbeat.may_take():
                    return b"\x08\0\0\0\0\0\0\xce"
                not_ours("unusual value")
            channel = channel_number(<PyObject*>channel_id)
            if cls == self.body.type:
                return self.write_body(frame_value, channel)
            self.may_write()
            if cls == self.header.type:
                return self.write_header(frame_value, channel)
            return self.write_method(frame_value, channel)
        except Exception as error:
            self.remember(error)
        return self.own("marshal")(frame_value, channel_id)

    cdef ClientProfile now(self):
        """The profile that pamqp's switch for old brokers asks for."""
        cdef PyObject* flag = dict_item(self.encode_names, "DEPRECATED_RABBITMQ_SUPPORT")
        if flag == Py_False:
            return self.profile
        if flag != Py_True:
            not_ours("unusual value")
        return self.deprecated

    cdef object write_method(self, object frame, uint16_t channel):
        cdef PyObject* values[MAX_FIELDS]
        cdef PyObject* found = dict_item(self.checked, <object>Py_TYPE(<PyObject*>frame))
        cdef BoundMethod m
        cdef Buffer b
        cdef uint8_t memory[STACK_ROOM]
        if found == NULL:
            not_ours("unusual value")
        m = (<CheckedMethod>found).method
        if not m.cls.may_take():
            not_ours("client changed")
        m.cls.adopt(<PyObject*>frame, values)
        buffer_init(&b, memory, sizeof(memory))
        try:
            begin_frame(&b)
            (<CheckedMethod>found).passes(values)
            store32(buffer_extend(&b, 4), m.key)
            put_bound_arguments(&b, self.now(), m, values, m.desc.n)
            return end_frame(&b, FRAME_METHOD, channel)
        finally:
            values_drop(values, m.desc.n)
            buffer_free(&b)

    cdef object write_header(self, object frame, uint16_t channel):
        cdef PyObject* values[4]
        cdef uint64_t size = 0
        if not self.header.may_take():
            not_ours("client changed")
        self.header.adopt(<PyObject*>frame, values)
        try:
            if not exact_u64(values[2], &size):
                not_ours("unusual value")
            return bound_header_frame(self.now(), self.properties, size, values[3], channel)
        finally:
            values_drop(values, 4)

    cdef object write_body(self, object frame, uint16_t channel):
        cdef PyObject* values[1]
        if not self.body.may_take():
            not_ours("client changed")
        self.body.adopt(<PyObject*>frame, values)
        try:
            if type(<object>values[0]) is not bytes:
                not_ours("unusual value")
            return body_frame(PyBytes_AS_STRING(<object>values[0]),
                              PyBytes_GET_SIZE(<object>values[0]), channel)
        finally:
            values_drop(values, 1)

    # ---- pamqp.decode and pamqp.encode ----

    cdef object read_one(self, Conversion conversion, Form form, object value):
        """(bytes consumed, value) from the beginning of exact bytes; NotImplemented to fall back."""
        cdef const uint8_t* p
        cdef int shape = shape_of(conversion, form)
        cdef size_t left, head = 0 if shape >= 0 else 1 if shape == SHAPE_SHORT else 4
        cdef Py_ssize_t size
        cdef uint32_t n
        self.calls += 1
        if type(value) is not bytes:
            return NotImplemented
        p = <const uint8_t*>PyBytes_AS_STRING(value)
        left = <size_t>PyBytes_GET_SIZE(value)
        try:
            self.may_read()
            if conversion == READ_NOTHING:      # a value with its tag
                if left == 0:
                    return NotImplemented
                found, n = read_value_at(self.profile, value, 0)
                return n, found
            if left < head:
                return NotImplemented
            n = <uint32_t>shape if head == 0 else p[0] if head == 1 else load32(p)
            if left - head < n:
                return NotImplemented
            size = <Py_ssize_t>head + n
            if conversion == READ_SHORT_TEXT:
                return size, bound_text(self.profile, p + 1, n, True, ONE_SHOT_CACHE)
            if conversion == READ_TABLE:
                return size, read_profile_table(self.profile, p + 4, n, self.lenient, ONE_SHOT_CACHE)
            if conversion == READ_ARRAY and not profile_checked(self.profile, p + 4, n, 1, False):
                return NotImplemented
            return size, profile_content(self.profile, conversion, form, p, ONE_SHOT_CACHE)
        except Exception as error:
            self.remember(error)
            return NotImplemented

    cdef object write_one(self, int what, object value):
        """Bytes of a value in one form of WRITE_FORMS; NotImplemented to fall back."""
        cdef Buffer b
        cdef uint8_t memory[STACK_ROOM]
        cdef int skip = 1
        self.calls += 1
        buffer_init(&b, memory, sizeof(memory))
        try:
            self.may_write()
            if what == WRITE_TAGGED:
                skip = 0
                put_profile_value(&b, self.now(), value, 0)
            elif what < RANGES:
                put_ranged(&b, what, value)
                skip = 0
            elif what == WRITE_TABLE:
                skip = 0
                put_bound_table(&b, self.now(), <PyObject*>value)
            elif what == WRITE_SHORT_TEXT:
                skip = 0
                put_short_text(&b, self.profile, <PyObject*>value)
            elif what == WRITE_DOUBLE:
                if type(value) is not float:
                    return NotImplemented
                put_tagged(&b, FORM_double, 0, double_to_bits(PyFloat_AS_DOUBLE(value)), 0)
            elif what == WRITE_INT_TAGGED:
                if type(value) is not int:
                    return NotImplemented
                skip = 0
                profile_int(&b, self.now(), value)
            else:
                if type(value) is not WRITE_CLASSES[what]:
                    return NotImplemented
                put_profile_value(&b, self.now(), value, 0)
            return PyBytes_FromStringAndSize(<const char*>b.start + skip, <Py_ssize_t>buffer_size(&b) - skip)
        except Exception as error:
            self.remember(error)
            return NotImplemented
        finally:
            buffer_free(&b)


# ---- forms of one value ----

cdef enum:
    WRITE_TAGGED = RANGES   # any value, with its tag; below are the ranges of put_ranged
    WRITE_INT_TAGGED
    WRITE_TABLE
    WRITE_SHORT_TEXT
    WRITE_DOUBLE
    WRITE_BOOL              # and on: as in a table, without the tag
    WRITE_TEXT
    WRITE_BYTEARRAY
    WRITE_FLOAT
    WRITE_DECIMAL
    WRITE_TIME
    WRITE_ARRAY

cdef dict WRITE_CLASSES = {
    WRITE_BOOL: bool, WRITE_TEXT: str, WRITE_BYTEARRAY: bytearray, WRITE_FLOAT: float,
    WRITE_DECIMAL: Decimal, WRITE_TIME: Datetime, WRITE_ARRAY: list,
}
cdef dict WRITE_FORMS = {
    "octet": RANGE_U8, "short_int": RANGE_I16, "short_uint": RANGE_U16, "long_int": RANGE_I32,
    "long_uint": RANGE_U32, "long_long_int": RANGE_I64, "encode_table_value": WRITE_TAGGED,
    "table_integer": WRITE_INT_TAGGED, "field_table": WRITE_TABLE, "short_string": WRITE_SHORT_TEXT,
    "double": WRITE_DOUBLE, "boolean": WRITE_BOOL, "long_string": WRITE_TEXT,
    "byte_array": WRITE_BYTEARRAY, "floating_point": WRITE_FLOAT, "decimal": WRITE_DECIMAL,
    "timestamp": WRITE_TIME, "field_array": WRITE_ARRAY,
}
def pamqp_reader(PamqpCodec codec not None, str name not None, str conversion, stock not None):
    """A function of pamqp.decode: bytes to (bytes consumed, value).

    conversion: of the values that profiles know; None: a tag says it.
    """
    cdef Conversion read = READ_NOTHING
    cdef Form form = FORM_void
    if conversion is not None:
        read, form = CONVERSIONS[conversion]

    @cython.binding(True)
    def reader(value):
        found = codec.read_one(read, form, value)
        if found is NotImplemented:
            codec.fell_back()
            return stock(value)
        return found
    reader.__name__ = name
    return reader


def pamqp_writer(PamqpCodec codec not None, str name not None, stock not None):
    """A function of pamqp.encode: a value to its bytes."""
    cdef int what = WRITE_FORMS[name]

    @cython.binding(True)
    def writer(value):
        raw = codec.write_one(what, value)
        if raw is NotImplemented:
            codec.fell_back()
            return stock(value)
        return raw
    writer.__name__ = name
    return writer
