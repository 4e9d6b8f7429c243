# Drop-ins: what all of them share. The fast path first, the client's own function where that falls back.

cdef enum:
    KEY_SLOTS = 256         # more than twice the methods of any client


@cython.final
cdef class ClientBinding:
    """What a drop-in rests on, whatever the client.

    stock: name -> the client's own function. reading, writing: what both ways rest on beside the
    classes. methods: those that are bound. lenient: RawValue for what cannot be read in a table.
    """

    cdef ClientProfile profile
    cdef dict stock
    cdef Guard reading, writing
    cdef list methods
    cdef bint lenient

    def __cinit__(self, ClientProfile profile not None, dict stock not None, Guard reading not None,
                  Guard writing not None, list methods not None, bint lenient):
        self.profile = profile
        self.stock = stock
        self.reading = reading
        self.writing = writing
        self.methods = methods
        self.lenient = lenient


cdef class DropIn(Fallbacks):
    """Calls, classes and stock functions of one client: see ClientBinding."""

    cdef readonly ClientProfile profile
    cdef public bint lenient            # RawValue for what cannot be read in a table
    cdef dict stock
    cdef Guard reading, writing
    cdef dict by_type
    cdef list methods
    cdef PyObject* by_key[KEY_SLOTS]

    def __cinit__(self):
        if type(self) is DropIn:
            raise TypeError("DropIn is abstract")

    cdef int set_up(self, ClientBinding binding) except -1:
        """Called by each codec's __cinit__, so that none is without what its methods rest on."""
        cdef BoundMethod m
        cdef uint32_t i
        cdef list methods = list(binding.methods)
        self.profile = binding.profile
        self.lenient = binding.lenient
        self.stock = binding.stock
        self.reading = binding.reading
        self.writing = binding.writing
        self.methods = methods
        self.by_type = {}
        memset(self.by_key, 0, sizeof(self.by_key))
        if len(methods) > KEY_SLOTS // 2:
            raise ValueError(f"{len(methods)} methods, at most {KEY_SLOTS // 2} can be bound")
        for m in methods:
            self.by_type[m.cls.cls] = m
            i = slot_index(m.key) & (KEY_SLOTS - 1)
            while self.by_key[i] != NULL:
                i = (i + 1) & (KEY_SLOTS - 1)
            self.by_key[i] = <PyObject*>m
        return 0

    cdef inline BoundMethod find(self, uint32_t key):
        """The method of this key; falls back where there is none."""
        cdef uint32_t i = slot_index(key) & (KEY_SLOTS - 1)
        while self.by_key[i] != NULL:
            if (<BoundMethod>self.by_key[i]).key == key:
                return <BoundMethod>self.by_key[i]
            i = (i + 1) & (KEY_SLOTS - 1)
        not_ours("unusual value")

    cdef inline BoundMethod bound(self, PyObject* o):
        """The method that an object is an instance of, exactly; falls back on any other."""
        cdef PyObject* found = dict_item(self.by_type, <object>Py_TYPE(o))
        if AMQP_UNLIKELY(found == NULL):
            not_ours("unusual value")
        return <BoundMethod>found

    cdef inline int may_read(self) except -1:
        """Falls back where something changed that reading rests on."""
        if AMQP_UNLIKELY(not watch_same(&self.reading.watch)):
            not_ours("client changed")
        return 0

    cdef inline int may_write(self) except -1:
        """The same of writing."""
        if AMQP_UNLIKELY(not watch_same(&self.writing.watch)):
            not_ours("client changed")
        return 0

    cdef object own(self, str name):
        """The client's own function, because the fast path fell back."""
        self.fell_back()
        return self.stock[name]

    cdef object read_at(self, str name, object encoded, object offset, bint table):
        """(a table or a value with its tag, offset after it). name: the client's own function."""
        self.calls += 1
        if type(encoded) is bytes and type(offset) is int:
            try:
                self.may_read()
                if table:
                    return read_table_at(self.profile, encoded, offset, self.lenient)
                return read_value_at(self.profile, encoded, offset)
            except Exception as error:
                self.remember(error)
        return self.own(name)(encoded, offset)

    cdef bytes item_bytes(self, object value, bint table):
        """The bytes of a table, or of a value with its tag; None where they are left to the client."""
        cdef Buffer b
        cdef uint8_t memory[STACK_ROOM]
        buffer_init(&b, memory, sizeof(memory))
        try:
            self.may_write()
            if table:
                put_bound_table(&b, self.profile, <PyObject*>value)
            else:
                put_profile_value(&b, self.profile, value, 0)
            return buffer_bytes(&b)
        except Exception as error:
            self.remember(error)
            return None
        finally:
            buffer_free(&b)

