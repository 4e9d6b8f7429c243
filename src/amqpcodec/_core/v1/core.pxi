# AMQP 1.0 from its lowered table: its classes and enums.

cdef uintptr_t v1_reading_mode(object types) except? 0xFFFF:
    if types == "plain":
        return 0
    if types != "typed":
        raise ValueError(f'types is "plain" or "typed", not {types!r}')
    return MODE_TYPED


cdef class V1Core:
    """The classes and enums of AMQP 1.0. Made from a lowered table."""

    def __cinit__(self, dict table not None):
        cdef V1Desc* d
        cdef dict specs = {spec["python"]: spec for spec in table["types"]}
        cdef dict enums
        cdef int i, k
        self.table = table
        self.name = table["name"]
        self.module = table["module"]
        self.descs = V1DescTable(table["types"])
        enums = {spec["python"]: v1_make_enum(spec, self.module) for spec in table["enums"]}
        closed = {spec["python"]: enums[spec["python"]] for spec in table["enums"] if not spec["open"]}
        self.classes = dict(enums)
        types = {}
        for i in range(self.descs.types.count):
            d = &self.descs.types.desc[i]
            spec = table["types"][i]
            made = v1_make_class(self.descs, d, spec, closed, self.module)
            self.classes[spec["python"]] = made
            types[spec["code"]] = made
        for i in range(self.descs.types.count):
            d = &self.descs.types.desc[i]
            for k in range(d.n):
                if d.op[k].wire_type == V1_COMPOSITE:
                    code = specs[table["types"][i]["fields"][k][4]]["code"]
                    d.op[k].desc = self.descs.types.by_code[<uint8_t>code]
        self.TYPES = _MappingProxyType(types)
        self._make_frames()

    cdef int _make_frames(self) except -1:
        """The classes of what a frame can be beside a performative."""
        def made(name, what, doc, names, defaults):
            return new_class(name, (Frame,), {
                "__module__": self.module, "__qualname__": name, "__doc__": doc, "__slots__": (),
                "__hash__": None, "__match_args__": names, "FIELDS": names},
                class_fields(names, defaults, v1_field_docs(doc)), tuple(range(len(names))), what, 0, self)
        self.ProtocolHeader = made(
            "ProtocolHeader", CLASS_V1_HEADER,
            'The eight bytes that open a layer: "AMQP" and these four.\n\n'
            "Args:\n"
            "    protocol_id: 0 for AMQP, 2 for TLS, 3 for SASL.\n"
            "    major: first number of the version.\n"
            "    minor: second number of the version.\n"
            "    revision: third number of the version.",
            ("protocol_id", "major", "minor", "revision"), self.table["headers"]["AMQP"])
        self.Heartbeat = made("Heartbeat", CLASS_V1_HEARTBEAT,
                              "A frame without a body: nothing but a sign of life.", (), ())
        self.Heartbeat.__reduce__ = v1_reduce       # with its extended header
        self.BadFrame = made("BadFrame", CLASS_V1_BAD_FRAME,
                             "A frame that could not be read: the error, and its bytes.\n\n"
                             "Args:\n"
                             "    error: the DecodeError.\n"
                             "    raw: the bytes.",
                             ("error", "raw"), (None, b""))
        self.Delivery = made(
            "Delivery", CLASS_V1_DELIVERY,
            "A delivery, whole.\n\n"
            "Args:\n"
            "    transfer: the first of its transfers.\n"
            "    message: for message format 0; read on first use.\n"
            "    payload: the bytes of all its transfers.\n"
            "    settled: whether any of them said so.\n"
            "    state: the last that any of them gave.\n"
            "    position: where it resumes inside of a section, the Received that says where; then\n"
            "        there is no message.",
            ("transfer", "message", "payload", "settled", "state", "position"),
            (None, None, b"", False, None, None))
        return 0

    def __reduce__(self):
        raise TypeError("a protocol is not pickled; import it")

cdef object v1_value_at(V1Core self, const uint8_t* p, Py_ssize_t size, Py_ssize_t offset,
                        uintptr_t mode):
    cdef Cursor c
    cdef Fault fault
    cdef V1Reader r
    if AMQP_UNLIKELY(offset < 0 or offset > size):
        raise ValueError(f"offset {offset} is outside of {size} bytes")
    begin_cursor(&c, &fault, p + offset, p + size, p, 0)
    v1_reader(&r, &self.descs.types, V1_ONE_SHOT_CACHE, mode)
    value = v1_value(&r, &c, 0)
    return value, c.p - (p + offset)
