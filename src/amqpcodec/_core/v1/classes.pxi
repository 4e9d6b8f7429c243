# The classes of AMQP 1.0's described types, of the one kind that all generated classes have.

import enum as _enum


@cython.final
cdef class V1Default:
    # A field that has a default: what is unset reads as that.

    cdef readonly str name
    cdef object doc
    cdef readonly object default
    cdef object owner
    cdef int slot

    @property
    def __doc__(self):
        return self.doc

    def __get__(self, obj, cls):
        cdef PyObject* v
        if obj is None:
            return self
        self.check(obj)
        v = (<MessageObject*><PyObject*>obj).field[self.slot]
        return self.default if v == Py_None or v == NULL else <object>v

    def __set__(self, obj, value):
        self.check(obj)
        class_store(<MessageObject*><PyObject*>obj, self.slot, Py_NewRef(<PyObject*>value))
        class_track_for(<PyObject*>obj, <PyObject*>value)

    cdef int check(self, object obj) except -1:
        if type(obj) is not self.owner:
            raise TypeError(f"{self.name} is a field of {self.owner.__name__}")
        return 0


@cython.binding(True)
def v1_repr(self):
    cdef MessageClass* k = v1_described_class(self)
    cdef list parts = []
    if not repr_begin(self):
        return f"{type(self).__qualname__}(...)"
    try:
        v1_parts(self, k, parts)
    finally:
        repr_end(self)
    return f"{type(self).__qualname__}({', '.join([f'{name}={text}' for name, text in parts])})"


@cython.binding(True)
def v1_html(self):
    """A table of the fields that are set, for notebooks."""
    cdef list parts = []
    from amqpcodec._facade.html import fields_html
    v1_parts(self, v1_described_class(self), parts)
    return fields_html(type(self).__qualname__, parts)


cdef int v1_parts(object self, MessageClass* k, list parts) except -1:
    """The fields that are set, as a repr shows them: (name, text)."""
    cdef V1Desc* d = <V1Desc*>k.desc
    cdef PyObject* v
    cdef int i
    for i in range(k.fields):
        v = (<MessageObject*><PyObject*>self).field[i]
        if v == Py_None or v == NULL:
            continue
        shown = f"<{len(<object>v)} bytes, not shown>" if i < d.n and d.op[i].secret and hasattr(
            <object>v, "__len__") else short_repr(<object>v)
        parts.append((<str>k.name[i], shown))
    return 0


@cython.binding(True)
def v1_is_set(self, name):
    """Whether a field has a value of its own, and not just its default.

    Raises:
        AttributeError: there is no such field.
    """
    cdef MessageClass* k = v1_described_class(self)
    cdef PyObject* v
    cdef int i
    for i in range(k.fields):
        if <str>k.name[i] == name:
            v = (<MessageObject*><PyObject*>self).field[i]
            return v != NULL and v != Py_None
    raise AttributeError(f"{type(self).__name__} has no field {name!r}")


@cython.binding(True)
def v1_reduce(self):
    cdef MessageObject* o = <MessageObject*><PyObject*>self
    cdef MessageClass* k = class_of(self)
    if k == NULL or k.what not in (CLASS_V1_DESCRIBED, CLASS_V1_HEARTBEAT):
        raise TypeError(f"takes an instance of AMQP 1.0's classes, not {type(self).__name__}")
    values = tuple([None if o.field[i] == NULL else <object>o.field[i] for i in range(k.fields)])
    return restore_v1, (type(self), values, o.mode, None if o.origin == NULL else <object>o.origin)


def restore_v1(cls, tuple values not None, uintptr_t mode, bytes origin):
    """Undo v1_reduce. Bytes that a pickle brings are read as a peer's are."""
    cdef MessageClass* k
    cdef MessageObject* o
    cdef V1Desc* d
    cdef uint32_t extended
    cdef int i
    if not class_check_type(<PyTypeObject*><PyObject*>cls):
        raise TypeError("not a class of AMQP 1.0")
    k = CLASS_OF(<PyTypeObject*><PyObject*>cls)
    if k.what not in (CLASS_V1_DESCRIBED, CLASS_V1_HEARTBEAT) or len(values) != k.fields:
        raise ValueError(f"{cls.__qualname__}: the pickle was made with other fields")
    result = class_instance(<PyTypeObject*><PyObject*>cls)
    o = <MessageObject*><PyObject*>result
    o.mode = <uint32_t>mode & MODE_TYPED
    for i in range(k.fields):
        value = values[i]
        class_store(o, i, Py_NewRef(<PyObject*>value))
    if origin is not None:
        extended = (<uint32_t>mode >> V1_EXTENDED) & 0x3FC
        d = <V1Desc*>k.desc
        if (extended > V1_EXTENDED_ROOM or extended > <size_t>PyBytes_GET_SIZE(origin)
                or extended and d != NULL and d.frame == V1_NO_FRAME):
            raise ValueError(f"{cls.__qualname__}: the pickle holds another extended header")
        o.mode |= extended << V1_EXTENDED
        if d == NULL:
            if extended != <size_t>PyBytes_GET_SIZE(origin):
                raise ValueError(f"{cls.__qualname__}: the pickle holds bytes of another type")
        elif type(v1_read_origin(&(<V1DescTable>k.owner).types, origin, o.mode)) is not cls:
            raise ValueError(f"{cls.__qualname__}: the pickle holds bytes of another type")
        o.origin = Py_NewRef(<PyObject*>origin)
    class_track(<PyObject*>result)
    return result


