# AMQP 1.0 messages (Part 3 §3.2): a table of sections at once, their values on first use.

cdef object ABSENT = _v1.ABSENT
cdef object V1_SET = object()           # marks: no argument given

cdef tuple V1_SECTION_NAMES = (
    "header", "delivery_annotations", "message_annotations", "properties", "application_properties",
    "data", "sequences", "value", "footer")
cdef tuple V1_BODY_KINDS = ("data", "sequence", "value")

# The family that messages belong to; set when the built-in protocol is made.
cdef V1Core V1_FAMILY = None


@cython.final
@cython.freelist(64)
@cython.trashcan(True)      # its value may be a message, and so on
cdef class Message:
    """A message of AMQP 1.0: its sections, read when they are asked for.

    Args:
        body: bytes (or another buffer) for a data section, an instance of Data, AmqpSequence or
            AmqpValue, anything else for an amqp-value section; None for no body.
        header, properties: whole sections; or their fields by name, such as durable and to.
        delivery_annotations, message_annotations, application_properties, footer: dict or Map.
        data, sequences: several body sections of a kind; value: an amqp-value, None included.

    Spec: 1.0 Part 3 §3.2.
    """

    cdef bytes raw                  # as it came, or None
    cdef uint32_t offset[SEC_COUNT]
    cdef uint32_t length[SEC_COUNT]
    cdef int have                   # sections in raw
    cdef int loaded                 # those whose value was made
    cdef int assigned               # those that are the attributes' alone
    cdef uint32_t mode
    cdef bint views
    cdef object s_header, s_delivery, s_message, s_properties, s_application
    cdef object s_data, s_sequences, s_value, s_footer

    def __cinit__(self):
        self.s_data = ()
        self.s_sequences = ()
        self.s_value = ABSENT

    def __init__(self, body=None, *, header=None, delivery_annotations=None, message_annotations=None,
                 properties=None, application_properties=None, data=(), sequences=(), value=ABSENT,
                 footer=None, **fields):
        self.assigned = (1 << SEC_COUNT) - 1
        self.s_header = header
        self.s_properties = properties
        if fields:
            self.set_fields(fields)
        self.s_delivery = delivery_annotations
        self.s_message = message_annotations
        self.s_application = application_properties
        self.s_footer = footer
        self.s_data = v1_data_sections(data)
        self.s_sequences = tuple(sequences)
        self.s_value = value
        if body is not None:
            if data or sequences or value is not ABSENT:
                raise TypeError("Message() takes body, or data, sequences or value")
            self.body = body

    @cython.final
    cdef int set_fields(self, dict fields) except -1:
        """Fields of header and properties by their names."""
        head = {name: fields.pop(name) for name in V1_FAMILY.classes["Header"].FIELDS if name in fields}
        rest = {name: fields.pop(name) for name in V1_FAMILY.classes["Properties"].FIELDS if name in fields}
        for name in fields:
            raise TypeError(f"Message() got an unexpected keyword argument '{name}'")
        if head:
            if self.s_header is not None:
                raise TypeError("Message() takes header or its fields")
            self.s_header = V1_FAMILY.classes["Header"](**head)
        if rest:
            if self.s_properties is not None:
                raise TypeError("Message() takes properties or their fields")
            self.s_properties = V1_FAMILY.classes["Properties"](**rest)
        return 0

    @staticmethod
    def decode(data, *, bint eager=False, bint copy=True, types="plain"):
        """A message from the bytes of its sections, as a delivery carries them.

        Args:
            eager: read all sections now; else each on first use, which may raise then.
            copy: False gives data sections as memoryviews of the bytes.
            types: "plain" or "typed" values.

        Raises:
            DecodeError: sections are unknown, out of order, there twice or cut off; with
                eager=True, whatever is wrong in any of them.
        """
        cdef bytes whole = data if type(data) is bytes else bytes_of(data)
        cdef uintptr_t mode = 0 if types is PLAIN else v1_reading_mode(types)
        return v1_message(whole, 0, eager, not copy, mode)

    # ---- sections as attributes ----

    @property
    def header(self):
        """The Header, None where there is none."""
        return self.section(SEC_HEADER)

    @header.setter
    def header(self, value):
        self.assign(SEC_HEADER, value)

    @property
    def effective_header(self):
        """The Header that a receiver goes by: `header`, or one of defaults where there is none.

        A default one is not part of the message: changing it changes nothing.
        Spec: 1.0 Part 3 §3.2.1.
        """
        header = self.section(SEC_HEADER)
        return V1_FAMILY.classes["Header"]() if header is None else header

    @property
    def delivery_annotations(self):
        """dict (or Map), None where there are none."""
        return self.section(SEC_DELIVERY_ANNOTATIONS)

    @delivery_annotations.setter
    def delivery_annotations(self, value):
        self.assign(SEC_DELIVERY_ANNOTATIONS, value)

    @property
    def message_annotations(self):
        """dict (or Map), None where there are none."""
        return self.section(SEC_MESSAGE_ANNOTATIONS)

    @message_annotations.setter
    def message_annotations(self, value):
        self.assign(SEC_MESSAGE_ANNOTATIONS, value)

    @property
    def properties(self):
        """The Properties, None where there are none."""
        return self.section(SEC_PROPERTIES)

    @properties.setter
    def properties(self, value):
        self.assign(SEC_PROPERTIES, value)

    @property
    def application_properties(self):
        """dict (or Map), None where there are none."""
        return self.section(SEC_APPLICATION_PROPERTIES)

    @application_properties.setter
    def application_properties(self, value):
        self.assign(SEC_APPLICATION_PROPERTIES, value)

    @property
    def data(self):
        """The data sections: a tuple of bytes, empty where there is none."""
        return self.section(SEC_DATA)

    @data.setter
    def data(self, value):
        self.assign(SEC_DATA, v1_data_sections(value))

    @property
    def sequences(self):
        """The amqp-sequence sections: a tuple of lists, empty where there is none."""
        return self.section(SEC_AMQP_SEQUENCE)

    @sequences.setter
    def sequences(self, value):
        self.assign(SEC_AMQP_SEQUENCE, tuple(value))

    @property
    def value(self):
        """The value of the amqp-value section, ABSENT where there is none."""
        return self.section(SEC_AMQP_VALUE)

    @value.setter
    def value(self, value):
        self.assign(SEC_AMQP_VALUE, value)

    @property
    def footer(self):
        """dict (or Map), None where there is none."""
        return self.section(SEC_FOOTER)

    @footer.setter
    def footer(self, value):
        self.assign(SEC_FOOTER, value)

    @property
    def body_kind(self):
        """"data", "sequence", "value", or None without a body."""
        cdef int i
        for i in range(SEC_DATA, SEC_AMQP_VALUE + 1):
            if self.is_there(i):
                return V1_BODY_KINDS[i - SEC_DATA]
        return None

    @property
    def body(self):
        """The bytes of all data sections, the items of all sequences, or the value; else None."""
        kind = self.body_kind
        if kind == "data":
            return self.data[0] if len(self.data) == 1 else b"".join(self.data)
        if kind == "sequence":
            return [item for part in self.sequences for item in part]
        return self.value if kind == "value" else None

    @body.setter
    def body(self, value):
        data, sequences, alone = (), (), ABSENT
        if isinstance(value, (bytes, bytearray, memoryview)):
            data = (value,)
        elif class_of(value) != NULL and class_of(value).what == CLASS_V1_DESCRIBED and "section" in value.PROVIDES:
            name = type(value).__name__
            if name == "Data":
                data = (b"" if value.value is None else value.value,)
            elif name == "AmqpSequence":
                sequences = ([] if value.value is None else value.value,)
            elif name == "AmqpValue":
                alone = value.value
            else:
                raise TypeError(f"a body is no {name}")
        elif value is not None:
            alone = value
        self.data = data
        self.sequences = sequences
        self.value = alone

    @cython.final
    cdef object stored(self, int i):
        if i == SEC_HEADER:
            return self.s_header
        if i == SEC_DELIVERY_ANNOTATIONS:
            return self.s_delivery
        if i == SEC_MESSAGE_ANNOTATIONS:
            return self.s_message
        if i == SEC_PROPERTIES:
            return self.s_properties
        if i == SEC_APPLICATION_PROPERTIES:
            return self.s_application
        if i == SEC_DATA:
            return self.s_data
        if i == SEC_AMQP_SEQUENCE:
            return self.s_sequences
        return self.s_value if i == SEC_AMQP_VALUE else self.s_footer

    @cython.final
    cdef inline int store(self, int i, object value) noexcept:
        if i == SEC_HEADER:
            self.s_header = value
        elif i == SEC_DELIVERY_ANNOTATIONS:
            self.s_delivery = value
        elif i == SEC_MESSAGE_ANNOTATIONS:
            self.s_message = value
        elif i == SEC_PROPERTIES:
            self.s_properties = value
        elif i == SEC_APPLICATION_PROPERTIES:
            self.s_application = value
        elif i == SEC_DATA:
            self.s_data = value
        elif i == SEC_AMQP_SEQUENCE:
            self.s_sequences = value
        elif i == SEC_AMQP_VALUE:
            self.s_value = value
        else:
            self.s_footer = value
        return 0

    @cython.final
    cdef object section(self, int i):
        """A section's value, made now where it is still bytes."""
        with cython.critical_section(self):     # where there is no GIL, two may ask at once
            if self.have & ~self.loaded & ~self.assigned & 1 << i:
                self.store(i, v1_read_section(self, i))
                self.loaded |= 1 << i
            return self.stored(i)

    @cython.final
    cdef int assign(self, int i, object value) except -1:
        with cython.critical_section(self):
            self.store(i, value)
            self.assigned |= 1 << i
        return 0

    @cython.final
    cdef bint is_there(self, int i) except -1:
        if not self.assigned & 1 << i:
            return self.have >> i & 1
        value = self.stored(i)
        if i == SEC_DATA or i == SEC_AMQP_SEQUENCE:
            return len(value) > 0
        return value is not ABSENT if i == SEC_AMQP_VALUE else value is not None

    # ---- bytes ----

    def encode(self, *, bint validate=False):
        """The bytes of all sections. Those that were decoded and not changed are as they came.

        Raises:
            EncodeError: names the section and field that cannot be encoded.
        """
        if validate:
            self.validate()
        return v1_encode_message(self, 0, SEC_FOOTER)

    @property
    def bare(self):
        """The bytes of the bare message: properties, application properties and body.

        Header, annotations and footer can change without any change to these.
        """
        return v1_encode_message(self, SEC_PROPERTIES, SEC_AMQP_VALUE)

    def sections(self):
        """The sections as encode() writes them: a list of (number, descriptor, offset, length).

        number: from 0 on in order, as Received counts them. offset: bytes from the start of the
        message to the section's own, descriptor included; length: in bytes.
        """
        return v1_section_list(self.encode())

    def validate(self):
        """Check what the specification demands beyond what decode does.

        Raises:
            ValidationError: names the section and what is wrong in it.
            EncodeError: a value cannot be encoded at all.
        """
        cdef int i
        self.encode()
        v1_check_message(self)

    def __eq__(self, other):
        cdef int i
        if not isinstance(other, Message):
            return NotImplemented
        for i in range(SEC_COUNT):
            if not v1_same_section(self, <Message>other, i):
                return False
        return True

    __hash__ = None

    def __repr__(self):
        cdef list parts = []
        if not repr_begin(self):
            return "Message(...)"
        try:
            v1_message_parts(self, parts)
        finally:
            repr_end(self)
        return f"Message({', '.join([f'{name}={text}' for name, text in parts])})"

    def _repr_html_(self):
        """A table of the sections that are there, for notebooks."""
        cdef list parts = []
        from amqpcodec._facade.html import fields_html
        v1_message_parts(self, parts)
        return fields_html("Message", parts)

    def __reduce__(self):
        return restore_message, (self.encode(), self.mode, self.views)

    def __copy__(self):
        """A message of the same bytes."""
        return restore_message(self.encode(), self.mode, self.views)

    def __deepcopy__(self, memo):
        """A message of the same bytes."""
        return restore_message(self.encode(), self.mode, self.views)

    def __replace__(self, /, **changes):
        """A copy with other sections, another body, or other fields of header and properties:
        copy.replace() and amqpcodec.replace() call it.

        Raises:
            TypeError: there is no such section or field, or a section and fields of it are given.
        """
        made = restore_message(self.encode(), self.mode, self.views)
        for section in ("Header", "Properties"):
            cls = V1_FAMILY.classes[section]
            fields = {name: changes.pop(name) for name in cls.FIELDS if name in changes}
            section = section.lower()
            if fields and section in changes:
                raise TypeError(f"Message.__replace__() takes {section} or its fields")
            if fields:
                changes[section] = frame_replace(getattr(made, section) or cls(), **fields)
        for name, value in changes.items():
            if name != "body" and name not in V1_SECTION_NAMES:
                raise TypeError(f"Message has no section or field {name!r}")
            setattr(made, name, value)
        return made


