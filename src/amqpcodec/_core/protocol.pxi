# One protocol version: descriptors and classes made from a lowered table, and its one-shot functions.
# Built-in versions and those loaded from XML at run time come the same way.

from types import MappingProxyType as _MappingProxyType

# Flags of a lowered field, as amqpcodec.spec.lower writes them.
cdef enum:
    FIELD_RESERVED = 1
    FIELD_CACHED = 2
    FIELD_SECRET = 4

# Octets of a payload or body while they are written.
cdef struct Octets:
    const uint8_t* p
    uint64_t n
    bint exported           # `view` is to be given back; bytes need no export, the caller holds them
    Py_buffer view


cdef int take_octets(object o, Octets* octets, str method, str field) except -1:
    """Borrow the octets of any C-contiguous buffer, until drop_octets."""
    octets.exported = False
    if type(o) is bytes:
        octets.p = <const uint8_t*>PyBytes_AS_STRING(o)
        octets.n = <uint64_t>PyBytes_GET_SIZE(o)
        return 0
    if isinstance(o, str):
        encode_error(method, field, "takes bytes, not str; encode the text first")
    try:
        PyObject_GetBuffer(o, &octets.view, PyBUF_SIMPLE)
        octets.exported = True
    except (TypeError, BufferError):
        pass
    if not octets.exported:
        encode_error(method, field, f"takes bytes or another C-contiguous buffer, "
                     f"not this {type(o).__name__}")
    octets.p = <const uint8_t*>octets.view.buf
    octets.n = <uint64_t>octets.view.len
    return 0


cdef inline void drop_octets(Octets* octets) noexcept:
    if octets.exported:
        PyBuffer_Release(&octets.view)


cdef dict DIALECTS = {"rabbitmq": 0, "0-9-1": MODE_LETTER, "0-9": MODE_0_9, "0-8": MODE_0_8}


cdef uintptr_t reading_mode(object dialect, object tables, object trailing) except? 0xFFFF:
    """What is read does not depend on "0-9" and "0-8": all of RabbitMQ's types are, whoever sends."""
    cdef uintptr_t mode = 0
    if dialect != "rabbitmq":
        if dialect not in DIALECTS:
            raise ValueError(f"dialect is {', '.join(map(repr, DIALECTS))}, not {dialect!r}")
        mode |= <uintptr_t>DIALECTS[dialect] & MODE_LETTER
    if tables != "plain":
        if tables != "typed":
            raise ValueError(f'tables is "plain" or "typed", not {tables!r}')
        mode |= MODE_TYPED
    if trailing != "error":
        if trailing != "keep":
            raise ValueError(f'trailing is "error" or "keep", not {trailing!r}')
        mode |= MODE_TRAILING
    return mode


cdef class DescTable:
    """Owns the C descriptors of one protocol; classes keep it alive."""

    cdef Desc* desc
    cdef int count
    cdef list keep

    def __cinit__(self, int count):
        self.keep = []
        self.desc = <Desc*>calloc(<size_t>max(count, 1), sizeof(Desc))
        if self.desc == NULL:
            raise MemoryError
        self.count = count

    def __dealloc__(self):
        cdef int i
        if self.desc != NULL:
            for i in range(self.count):
                free(self.desc[i].op)
                free(self.desc[i].field)
            free(self.desc)

    cdef const char* text(self, str s) except NULL:
        """Octets of a name that live as long as this table."""
        cdef bytes b = s.encode()
        self.keep.append(b)
        return PyBytes_AS_STRING(b)

    cdef int fill(self, Desc* d, str name, uint16_t class_id, uint16_t method_id, tuple fields) except -1:
        """Lay out the fields: neighbouring bits share an octet, at most eight of them."""
        cdef int i, run = 0, first = 0
        d.class_id = class_id
        d.method_id = method_id
        d.n = <int>len(fields)
        if d.n > MAX_FIELDS:
            raise ValueError(f"{name}: {d.n} fields, at most {MAX_FIELDS} can be handled")
        d.name = self.text(name)
        d.op = <Op*>calloc(<size_t>max(d.n, 1), sizeof(Op))
        d.field = <const char**>calloc(<size_t>max(d.n, 1), sizeof(char*))
        if d.op == NULL or d.field == NULL:
            raise MemoryError
        for i in range(d.n):
            field_name, kind, flags = fields[i][:3]
            d.field[i] = self.text(field_name)
            d.op[i].kind = kind
            d.op[i].cached = (flags & FIELD_CACHED) != 0
            d.op[i].secret = (flags & FIELD_SECRET) != 0
            if kind != W_BIT:
                run = 0
                continue
            if run == 0 or run == 8:
                first = i
                run = 0
            d.op[i].bit = <uint8_t>run
            run += 1
            d.op[first].run = <uint8_t>run
        names = (name, *[field[0] for field in fields])
        self.keep.append(names)
        d.names = <PyObject*>names
        return 0


