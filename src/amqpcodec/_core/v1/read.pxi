# AMQP 1.0, bytes to objects: compounds, described types and the composites of the protocol.

# ---- compounds ----

cdef object v1_value(V1Reader* r, Cursor* c, int depth):
    """One value of any type. depth: levels that are open around it."""
    cdef V1Value v
    cdef PyObject* made
    cdef const uint8_t* after
    cdef bint unusual = False
    cdef object value
    if AMQP_LIKELY(c.p < c.end and CTOR_NULL <= c.p[0] < CTOR_VBIN32 and not r.mode & MODE_TYPED):
        after = v1_compact_value(r.cache, c.p, c.end, SHORT_VALUE, &made)
        if AMQP_LIKELY(after != NULL):
            c.p = after
            return v1_owned(made)
    if r.verified:
        v1_read(c, &v)
        return v1_build(r, c, &v, depth)
    if c.p < c.end and c.p[0] == CTOR_DESCRIBED:
        # A type of the protocol is checked as it is made, so that errors name it.
        if AMQP_UNLIKELY(depth >= DEPTH_LIMIT):
            v1_fail(c, BAD_DEPTH, NULL, 0, 0)
        c.p += 1
        return v1_described(r, c, depth + 1)
    value = v1_compact_map(r, c, depth)
    if value is not None:
        return value
    v1_verify(r, NULL, c, 0, depth, &unusual)
    r.verified = True
    v1_read(c, &v)
    value = v1_build(r, c, &v, depth)
    r.verified = False
    return value


cdef int v1_verify(V1Reader* r, const V1Desc* d, const Cursor* c, int first, int depth, bint* unusual) except -1:
    """Make all checks of the value at the cursor, or of the list of a composite from the field `first` on.
    unusual: set where encode would write something else."""
    cdef Cursor at = c[0]
    cdef V1Check k
    cdef int status
    v1_verify_begin(&k, r.types)
    if not r.verified:
        k.zero_width = r.zero_width
    if d == NULL:
        status = v1_verify_value(&at, &k, depth)
    else:
        status = v1_verify_fields(d, &at, &k, depth, NULL, ~<uint32_t>0 << first)
    if AMQP_UNLIKELY(status < 0):
        v1_raise(&at)
    if not r.verified:
        r.zero_width = k.zero_width
    if k.unusual:
        unusual[0] = True
    return 0


cdef object v1_compact_map(V1Reader* r, Cursor* c, int depth):
    """A map at the cursor whose keys and values are all compact, which are checked as they are made; else None, and
    the cursor where it was."""
    cdef Cursor at = c[0]
    cdef Cursor inner
    cdef Fault none
    cdef V1Value v
    cdef dict made
    if c.p >= c.end or CTOR_WIRE_TYPE[c.p[0]] != V1_MAP or r.mode & MODE_TYPED or depth >= DEPTH_LIMIT:
        return None
    at.fault = &none
    none.code = OK
    if v1_read(&at, &v) < 0 or v.count & 1 or v.count > v.n:
        return None
    v1_inside(&at, &v, &inner)
    made = {}
    if (v1_compact_pairs(r.cache, &inner.p, inner.end, v.count >> 1, SHORT_VALUE, made) < v.count >> 1
            or inner.p != inner.end):
        return None
    c.p = at.p
    return made


# ---- what was verified ----

cdef object v1_build(V1Reader* r, Cursor* c, const V1Value* v, int depth):
    """The value that was read; of a described one the cursor is at the descriptor."""
    if AMQP_LIKELY(v.wire_type < V1_LIST):
        return v1_scalar(r, v)
    if v.wire_type == V1_DESCRIBED:
        return v1_described(r, c, depth + 1)
    return v1_compound(r, c, v, depth + 1)


