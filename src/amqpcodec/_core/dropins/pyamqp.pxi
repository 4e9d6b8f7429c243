# py-amqp: arguments are lists, properties dicts, and a message is put together from its frames.

cdef extern from "Python.h":
    bint PyCFunction_Check(object o)
    PyObject* PyCFunction_GET_SELF(object o)
    object PyList_New(Py_ssize_t n)
    void PyList_SET_ITEM(object items, Py_ssize_t i, PyObject* value)

cdef extern from "dropins/seen.h":
    ctypedef struct Seen:
        pass
    PyObject* seen_item(Seen* s, object d, object key)
    int seen_count(Seen* s, object d, object key) except -1

cdef dict ARGUMENT_LETTERS = {
    "b": W_BIT, "o": W_OCTET, "B": W_SHORT, "l": W_LONG, "L": W_LONGLONG, "s": W_SHORTSTR,
    "S": W_LONGSTR, "F": W_TABLE,
}


cdef object _make_layout(object format):
    """The arguments that a format stands for; None where it has letters that no method has."""
    text = format.decode("ascii") if type(format) is bytes else format
    if type(text) is not str:
        leave_it()
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

cdef enum:
    PROPERTY_LIKES = 64     # sets of properties that are remembered


@cython.final
cdef class AmqpCodec(DropIn):
    """What `amqp.serialization` and `amqp.method_framing` do.

    properties: the property list, without a class. names: py-amqp's names of the properties.
    message: the bound class of amqp.basic_message.Message, slots in the order of MESSAGE_METHOD
    and on. property_list: Message.PROPERTIES as it was shipped. framing: amqp.method_framing.
    contents: its methods with content, by class and method id in one number. readers: the `_read`
    of transports whose work is known. again: reads a frame by py-amqp's own code, from octets that
    were taken of a socket already, and what it said then (octets or an exception).
    """

    cdef BoundMethod properties
    cdef tuple names
    cdef dict places            # of these names
    cdef BoundClass message
    cdef object framing, property_list, again
    cdef dict contents
    cdef frozenset readers
    cdef dict framing_names
    cdef object content_key
    cdef public object serializer   # what stands for _serialize_properties
    cdef unsigned int shipped       # message's version for which `writes_message` is true
    cdef unsigned int counted       # version of a connection's class, see own_dict
    cdef dict property_readers
    cdef Like likes[PROPERTY_LIKES]         # by the flag word
    cdef Seen message_seen, reader_seen     # in framing_names and property_readers
    # The class of transports that was seen last, and what its instances' own dicts have:
    cdef unsigned int transport_version
    cdef bint transport_known
    cdef Py_ssize_t buffer_at
    cdef Seen read_seen, recv_seen
    cdef dict formats           # format -> BoundMethod, or None where it has other letters
    cdef object format          # that was asked for last
    cdef BoundMethod format_layout

    def __init__(self, ClientProfile profile not None, dict stock not None, bint lenient,
                 BoundMethod properties not None, tuple names not None,
                 BoundClass message not None, object property_list, object framing not None,
                 dict contents not None, frozenset readers not None, object again not None):
        DropIn.__init__(self, profile, stock, None, [], lenient)
        self.properties = properties
        self.names = tuple([_intern(name) for name in names])
        self.places = {name: i for i, name in enumerate(self.names)}
        self.message = message
        self.property_list = property_list
        self.framing = framing
        self.framing_names = vars(framing)
        self.contents = contents
        self.readers = readers
        self.again = again
        self.property_readers = stock["PROPERTY_CLASSES"]
        self.formats = {}
        self.content_key = properties.key >> 16

    def __dealloc__(self):
        like_forget(self.likes, PROPERTY_LIKES)

    # ---- arguments ----

    cdef BoundMethod layout(self, object format):
        """The arguments that a format stands for; gives up on letters that no method has."""
        cdef object found
        if AMQP_LIKELY(format is self.format and self.format_layout is not None):
            return self.format_layout
        found = self.formats.get(format, self)
        if found is self:
            if len(self.formats) > 1000:
                leave_it()
            found = self.formats[format] = _make_layout(format)
        if found is None:
            leave_it()
        if type(format) is str:
            self.format = format
            self.format_layout = found
        return found

    def loads(self, format, buf, offset):
        """As amqp.serialization.loads: (list of arguments, offset behind them)."""
        self.calls += 1
        if type(buf) is bytes and type(offset) is int:
            try:
                return self.read_arguments(self.layout(format), buf, offset)
            except MemoryError:
                raise
            except Exception:
                pass
        return self.own("loads")(format, buf, offset)

    cdef tuple read_arguments(self, BoundMethod m, object buf, Py_ssize_t offset):
        cdef const uint8_t* start = <const uint8_t*>PyBytes_AS_STRING(buf)
        cdef const uint8_t* p = start + offset
        cdef PyObject* out[MAX_FIELDS]
        cdef list values
        cdef int i
        if offset < 0 or offset > PyBytes_GET_SIZE(buf):
            leave_it()
        bound_run(self.profile, m, &p, start + PyBytes_GET_SIZE(buf), False, self.lenient,
                  ONE_SHOT_CACHE, out)
        values = PyList_New(m.desc.n)
        for i in range(m.desc.n):
            PyList_SET_ITEM(values, i, out[i])
        return values, p - start

    def dumps(self, format, values):
        """As amqp.serialization.dumps: the octets of arguments."""
        self.calls += 1
        try:
            return self.write_arguments(self.layout(format), values)
        except MemoryError:
            raise
        except Exception:
            pass
        return self.own("dumps")(format, values)

    cdef bytes write_arguments(self, BoundMethod m, object values):
        cdef PyObject* items[MAX_FIELDS]
        cdef Buffer b
        cdef uint8_t memory[STACK_ROOM]
        cdef tuple kept
        cdef int i, n
        if type(values) is not list and type(values) is not tuple:
            leave_it()
        kept = tuple(values)
        n = <int>len(kept)
        if n > m.desc.n:
            leave_it()
        for i in range(n):
            items[i] = PyTuple_GET_ITEM(kept, i)
        buffer_init(&b, memory, sizeof(memory))
        try:
            put_bound_arguments(&b, self.profile, m, items, n)
            return PyBytes_FromStringAndSize(<const char*>b.start, b.p - b.start)
        finally:
            buffer_free(&b)

    # ---- values and tables ----

    def read_item(self, buf, offset):
        """As amqp.serialization._read_item: (value, offset behind it)."""
        self.calls += 1
        if type(buf) is bytes and type(offset) is int:
            try:
                return read_value_at(self.profile, buf, offset)
            except MemoryError:
                raise
            except Exception:
                pass
        return self.own("_read_item")(buf, offset)

    def write_table(self, d, write, bits):
        """As amqp.serialization._write_table: the octets, their length before them, are written."""
        self.calls += 1
        octets = self.item_octets(d, True) if type(d) is dict else None
        if octets is None:
            return self.own("_write_table")(d, write, bits)
        write(octets)

    def write_item(self, v, write, bits):
        """As amqp.serialization._write_item."""
        self.calls += 1
        octets = self.item_octets(v, False)
        if octets is None:
            return self.own("_write_item")(v, write, bits)
        write(octets)

    def write_array(self, list_, write, bits):
        """As amqp.serialization._write_array."""
        self.calls += 1
        octets = self.item_octets(list_, False) if type(list_) is list else None
        if octets is None:
            return self.own("_write_array")(list_, write, bits)
        write(octets[1:])

    cdef bytes item_octets(self, object value, bint table):
        """None where the value is left to py-amqp."""
        cdef Buffer b
        cdef uint8_t memory[STACK_ROOM]
        buffer_init(&b, memory, sizeof(memory))
        try:
            if table:
                put_bound_table(&b, self.profile, <PyObject*>value)
            else:
                put_profile_value(&b, self.profile, value, 0)
            return PyBytes_FromStringAndSize(<const char*>b.start, b.p - b.start)
        except MemoryError:
            raise
        except Exception:
            return None
        finally:
            buffer_free(&b)

    # ---- properties ----

    def decode_properties_basic(self, buf, offset):
        """As amqp.serialization.decode_properties_basic: (dict, offset behind them)."""
        cdef Py_ssize_t at, end = 0
        self.calls += 1
        if type(buf) is bytes and type(offset) is int:
            try:
                at = offset
                properties = self.read_properties(buf, at, &end)
                return properties, end
            except MemoryError:
                raise
            except Exception:
                pass
        return self.own("decode_properties_basic")(buf, offset)

    cdef dict read_properties(self, object buf, Py_ssize_t offset, Py_ssize_t* end):
        cdef const uint8_t* start = <const uint8_t*>PyBytes_AS_STRING(buf)
        cdef const uint8_t* p = start + offset
        cdef const uint8_t* behind = start + PyBytes_GET_SIZE(buf)
        cdef BoundMethod m = self.properties
        cdef dict found
        cdef object value
        cdef uint16_t word
        cdef Like* like
        cdef Py_ssize_t count = 0
        cdef bint known, holds = False
        cdef int i
        # py-amqp reads one flag word
        if offset < 0 or PyBytes_GET_SIZE(buf) - offset < 2 or p[1] & 1:
            leave_it()
        word = load16(p)
        p += 2
        like = &self.likes[(word * <uint32_t>0x9E3779B1) >> 26 & (PROPERTY_LIKES - 1)]
        known = like.names != NULL and like.key == word
        found = like_new(like) if known else {}
        for i in range(m.desc.n):
            if word & (0x8000 >> i):
                value = bound_next(self.profile, &m.desc.op[i], (m.tables >> i) & 1, &p, behind,
                                   self.lenient, ONE_SHOT_CACHE)
                if known:
                    holds |= like_put(found, count, value)
                    count += 1
                else:
                    PyDict_SetItem(found, <object>PyTuple_GET_ITEM(self.names, i), value)
        if known:
            like_finish(like, found, holds)
        else:
            like_learn(like, word, found)
        end[0] = p - start
        return found

    def serialize_properties(self, content):
        """As amqp.serialization.GenericContent._serialize_properties."""
        cdef Buffer b
        cdef uint8_t memory[STACK_ROOM]
        self.calls += 1
        buffer_init(&b, memory, sizeof(memory))
        try:
            self.put_properties(&b, content)
            return PyBytes_FromStringAndSize(<const char*>b.start, b.p - b.start)
        except MemoryError:
            raise
        except Exception:
            pass
        finally:
            buffer_free(&b)
        return self.own("serialize_properties")(content)

    cdef bint is_message(self, object o) except -1:
        return Py_TYPE(<PyObject*>o) == self.message.type and self.message.usable()

    cdef bint writes_message(self) except -1:
        """Whether messages have the properties, and the way to write them, that they had."""
        cdef object cls
        if self.shipped != self.message.version or self.shipped == 0:
            cls = self.message.cls
            if (cls.PROPERTIES is not self.property_list
                    or cls._serialize_properties is not self.serializer):
                return False
            self.shipped = self.message.version
        return True

    cdef int put_properties(self, Buffer* b, object content) except -1:
        """The flag word and the properties of a content with the properties of messages."""
        cdef PyObject* values[MAX_FIELDS]
        cdef PyObject* properties
        cdef PyObject* name
        cdef PyObject* value
        cdef PyObject* place
        cdef Py_ssize_t at = 0
        cdef int i = 0, k, n = self.properties.desc.n
        cdef object held
        if self.is_message(content) and self.writes_message():
            properties = slot_of(self.message, content, MESSAGE_PROPERTIES)
        else:
            if type(content).PROPERTIES is not self.property_list:
                leave_it()
            held = content.properties
            properties = <PyObject*>held
        if properties == NULL or type(<object>properties) is not dict:
            leave_it()
        memset(values, 0, sizeof(values))
        while PyDict_Next(<object>properties, &at, &name, &value):
            # The very names, which nearly all have: in the order of the list, as a rule.
            for k in range(n):
                if PyTuple_GET_ITEM(self.names, i) == name:
                    break
                i = i + 1 if i + 1 < n else 0
            else:
                if type(<object>name) is not str:
                    leave_it()
                place = bound_item(self.places, <object>name)
                if place == NULL:
                    continue        # not a property: not written
                i = <object>place
            values[i] = value
        return put_bound_properties(b, self.profile, self.properties, values)

    cdef PyObject* own_dict(self, object connection) except? NULL:
        """The dict that holds a connection's counts and limits, borrowed; NULL: they are asked for."""
        cdef PyTypeObject* kind = Py_TYPE(<PyObject*>connection)
        if AMQP_UNLIKELY(bound_version(kind) != self.counted or self.counted == 0):
            if not bound_in_dict(kind, CONNECTION_NAMES):
                return NULL
            self.counted = bound_version(kind)
        return bound_dict(connection)

    cdef inline int count(self, object connection, object name, Seen* seen) except -1:
        """connection.name += 1"""
        cdef PyObject* own = self.own_dict(connection)
        if AMQP_UNLIKELY(own == NULL or not seen_count(seen, <object>own, name)):
            setattr(connection, name, getattr(connection, name) + 1)
        return 0

    cdef bint own_reader(self) except -1:
        """Whether nobody put a reader of their own in the place of this one."""
        cdef PyObject* reader = seen_item(&self.reader_seen, self.property_readers, self.content_key)
        if reader == NULL or not PyCFunction_Check(<object>reader):
            return False
        return PyCFunction_GET_SELF(<object>reader) == <PyObject*>self

# What frames ask of a connection.
cdef object BYTES_RECV = _intern("bytes_recv")
cdef object BYTES_SENT = _intern("bytes_sent")
cdef object FRAME_MAX = _intern("frame_max")
cdef tuple CONNECTION_NAMES = (BYTES_RECV, BYTES_SENT, FRAME_MAX)


cdef inline PyObject* slot_of(BoundClass cls, object o, int i) noexcept:
    return bound_slot(<PyObject*>o, cls.offset[i])[0]