cdef int v1_message_parts(Message m, list parts) except -1:
    """The sections that are there, as a repr shows them: (name, text). One that cannot be read says
    what is wrong."""
    cdef int i
    for i in range(SEC_COUNT):
        if not m.is_there(i):
            continue
        try:
            value = short_repr(m.section(i))
        except DecodeError as error:
            value = f"<malformed {V1_SECTION_NAMES[i]}: {error}>"
        parts.append((V1_SECTION_NAMES[i], value))
    return 0


cdef bint v1_same_section(Message a, Message b, int i) except -1:
    """Whether a section says the same in both; the bytes of one that cannot be read speak for it."""
    try:
        return a.section(i) == b.section(i)
    except ArithmeticError:
        return False            # a signaling NaN refuses to be compared
    except DecodeError:
        return v1_raw_section(a, i) == v1_raw_section(b, i)


cdef object v1_raw_section(Message m, int i):
    """A section's bytes as they came; None where it came with none, or was assigned."""
    if m.raw is None or m.assigned & 1 << i or not m.have >> i & 1:
        return None
    return m.raw[m.offset[i]:m.offset[i] + m.length[i]]


def restore_message(bytes whole not None, uintptr_t mode, bint views):
    """Undo Message.__reduce__."""
    return v1_message(whole, 0, False, views, mode & MODE_TYPED)


