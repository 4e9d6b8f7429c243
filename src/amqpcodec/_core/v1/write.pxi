# AMQP 1.0, objects to bytes: any value, arrays, and the composites of the protocol.

# ---- any value ----

cdef int v1_put(Buffer* b, object v, int mode, int depth, Place* at) except -1:
    """A value as the type that its Python type stands for. depth: levels that are open around it."""
    cdef int32_t small = 0
    if type(v) is str:
        return v1_put_text(b, V1_STRING, v, at)
    if type(v) is int:
        if exact_small(<PyObject*>v, &small):
            return v1_put_number(b, V1_LONG, <uint64_t><int64_t>small)
        return v1_put_long(b, v, mode, at)
    if v is None:
        return put_byte(b, CTOR_NULL)
    if type(v) is bool:
        return put_byte(b, CTOR_TRUE if v is True else CTOR_FALSE)
    if type(v) is V1Symbol:
        return v1_put_text(b, V1_SYMBOL, v, at)
    if type(v) is bytes:
        return v1_put_binary(b, v, at)
    if type(v) is float:
        return v1_put_number(b, V1_DOUBLE, double_to_bits(PyFloat_AS_DOUBLE(v)))
    if type(v) is dict:
        return v1_put_map(b, v, mode, depth, at)
    if type(v) is list:
        return v1_put_list(b, v, mode, depth, at)
    if class_check_type(Py_TYPE(<PyObject*>v)):
        return v1_put_instance(b, v, mode, depth, at)
    return v1_put_rare(b, v, type(v), mode, depth, at)


cdef int v1_put_long(Buffer* b, object v, int mode, Place* at) except -1:
    """A plain int is a long always: its type must not hang on its value."""
    cdef uint64_t u = 0
    if mode & V1_CANONICAL and v > 0x7FFFFFFFFFFFFFFF:
        v1_parse_int(v, V1_ULONG, &u, at)
        return v1_put_number(b, V1_ULONG, u)
    v1_parse_int(v, V1_LONG, &u, at)
    return v1_put_number(b, V1_LONG, u)


cdef int v1_put_rare(Buffer* b, object v, type t, int mode, int depth, Place* at) except -1:
    cdef uint64_t u = 0
    cdef object number = V1_NUMBERS.get(t)
    cdef int wire_type
    if number is None and isinstance(v, (V1Integer, V1Float, V1Double, V1Decimal)):
        # An enum's member, or a user's own subclass.
        number = next(V1_NUMBERS[base] for base in t.__mro__ if base in V1_NUMBERS)
    if number is not None:
        wire_type = number
        if wire_type >= V1_DECIMAL32 and wire_type <= V1_DECIMAL128:
            return v1_put_decimal(b, v, <uint8_t>wire_type, at)
        if wire_type == V1_FLOAT:
            return v1_put_number(b, V1_FLOAT, float_to_bits(<float><double>v))
        if wire_type == V1_DOUBLE:
            return v1_put_number(b, V1_DOUBLE, double_to_bits(<double>v))
        v1_parse_int(v, <uint8_t>wire_type, &u, at)
        return v1_put_number(b, <uint8_t>wire_type, u)
    if isinstance(v, Datetime):
        v1_parse_moment(v, &u, at)
        return v1_put_number(b, V1_TIMESTAMP, u)
    if isinstance(v, UUID):
        put_byte(b, CTOR_UUID)
        return v1_put_uuid_bytes(b, v)
    if isinstance(v, V1Symbol):
        return v1_put_text(b, V1_SYMBOL, v, at)
    if isinstance(v, V1Char):
        return v1_put_number(b, V1_CHAR, <uint64_t>ord(v))
    if isinstance(v, V1Map):
        return v1_put_map(b, v, mode, depth, at)
    if isinstance(v, V1Array):
        return v1_put_array(b, v, mode, depth, at)
    if isinstance(v, V1Described):
        return v1_put_described(b, v, mode, depth, at)
    if isinstance(v, Decimal):
        return v1_put_decimal(b, v, V1_DECIMAL128, at)
    if isinstance(v, str):
        return v1_put_text(b, V1_STRING, v, at)
    if isinstance(v, int):
        return v1_put_long(b, int(v), mode, at)
    if isinstance(v, float):
        return v1_put_number(b, V1_DOUBLE, double_to_bits(<double>v))
    if isinstance(v, dict):
        return v1_put_map(b, v, mode, depth, at)
    if isinstance(v, (list, tuple)):
        return v1_put_list(b, v, mode, depth, at)
    if isinstance(v, (bytes, bytearray, memoryview)):
        return v1_put_binary(b, v, at)
    plain = from_numpy(v, V1_NUMPY_CLASSES)
    if plain is not v:
        return v1_put(b, plain, mode, depth, at)
    return table_error(at, f"no type of AMQP 1.0 stands for {t.__name__}")