# Letters of a signature, by wire type; spec/emitters/hot.py spells the same.
cdef const char* SIGNATURE_LETTERS = b"BohlqsLtTC"


cdef int make_hot(Desc* d, bint properties) except -1:
    """Bind the hot functions of the descriptor's signature, if there are any."""
    cdef bytearray signature = bytearray()
    cdef int i
    for i in range(d.n):
        signature.append(c'S' if d.op[i].cached else SIGNATURE_LETTERS[d.op[i].kind])
    return bind_hot(d, bytes(signature), properties)


cdef struct Slot:
    uint32_t key
    Desc* desc


@cython.final
cdef class Protocol:
    """A protocol version, ready to encode and decode. Made from a lowered table."""

    cdef readonly str name
    cdef readonly str module
    cdef readonly dict table
    cdef readonly dict namespaces       # "Basic" -> namespace class
    cdef readonly object METHODS        # (class id, method id) -> class
    cdef readonly object Header, Body, Heartbeat, ProtocolHeader, Message, BadFrame
    cdef DescTable descs
    cdef Slot* slot
    cdef uint32_t slot_mask
    cdef Desc** contents                # property lists, by class
    cdef int n_contents
    cdef object frame_plan              # of the columns, made on first use
    cdef dict encode_plans              # of columns to encode, that nobody uses
    cdef bint hot
    cdef uintptr_t own_mode             # what its own dialect is for encoding
    cdef PyTypeObject* header_type
    cdef PyTypeObject* body_type
    cdef PyTypeObject* message_type

    def __cinit__(self, dict table not None, bint hot=True):
        """hot=False leaves every frame to the table path, which tests hold against the other."""
        cdef int count = 0
        self.hot = hot
        self.table = table
        self.encode_plans = {}
        self.name = table["name"]
        self.module = table["module"]
        self.own_mode = encoding_mode(table["dialect"])
        for cls in table["classes"]:
            count += <int>len(cls["methods"]) + (cls["properties"] is not None)
        self.descs = DescTable(count)
        self.slot_mask = 8
        while self.slot_mask < <uint32_t>count * 4:
            self.slot_mask *= 2
        self.slot = <Slot*>calloc(self.slot_mask, sizeof(Slot))
        self.slot_mask -= 1
        self.contents = <Desc**>calloc(len(table["classes"]) + 1, sizeof(Desc*))
        if self.slot == NULL or self.contents == NULL:
            raise MemoryError
        self._make_classes()
        self._make_frames()

    def __dealloc__(self):
        free(self.slot)
        free(self.contents)

    def __reduce__(self):
        raise TypeError("a protocol is not pickled; import it")

    # ---- classes ----

    cdef int _make_classes(self) except -1:
        cdef Desc* d = self.descs.desc
        cdef Desc* properties
        cdef dict methods = {}
        self.namespaces = {}
        for spec in self.table["classes"]:
            class_id = spec["index"]
            members = {
                "__module__": self.module, "__doc__": spec["doc"], "__slots__": (),
                "NAME": spec["name"], "CLASS_ID": class_id,
            }
            properties = NULL
            if spec["properties"] is not None:
                name = f"{spec['name']}.properties"
                self.descs.fill(d, name, class_id, 0, spec["properties"])
                constants = {
                    "__doc__": f"Properties of {spec['name']} content; None is absent.",
                    "NAME": name, "CLASS_ID": class_id,
                }
                made = self._make_class(d, f"{spec['python']}.Properties", ContentProperties,
                                        KIND_PROPERTIES, spec["properties"], constants)
                members["Properties"] = made
                if self.hot:
                    make_hot(d, True)
                self.contents[self.n_contents] = d
                self.n_contents += 1
                properties = d
                d += 1
            for method in spec["methods"]:
                name = f"{spec['name']}.{method['name']}"
                self.descs.fill(d, name, class_id, method["index"], method["fields"])
                d.has_content = method["content"]
                d.properties = properties
                constants = {
                    "__doc__": method["doc"], "NAME": name, "CLASS_ID": class_id,
                    "METHOD_ID": method["index"], "SYNCHRONOUS": method["synchronous"],
                    "DEPRECATED": method["deprecated"], "HAS_CONTENT": method["content"],
                    "SENT_BY": method["sent_by"], "EXTENSION": method["extension"],
                }
                made = self._make_class(d, f"{spec['python']}.{method['python']}", Method,
                                        KIND_METHOD, method["fields"], constants)
                if self.hot:
                    make_hot(d, False)
                members[method["python"]] = made
                methods[(class_id, method["index"])] = made
                self._enter(d)
                d += 1
            for method in spec["methods"]:
                made = members[method["python"]]
                made.RESPONSES = tuple([members[name] for name in method["responses"]])
            self.namespaces[spec["python"]] = type(spec["python"], (), members)
        self.METHODS = _MappingProxyType(methods)
        return 0

    cdef object _make_class(self, Desc* d, str qualname, object base, int what, tuple fields, dict members):
        names = tuple([field[0] for field in fields])
        tables = tuple([field[1] == W_TABLE for field in fields])
        properties = what == KIND_PROPERTIES
        positions = tuple([i for i, field in enumerate(fields) if not field[2] & FIELD_RESERVED])
        if properties:
            defaults = (None,) * len(fields)
        else:
            defaults = tuple([WIRE_DEFAULTS[field[1]] for field in fields])
        members.update({
            "__module__": self.module, "__qualname__": qualname, "__slots__": (), "__hash__": None,
            "__match_args__": tuple([names[i] for i in positions]), "FIELDS": names,
            "_ASSERTS": tuple([(i, field[4]) for i, field in enumerate(fields) if field[4]]),
            "_DEFAULTS": defaults,
        })
        made = kind_make(qualname.rpartition(".")[2], (base,), members, names, defaults, tables,
                         positions, what, any(tables), properties, self.descs)
        self.descs.keep.append(made)
        for alias, name in PROPERTY_ALIASES.items() if properties else ():
            if name in names and alias not in names:
                setattr(made, alias, made.__dict__[name])
                kind_set_alias(made, alias, names.index(name))
        kind_set_desc(made, d)
        d.cls = <PyObject*>made
        return made

    cdef object _make_frame(self, str name, int what, str doc, tuple fields, int gc):
        names = tuple([field for field, _ in fields])
        return kind_make(name, (Frame,), {
            "__module__": self.module, "__qualname__": name, "__doc__": doc, "__slots__": (),
            "__hash__": None, "__match_args__": names, "FIELDS": names,
            "_DEFAULTS": tuple([value for _, value in fields])},
            names, tuple([value for _, value in fields]), (False,) * len(fields),
            tuple(range(len(fields))), what, gc, 0, self)

    cdef int _make_frames(self) except -1:
        cdef object properties = None
        cdef int class_id = 0
        if self.n_contents:
            properties = <object>self.contents[0].cls
            class_id = self.contents[0].class_id
        self.Header = self._make_frame(
            "Header", KIND_HEADER,
            "A content header frame: body_size in octets, and the properties of the content.",
            (("body_size", 0), ("properties", properties), ("class_id", class_id), ("weight", 0)), 1)
        self.Body = self._make_frame(
            "Body", KIND_BODY, "A body frame: a piece of content.", (("payload", b""),), 0)
        self.Heartbeat = self._make_frame(
            "Heartbeat", KIND_HEARTBEAT, "A heartbeat frame: nothing but a sign of life.", (), 0)
        header = self.table["header"]
        self.ProtocolHeader = self._make_frame(
            "ProtocolHeader", KIND_PROTOCOL_HEADER,
            'The eight octets that open a connection: "AMQP" and these four.',
            tuple(zip(("protocol_id", "major", "minor", "revision"), header)), 0)
        self.Message = self._make_frame(
            "Message", KIND_MESSAGE, "A method with its content, whole.",
            (("method", None), ("properties", properties), ("body", b"")), 1)
        self.BadFrame = self._make_frame(
            "BadFrame", KIND_BAD_FRAME, "A frame that could not be read: the error, and its octets.",
            (("error", None), ("raw", b"")), 1)
        self.header_type = <PyTypeObject*><PyObject*>self.Header
        self.body_type = <PyTypeObject*><PyObject*>self.Body
        self.message_type = <PyTypeObject*><PyObject*>self.Message
        return 0

    # ---- look-up ----

    cdef int _enter(self, Desc* d) except -1:
        cdef uint32_t key = (<uint32_t>d.class_id << 16) | d.method_id
        cdef uint32_t i = slot_index(key) & self.slot_mask
        while self.slot[i].desc != NULL:
            i = (i + 1) & self.slot_mask
        self.slot[i].key = key
        self.slot[i].desc = d
        return 0

    cdef inline Desc* find(self, uint32_t key) noexcept nogil:
        """The method with this class id (high half) and method id, or NULL."""
        cdef uint32_t i = slot_index(key) & self.slot_mask
        while self.slot[i].desc != NULL:
            if self.slot[i].key == key:
                return self.slot[i].desc
            i = (i + 1) & self.slot_mask
        return NULL

    cdef inline Desc* find_content(self, uint16_t class_id) noexcept nogil:
        """The property list of a class that carries content, or NULL."""
        cdef int i
        for i in range(self.n_contents):
            if self.contents[i].class_id == class_id:
                return self.contents[i]
        return NULL

    # ---- one-shot functions ----

    def encode(self, channel, frame, *, dialect=None, bint validate=False):
        """Encode one frame: a method, Header, Body, Heartbeat or ProtocolHeader.

        A frame that was decoded and not changed gives the octets it came from.

        Args:
            dialect: types of field tables, "rabbitmq", "0-9-1" (the letter), "0-9" or "0-8";
                None: the protocol's own, "rabbitmq" for 0-9-1.

        Returns:
            bytes, the envelope (8 octets) included.

        Raises:
            EncodeError: names the method and field that cannot be encoded; with
                validate=True also a ValidationError where an assert is broken.

        Spec: 0-9-1 §4.2.3.
        """
        cdef Buffer b
        cdef uint8_t memory[STACK_ROOM]
        cdef Kind* k = kind_of(frame)
        cdef uintptr_t mode = mode_of(self, dialect)
        if k != NULL and k.what == KIND_BODY and k.owner == <PyObject*>self:
            return encode_body(take_channel(channel), <KindObject*><PyObject*>frame)
        buffer_init(&b, memory, sizeof(memory))
        try:
            put_frame(self, &b, take_channel(channel), frame, mode, validate)
            return PyBytes_FromStringAndSize(<const char*>b.start, b.p - b.start)
        finally:
            buffer_free(&b)

    def encode_into(self, buffer, Py_ssize_t offset, channel, frame, *, dialect=None,
                    bint validate=False):
        """Encode one frame into a writable buffer at offset; the number of octets written.

        Raises:
            EncodeError: as encode, or the buffer is too small (it is then untouched).
        """
        cdef Buffer b
        cdef uint8_t memory[STACK_ROOM]
        cdef Py_buffer view
        cdef Py_ssize_t n
        buffer_init(&b, memory, sizeof(memory))
        PyObject_GetBuffer(buffer, &view, PyBUF_WRITABLE | PyBUF_SIMPLE)
        try:
            put_frame(self, &b, take_channel(channel), frame, mode_of(self, dialect), validate)
            n = b.p - b.start
            if offset < 0 or offset > view.len or n > view.len - offset:
                raise EncodeError(f"the frame takes {n} octets, the buffer has "
                                  f"{max(view.len - max(offset, 0), 0)} behind offset {offset}")
            memcpy(<uint8_t*>view.buf + offset, b.start, <size_t>n)
            return n
        finally:
            PyBuffer_Release(&view)
            buffer_free(&b)

    def encode_message(self, channel, method, properties=None, body=b"", frame_max=131072, *,
                       dialect=None, bint validate=False):
        """Encode a method with content: its method, header and body frames as one bytes.

        Args:
            properties: None for none.
            body: bytes or any C-contiguous buffer.
            frame_max: octets a frame may take, its envelope of 8 included; 0 for no limit.

        Raises:
            EncodeError: as encode; or the method carries no content, or frame_max is too
                small for the method or header frame, which cannot be split.

        Spec: 0-9-1 §4.2.6.
        """
        # The usual arguments are taken here, all others by the functions that name what is wrong.
        cdef int32_t number = 0, limit = 0
        if not exact_small(<PyObject*>channel, &number) or number < 0 or number > 0xFFFF:
            number = take_channel(channel)
        if exact_small(<PyObject*>frame_max, &limit) and limit >= 0:
            return encode_content(self, number, method, properties, body, limit,
                                  mode_of(self, dialect), validate, False)
        return encode_content(self, number, method, properties, body, take_frame_max(frame_max),
                              mode_of(self, dialect), validate, False)

    def encode_parts(self, channel, method, properties=None, body=b"", frame_max=131072, *,
                     dialect=None, bint validate=False):
        """As encode_message, but a list of buffers for writelines or sendmsg.

        The body is not copied: its pieces are memoryviews that borrow the given buffer.
        """
        return encode_content(self, take_channel(channel), method, properties, body,
                              take_frame_max(frame_max), mode_of(self, dialect), validate, True)

    def decode(self, data, Py_ssize_t offset=0, *, dialect="rabbitmq", tables="plain",
               bint copy=True, trailing="error"):
        """Decode the frame at offset of any C-contiguous buffer.

        Args:
            dialect: "rabbitmq" or "0-9-1", what the tags of field tables mean; all types of
                "rabbitmq" are read for "0-9" and "0-8" as well.
            tables: "plain" or "typed" values (amqpcodec.types).
            copy: False gives bodies as memoryviews that borrow data where it is bytes.
            trailing: "error", or "keep" octets after the last field (they encode again).

        Returns:
            (consumed, channel, frame), consumed counted from offset; or None while the
            frame is incomplete.

        Raises:
            DecodeError: with its place, counted from the start of data.
        """
        cdef uintptr_t mode = 0
        cdef Py_buffer view
        if not (dialect is RABBITMQ and tables is PLAIN and trailing is ERROR):
            mode = reading_mode(dialect, tables, trailing)
        if type(data) is bytes:
            return decode_at(self, <const uint8_t*>PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data),
                             offset, mode, None if copy else data)
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            return decode_at(self, <const uint8_t*>view.buf, view.len, offset, mode,
                             None if copy else view_of_copy)
        finally:
            PyBuffer_Release(&view)


