# What all generated classes share: repr, pickling, validation. Specific classes are made in protocol/core.pxi.

import operator as _operator
import re as _re

cdef extern from *:
    """
    /* How many frames' reprs are being made, one inside the other, by this thread. */
    static PYTHON_THREAD_LOCAL int repr_depth = 0;
    """
    int repr_depth

cdef extern from "Python.h":
    int Py_ReprEnter(object o) except -1
    void Py_ReprLeave(object o)

cdef object ValidationError = _errors.ValidationError
cdef object Ellipsis_ = ...

cdef enum:
    REPR_BYTES = 64
    REPR_DEPTH = 32         # frames in frames that are shown; a decoded one has less


cdef str short_repr(object v):
    """A repr that stays on the screen: long bytes and text are cut, with their length."""
    if isinstance(v, (bytes, bytearray, memoryview)):
        if len(v) > REPR_BYTES:
            return f"<{len(v)} bytes: {bytes(v[:16])!r}...>"
        return repr(bytes(v) if isinstance(v, memoryview) else v)
    if isinstance(v, str) and len(v) > 4 * REPR_BYTES:
        return f"{v[:REPR_BYTES]!r}... ({len(v)} characters)"
    return repr(v)


cdef int repr_begin(object o) except -1:
    """1 where o can be shown, and repr_end follows; 0 where "..." stands for it: it is being shown
    already, or too many others are."""
    global repr_depth
    if repr_depth >= REPR_DEPTH or Py_ReprEnter(o):
        return 0
    repr_depth += 1
    return 1


cdef int repr_end(object o) except -1:
    global repr_depth
    repr_depth -= 1
    Py_ReprLeave(o)
    return 0


cdef bint is_default(MessageClass* k, int i, object v):
    cdef PyObject* fallback = k.fallback[i]
    if fallback == NULL:
        return v is None or v == {}
    return v is <object>fallback or (type(v) is type(<object>fallback) and v == <object>fallback)


cdef MessageClass* frame_class(object self) except NULL:
    """The MessageClass of an instance. What stands on it can be called with whatever a user hands it."""
    cdef MessageClass* k = class_of(self)
    if k == NULL:
        raise TypeError(f"takes a frame, not {type(self).__name__}")
    return k


@cython.binding(True)
def frame_repr(self):
    cdef MessageClass* k = frame_class(self)
    cdef list parts = []
    if not repr_begin(self):
        return f"{type(self).__qualname__}(...)"
    try:
        frame_parts(self, k, parts)
    finally:
        repr_end(self)
    return f"{type(self).__qualname__}({', '.join([f'{name}={text}' for name, text in parts])})"


@cython.binding(True)
def frame_html(self):
    """A table of the fields that have another value than their default, for notebooks."""
    cdef list parts = []
    from amqpcodec._facade.html import fields_html
    frame_parts(self, frame_class(self), parts)
    return fields_html(type(self).__qualname__, parts)


cdef int frame_parts(object self, MessageClass* k, list parts) except -1:
    """The fields that have another value than their default, as a repr shows them: (name, text)."""
    cdef Desc* d = <Desc*>k.desc
    cdef object v
    cdef int i
    for i in range(k.fields):
        if (<MessageObject*><PyObject*>self).field[i] == NULL and not k.bytes_slot[i] and not k.word[i]:
            continue
        v = class_get(self, i)
        if is_default(k, i, v):
            continue
        if d != NULL and d.op[i].secret:
            size = f"{len(v)} bytes, " if hasattr(v, "__len__") else ""
            parts.append((<str>k.name[i], f"<{size}not shown>"))
        else:
            parts.append((<str>k.name[i], short_repr(v)))
    return 0


@cython.binding(True)
def frame_reduce(self):
    cdef MessageObject* o = <MessageObject*><PyObject*>self
    cdef MessageClass* k = frame_class(self)
    cdef TableBytes* came
    cdef list values
    cdef int i
    for i in range(k.fields):
        if k.word[i]:
            class_get(self, i)       # the word itself is not pickled
    values = [Ellipsis_ if o.field[i] == NULL else <object>o.field[i] for i in range(k.fields)]
    for i in range(k.fields, k.slots):
        came = class_bytes(o, i)
        values.append(Ellipsis_ if came == NULL else
                      PyBytes_FromStringAndSize(<const char*>came.bytes, <Py_ssize_t>came.size))
    return restore_frame, (type(self), tuple(values), o.mode, None if o.origin == NULL else <object>o.origin)