cdef object V1Integer = _v1._Integer


# ---- compounds ----


cdef int v1_enter(int depth, Place* at) except -1:
    if AMQP_UNLIKELY(depth >= DEPTH_LIMIT):
        table_error(at, f"values nested deeper than {DEPTH_LIMIT} levels")
    return 0


cdef inline int v1_close(Buffer* b, size_t start, uint8_t wire_type, uint64_t count, Place* at) except -1:
    if AMQP_UNLIKELY(not v1_store_head(b, start, wire_type, count, V1_SMALLEST)):
        table_error(at, f"a {V1_NAMES[wire_type].decode()} takes at most 4294967295 bytes")
    return 0


cdef int v1_put_list(Buffer* b, object v, int mode, int depth, Place* at) except -1:
    cdef size_t start
    cdef Step step
    v1_enter(depth, at)
    if not v:
        return put_byte(b, CTOR_LIST0)
    v1_open(b, &start)
    step.outer, step.name, step.index = at.step, NULL, 0
    at.step = &step
    for item in v:
        v1_put(b, item, mode, depth + 1, at)
        step.index += 1
    at.step = step.outer
    return v1_close(b, start, V1_LIST, <uint64_t>step.index, at)


cdef int v1_put_map(Buffer* b, object v, int mode, int depth, Place* at) except -1:
    cdef size_t start
    cdef uint64_t count = 0
    cdef PyObject* key
    cdef PyObject* value
    cdef Py_ssize_t i = 0
    cdef Py_ssize_t size
    cdef Step step
    v1_enter(depth, at)
    v1_open(b, &start)
    step.outer = at.step
    if type(v) is dict:
        size = PyDict_GET_SIZE(v)
        while PyDict_Next(v, &i, &key, &value):
            key_kept, value_kept = <object>key, <object>value
            v1_put_pair(b, key_kept, value_kept, mode, depth + 1, at, &step)
            count += 2
            if PyDict_GET_SIZE(v) != size:
                raise RuntimeError("map changed size while it was encoded")
    else:
        for pair in v.items():
            try:
                key_kept, value_kept = pair
            except (TypeError, ValueError):
                key_kept = value_kept = pair = None
            if pair is None:
                table_error(at, "a Map takes pairs of key and value")
            v1_put_pair(b, key_kept, value_kept, mode, depth + 1, at, &step)
            count += 2
    return v1_close(b, start, V1_MAP, count, at)


cdef inline int v1_put_pair(Buffer* b, object key, object value, int mode, int depth, Place* at,
                            Step* step) except -1:
    if type(key) is str:        # nearly all keys are
        v1_put_text(b, V1_STRING, key, at)
    else:
        v1_put(b, key, mode, depth, at)
    step.name = <PyObject*>key
    at.step = step
    v1_put(b, value, mode, depth, at)
    at.step = step.outer
    return 0


cdef inline bint v1_is_numpy_int(object v) noexcept:
    """Whether it is an integer of NumPy's, or of another class that stands for an int and is none."""
    return PyIndex_Check(v) and not PyLong_Check(v)


cdef int v1_put_descriptor(Buffer* b, object v, int mode, int depth, Place* at) except -1:
    """An int is a ulong here, unless its class says otherwise."""
    cdef uint64_t u = 0
    if type(v) is int or v1_is_numpy_int(v):
        v1_parse_int(v, V1_ULONG, &u, at)
        return v1_put_number(b, V1_ULONG, u)
    return v1_put(b, v, mode, depth, at)