def hot_signatures(Protocol protocol not None):
    """Names of the methods and property lists that hot functions are bound to, with their class."""
    cdef int i
    cdef Desc* d
    found = {}
    for i in range(protocol.descs.count):
        d = &protocol.descs.desc[i]
        if d.read_hot != NULL:
            found[(<tuple>d.names)[0]] = <object>d.cls
    return found


cdef object RABBITMQ = "rabbitmq"
cdef object PLAIN = "plain"
cdef object ERROR = "error"
cdef object view_of_copy = object()     # marks: bodies as views, but of a copy
cdef dict PROPERTY_ALIASES = {"cluster_id": "reserved"}
cdef tuple WIRE_DEFAULTS = (False, 0, 0, 0, 0, "", b"", EPOCH, Ellipsis, b"")

cdef enum:
    STACK_ROOM = 4096


cdef inline uint32_t slot_index(uint32_t key) noexcept nogil:
    return (key * <uint32_t>0x9E3779B1) >> 16


cdef uintptr_t encoding_mode(object dialect) except? 0xFFFF:
    if dialect is RABBITMQ:
        return 0
    reading_mode(dialect, PLAIN, ERROR)     # names what is wrong
    return DIALECTS[dialect]


cdef inline uintptr_t mode_of(Protocol self, object dialect) except? 0xFFFF:
    """None: the protocol's own."""
    return self.own_mode if dialect is None else encoding_mode(dialect)