cdef tuple v1_data_sections(object value):
    """Data sections as a tuple of bytes; a single one may stand for itself."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return (value,)
    return tuple(value)


cdef Message v1_message(bytes whole, uint64_t at, bint eager, bint views, uintptr_t mode):
    """A message over bytes. at: offset of them in a stream, for errors."""
    cdef Message m = Message.__new__(Message)
    cdef Cursor c
    cdef Fault fault
    cdef V1Reader r
    cdef int i
    cdef const uint8_t* p = <const uint8_t*>PyBytes_AS_STRING(whole)
    if <uint64_t>PyBytes_GET_SIZE(whole) > MAX_U32:
        raise ValueError("a message takes at most 4294967295 bytes")
    begin_cursor(&c, &fault, p, p + PyBytes_GET_SIZE(whole), p, at)
    m.have = v1_scan_sections(&c, &V1_FAMILY.descs.types, m.offset, m.length)
    if m.have < 0:
        v1_raise(&c)
    m.raw = whole
    m.mode = <uint32_t>mode
    m.views = views
    if eager:
        v1_reader(&r, &V1_FAMILY.descs.types, V1_ONE_SHOT_CACHE, mode)
        for i in range(SEC_COUNT):
            if m.have >> i & 1:
                c.p = p + m.offset[i]
                c.end = c.p + m.length[i]
                r.zero_width = 0
                m.store(i, v1_section_at(m, &r, i, &c))
        m.loaded = m.have
    return m


cdef object v1_read_section(Message m, int i):
    """The value of a section that came, from its bytes."""
    cdef Cursor c
    cdef Fault fault
    cdef V1Reader r
    cdef const uint8_t* p = <const uint8_t*>PyBytes_AS_STRING(m.raw)
    begin_cursor(&c, &fault, p + m.offset[i], p + m.offset[i] + m.length[i], p, 0)
    v1_reader(&r, &V1_FAMILY.descs.types, V1_ONE_SHOT_CACHE, m.mode)
    return v1_section_at(m, &r, i, &c)


cdef object v1_section_at(Message m, V1Reader* r, int i, Cursor* c):
    """The value of the section (all of a kind) that the cursor is over."""
    cdef const uint8_t* start = c.p
    cdef V1Desc* d
    cdef list parts
    cdef object value
    c.p += 1
    d = v1_known(r.types, c)
    if d.composite:
        return v1_owned(v1_known_type(r, d, c, start, 1))
    value = v1_section_part(m, r, d, c, i)
    if i != SEC_DATA and i != SEC_AMQP_SEQUENCE:
        return value
    if c.p == c.end:
        return (value,)
    parts = [value]
    while c.p < c.end:
        c.p += 1
        d = v1_known(r.types, c)
        parts.append(v1_section_part(m, r, d, c, i))
    return tuple(parts)


cdef object v1_section_part(Message m, V1Reader* r, const V1Desc* d, Cursor* c, int i):
    """The value of a section that is no composite; the cursor is after its descriptor."""
    c.fault.at.method = d.name
    if v1_check_restricted(d, c) < 0:
        v1_raise(c)
    return v1_data_view(m, c) if i == SEC_DATA and m.views else v1_value(r, c, 1)


cdef object v1_data_view(Message m, Cursor* c):
    cdef V1Value v
    cdef Py_ssize_t at
    if v1_read(c, &v) < 0:
        v1_raise(c)
    at = v.p - <const uint8_t*>PyBytes_AS_STRING(m.raw)
    return memoryview(m.raw)[at:at + v.n]


cdef bytes v1_encode_message(Message m, int first, int last):
    """The bytes of the sections from first to last."""
    cdef Buffer b
    cdef uint8_t memory[STACK_ROOM]
    cdef int i
    if m.raw is not None and not m.loaded and not m.assigned and first == 0 and last == SEC_FOOTER:
        return m.raw
    buffer_init(&b, memory, STACK_ROOM)
    try:
        for i in range(first, last + 1):
            if m.is_there(i):
                v1_put_section(&b, m, i)
        return buffer_bytes(&b)
    finally:
        buffer_free(&b)


cdef int v1_put_section(Buffer* b, Message m, int i) except -1:
    """One section (all of a kind): its bytes as they came if they still say what it is."""
    cdef bint came = not m.assigned & 1 << i
    if came and (not m.loaded & 1 << i or i == SEC_DATA
                 or v1_section_bytes(m, i, m.stored(i)) == v1_section_bytes(m, i, v1_read_section(m, i))):
        return put_bytes(b, PyBytes_AS_STRING(m.raw) + m.offset[i], m.length[i])
    return v1_put_section_value(b, i, m.stored(i), 0)


cdef bytes v1_section_bytes(Message m, int i, object value):
    """What a section's value says, whatever bytes it came from."""
    cdef Buffer b
    cdef uint8_t memory[1024]
    buffer_init(&b, memory, 1024)
    try:
        v1_put_section_value(&b, i, value, V1_CANONICAL)
        return buffer_bytes(&b)
    finally:
        buffer_free(&b)


