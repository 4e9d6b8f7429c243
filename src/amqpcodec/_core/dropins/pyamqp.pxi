# py-amqp: arguments are lists, properties dicts, and a message is put together from its frames.

cdef extern from "Python.h":
    object PyList_New(Py_ssize_t n)
    void PyList_SET_ITEM(object items, Py_ssize_t i, PyObject* value)

cdef dict ARGUMENT_LETTERS = {
    "b": W_BIT, "o": W_OCTET, "B": W_SHORT, "l": W_LONG, "L": W_LONGLONG, "s": W_SHORTSTR,
    "S": W_LONGSTR, "F": W_TABLE,
}


cdef object _make_layout(object format):
    """The arguments that a format stands for; None where it has letters that no method has."""
    text = format.decode("ascii") if type(format) is bytes else format
    if type(text) is not str:
        not_ours("unusual bytes")
    if len(text) > MAX_FIELDS or not set(text) <= ARGUMENT_LETTERS.keys():
        return None
    return BoundMethod(None, 0, 0, tuple([
        (letter, ARGUMENT_LETTERS[letter], FIELD_CACHED) for letter in text]))


# Where a new message's attributes are in BoundClass.names, as compat/amqp.py gives them.
cdef enum:
    MESSAGE_METHOD = 0
    MESSAGE_ARGUMENTS
    MESSAGE_PROPERTIES
    MESSAGE_CHUNKS
    MESSAGE_RECEIVED
    MESSAGE_SIZE
    MESSAGE_READY
    MESSAGE_DELIVERY
    MESSAGE_BODY
    MESSAGE_CHANNEL
    MESSAGE_PARTS

@cython.final
cdef class AmqpMessages:
    """How py-amqp makes messages of frames.

    cls: the bound class of amqp.basic_message.Message, slots in the order of MESSAGE_METHOD and on.
    heading, filling: what messages rest on when a header and when a body comes. property_list:
    Message.PROPERTIES as it was shipped. framing: amqp.method_framing. contents: its methods with
    content, by class and method id in one number.
    """

    cdef BoundClass cls
    cdef Guard heading, filling
    cdef object property_list, framing
    cdef dict contents

    def __cinit__(self, BoundClass cls not None, Guard heading, Guard filling, object property_list,
                  object framing not None, dict contents not None):
        self.cls = cls
        self.heading = heading
        self.filling = filling
        self.property_list = property_list
        self.framing = framing
        self.contents = contents


@cython.final
cdef class AmqpTransports:
    """How py-amqp reads frames of sockets.

    module: amqp.transport. judge: called with a class of transports, gives a guard of it, and its
    slot `_read_buffer` and the numbers of the errors that it takes for nothing to read; None for
    both if its work is not known. again: reads a frame by py-amqp's own code, from bytes that were
    taken of a socket already, and what it said then (bytes or an exception).
    """

    cdef object module, judge, again

    def __cinit__(self, object module not None, object judge not None, object again not None):
        self.module = module
        self.judge = judge
        self.again = again