cdef object v1_compound(V1Reader* r, const Cursor* c, const V1Value* v, int depth):
    cdef Cursor inner
    v1_inside(c, v, &inner)
    if v.wire_type == V1_LIST:
        return v1_list(r, &inner, v.count, depth)
    if v.wire_type == V1_MAP:
        return v1_map(r, &inner, v.count, depth)
    return v1_array(r, &inner, v.count, depth)


cdef object v1_list(V1Reader* r, Cursor* c, uint32_t count, int depth):
    cdef list made = []
    cdef object item
    cdef uint32_t i
    for i in range(count):
        item = v1_value(r, c, depth)
        made.append(item)
    return made


cdef inline bint v1_hashable(uint8_t wire_type) noexcept:
    """Types whose values may be keys of a dict: text, bytes, integers and booleans. Floats, decimals
    and UUIDs hash to what a peer can choose, and others not at all."""
    return V1_BOOLEAN <= wire_type <= V1_LONG or V1_BINARY <= wire_type < V1_LIST


cdef enum:
    V1_INT_KEYS = 256
    V1_INT_SPREAD = 16      # and beyond V1_INT_LIMIT, how wide a range they may be from, for each pair

# Integers that a dict takes as keys whatever they are.
cdef uint32_t V1_INT_LIMIT = V1_INT_KEYS


def get_max_int_keys():
    """See amqpcodec.limits."""
    return V1_INT_LIMIT


def set_max_int_keys(limit):
    """See amqpcodec.limits."""
    global V1_INT_LIMIT
    V1_INT_LIMIT = <uint32_t>checked_limit("max_int_keys", limit, 0, MAX_U32)


cdef struct V1IntKeys:
    uint32_t count          # of a map, so far
    int64_t least, most


cdef bint v1_int_key(V1IntKeys* k, const V1Value* v, uint32_t pairs) noexcept:
    """Whether one more integer can be a key of a dict. A peer can choose many so that they go through
    the same places of the table, each after all before it; but not out of a narrow range."""
    cdef int64_t n = <int64_t>v.u
    if k.count == 0:
        k.least = k.most = n
    k.count += 1
    k.least = min(k.least, n)
    k.most = max(k.most, n)
    if v.wire_type == V1_ULONG and n < 0:        # beyond int64: such a range is wide
        k.least = -0x7FFFFFFFFFFFFFFF
        k.most = 0x7FFFFFFFFFFFFFFF
    return (k.count <= V1_INT_LIMIT
            or <uint64_t>k.most - <uint64_t>k.least <= <uint64_t>pairs * V1_INT_SPREAD)


cdef object v1_map(V1Reader* r, Cursor* c, uint32_t count, int depth):
    """A dict; a Map from the first key on that a dict cannot hold."""
    cdef dict made = {}
    cdef list pairs = None
    cdef object key, value
    cdef V1Value v
    cdef V1IntKeys ints
    cdef uint32_t i = 0
    cdef bint hashable
    ints.count = 0
    if AMQP_LIKELY(not r.mode & MODE_TYPED):
        i = v1_compact_pairs(r.cache, &c.p, c.end, count >> 1, SHORT_VALUE, made)
    for i in range(i, count >> 1):
        hashable = v1_hashable(CTOR_WIRE_TYPE[c.p[0]])
        if AMQP_LIKELY(hashable):
            v1_read(c, &v)
            if v.wire_type == V1_STRING:
                key = v1_text(r, &v, V1_SHARED)
            else:
                key = v1_scalar(r, &v)
                if V1_UBYTE <= v.wire_type <= V1_LONG:
                    hashable = v1_int_key(&ints, &v, count >> 1)
        else:
            key = v1_value(r, c, depth)
        value = v1_value(r, c, depth)
        if AMQP_LIKELY(pairs is None and hashable):
            PyDict_SetDefault(made, key, value)
            if AMQP_LIKELY(<uint32_t>PyDict_GET_SIZE(made) == i + 1):
                continue
        if pairs is None:
            pairs = list(made.items())
        pairs.append((key, value))
    return made if pairs is None else V1Map(pairs)


