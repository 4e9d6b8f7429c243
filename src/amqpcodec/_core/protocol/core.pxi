# One protocol version: its classes, and how they are found by what is on the wire.
# Built-in versions and those loaded from XML at run time come the same way.

from types import MappingProxyType as _MappingProxyType

cdef dict PROPERTY_ALIASES = {"cluster_id": "reserved"}
cdef tuple WIRE_DEFAULTS = (False, 0, 0, 0, 0, "", b"", EPOCH, Ellipsis, b"")

# What the fields of frames are.
cdef dict FRAME_DOCS = {
    "body_size": "bytes of the body, of all its frames", "properties": "the properties of the content",
    "class_id": "class of the method that the content belongs to", "weight": "unused, 0",
    "payload": "bytes", "method": "the method that carries the content", "body": "bytes of all body frames",
    "protocol_id": "unused; 0 or 1, by version", "major": "first number of the version",
    "minor": "second number of the version", "revision": "third number of the version",
    "error": "the DecodeError", "raw": "bytes of the frame",
}

cdef class ProtocolCore:
    """The classes of a protocol version. Made from a lowered table."""

    def __cinit__(self, dict table not None, bint fast=True):
        """fast=False leaves every frame to the table path, which tests hold against the other."""
        cdef int count = 0
        self.fast = fast
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

    @cython.final
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
                                        CLASS_PROPERTIES, spec["properties"], constants)
                members["Properties"] = made
                if self.fast:
                    make_fast(d, True)
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
                                        CLASS_METHOD, method["fields"], constants)
                if self.fast:
                    make_fast(d, False)
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

    @cython.final
    cdef object _make_class(self, Desc* d, str qualname, object base, int what, tuple fields, dict members):
        names = tuple([field[0] for field in fields])
        forms = tuple([FORM_TABLE if field[1] == W_TABLE else FORM_TIME if field[1] == W_TIMESTAMP
                       else FORM_PLAIN for field in fields])
        properties = what == CLASS_PROPERTIES
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
        docs = {field[0]: f"{(<bytes>WIRE_NAMES[field[1]]).decode()}; {field[3]}" for field in fields}
        made = new_class(qualname.rpartition(".")[2], (base,), members, class_fields(names, defaults, docs, forms),
                         positions, what, properties, self.descs)
        self.descs.keep.append(made)
        for alias, name in PROPERTY_ALIASES.items() if properties else ():
            if name in names and alias not in names:
                setattr(made, alias, made.__dict__[name])
                class_set_alias(made, alias, names.index(name))
        class_set_desc(made, d)
        d.cls = <PyObject*>made
        return made

    @cython.final
    cdef object _make_frame(self, str name, int what, str doc, tuple fields):
        names = tuple([field for field, _ in fields])
        return new_class(name, (Frame,), {
            "__module__": self.module, "__qualname__": name, "__doc__": doc, "__slots__": (),
            "__hash__": None, "__match_args__": names, "FIELDS": names,
            "_DEFAULTS": tuple([value for _, value in fields])},
            class_fields(names, tuple([value for _, value in fields]), FRAME_DOCS), tuple(range(len(fields))), what, 0,
            self)

    @cython.final
    cdef int _make_frames(self) except -1:
        cdef object properties = None
        cdef int class_id = 0
        if self.n_contents:
            properties = <object>self.contents[0].cls
            class_id = self.contents[0].class_id
        self.Header = self._make_frame(
            "Header", CLASS_HEADER,
            "A content header frame: body_size in bytes, and the properties of the content.",
            (("body_size", 0), ("properties", properties), ("class_id", class_id), ("weight", 0)))
        self.Body = self._make_frame(
            "Body", CLASS_BODY, "A body frame: a piece of content.", (("payload", b""),))
        self.Heartbeat = self._make_frame(
            "Heartbeat", CLASS_HEARTBEAT, "A heartbeat frame: nothing but a sign of life.", ())
        header = self.table["header"]
        self.ProtocolHeader = self._make_frame(
            "ProtocolHeader", CLASS_PROTOCOL_HEADER,
            'The eight bytes that open a connection: "AMQP" and these four.',
            tuple(zip(("protocol_id", "major", "minor", "revision"), header)))
        self.Message = self._make_frame(
            "Message", CLASS_MESSAGE, "A method with its content, whole.",
            (("method", None), ("properties", properties), ("body", b"")))
        self.BadFrame = self._make_frame(
            "BadFrame", CLASS_BAD_FRAME, "A frame that could not be read: the error, and its bytes.",
            (("error", None), ("raw", b"")))
        self.header_type = <PyTypeObject*><PyObject*>self.Header
        self.body_type = <PyTypeObject*><PyObject*>self.Body
        self.message_type = <PyTypeObject*><PyObject*>self.Message
        return 0

    # ---- look-up ----

    @cython.final
    cdef int _enter(self, Desc* d) except -1:
        cdef uint32_t key = (<uint32_t>d.class_id << 16) | d.method_id
        cdef uint32_t i = slot_index(key) & self.slot_mask
        while self.slot[i].desc != NULL:
            i = (i + 1) & self.slot_mask
        self.slot[i].key = key
        self.slot[i].desc = d
        return 0