cdef int v1_put_described(Buffer* b, object v, int mode, int depth, Place* at) except -1:
    v1_enter(depth, at)
    put_byte(b, 0)
    v1_put_descriptor(b, v.descriptor, mode, depth + 1, at)
    return v1_put(b, v.value, mode, depth + 1, at)


# ---- arrays: one constructor for all elements, the smallest that holds them ----

cdef int v1_put_array(Buffer* b, object v, int mode, int depth, Place* at) except -1:
    cdef object wire_type = V1_BY_NAME.get(v.type) if isinstance(v.type, str) else None
    if wire_type is None:
        table_error(at, f"an array of {short_repr(v.type)}: there is no such type")
    # Copies: items may have code that runs, and changes them.
    return v1_put_items(b, wire_type, list(v.items), tuple(v.descriptors), mode, depth, at)


cdef int v1_put_items(Buffer* b, int wire_type, list items, tuple descriptors, int mode, int depth,
                      Place* at) except -1:
    """Head, descriptors, constructor, and the content of each item."""
    cdef size_t start, first
    cdef uint64_t count = <uint64_t>len(items)
    cdef Step step
    v1_enter(depth, at)
    v1_open(b, &start)
    for descriptor in descriptors:
        depth += 1
        v1_enter(depth, at)
        put_byte(b, 0)
        v1_put_descriptor(b, descriptor, mode, depth + 1, at)
    first = buffer_size(b)
    step.outer, step.name, step.index = at.step, NULL, -1
    at.step = &step
    if wire_type == V1_NULL and count > V1_EMPTY_LIMIT:
        table_error(at, f"an array takes at most {V1_EMPTY_LIMIT} nulls")
    for item in items:
        step.index += 1
        v1_put_item(b, <uint8_t>wire_type, item, mode, depth, at)
    at.step = step.outer
    if v1_join_items(b, first, count, <uint8_t>wire_type) < 0:
        raise MemoryError
    return v1_close(b, start, V1_ARRAY, count, at)


cdef int v1_put_item(Buffer* b, uint8_t wire_type, object item, int mode, int depth, Place* at) except -1:
    """An element of an array, as a value of the array's type with a constructor of its own."""
    cdef ScalarKind kind
    cdef uint64_t u = 0
    if wire_type == V1_MAP:
        return v1_put_map_field(b, item, mode, depth + 1, at)
    if wire_type == V1_LIST:
        v1_expect(item, (list, tuple), "an array of lists takes list", at)
        return v1_put_list(b, item, mode, depth + 1, at)
    if wire_type == V1_ARRAY:
        v1_expect(item, V1Array, "an array of arrays takes Array", at)
        return v1_put_array(b, item, mode, depth + 1, at)
    kind = <ScalarKind>V1_KIND[wire_type]
    if kind == KIND_STRING or kind == KIND_SYMBOL or kind == KIND_BYTES:
        return v1_put_variable(b, wire_type, item, at)
    elif kind == KIND_VOID:
        v1_expect(item, type(None), "an array of null takes None", at)
        return put_byte(b, CTOR_NULL)
    elif kind == KIND_UUID:
        v1_expect(item, UUID, "uuid takes UUID", at)
        put_byte(b, CTOR_UUID)
        return v1_put_uuid_bytes(b, item)
    elif kind == KIND_BID32 or kind == KIND_BID64 or kind == KIND_BID128:
        return v1_put_decimal(b, item, wire_type, at)
    elif kind == KIND_SIGNED or kind == KIND_UNSIGNED:
        v1_parse_int(item, wire_type, &u, at)
    elif kind == KIND_FLOAT or kind == KIND_DOUBLE:
        v1_parse_double(item, wire_type, &u, at)
    elif kind == KIND_BOOLEAN:
        if not isinstance(item, bool):
            item = from_numpy(item, V1_NUMPY_CLASSES)
        v1_expect(item, bool, "boolean takes bool", at)
        u = item is True
    elif kind == KIND_CHAR:
        if not isinstance(item, str) or len(item) != 1 or not v1_is_scalar_value(<uint32_t>ord(item)):
            table_error(at, "a char takes one character, and no surrogate")
        u = <uint64_t>ord(item)
    elif kind == KIND_MILLISECONDS:
        v1_parse_moment(item, &u, at)
    elif kind == KIND_DECIMAL or kind == KIND_SECONDS or kind == KIND_LONGSTR or kind == KIND_SHORTSTR:
        raise SystemError("no kind of AMQP 1.0")
    return v1_put_number(b, wire_type, u)