@cython.binding(True)
def frame_replace(self, /, **changes):
    """A copy with other values in some fields: copy.replace() and amqpcodec.replace() call it.

    What does not change keeps its bytes.

    Raises:
        TypeError: there is no such field.
    """
    cdef MessageClass* k = frame_class(self)
    if k.what < 0:
        raise TypeError(f"{type(self).__name__} is abstract")
    function, args = self.__reduce__()
    made = function(*args)
    fields = [<str>k.name[i] for i in range(k.fields)]
    for name, value in changes.items():
        if name not in fields and not (k.alias != NULL and name == <object>k.alias):
            raise TypeError(f"{type(self).__qualname__} has no field {name!r}")
        setattr(made, name, value)
    if k.alias != NULL and <object>k.alias in changes and fields[k.alias_field] in changes:
        raise TypeError(f"{<object>k.alias} and {fields[k.alias_field]} are one field")
    return made


def restore_frame(cls, tuple values not None, uintptr_t mode, bytes origin):
    """Undo frame_reduce. What a pickle says is checked as what a peer says is."""
    cdef MessageClass* k
    cdef MessageObject* o
    cdef Desc* d
    cdef Cursor c
    cdef Fault fault
    cdef int i
    if not class_check_type(<PyTypeObject*><PyObject*>cls):
        raise TypeError("not a class of frames")
    k = CLASS_OF(<PyTypeObject*><PyObject*>cls)
    if k.what < 0 or len(values) != k.slots:
        raise ValueError(f"{cls.__qualname__}: the pickle was made with other fields")
    mode &= MODE_LETTER | MODE_TYPED | MODE_TRAILING
    result = <object>class_instance(<PyTypeObject*><PyObject*>cls)
    o = <MessageObject*><PyObject*>result
    o.mode = <uint32_t>mode
    memset(&fault, 0, sizeof(fault))
    c.base_at = 0
    c.fault = &fault
    for i in range(k.slots):
        v = values[i]
        if v is Ellipsis_:
            if i < k.fields and k.word[i]:
                raise ValueError(f"{cls.__qualname__}: the pickle leaves a timestamp out")
            if i < k.fields:
                class_store(o, i, NULL)
            continue
        if i >= k.fields:
            if type(v) is not bytes:
                raise TypeError("bytes of a table must be bytes")
            c.base = c.p = c.end = <const uint8_t*>PyBytes_AS_STRING(v)
            if check_table(c.p, <uint32_t>len(v), &c, mode) < 0:
                raise fault_error(&fault)
            if class_put_bytes(o, i, c.base, <size_t>PyBytes_GET_SIZE(v)) < 0:
                raise MemoryError
            continue
        class_store(o, i, Py_NewRef(<PyObject*>v))
    d = <Desc*>k.desc
    if origin is not None and d != NULL:
        read_payload(d, origin, k.what == CLASS_PROPERTIES, mode)
        o.origin = Py_NewRef(<PyObject*>origin)
    class_track(<PyObject*>result)
    return result


@cython.binding(True)
def frame_validate(self, *others):
    """Check the asserts of the specification on every field.

    They are: not null (text that is not empty), null (empty), length in bytes, pattern, one of the
    choices of an enum, and comparison with a value or another argument. Numbers are never null on
    the wire; a rule of syntax that the specification only names is not checked.
    Encoding by itself refuses only what cannot be encoded.

    Args:
        others: methods that were exchanged before. An assert that compares with an argument of
            another method (connection.tune-ok.channel-max with connection.tune's) is checked where
            that method is among them, and left unchecked otherwise.

    Raises:
        ValidationError: an assert is broken; names the method and the field.
        EncodeError: a value cannot be encoded at all.
    """
    cdef MessageClass* k = frame_class(self)
    if k.desc == NULL:
        raise TypeError(f"takes a method or properties, not {type(self).__name__}")
    canonical(<Desc*>k.desc, self, k.what == CLASS_PROPERTIES, 0)
    context = {type(other).NAME: other for other in others if isinstance(other, Method)}
    context[None] = self
    for i, asserts in type(self)._ASSERTS:
        value = class_get(self, i)
        if value is None:
            continue
        for check, operand in asserts:
            broken = broken_assert(value, check, operand, context)
            if broken:
                place = (type(self).NAME, type(self).FIELDS[i])
                raise ValidationError(f"{place[0]}.{place[1]}: {broken}", method=place[0], field=place[1])