cdef int v1_put_section_value(Buffer* b, int i, object value, int mode) except -1:
    cdef Place at
    cdef V1Desc* d = V1_FAMILY.descs.types.by_code[SEC_FIRST_CODE + i]
    cdef MessageClass* k
    place_begin(&at, d.name, NULL)
    if d.composite:
        k = class_of(value)
        if k == NULL or k.desc != d:
            table_error(&at, f"takes {(<object>d.cls).__name__}, not {type(value).__name__}")
        return v1_put_instance(b, value, mode, 0, &at)
    if i != SEC_DATA and i != SEC_AMQP_SEQUENCE:
        value = (value,)
    for part in value:
        v1_put_small_descriptor(b, <uint8_t>(SEC_FIRST_CODE + i))
        if i == SEC_DATA:
            v1_put_binary(b, part, &at)
        elif i == SEC_AMQP_SEQUENCE:
            if not isinstance(part, (list, tuple)):
                table_error(&at, f"takes list, not {type(part).__name__}")
            v1_put_list(b, part, mode, 1, &at)
        elif i == SEC_AMQP_VALUE:
            v1_put(b, part, mode, 1, &at)
        else:
            v1_put_map_field(b, part, mode, 1, &at)
    return 0


cdef list v1_section_list(bytes whole):
    """(number, descriptor, offset, length) of each section."""
    cdef Cursor c
    cdef Fault fault
    cdef V1Value v
    cdef V1Desc* d
    cdef const uint8_t* start
    cdef const uint8_t* p = <const uint8_t*>PyBytes_AS_STRING(whole)
    cdef list found = []
    begin_cursor(&c, &fault, p, p + PyBytes_GET_SIZE(whole), p, 0)
    while c.p < c.end:
        start = c.p
        c.p += 1
        d = v1_known(&V1_FAMILY.descs.types, &c)
        if v1_read(&c, &v) < 0:
            v1_raise(&c)
        if v.wire_type == V1_DESCRIBED and v1_skip_described(&c, 2, 0) < 0:
            v1_raise(&c)
        found.append((len(found), d.code, start - p, c.p - start))
    return found