cdef int take_channel(object channel) except -1:
    cdef uint64_t n = 0
    if not exact_u64(<PyObject*>channel, &n) or n > 0xFFFF:
        if isinstance(channel, int) and 0 <= channel <= 0xFFFF:
            return channel
        encode_error(None, "channel", f"takes an int from 0 to 65535, not {short_repr(channel)}")
    return <int>n


cdef int64_t take_frame_max(object frame_max) except -1:
    cdef uint64_t n = 0
    if exact_u64(<PyObject*>frame_max, &n) and n <= MAX_U32:
        return <int64_t>n
    if not isinstance(frame_max, int) or not 0 <= frame_max <= 2**32 + 7:
        encode_error(None, "frame_max", f"takes 0 (no limit) or octets, not {short_repr(frame_max)}")
    return frame_max


# ---- encode ----

cdef int put_arguments(Buffer* b, object method, Kind* k, uintptr_t mode) except -1:
    """Class id, method id and arguments."""
    cdef Desc* d = <Desc*>k.desc
    cdef Py_ssize_t n
    buffer_room(b, 4 + HOT_ROOM)
    store16(b.p, d.class_id)
    store16(b.p + 2, d.method_id)
    b.p += 4
    if d.write_hot != NULL and (<KindObject*><PyObject*>method).origin == NULL:
        n = d.write_hot(<KindObject*><PyObject*>method, b.p)
        if n >= 0:
            b.p += n
            return 0
    return put_object(b, d, method, False, mode)


