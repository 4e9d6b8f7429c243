# Where AmqpValues and Python objects meet: load_ takes values from objects, store_ makes objects.

cdef extern from *:
    """
    #include "wire/python.h"
    #if !PYTHON_HAS_GIL
    #define AMQP_ONE_SHOT_CACHE() NULL
    #else
    #define AMQP_ONE_SHOT_CACHE() text_cache_new()
    #endif
    """
    TextCache* AMQP_ONE_SHOT_CACHE()

# Module state. Free-threaded builds have none: there a cache belongs to one decoder.
cdef TextCache* ONE_SHOT_CACHE = AMQP_ONE_SHOT_CACHE()


cdef object read_table_bytes(const uint8_t* p, uint32_t n, uint32_t mode):
    """Called by a table field that is read for the first time."""
    return read_table(p, n, mode, ONE_SHOT_CACHE)

class_read_table = read_table_bytes


cdef object read_time_word(uint64_t seconds):
    """Called by a time field that is read for the first time."""
    return make_timestamp(seconds, ONE_SHOT_CACHE, UTC)

class_read_time = read_time_word


# ---- store: values to objects ----

cdef object Reference = _types.Reference


cdef object store_value(const Op* op, const AmqpValue* v, TextCache* cache):
    """A value that is neither a table nor a timestamp."""
    if v.wire_type == W_SHORTSTR:
        return text_cached(cache if op.cached else NULL, v.p, v.n)
    if v.wire_type == W_BIT:
        return v.u != 0
    if v.wire_type == W_LONGSTR:
        return PyBytes_FromStringAndSize(<const char*>v.p, v.n)
    if v.wire_type == W_CONTENT:
        raw = PyBytes_FromStringAndSize(<const char*>v.p, v.n)
        return Reference(raw) if v.u else raw
    return v.u


cdef object store_object(const Desc* d, const AmqpValue* v, bint properties, uintptr_t mode,
                         TextCache* cache, object origin):
    """An instance of the descriptor's class. origin: bytes that are not the canonical form, or None."""
    cdef PyObject* made = <PyObject*>class_new(<PyTypeObject*>d.cls)
    cdef MessageObject* o = <MessageObject*>made
    cdef MessageClass* k
    cdef object result, value
    cdef int i
    if made == NULL:
        raise MemoryError
    result = <object>made
    Py_DecRef(made)
    k = CLASS_OF(<PyTypeObject*>d.cls)
    o.mode = <uint32_t>mode
    for i in range(d.n):
        if properties and not v[i].present:
            continue            # None from the start
        if v[i].wire_type == W_TABLE:
            if class_put_bytes(o, k.bytes_slot[i], v[i].p, v[i].n) < 0:
                raise MemoryError
            class_store(o, i, NULL)          # made from the bytes when it is read
        elif v[i].wire_type == W_TIMESTAMP:
            class_word(o, i)[0] = v[i].u
            class_store(o, i, NULL)          # made from the word when it is read
        else:
            value = store_value(&d.op[i], &v[i], cache)
            class_store(o, i, Py_NewRef(<PyObject*>value))
    if origin is not None:
        o.origin = Py_NewRef(<PyObject*>origin)
    return result


# ---- load: objects to values ----

# What loading one frame needs beside its values: bytes of tables, and objects kept alive.
cdef struct Loader:
    Buffer tables
    uintptr_t mode          # dialect to encode in
    Place at
    PyObject* keep          # list or NULL
    size_t table_at[MAX_FIELDS]


cdef int loader_keep(Loader* l, object o) except -1:
    cdef object keep
    if l.keep == NULL:
        keep = []
        l.keep = Py_NewRef(<PyObject*>keep)
    (<list>l.keep).append(o)
    return 0


cdef void loader_free(Loader* l) noexcept:
    buffer_free(&l.tables)
    Py_XDecRef(l.keep)
    l.keep = NULL


cdef int load_text(Loader* l, object o, AmqpValue* v) except -1:
    cdef Py_ssize_t n = 0
    cdef const uint8_t* p = NULL
    cdef bytes raw
    if not utf8_bytes(<PyObject*>o, &p, &n):
        if not isinstance(o, str):
            table_error(&l.at, f"a shortstr takes str, not {type(o).__name__}")
        raw = escaped_bytes(o, &l.at)
        loader_keep(l, raw)
        p = <const uint8_t*>PyBytes_AS_STRING(raw)
        n = PyBytes_GET_SIZE(raw)
    if n > 255:
        table_error(&l.at, f"a shortstr takes at most 255 bytes, not {n}")
    v.p = p
    v.n = <uint32_t>n
    return 0