cdef int v1_expect(object v, object classes, str takes, Place* at) except -1:
    """Refuse a value of another class. takes: what is taken, for the error."""
    if isinstance(v, classes):
        return 0
    return table_error(at, f"{takes}, not {type(v).__name__}")


cdef int v1_parse_double(object v, uint8_t wire_type, uint64_t* out, Place* at) except -1:
    cdef double d = 0
    cdef bint large = False
    if not isinstance(v, (float, int)):
        v = from_numpy(v, V1_NUMPY_CLASSES)
        v1_expect(v, (float, int), f"{V1_NAMES[wire_type].decode()} takes float", at)
    try:
        d = <double>v
    except OverflowError:
        large = True
    if wire_type == V1_FLOAT:
        large = large or (V1_FLOAT_LIMIT <= d <= V1_DOUBLE_MAX) or -V1_DOUBLE_MAX <= d <= -V1_FLOAT_LIMIT
        out[0] = float_to_bits(<float>d)
    else:
        out[0] = double_to_bits(d)
    if large:
        table_error(at, f"{V1_NAMES[wire_type].decode()} does not hold so large a number")
    return 0

cdef double V1_FLOAT_LIMIT = 3.4028235677973366e+38     # from here on a float is infinite
cdef double V1_DOUBLE_MAX = 1.7976931348623157e+308


# ---- composites ----

cdef int v1_put_instance(Buffer* b, object obj, int mode, int depth, Place* at) except -1:
    """An instance of a described type's class: its very bytes where nothing changed."""
    cdef MessageObject* o = <MessageObject*><PyObject*>obj
    cdef MessageClass* k = CLASS_OF(Py_TYPE(<PyObject*>obj))
    cdef Place place
    cdef V1Desc* d
    cdef uint32_t extended
    if k.what != CLASS_V1_DESCRIBED:
        table_error(at, f"no type of AMQP 1.0 stands for {type(obj).__name__}")
    d = <V1Desc*>k.desc
    v1_enter(depth, at)
    if AMQP_UNLIKELY(o.origin != NULL and not mode & V1_CANONICAL) and v1_is_original(obj, k):
        extended = o.mode >> V1_EXTENDED
        return put_bytes(b, PyBytes_AS_STRING(<object>o.origin) + extended,
                         <size_t>PyBytes_GET_SIZE(<object>o.origin) - extended)
    place_begin(&place, d.name, NULL)
    if d.composite:
        return v1_put_composite(b, d, o, mode, depth + 1, &place)
    v1_put_small_descriptor(b, d.code)
    return v1_put_restricted(b, d, o, mode, depth + 1, &place)


cdef int v1_put_restricted(Buffer* b, const V1Desc* d, MessageObject* o, int mode, int depth,
                           Place* at) except -1:
    cdef object v = None if o.field[0] == NULL else <object>o.field[0]
    cdef uint8_t wire_type = d.op[0].wire_type
    at.field = d.field[0]
    if wire_type == V1_BINARY:
        return v1_put_binary(b, b"" if v is None else v, at)
    if wire_type == V1_MAP:
        return v1_put_map_field(b, {} if v is None else v, mode, depth, at)
    if wire_type == V1_LIST:
        if v is not None and not isinstance(v, (list, tuple)):
            table_error(at, f"takes list, not {type(v).__name__}")
        return v1_put_list(b, v, mode, depth, at)
    return v1_put(b, v, mode, depth, at)