cdef object v1_array(V1Reader* r, Cursor* c, uint32_t count, int depth):
    """An Array: descriptors and constructor stand once, in front of the elements."""
    cdef list descriptors = []
    cdef object made = V1Array("null")
    while c.p[0] == CTOR_DESCRIBED:
        c.p += 1
        depth += 1
        descriptors.append(v1_descriptor(r, c, depth))
    made.type = V1_NAMES[CTOR_WIRE_TYPE[c.p[0]]].decode()
    made.descriptors = tuple(descriptors)
    v1_elements(r, c, count, depth, made.items)
    return made


cdef int v1_elements(V1Reader* r, Cursor* c, uint32_t count, int depth, list items) except -1:
    """The elements of an array; the cursor is at their constructor."""
    cdef V1Value v
    cdef object item
    cdef uint32_t i
    cdef uint8_t code = c.p[0]
    c.p += 1
    v.wire_type = CTOR_WIRE_TYPE[code]
    for i in range(count):
        v1_content(c, &v, code)
        item = v1_build(r, c, &v, depth)
        items.append(item)
    return 0


# ---- described values ----

cdef object v1_descriptor(V1Reader* r, Cursor* c, int depth):
    """An int stands for a ulong here; of other types the class says which."""
    cdef uintptr_t mode = r.mode
    if AMQP_LIKELY(c.p < c.end) and CTOR_WIRE_TYPE[c.p[0]] != V1_ULONG:
        r.mode |= MODE_TYPED
    try:
        return v1_value(r, c, depth)
    finally:
        r.mode = mode


cdef object v1_described(V1Reader* r, Cursor* c, int depth):
    """A descriptor and its value: a class of the protocol, or Described."""
    cdef const uint8_t* start = c.p - 1
    cdef V1Desc* d = v1_known(r.types, c)
    cdef object descriptor, value
    if d != NULL:
        return v1_owned(v1_known_type(r, d, c, start, depth))
    descriptor = v1_descriptor(r, c, depth)
    value = v1_value(r, c, depth)
    return V1Described(descriptor, value)


cdef PyObject* v1_known_type(V1Reader* r, const V1Desc* d, Cursor* c, const uint8_t* start,
                             int depth) except NULL:
    """A new instance of a described type's class; the cursor is after the descriptor. start: where
    the described value begins, of which the bytes are kept where encode would write others."""
    cdef MessageObject* o = class_new(<PyTypeObject*>d.cls)
    cdef const char* method = c.fault.method
    cdef const char* field = c.fault.field
    cdef bint unusual = start[1] != CTOR_SMALLULONG
    cdef bint done = False
    if AMQP_UNLIKELY(o == NULL):
        raise MemoryError
    o.mode = <uint32_t>r.mode
    c.fault.method = d.name
    c.fault.field = NULL
    try:
        if d.composite:
            v1_fields(r, d, c, o, depth, &unusual)
        else:
            v1_restricted(r, d, c, o, depth, &unusual)
        if AMQP_UNLIKELY(unusual):
            raw = PyBytes_FromStringAndSize(<const char*>start, c.p - start)
            o.origin = Py_NewRef(<PyObject*>raw)
        done = True
    finally:
        if not done:
            Py_DecRef(<PyObject*>o)
    c.fault.method = method
    c.fault.field = field
    return <PyObject*>o


cdef int v1_restricted(V1Reader* r, const V1Desc* d, Cursor* c, MessageObject* o, int depth,
                       bint* unusual) except -1:
    """The one value of a restricted type, such as data."""
    cdef object value
    cdef bint verified = r.verified
    if v1_check_restricted(d, c) < 0:
        v1_raise(c)
    v1_verify(r, NULL, c, 0, depth, unusual)
    r.verified = True
    value = v1_value(r, c, depth)
    r.verified = verified
    class_store(o, 0, Py_NewRef(<PyObject*>value))
    if d.op[0].wire_type >= V1_LIST:
        class_track(<PyObject*>o)
    return 0