cdef int load_bytes(Loader* l, object o, AmqpValue* v) except -1:
    """A longstr: bytes or any contiguous buffer, or text as UTF-8."""
    cdef bytes raw
    if isinstance(o, bytes):
        raw = o if type(o) is bytes else bytes(o)
    elif isinstance(o, str):
        raw = escaped_bytes(o, &l.at)
    elif isinstance(o, bytearray) or isinstance(o, memoryview) and o.c_contiguous:
        raw = bytes(o)
    else:
        table_error(&l.at, f"a longstr takes bytes or str, not {type(o).__name__}")
    if <uint64_t>len(raw) > MAX_U32:
        table_error(&l.at, f"a longstr takes at most 4294967295 bytes, not {len(raw)}")
    loader_keep(l, raw)
    v.p = <const uint8_t*>PyBytes_AS_STRING(raw)
    v.n = <uint32_t>PyBytes_GET_SIZE(raw)
    return 0


cdef uint64_t* INT_LIMITS = [1, 0xFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF]


cdef int load_int(Loader* l, object o, AmqpValue* v) except -1:
    cdef uint64_t limit = INT_LIMITS[v.wire_type]
    cdef object n
    if not exact_u64(<PyObject*>o, &v.u):
        o = from_numpy(o, NUMPY_CLASSES)
        if not hasattr(o, "__index__"):
            table_error(&l.at, f"{(<bytes>WIRE_NAMES[v.wire_type]).decode()} takes int, not {type(o).__name__}")
        n = _index(o)
        if not 0 <= n <= limit:
            return range_error(l, v.wire_type, limit)
        v.u = n
    if v.u > limit:
        return range_error(l, v.wire_type, limit)
    return 0

from operator import index as _index


cdef int range_error(Loader* l, uint8_t wire_type, uint64_t limit) except -1:
    return table_error(&l.at, f"{(<bytes>WIRE_NAMES[wire_type]).decode()} takes 0 to {limit}")


cdef int load_field(Loader* l, const Op* op, object o, AmqpValue* v) except -1:
    """One field that is not a table."""
    v.wire_type = op.wire_type
    if op.wire_type == W_SHORTSTR:
        return load_text(l, o, v)
    if op.wire_type == W_BIT:
        if o is True or o is False:
            v.u = o is True
        elif isinstance(from_numpy(o, NUMPY_CLASSES), int):
            v.u = 1 if o else 0
        else:
            table_error(&l.at, f"bit takes bool, not {type(o).__name__}")
        return 0
    if op.wire_type == W_LONGSTR:
        return load_bytes(l, o, v)
    if op.wire_type == W_TIMESTAMP:
        return parse_seconds(o, &v.u, &l.at)
    if op.wire_type == W_CONTENT:
        v.u = isinstance(o, Reference)
        return load_bytes(l, o, v)
    return load_int(l, o, v)


cdef int load_table(Loader* l, MessageObject* o, int slot, int i, AmqpValue* v, size_t* at) except -1:
    """A table's bytes: those it came with, as far as nothing changed; they lie in l.tables."""
    cdef TableBytes* came = class_bytes(o, slot)
    cdef PyObject* table = o.field[i]
    cdef object keep
    cdef size_t start = buffer_size(&l.tables)
    v.wire_type = W_TABLE
    v.p = NULL
    at[0] = start
    if came != NULL and table == NULL:
        v.p = came.bytes
        v.n = <uint32_t>came.size
        return 0
    if table == NULL or table == Py_None:
        v.n = 0
        v.p = <const uint8_t*>b""
        return 0
    keep = <object>table
    if not isinstance(keep, dict):
        table_error(&l.at, f"a table takes dict, not {type(keep).__name__}")
    if came != NULL:
        put_changed(&l.tables, came.bytes, <uint32_t>came.size, keep, o.mode, l.mode, 1, &l.at)
    else:
        put_pairs(&l.tables, keep, l.mode, 1, &l.at)
    if buffer_size(&l.tables) - start > MAX_U32:
        table_error(&l.at, "a table takes at most 4294967295 bytes")
    v.n = <uint32_t>(buffer_size(&l.tables) - start)
    return 0