cdef dict V1_BASE_DICT = {
    "__module__": "amqpcodec._codec", "__slots__": (), "__hash__": None, "__repr__": v1_repr,
    "__reduce__": v1_reduce, "__replace__": frame_replace, "_repr_html_": v1_html,
    "is_set": v1_is_set,
}

Composite = new_class("Composite", (), {
    **V1_BASE_DICT, "__module__": "amqpcodec.v1_0", "validate": v1_validate,
    "__doc__": "Base of the classes of described types.",
}, (), (), CLASS_ABSTRACT, 0, None)


cdef dict v1_field_docs(str doc):
    """What the docstring of a class says of its arguments, by name."""
    cdef dict docs = {}
    name = None
    for line in doc.partition("Args:\n")[2].split("\n"):
        if not line.startswith("    "):
            break
        if line.startswith("        "):
            docs[name] += " " + line.strip()
            continue
        name, _, text = line.strip().partition(": ")
        docs[name] = text
    return docs


cdef object v1_make_enum(dict spec, str module):
    """The choices of a restricted type: numbers and booleans as IntEnum, symbols as Symbol."""
    cdef bint symbols = spec["primitive"] == "symbol"
    choices = [(name, value) for name, value, _ in spec["choices"]]
    if symbols:
        made = _enum.Enum(spec["python"], choices, module=module, qualname=spec["python"], type=V1Symbol)
    else:
        choices = [(name, int(value)) for name, value in choices]
        made = _enum.IntEnum(spec["python"], choices, module=module, qualname=spec["python"])
    made.__doc__ = spec["doc"]
    return made


cdef int v1_bind_choices(V1DescTable table, V1Op* op, object members) except -1:
    """Let a field's values be members of an enum."""
    if issubclass(members, V1Symbol):
        named = {str(member.value): member for member in members}
        table.keep.append(named)
        op.named = <PyObject*>named
        op.symbols = table.text("\0".join(named) + "\0")
        return 0
    op.choices = 0
    for member in members:
        if member.value >= V1_MAX_CHOICES:
            raise ValueError(f"{members.__name__}: choice {member.value} is too large")
        op.choice[<int>member.value] = <PyObject*>member
        op.choices = max(op.choices, <int>member.value + 1)
    table.keep.append(members)
    return 0


cdef object v1_make_class(V1DescTable table, V1Desc* d, dict spec, dict enums, str module):
    """The class of a described type."""
    cdef tuple fields = spec["fields"]
    cdef list names = [field[0] for field in fields]
    cdef list defaults = [None] * len(names)
    cdef V1Default default
    cdef int i, wire = <int>len(names)
    if d.payload >= 0:
        names.append("payload")
        defaults.append(b"")
    docs = v1_field_docs(spec["doc"])
    docs["payload"] = "bytes that the frame carries after it; of transfers alone"
    members = {
        "__module__": module, "__qualname__": spec["python"], "__doc__": spec["doc"],
        "__slots__": (), "__hash__": None, "__match_args__": tuple(names[:wire]),
        "FIELDS": tuple(names[:wire]), "NAME": spec["name"], "DESCRIPTOR": spec["code"],
        "SYMBOL": v1_str_subclass(V1Symbol, spec["symbol"]), "PROVIDES": spec["provides"],
        "MANDATORY": tuple([field[0] for field in fields if field[2] & V1_FIELD_MANDATORY]),
    }
    made = new_class(spec["python"], (Composite,), members, class_fields(tuple(names), tuple(defaults), docs),
                     tuple(range(wire)), CLASS_V1_DESCRIBED, 1, table)
    class_describe(made, d)
    table.keep.append(made)
    d.cls = <PyObject*>made
    for i in range(<int>len(names)):
        fallback = b"" if i == wire else fields[i][3]
        if i < wire and fields[i][4] in enums:
            v1_bind_choices(table, &d.op[i], enums[fields[i][4]])
            if fallback is not None:
                fallback = enums[fields[i][4]](fallback)
        if fallback is None:
            continue
        default = V1Default.__new__(V1Default)
        default.name = names[i]
        default.default = fallback
        default.owner = made
        default.doc = docs.get(names[i])
        default.slot = i
        setattr(made, names[i], default)
    return made