@cython.final
cdef class AmqpCodec(DropIn):
    """What `amqp.serialization` and `amqp.method_framing` do.

    properties: the property list, without a class. names: py-amqp's names of the properties.
    headers: what serialization rests on when a header comes.
    locks: whether frame_writer has a lock. empty_bodies: whether it writes the header of an empty
    body that does not fit one frame.
    """

    cdef BoundMethod properties
    cdef tuple names
    cdef dict places            # of these names
    cdef AmqpMessages messages
    cdef AmqpTransports transports
    cdef Guard headers
    cdef bint locks, empty_bodies
    # The class of transports that was seen last:
    cdef object transport
    cdef Guard transport_guard
    cdef bint transport_known
    cdef object kept_slot       # its `_read_buffer`,
    cdef Py_ssize_t kept_offset     # and where it is, where that is known,
    cdef tuple nothing_errors       # and the errors that it takes for nothing to read
    cdef dict formats           # format -> BoundMethod, or None where it has other letters
    cdef object format          # that was asked for last
    cdef BoundMethod format_layout

    def __cinit__(self, ClientBinding binding not None, BoundMethod properties not None, tuple names not None,
                  Guard headers not None, AmqpMessages messages not None, AmqpTransports transports not None,
                  bint locks=True, bint empty_bodies=True):
        self.set_up(binding)
        self.properties = properties
        self.names = tuple([_intern(name) for name in names])
        self.places = {name: i for i, name in enumerate(self.names)}
        self.headers = headers
        self.messages = messages
        self.transports = transports
        self.locks = locks
        self.empty_bodies = empty_bodies
        self.formats = {}

    # ---- arguments ----

    cdef BoundMethod layout(self, object format):
        """The arguments that a format stands for; falls back on letters that no method has."""
        cdef object found
        if AMQP_LIKELY(format is self.format and self.format_layout is not None):
            return self.format_layout
        found = self.formats.get(format, self)
        if found is self:
            if len(self.formats) > 1000:
                not_ours("unusual bytes")
            found = self.formats[format] = _make_layout(format)
        if found is None:
            not_ours("unusual bytes")
        if type(format) is str:
            self.format = format
            self.format_layout = found
        return found

    def loads(self, format, buf, offset):
        """As amqp.serialization.loads: (list of arguments, offset after them)."""
        self.calls += 1
        if type(buf) is bytes and type(offset) is int:
            try:
                self.may_read()
                return self.read_arguments(self.layout(format), buf, offset)
            except Exception as error:
                self.remember(error)
        return self.own("loads")(format, buf, offset)

    cdef tuple read_arguments(self, BoundMethod m, object buf, Py_ssize_t offset):
        cdef const uint8_t* start = <const uint8_t*>PyBytes_AS_STRING(buf)
        cdef const uint8_t* p = start + offset
        cdef PyObject* out[MAX_FIELDS]
        cdef list values
        cdef int i
        if offset < 0 or offset > PyBytes_GET_SIZE(buf):
            not_ours("unusual value")
        bound_arguments(self.profile, m, &p, start + PyBytes_GET_SIZE(buf), self.lenient,
                        ONE_SHOT_CACHE, out)
        values = PyList_New(m.desc.n)
        for i in range(m.desc.n):
            PyList_SET_ITEM(values, i, out[i])
        return values, p - start

    def dumps(self, format, values):
        """As amqp.serialization.dumps: the bytes of arguments."""
        self.calls += 1
        try:
            self.may_write()
            return self.write_arguments(self.layout(format), values)
        except Exception as error:
            self.remember(error)
        return self.own("dumps")(format, values)

    cdef bytes write_arguments(self, BoundMethod m, object values):
        cdef PyObject* items[MAX_FIELDS]
        cdef Buffer b
        cdef uint8_t memory[STACK_ROOM]
        cdef tuple kept
        cdef int i, n
        if type(values) is not list and type(values) is not tuple:
            not_ours("unusual value")
        kept = tuple(values)
        n = <int>len(kept)
        if n > m.desc.n:
            not_ours("unusual value")
        for i in range(n):
            items[i] = PyTuple_GET_ITEM(kept, i)
        buffer_init(&b, memory, sizeof(memory))
        try:
            put_bound_arguments(&b, self.profile, m, items, n)
            return buffer_bytes(&b)
        finally:
            buffer_free(&b)

    # ---- values and tables ----

    def read_item(self, buf, offset):
        """As amqp.serialization._read_item: (value, offset after it)."""
        return self.read_at("_read_item", buf, offset, False)

    def write_table(self, d, write, bits):
        """As amqp.serialization._write_table: the bytes, their length before them, are written."""
        self.calls += 1
        raw = self.item_bytes(d, True) if type(d) is dict else None
        if raw is None:
            return self.own("_write_table")(d, write, bits)
        write(raw)

    def write_item(self, v, write, bits):
        """As amqp.serialization._write_item."""
        self.calls += 1
        raw = self.item_bytes(v, False)
        if raw is None:
            return self.own("_write_item")(v, write, bits)
        write(raw)

    def write_array(self, list_, write, bits):
        """As amqp.serialization._write_array."""
        self.calls += 1
        raw = self.item_bytes(list_, False) if type(list_) is list else None
        if raw is None:
            return self.own("_write_array")(list_, write, bits)
        write(raw[1:])

    # ---- properties ----

    def decode_properties_basic(self, buf, offset):
        """As amqp.serialization.decode_properties_basic: (dict, offset after them)."""
        cdef Py_ssize_t at, end = 0
        self.calls += 1
        if type(buf) is bytes and type(offset) is int:
            try:
                if not watch_same(&self.headers.watch):
                    not_ours("client changed")
                at = offset
                properties = self.read_properties(buf, at, &end)
                return properties, end
            except Exception as error:
                self.remember(error)
        return self.own("decode_properties_basic")(buf, offset)

    cdef dict read_properties(self, object buf, Py_ssize_t offset, Py_ssize_t* end):
        cdef const uint8_t* start = <const uint8_t*>PyBytes_AS_STRING(buf)
        cdef const uint8_t* p = start + offset
        cdef dict found = {}
        # py-amqp reads one flag word
        if offset < 0 or PyBytes_GET_SIZE(buf) - offset < 2 or p[1] & 1:
            not_ours("unusual value")
        bound_properties(self.profile, self.properties, &p, start + PyBytes_GET_SIZE(buf),
                         self.lenient, ONE_SHOT_CACHE, NULL, found, self.names)
        end[0] = p - start
        return found

    def serialize_properties(self, content):
        """As amqp.serialization.GenericContent._serialize_properties."""
        cdef Buffer b
        cdef uint8_t memory[STACK_ROOM]
        self.calls += 1
        buffer_init(&b, memory, sizeof(memory))
        try:
            self.may_write()
            self.put_properties(&b, content)
            return buffer_bytes(&b)
        except Exception as error:
            self.remember(error)
        finally:
            buffer_free(&b)
        return self.own("serialize_properties")(content)

    cdef bint may_head(self):
        """Whether headers are read as py-amqp's own messages read them."""
        return (self.messages.heading is not None and watch_same(&self.messages.heading.watch)
                and watch_same(&self.headers.watch))

    cdef bint may_fill(self):
        """Whether messages take bodies, and have the attributes, that py-amqp's own have."""
        return self.messages.filling is not None and watch_same(&self.messages.filling.watch)

    cdef bint is_message(self, object o) except -1:
        return Py_TYPE(<PyObject*>o) == self.messages.cls.type and self.messages.cls.may_take()

    cdef int put_properties(self, Buffer* b, object content) except -1:
        """The flag word and the properties of a content with the properties of messages."""
        cdef PyObject* values[MAX_FIELDS]
        cdef PyObject* name
        cdef PyObject* value
        cdef PyObject* place
        cdef Py_ssize_t at = 0
        cdef int i = 0, k, n = self.properties.desc.n
        cdef tuple names = self.names       # once: each use of an attribute counts a reference
        cdef object properties
        if self.is_message(content):
            properties = part_of(self.messages.cls, content, MESSAGE_PROPERTIES)
        else:
            if type(content).PROPERTIES is not self.messages.property_list:
                not_ours("unusual value")
            properties = content.properties
        if type(properties) is not dict:
            not_ours("unusual value")
        memset(values, 0, <size_t>n * sizeof(PyObject*))
        while PyDict_Next(properties, &at, &name, &value):
            # The very names, which nearly all have: in the order of the list, as a rule.
            for k in range(n):
                if PyTuple_GET_ITEM(names, i) == name:
                    break
                i = i + 1 if i + 1 < n else 0
            else:
                if type(<object>name) is not str:
                    not_ours("unusual value")
                place = dict_item(self.places, <object>name)
                if place == NULL:
                    continue        # not a property: not written
                i = <object>place
            values[i] = value
        return put_bound_properties(b, self.profile, self.properties, values)


# What frames ask of a connection.
cdef object BYTES_RECV = _intern("bytes_recv")
cdef object BYTES_SENT = _intern("bytes_sent")


cdef inline object part_of(BoundClass message, object o, int i):
    """An attribute of a message; falls back where it is not set."""
    cdef PyObject* found = slot_read(message.slot[i], message.offset[i], <PyObject*>o)
    if found == NULL:
        not_ours("unusual value")
    held = <object>found
    Py_DecRef(found)
    return held