cdef int v1_put_map_field(Buffer* b, object v, int mode, int depth, Place* at) except -1:
    if not isinstance(v, (dict, V1Map)):
        table_error(at, f"takes dict or Map, not {type(v).__name__}")
    return v1_put_map(b, v, mode, depth, at)


cdef inline bint v1_is_unset(const V1Op* op, PyObject* v) noexcept:
    """None, or no value where one or many may stand."""
    if v == Py_None or v == NULL:
        return True
    return op.multiple and isinstance(<object>v, (tuple, list)) and not <object>v


cdef int v1_check_mandatory(const V1Desc* d, MessageObject* o, Place* at) except -1:
    cdef int i
    for i in range(d.mandatory):
        if d.op[i].mandatory and v1_is_unset(&d.op[i], o.field[i]):
            at.field = d.field[i]
            table_error(at, "is mandatory")
    return 0


cdef int v1_put_composite(Buffer* b, const V1Desc* d, MessageObject* o, int mode, int depth,
                          Place* at) except -1:
    """The descriptor and the list of a composite, without the nulls at its end.

    A reservation holds all up to the next field of variable width: descriptor, head, numbers and nulls."""
    cdef size_t start
    cdef const V1Op* op
    cdef uint8_t* w
    cdef int i, n = d.n
    cdef object v
    if d.mandatory and not mode & (V1_CANONICAL | V1_INCOMPLETE):
        v1_check_mandatory(d, o, at)
    while n and v1_is_unset(&d.op[n - 1], o.field[n - 1]):
        n -= 1
    w = buffer_reserve(b, V1_DESCRIPTOR_BYTES + V1_HEAD_BYTES + V1_NUMBER_BYTES * <size_t>n)
    w = v1_store_small_descriptor(w, d.code)
    if n == 0:
        w[0] = CTOR_LIST0
        buffer_commit(b, w + 1)
        return 0
    start = buffer_size(b) + V1_DESCRIPTOR_BYTES
    w += V1_HEAD_BYTES
    for i in range(n):
        op = &d.op[i]
        if v1_is_unset(op, o.field[i]):
            w[0] = CTOR_NULL
            w += 1
            continue
        v = <object>o.field[i]
        at.field = d.field[i]
        if op.fixed:
            w = v1_store_field(w, op, v, at)
            continue
        buffer_commit(b, w)
        v1_put_field(b, op, v, mode, depth, at)
        w = buffer_reserve(b, V1_NUMBER_BYTES * <size_t>(n - 1 - i))
    buffer_commit(b, w)
    return v1_close(b, start, V1_LIST, <uint64_t>n, at)


cdef inline uint8_t* v1_store_field(uint8_t* w, const V1Op* op, object v, Place* at) except NULL:
    """A field of fixed width by its declared type, of at most V1_NUMBER_BYTES. Where it ends."""
    cdef uint8_t wire_type = op.wire_type
    cdef uint64_t u = 0
    if wire_type == V1_BOOLEAN:
        if v is True or v is False:
            w[0] = CTOR_TRUE if v is True else CTOR_FALSE
            return w + 1
        v1_parse_bool(v, &u, at)
    elif wire_type == V1_TIMESTAMP:
        v1_parse_moment(v, &u, at)
    elif not exact_u64(<PyObject*>v, &u) or u > INT_LIMITS[wire_type - 1]:
        v1_parse_int(v, wire_type, &u, at)
    if AMQP_UNLIKELY(not v1_takes_number(op, u)):
        v1_refuse_choice(u, at)
    return v1_store_number(w, wire_type, u, V1_SMALLEST)


cdef int v1_parse_bool(object v, uint64_t* out, Place* at) except -1:
    """A boolean that is another number, or NumPy's."""
    if not isinstance(v, int):
        v = from_numpy(v, V1_NUMPY_CLASSES)
    if not isinstance(v, int):
        table_error(at, f"boolean takes bool, not {type(v).__name__}")
    out[0] = 1 if v else 0
    return 0


cdef int v1_refuse_choice(uint64_t u, Place* at) except -1:
    table_error(at, f"has no choice {u}")
    return 0