cdef int put_properties(Buffer* b, Desc* d, object properties, uintptr_t mode) except -1:
    cdef Kind* k
    if properties is None:
        buffer_room(b, 2)
        store16(b.p, 0)
        b.p += 2
        return 0
    k = kind_of(properties)
    if k == NULL or k.what != KIND_PROPERTIES or <Desc*>k.desc != d:
        return encode_error("header", "properties", f"takes {(<object>d.cls).__qualname__} or None, "
                            f"not {type(properties).__name__}")
    if (d.write_hot_properties != NULL and (<KindObject*><PyObject*>properties).origin == NULL
            and d.write_hot_properties(b, d, <KindObject*><PyObject*>properties, mode)):
        return 0
    return put_object(b, d, properties, True, mode)


cdef int put_header(Protocol self, Buffer* b, object properties, uint16_t class_id, uint16_t weight,
                    uint64_t body_size, uintptr_t mode) except -1:
    cdef Desc* d = self.find_content(class_id)
    if d == NULL:
        return encode_error("header", "class_id", f"class {class_id} carries no content")
    buffer_room(b, 14)
    store16(b.p, class_id)
    store16(b.p + 2, weight)
    store64(b.p + 4, body_size)
    b.p += 12
    return put_properties(b, d, properties, mode)


cdef uint64_t header_int(object frame, int i, uint8_t kind) except? 0xFFFF:
    """A number of a content header or protocol header."""
    cdef Loader l
    cdef AmqpValue v
    cdef object value, name
    if exact_u64((<KindObject*><PyObject*>frame).field[i], &v.u) and v.u <= INT_LIMITS[kind]:
        return v.u
    value = kind_get(frame, i)
    name = type(frame).FIELDS[i]
    l.at.method = <PyObject*>HEADER_NAME
    l.at.field = <PyObject*>name
    v.kind = kind
    load_int(&l, value, &v)
    return v.u

cdef object HEADER_NAME = "header"