cdef int v1_fields(V1Reader* r, const V1Desc* d, Cursor* c, MessageObject* o, int depth,
                   bint* unusual) except -1:
    """The list of a composite's fields: those that are missing or null stay unset.

    Compact fields are checked as they are made. From the first on that is none, all are verified, then made."""
    cdef V1Value x
    cdef Cursor list_ = c[0]
    cdef const uint8_t* end = c.end
    cdef bint verified = r.verified
    cdef bint checked = not v1_is_compact_list(d, c, depth)
    cdef int count
    cdef int i = 0
    cdef int last = 0           # fields up to the last one that is there
    cdef object value
    if AMQP_UNLIKELY(checked):
        v1_verify(r, d, &list_, 0, depth, unusual)
        v1_read(c, &x)
        count = <int>x.count
        c.p = x.p
        c.end = x.p + x.n
    else:
        count = c.p[2]
        c.end = c.p + 2 + c.p[1]
        c.p += 3
    while True:
        c.p = v1_compact_fields(r, d, c.p, c.end, &i, count, o, depth, &last, unusual)
        if i == count:
            break
        if not checked:
            v1_verify(r, d, &list_, i, depth, unusual)
            checked = True
        v1_read(c, &x)
        r.verified = True
        value = v1_field(r, &d.op[i], c, &x, depth + 1)
        r.verified = verified
        class_store(o, i, Py_NewRef(<PyObject*>value))
        if x.wire_type >= V1_LIST:
            class_track(<PyObject*>o)        # only now can it be part of a cycle
        i += 1
        last = i
    if AMQP_UNLIKELY(c.p != c.end):
        v1_verify(r, d, &list_, 0, depth, unusual)      # says what is wrong
    # Nulls at the end are not written; without a mandatory field encode refuses it, unless it came so.
    if last != count or count < d.mandatory:
        unusual[0] = True
    c.end = end
    return 0


cdef inline bint v1_is_compact_list(const V1Desc* d, const Cursor* c, int depth) noexcept:
    """Whether a list of some of a composite's fields, with one byte for its size, is at the cursor, whole."""
    cdef const uint8_t* p = c.p
    cdef size_t n = <size_t>(c.end - p)
    return (n > 2 and p[0] == CTOR_LIST8 and n - 2 >= p[1] and p[1] and p[2] and p[2] <= d.n
            and depth < DEPTH_LIMIT)


cdef object v1_field(V1Reader* r, const V1Op* op, Cursor* c, const V1Value* v, int depth):
    """One field that is not null."""
    cdef object made
    if op.multiple:
        return v1_multiple(r, op, c, v, depth)
    if v.wire_type == op.wire_type and op.wire_type <= V1_ULONG:
        return v1_declared_number(op, v)
    if v.wire_type == V1_STRING:
        return v1_text(r, v, op.longest)
    if op.wire_type == V1_TIMESTAMP:
        return v1_moment(r.cache, <int64_t>v.u)     # also in typed mode
    made = v1_build(r, c, v, depth)
    return made if op.named == NULL else (<dict>op.named)[made]


cdef inline object v1_declared_number(const V1Op* op, const V1Value* v):
    """A number or boolean of a field's own type: plain in typed mode, too."""
    if op.choices:
        return <object><PyObject*>op.choice[v.u]
    if op.wire_type == V1_BOOLEAN:
        return v.u != 0
    return PyLong_FromUnsignedLongLong(v.u)


cdef object v1_multiple(V1Reader* r, const V1Op* op, Cursor* c, const V1Value* v, int depth):
    """One value, or an array where it could stand, as a tuple."""
    cdef Cursor inner
    cdef list items = []
    if v.wire_type != V1_ARRAY:
        return (v1_scalar(r, v),)
    v1_inside(c, v, &inner)
    v1_elements(r, &inner, v.count, depth + 1, items)
    return tuple(items)