cdef int v1_put_field(Buffer* b, const V1Op* op, object v, int mode, int depth, Place* at) except -1:
    """A field of variable width by its declared type."""
    cdef uint8_t wire_type = op.wire_type
    cdef uint64_t u = 0
    if op.multiple and not isinstance(v, str):
        return v1_put_multiple(b, op, v, mode, depth, at)
    if v1_is_variable(wire_type):
        if op.named != NULL and v not in <dict>op.named:
            table_error(at, f"has no choice {short_repr(v)}")
        return v1_put_variable(b, wire_type, v, at)
    if wire_type == V1_ANY:
        # What was read may be a number below zero: to compare it, it is written as any other.
        if op.ulong and v1_is_numpy_int(v):
            v = _index(v)
        if op.ulong and type(v) is int and (exact_u64(<PyObject*>v, &u) or not mode & V1_CANONICAL):
            v1_parse_int(v, V1_ULONG, &u, at)
            return v1_put_number(b, V1_ULONG, u)
        return v1_put(b, v, mode, depth, at)
    if wire_type == V1_MAP:
        return v1_put_map_field(b, v, mode, depth, at)
    if class_of(v) == NULL or class_of(v).desc != op.desc:
        table_error(at, f"takes {(<object>op.desc.cls).__name__}, not {type(v).__name__}")
    return v1_put_instance(b, v, mode, depth, at)


cdef inline int v1_put_variable(Buffer* b, uint8_t wire_type, object v, Place* at) except -1:
    return v1_put_binary(b, v, at) if wire_type == V1_BINARY else v1_put_text(b, wire_type, v, at)


cdef int v1_put_multiple(Buffer* b, const V1Op* op, object v, int mode, int depth, Place* at) except -1:
    """Several values are an array, one is itself. (No value at all does not come here.)"""
    if isinstance(v, V1Array):
        if v.type != V1_NAMES[op.wire_type].decode() or v.descriptors:
            table_error(at, f"takes an array of {V1_NAMES[op.wire_type].decode()}")
        v = v.items
    elif not isinstance(v, (list, tuple, set, frozenset)):
        table_error(at, f"takes one {V1_NAMES[op.wire_type].decode()} or several, not {type(v).__name__}")
    v = list(v)
    if not v:
        return put_byte(b, CTOR_NULL)
    if len(v) == 1:
        return v1_put_text(b, op.wire_type, v[0], at)
    return v1_put_items(b, op.wire_type, v, (), mode, depth, at)


cdef bint v1_is_original(object obj, MessageClass* k) except -1:
    """Whether an object is what its bytes say: both must encode to the same."""
    cdef V1DescTable table = <V1DescTable>k.owner
    cdef MessageObject* o = <MessageObject*><PyObject*>obj
    cdef object again = v1_read_origin(&table.types, <bytes>o.origin, o.mode)
    return v1_canonical(obj) == v1_canonical(again)


cdef object v1_read_origin(const V1Types* types, bytes raw, uintptr_t mode):
    """An instance from the bytes of a described value, after what an extended header takes by the
    mode; raises DecodeError."""
    cdef Fault fault
    cdef Cursor c
    cdef V1Reader r
    memset(&fault, 0, sizeof(fault))
    c.base = <const uint8_t*>PyBytes_AS_STRING(raw)
    c.p = c.base + (mode >> V1_EXTENDED)
    c.base_at = 0
    c.end = c.base + PyBytes_GET_SIZE(raw)
    c.fault = &fault
    v1_reader(&r, types, V1_ONE_SHOT_CACHE, mode & MODE_TYPED)
    made = v1_value(&r, &c, 0)
    if c.p != c.end:
        v1_fail(&c, BAD_TRAILING, NULL, 0, 0)
    return made


cdef bytes v1_canonical(object obj):
    """What an object says, whatever bytes it came from."""
    cdef Buffer b
    cdef uint8_t memory[1024]
    cdef Place at
    place_begin(&at, NULL, NULL)
    buffer_init(&b, memory, 1024)
    try:
        v1_put(&b, obj, V1_CANONICAL, 0, &at)
        return buffer_bytes(&b)
    finally:
        buffer_free(&b)