cdef int put_frame(Protocol self, Buffer* b, int channel, object frame, uintptr_t mode,
                   bint validate) except -1:
    """One frame with its envelope."""
    cdef Kind* k = kind_of(frame)
    cdef size_t start = <size_t>(b.p - b.start)
    cdef uint8_t frame_type
    cdef Octets octets
    cdef uint64_t n
    if k == NULL:
        return encode_error(None, "frame", f"takes a method, Header, Body, Heartbeat or "
                            f"ProtocolHeader, not {type(frame).__name__}")
    if k.owner != (<PyObject*>self.descs) and k.owner != <PyObject*>self:
        return encode_error(None, "frame", f"{type(frame).__qualname__} is of another protocol, "
                            f"{type(frame).__module__}")
    if validate:
        validate_frame(frame, k)
    buffer_room(b, 7)
    b.p += 7
    if k.what == KIND_METHOD:
        frame_type = FRAME_METHOD
        put_arguments(b, frame, k, mode)
    elif k.what == KIND_HEADER:
        frame_type = FRAME_HEADER
        put_header(self, b, kind_get(frame, 1), <uint16_t>header_int(frame, 2, W_SHORT),
                   <uint16_t>header_int(frame, 3, W_SHORT), header_int(frame, 0, W_LONGLONG), mode)
    elif k.what == KIND_BODY:
        frame_type = FRAME_BODY
        payload = kind_get(frame, 0)
        take_octets(payload, &octets, "body", "payload")
        try:
            put_octets(b, octets.p, <size_t>octets.n)
        finally:
            drop_octets(&octets)
    elif k.what == KIND_HEARTBEAT:
        frame_type = FRAME_HEARTBEAT
    elif k.what == KIND_PROTOCOL_HEADER:
        b.p -= 7
        put_octets(b, <const char*>b"AMQP", 4)
        for i in range(4):
            buffer_room(b, 1)
            b.p[0] = <uint8_t>header_int(frame, i, W_OCTET)
            b.p += 1
        return 0
    else:
        return encode_error(None, "frame", f"{type(frame).__qualname__} is not a frame; "
                            "encode_message takes its parts")
    n = <uint64_t>(b.p - b.start) - start - 7
    if n > MAX_U32:
        return encode_error(None, "frame", f"a frame takes at most 4294967295 octets, not {n}")
    buffer_room(b, 1)
    put_envelope(b.start + start, frame_type, <uint16_t>channel, <uint32_t>n)
    b.p[0] = FRAME_END
    b.p += 1
    return 0


cdef bytes encode_body(int channel, KindObject* o):
    """A body frame, its payload copied once."""
    cdef Octets octets
    cdef bytes out
    cdef uint8_t* w
    if o.field[0] == NULL:
        encode_error("body", "payload", "is not set")
    take_octets(<object>o.field[0], &octets, "body", "payload")
    try:
        if octets.n > MAX_U32:
            encode_error("body", "payload", f"a frame takes at most 4294967295 octets, not {octets.n}")
        out = PyBytes_FromStringAndSize(NULL, <Py_ssize_t>octets.n + 8)
        w = put_envelope(<uint8_t*>PyBytes_AS_STRING(out), FRAME_BODY, <uint16_t>channel,
                         <uint32_t>octets.n)
        memcpy(w, octets.p, octets.n)
        w[octets.n] = FRAME_END
        return out
    finally:
        drop_octets(&octets)


cdef int validate_frame(object frame, Kind* k) except -1:
    if k.what == KIND_METHOD or k.what == KIND_PROPERTIES:
        frame.validate()
    elif k.what == KIND_HEADER and frame.properties is not None:
        frame.properties.validate()
    return 0