cdef int load_object(Loader* l, const Desc* d, object obj, bint properties, AmqpValue* v) except -1:
    """All fields of an instance as values."""
    cdef MessageObject* o = <MessageObject*><PyObject*>obj
    cdef MessageClass* k = CLASS_OF(Py_TYPE(<PyObject*>obj))
    cdef int i
    place_begin(&l.at, d.name, NULL)
    for i in range(d.n):
        l.at.field = d.field[i]
        v[i].present = True
        if k.bytes_slot[i]:
            if properties and o.field[i] == Py_None:
                v[i].present = False
                v[i].n = 0
                continue
            load_table(l, o, k.bytes_slot[i], i, &v[i], &l.table_at[i])
            continue
        if o.field[i] == NULL:
            if not k.word[i]:
                table_error(&l.at, "is not set")
            v[i].wire_type = W_TIMESTAMP
            v[i].u = class_word(o, i)[0]
            continue
        if properties and o.field[i] == Py_None:
            v[i].present = False
            v[i].n = 0
            continue
        load_field(l, &d.op[i], <object>o.field[i], &v[i])
    # Only now does the buffer of tables stay where it is.
    for i in range(d.n):
        if d.op[i].wire_type == W_TABLE and v[i].present and v[i].p == NULL:
            v[i].p = l.tables.start + l.table_at[i]
    return 0


cdef int put_object(Buffer* b, const Desc* d, object obj, bint properties, uintptr_t mode) except -1:
    """Arguments of a method, or flag words and properties; their very bytes where nothing changed."""
    cdef PyObject* origin = (<MessageObject*><PyObject*>obj).origin
    if AMQP_UNLIKELY(origin != NULL) and is_original(d, obj, properties, mode):
        return put_bytes(b, PyBytes_AS_STRING(<object>origin), <size_t>PyBytes_GET_SIZE(<object>origin))
    return put_canonical(b, d, obj, properties, mode)


cdef int put_canonical(Buffer* b, const Desc* d, object obj, bint properties,
                       uintptr_t mode) except -1:
    """The table path: source, values, writer."""
    cdef AmqpValue v[MAX_FIELDS]
    cdef Loader l
    cdef uint8_t* w
    cdef uint8_t memory[1024]
    buffer_init(&l.tables, memory, sizeof(memory))
    l.mode = mode
    l.keep = NULL
    try:
        load_object(&l, d, obj, properties, v)
        w = buffer_reserve(b, values_room(d, v))
        buffer_commit(b, write_properties(d, v, w) if properties else write_arguments(d, v, w))
    finally:
        loader_free(&l)
    return 0


cdef bint is_original(const Desc* d, object obj, bint properties, uintptr_t mode) except -1:
    """Whether an object that came from bytes in another than the canonical form is unchanged:
    what those bytes say must encode to the same as what the object says now."""
    cdef MessageObject* o = <MessageObject*><PyObject*>obj
    cdef object again = read_payload(d, <bytes>o.origin, properties, o.mode)
    return canonical(d, obj, properties, mode) == canonical(d, again, properties, mode)


cdef bytes canonical(const Desc* d, object obj, bint properties, uintptr_t mode):
    cdef Buffer b
    cdef uint8_t memory[1024]
    buffer_init(&b, memory, sizeof(memory))
    try:
        put_canonical(&b, d, obj, properties, mode)
        return buffer_bytes(&b)
    finally:
        buffer_free(&b)


cdef object read_payload(const Desc* d, bytes raw, bint properties, uintptr_t mode):
    """An instance from the bytes of its arguments or properties; raises DecodeError."""
    cdef Fault fault
    cdef Cursor c
    memset(&fault, 0, sizeof(fault))
    c.p = <const uint8_t*>PyBytes_AS_STRING(raw)
    c.base = c.p
    c.base_at = 0
    c.end = c.p + PyBytes_GET_SIZE(raw)
    c.fault = &fault
    return read_object(d, &c, properties, mode, NULL)


cdef object read_object(const Desc* d, Cursor* c, bint properties, uintptr_t mode, TextCache* cache):
    """The table path: reader, values, sink."""
    cdef AmqpValue v[MAX_FIELDS]
    cdef bint unusual = False
    cdef const uint8_t* start = c.p
    cdef int bad
    if properties:
        bad = read_properties(d, c, v, mode, &unusual)
    else:
        bad = read_arguments(d, c, v, mode, &unusual)
    if bad < 0:
        raise fault_error(c.fault)
    return store_object(d, v, properties, mode, cache,
                        PyBytes_FromStringAndSize(<const char*>start, c.end - start) if unusual else None)