cdef object make_signature(PyObject* of):
    """For the metatype's __signature__. inspect is loaded only when somebody asks."""
    cdef object cls = <object>of
    from inspect import Parameter, Signature
    cdef MessageClass* k = CLASS_OF(<PyTypeObject*><PyObject*>cls)
    cdef int i
    if k.what < 0:
        raise AttributeError("__signature__")
    positional = [k.position[i] for i in range(k.positional)]
    order = positional + [i for i in range(k.fields) if i not in positional]
    parameters = []
    for i in order:
        how = Parameter.POSITIONAL_OR_KEYWORD if i in positional else Parameter.KEYWORD_ONLY
        default = {} if k.fallback[i] == NULL else <object>k.fallback[i]
        if isinstance(default, type):
            default = None
        parameters.append(Parameter(<str>k.name[i], how, default=default))
    return Signature(parameters)

class_signature = make_signature


cdef object broken_assert(object value, str check, object operand, dict context):
    """What an assert finds wrong, or None. context: methods by name; None stands for the same one."""
    if check in COMPARISONS:
        return broken_comparison(value, check, operand, context)
    if check == "enum":
        names, numbers = zip(*operand)
        if value in (names if isinstance(value, (str, bytes)) else numbers):
            return None
        return f"must be one of {', '.join([f'{number} ({name})' for name, number in operand])}"
    if check == "null":
        return "must be empty" if isinstance(value, (str, bytes, dict)) and value else None
    if not isinstance(value, (str, bytes)):
        return None         # numbers are never null on the wire; other types encode refuses
    if check == "notnull":
        if not value:
            return "must not be empty"
    elif check == "length":
        size = len(value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value)
        if size > operand:
            return f"at most {operand} bytes, not {size}"
    elif check == "regexp":
        text = value if isinstance(value, str) else value.decode("utf-8", "surrogateescape")
        if not _re.fullmatch(operand, text):
            return f"does not match {operand}"
    return None


cdef dict COMPARISONS = {
    "eq": (_operator.eq, "equal to"), "ne": (_operator.ne, "other than"),
    "lt": (_operator.lt, "below"), "le": (_operator.le, "at most"),
    "gt": (_operator.gt, "above"), "ge": (_operator.ge, "at least"),
}


cdef object broken_comparison(object value, str check, object operand, dict context):
    """The same for a comparison. operand: a number or text, or (name of a method, argument)."""
    name = ""
    if isinstance(operand, tuple):
        method, field = operand
        other = context.get(method)
        if other is None:
            return None
        operand = getattr(other, field)
        if operand is None:
            return None     # a property that is absent
        name = f", the value of {method + '.' if method else ''}{field}"
    holds, words = COMPARISONS[check]
    if holds(comparable(value), comparable(operand)):
        return None
    if isinstance(operand, (str, bytes)):
        return f"must be {words} what the specification names{name}"   # texts stay out of errors
    return f"must be {words} {operand}{name}; it is {value}"


cdef object comparable(object value):
    """Text of either string type as str, a time as its seconds, numbers as they are."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if isinstance(value, _datetime.datetime):
        return value.timestamp()
    return value


cdef dict BASE_DICT = {
    "__module__": "amqpcodec._codec", "__slots__": (), "__hash__": None,
    "__repr__": frame_repr, "__reduce__": frame_reduce,
    "__replace__": frame_replace, "_repr_html_": frame_html,
}

class_ready()
MessageMeta = class_meta_object()
Frame = class_make("Frame", (), {
    **BASE_DICT, "__doc__": "Base of everything that a frame can be.",
}, (), (), CLASS_ABSTRACT, 0, None)
Method = class_make("Method", (Frame,), {
    **BASE_DICT, "__doc__": "Base of all methods.", "validate": frame_validate,
}, (), (), CLASS_ABSTRACT, 0, None)
ContentProperties = class_make("ContentProperties", (Frame,), {
    **BASE_DICT, "__doc__": "Base of all property lists.", "validate": frame_validate,
}, (), (), CLASS_ABSTRACT, 0, None)