cdef inline bint whole_frame(const uint8_t* p, size_t left, WireFrame* f) except -1:
    """Whether a whole frame of a known type, with the right end, lies at p. False: more bytes are
    needed. Falls back on anything else."""
    cdef uint64_t total
    if left < 7:
        if left >= 4 and memcmp(p, <const char*>b"AMQP", 4) == 0:
            not_ours("unusual bytes")
        return False
    total = <uint64_t>load32(p + 3) + 8
    if AMQP_UNLIKELY(not is_known_type(p[0])):
        not_ours("unusual bytes")
    if left < total:
        return False
    if AMQP_UNLIKELY(p[total - 1] != FRAME_END):
        not_ours("unusual bytes")
    set_frame(f, p, total)
    return True


cdef inline uint16_t channel_number(PyObject* o) except? 0xFFFF:
    cdef uint64_t u = 0
    if not exact_u64(o, &u) or u > 0xFFFF:
        not_ours("unusual value")
    return <uint16_t>u


cdef inline int begin_frame(Buffer* b) except -1:
    """Leave the seven bytes before a payload open; end_frame fills them in."""
    buffer_extend(b, 7)
    return 0


cdef object end_frame(Buffer* b, uint8_t frame_type, uint16_t channel):
    """The frame whose payload was put after the seven bytes."""
    cdef uint64_t n = buffer_size(b) - 7
    if n > MAX_U32:
        not_ours("unusual value")
    put_byte(b, FRAME_END)
    store_envelope(b.start, frame_type, channel, <uint32_t>n)
    return buffer_bytes(b)


cdef object body_frame(const char* p, Py_ssize_t n, uint16_t channel):
    """A body frame of these bytes."""
    cdef object out
    cdef uint8_t* w
    if <uint64_t>n > MAX_U32:
        not_ours("unusual value")
    out = PyBytes_FromStringAndSize(NULL, n + 8)
    w = store_envelope(<uint8_t*>PyBytes_AS_STRING(out), FRAME_BODY, channel, <uint32_t>n)
    memcpy(w, p, <size_t>n)
    w[n] = FRAME_END
    return out


# ---- seams that are methods ----

def as_method(function not None):
    """A function for a class's attribute that hands its instance on to `function`.

    With no keyword arguments: these methods are for the client's own code.
    """
    @cython.binding(True)
    def method(self, *arguments):
        if arguments:
            return function(self, *arguments)
        return function(self)
    return method


cdef object bound_header_frame(ClientProfile profile, BoundMethod properties, uint64_t size, PyObject* o,
                               uint16_t channel):
    """The frame of a content header. size: bytes of the body; o: an object with the properties."""
    cdef Buffer b
    cdef uint8_t* w
    cdef uint8_t memory[STACK_ROOM]
    if Py_TYPE(o) != properties.cls.type:
        not_ours("unusual value")
    buffer_init(&b, memory, sizeof(memory))
    try:
        begin_frame(&b)
        w = buffer_extend(&b, 12)
        store32(w, properties.key)      # class id, and the weight, which is 0
        store64(w + 4, size)
        put_bound(&b, profile, properties, <object>o, True)
        return end_frame(&b, FRAME_HEADER, channel)
    finally:
        buffer_free(&b)