cdef object encode_content(Protocol self, int channel, object method, object properties, object body,
                           int64_t frame_max, uintptr_t mode, bint validate, bint parts):
    """All frames of a message: as one bytes, or as parts that borrow the body."""
    cdef Buffer b
    cdef uint8_t memory[STACK_ROOM]
    cdef Octets octets
    cdef Kind* k = kind_of(method)
    cdef Desc* d
    cdef size_t method_octets, head
    cdef uint64_t piece, total, done, n
    cdef bytes out
    cdef uint8_t* w
    if k == NULL or k.what != KIND_METHOD or k.owner != <PyObject*>self.descs:
        encode_error(None, "method", f"takes a method of {self.module}, not {type(method).__name__}")
    d = <Desc*>k.desc
    if not d.has_content:
        encode_error(<str>(<tuple>d.names)[0], None, "carries no content")
    if validate:
        method.validate()
        if properties is not None:
            properties.validate()
    take_octets(body, &octets, "message", "body")
    buffer_init(&b, memory, sizeof(memory))
    try:
        b.p += 7
        put_arguments(&b, method, k, mode)
        buffer_room(&b, 8)
        method_octets = <size_t>(b.p - b.start) + 1
        put_envelope(b.start, FRAME_METHOD, <uint16_t>channel, <uint32_t>(method_octets - 8))
        b.p[0] = FRAME_END
        b.p += 8
        put_header(self, &b, properties, d.class_id, 0, octets.n, mode)
        buffer_room(&b, 1)
        head = <size_t>(b.p - b.start) + 1
        put_envelope(b.start + method_octets, FRAME_HEADER, <uint16_t>channel,
                     <uint32_t>(head - method_octets - 8))
        b.p[0] = FRAME_END
        piece = <uint64_t>(frame_max if frame_max else 4294967303) - 8
        if frame_max and (max(method_octets, head - method_octets) > <uint64_t>frame_max
                          or (octets.n and frame_max < 9)):
            n = max(method_octets, head - method_octets, <size_t>9)
            encode_error(<str>(<tuple>d.names)[0], "frame_max",
                         f"{frame_max} octets do not hold a frame of {n}")
        if parts:
            return content_parts(b.start, head, body, <Py_ssize_t>octets.n, piece, <uint16_t>channel)
        total = head + octets.n
        if octets.n <= piece:         # nearly always, and a division takes its time
            total += 8 if octets.n else 0
        else:
            total += 8 * ((octets.n + piece - 1) // piece)
        out = PyBytes_FromStringAndSize(NULL, <Py_ssize_t>total)
        w = <uint8_t*>PyBytes_AS_STRING(out)
        memcpy(w, b.start, head)
        w += head
        done = 0
        while done < octets.n:
            n = min(piece, octets.n - done)
            w = put_envelope(w, FRAME_BODY, <uint16_t>channel, <uint32_t>n)
            memcpy(w, octets.p + done, n)
            w[n] = FRAME_END
            w += n + 1
            done += n
        return out
    finally:
        drop_octets(&octets)
        buffer_free(&b)


cdef list content_parts(const uint8_t* head, size_t head_octets, object body, Py_ssize_t size,
                        uint64_t piece, uint16_t channel):
    """[method and header frames with the first body envelope, body view, end and next envelope, ...]"""
    cdef list parts = []
    cdef uint8_t between[8]
    cdef bytes first
    cdef uint64_t done = 0, n
    cdef object octets
    if size == 0:
        return [PyBytes_FromStringAndSize(<const char*>head, <Py_ssize_t>head_octets)]
    octets = memoryview(body).cast("B")
    first = PyBytes_FromStringAndSize(NULL, <Py_ssize_t>head_octets + 7)
    memcpy(PyBytes_AS_STRING(first), head, head_octets)
    n = min(piece, <uint64_t>size)
    put_envelope(<uint8_t*>PyBytes_AS_STRING(first) + head_octets, FRAME_BODY, channel, <uint32_t>n)
    parts.append(first)
    between[0] = FRAME_END
    while True:
        parts.append(octets[done:done + n])
        done += n
        if done == <uint64_t>size:
            parts.append(PyBytes_FromStringAndSize(<const char*>between, 1))
            return parts
        n = min(piece, <uint64_t>size - done)
        put_envelope(between + 1, FRAME_BODY, channel, <uint32_t>n)
        parts.append(PyBytes_FromStringAndSize(<const char*>between, 8))


# ---- decode ----

cdef object decode_at(Protocol self, const uint8_t* p, Py_ssize_t size, Py_ssize_t offset,
                      uintptr_t mode, object owner):
    cdef WireFrame f
    cdef Fault fault
    cdef int found
    cdef object frame
    if AMQP_UNLIKELY(offset < 0 or offset > size):
        raise ValueError(f"offset {offset} is outside of {size} octets")
    fault.code = OK
    found = scan_frame(p + offset, p + size, 0, <uint64_t>offset, &f, &fault)
    if found == SCAN_FRAME:
        frame = decode_frame(self, &f, p + offset, <uint64_t>offset, mode, ONE_SHOT_CACHE, owner, p)
        return (f.total, f.channel, frame)
    if found == SCAN_MORE:
        return None
    fault.method = fault.field = NULL
    raise fault_error(&fault)


cdef object decode_frame(Protocol self, const WireFrame* f, const uint8_t* start, uint64_t at,
                         uintptr_t mode, TextCache* cache, object owner, const uint8_t* owner_start):
    """The object of a whole frame. at: offset of its first octet, for errors. owner: bytes that
    bodies may borrow, which begin at owner_start; None to copy."""
    cdef Desc* d
    cdef PyObject* made
    cdef KindObject* o
    cdef object result
    if f.type == FRAME_METHOD:
        if AMQP_LIKELY(f.size >= 4):
            d = self.find(load32(f.payload))
            if AMQP_LIKELY(d != NULL):
                if d.read_hot != NULL:
                    made = d.read_hot(d, f.payload + 4, f.payload + f.size, mode, cache)
                    if AMQP_LIKELY(made != NULL):
                        result = <object>made
                        Py_DecRef(made)
                        return result
                return decode_payload(d, f, start, at, 4, False, mode, cache)
        raise bad_method(f, start, at)
    if f.type == FRAME_HEADER:
        return decode_header(self, f, start, at, mode, cache)
    if f.type == FRAME_BODY:
        if owner is None:
            result = PyBytes_FromStringAndSize(<const char*>f.payload, f.size)
        elif owner is view_of_copy:
            result = memoryview(PyBytes_FromStringAndSize(<const char*>f.payload, f.size))
        else:
            result = memoryview(owner)[f.payload - owner_start:f.payload - owner_start + f.size]
        made = <PyObject*>kind_new(self.body_type)
        if made == NULL:
            raise MemoryError
        (<KindObject*>made).field[0] = Py_NewRef(<PyObject*>result)
        result = <object>made
        Py_DecRef(made)
        return result
    if f.type == FRAME_HEARTBEAT:
        if f.size != 0 or f.channel != 0:
            raise frame_error(f, at, BAD_HEARTBEAT, 0)
        return self.Heartbeat()
    result = kind_instance(<PyTypeObject*><PyObject*>self.ProtocolHeader)
    o = <KindObject*><PyObject*>result
    for i in range(4):
        value = <object>f.payload[i]
        o.field[i] = Py_NewRef(<PyObject*>value)
    return result


cdef int begin_fault(const WireFrame* f, const uint8_t* start, uint64_t at, Cursor* c, Fault* fault) noexcept:
    """A cursor over a frame's payload, and a fault that knows the frame."""
    memset(fault, 0, sizeof(Fault))
    fault.in_frame = True
    fault.frame_type = f.type
    fault.channel = f.channel
    c.p = f.payload
    c.end = f.payload + f.size
    c.base = start
    c.base_at = at
    c.fault = fault
    return 0


cdef object frame_error(const WireFrame* f, uint64_t at, int code, uint16_t class_id):
    cdef Fault fault
    memset(&fault, 0, sizeof(fault))
    fault.code = code
    fault.in_frame = True
    fault.frame_type = f.type
    fault.channel = f.channel
    fault.class_id = class_id
    fault.have = f.size
    fault.offset = at
    if code == BAD_HEADER_CLASS:
        fault.offset = at + 7       # where the class id is
    return fault_error(&fault)


cdef object bad_method(const WireFrame* f, const uint8_t* start, uint64_t at):
    """A method frame without room for its ids, or with ids that no one defined."""
    cdef Fault fault
    cdef Cursor c
    begin_fault(f, start, at, &c, &fault)
    if f.size < 4:
        fail(&c, BAD_TRUNCATED, b"class id and method id", 4, 0)
    else:
        fail(&c, BAD_METHOD, NULL, 0, 0)
        fault.class_id = load16(f.payload)
        fault.method_id = load16(f.payload + 2)
    return fault_error(&fault)


cdef object decode_payload(const Desc* d, const WireFrame* f, const uint8_t* start, uint64_t at,
                           int skip, bint properties, uintptr_t mode, TextCache* cache):
    """Arguments or properties by the table path."""
    cdef Fault fault
    cdef Cursor c
    begin_fault(f, start, at, &c, &fault)
    c.p += skip
    return read_object(d, &c, properties, mode, cache)


cdef object decode_properties(Protocol self, const WireFrame* f, const uint8_t* start, uint64_t at,
                              uintptr_t mode, TextCache* cache):
    """The property list of a content header frame; its payload holds 12 octets at least."""
    cdef Desc* d = self.find_content(load16(f.payload))
    cdef PyObject* made
    cdef object result
    if AMQP_UNLIKELY(d == NULL):
        raise frame_error(f, at, BAD_HEADER_CLASS, load16(f.payload))
    if d.read_hot != NULL:
        made = d.read_hot(d, f.payload + 12, f.payload + f.size, mode, cache)
        if AMQP_LIKELY(made != NULL):
            result = <object>made
            Py_DecRef(made)
            return result
    return decode_payload(d, f, start, at, 12, True, mode, cache)


cdef int check_header(const WireFrame* f, const uint8_t* start, uint64_t at) except -1:
    cdef Fault fault
    cdef Cursor c
    if AMQP_UNLIKELY(f.size < 12):
        begin_fault(f, start, at, &c, &fault)
        fail(&c, BAD_TRUNCATED, b"content header", 12, 0)
        raise fault_error(&fault)
    return 0


cdef object decode_header(Protocol self, const WireFrame* f, const uint8_t* start, uint64_t at,
                          uintptr_t mode, TextCache* cache):
    cdef object properties, header, value
    cdef KindObject* o
    check_header(f, start, at)
    properties = decode_properties(self, f, start, at, mode, cache)
    header = kind_instance(self.header_type)
    o = <KindObject*><PyObject*>header
    value = load64(f.payload + 4)
    o.field[0] = Py_NewRef(<PyObject*>value)
    o.field[1] = Py_NewRef(<PyObject*>properties)
    value = load16(f.payload)
    o.field[2] = Py_NewRef(<PyObject*>value)
    value = load16(f.payload + 2)
    o.field[3] = Py_NewRef(<PyObject*>value)
    return header
