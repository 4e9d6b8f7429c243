# AMQP 1.0, bytes to objects: compounds, described types and the composites of the protocol.

# ---- compounds ----

cdef object v1_value(V1Reader* r, Cursor* c, int depth):
    """One value of any type. depth: levels that are open around it."""
    cdef V1Value v
    cdef PyObject* made
    cdef const uint8_t* after
    if AMQP_LIKELY(c.p < c.end and CTOR_NULL <= c.p[0] < CTOR_VBIN32 and not r.mode & MODE_TYPED):
        after = v1_compact_value(r.cache, c.p, c.end, SHORT_VALUE, &made)
        if AMQP_LIKELY(after != NULL):
            c.p = after
            return v1_owned(made)
    if AMQP_UNLIKELY(v1_read(c, &v) < 0):
        v1_raise(c)
    if AMQP_LIKELY(v.wire_type < V1_LIST):
        return v1_scalar(r, c, &v)
    if AMQP_UNLIKELY(depth >= DEPTH_LIMIT):
        v1_fail(c, BAD_DEPTH, NULL, 0, 0)
    if v.wire_type == V1_DESCRIBED:
        return v1_described(r, c, depth + 1)
    return v1_compound(r, c, &v, depth + 1)


cdef object v1_compound(V1Reader* r, Cursor* c, const V1Value* v, int depth):
    cdef Cursor inner
    if v.wire_type == V1_ARRAY:
        v1_inside(c, v, &inner)
        return v1_array(r, &inner, v.count, depth)
    if AMQP_UNLIKELY(v1_open_items(c, v, &inner) < 0):
        v1_raise(&inner)
    made = v1_list(r, &inner, v.count, depth) if v.wire_type == V1_LIST else v1_map(r, &inner, v.count, depth)
    if AMQP_UNLIKELY(v1_end_items(&inner, v.wire_type) < 0):
        v1_raise(&inner)
    return made


cdef object v1_list(V1Reader* r, Cursor* c, uint32_t count, int depth):
    cdef object made, item
    cdef uint32_t i
    made = []       # grows with what is read: an error must not leave holes
    for i in range(count):
        item = v1_value(r, c, depth)
        (<list>made).append(item)
    return made


cdef inline bint v1_hashable(uint8_t wire_type) noexcept:
    """Types whose values may be keys of a dict: text, bytes, integers and booleans. Floats, decimals
    and UUIDs hash to what a peer can choose, and others not at all."""
    return V1_BOOLEAN <= wire_type <= V1_LONG or v1_is_variable(wire_type)


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
        hashable = c.p < c.end and v1_hashable(CTOR_WIRE_TYPE[c.p[0]])
        if AMQP_LIKELY(hashable):
            if AMQP_UNLIKELY(v1_read(c, &v) < 0):
                v1_raise(c)
            if v.wire_type == V1_STRING:
                key = v1_text(r, c, &v, V1_SHARED)
            else:
                key = v1_scalar(r, c, &v)
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
    cdef V1Check k
    cdef Cursor at = c[0]
    cdef uint8_t code = 0
    cdef int level = depth
    v1_check_begin(&k, r.zero_width)
    if AMQP_UNLIKELY(v1_array_constructor(c, &k, &code, &depth) < 0):
        v1_raise(c)
    while level < depth:
        at.p += 1
        level += 1
        descriptors.append(v1_descriptor(r, &at, level))
    made.type = V1_NAMES[CTOR_WIRE_TYPE[code]].decode()
    made.descriptors = tuple(descriptors)
    v1_elements(r, c, code, count, depth, made.items)
    return made


cdef int v1_elements(V1Reader* r, Cursor* c, uint8_t code, uint32_t count, int depth, list items) except -1:
    """The elements of an array, whose constructor is known; the cursor ends where they do."""
    cdef V1Check k
    cdef V1Value v
    cdef object item
    cdef uint32_t i
    v1_check_begin(&k, r.zero_width)
    if v1_count_fits(c, count, code, &k) < 0:
        v1_raise(c)
    r.zero_width = k.zero_width
    v.wire_type = CTOR_WIRE_TYPE[code]
    for i in range(count):
        if AMQP_UNLIKELY(v1_content(c, &v, code) < 0):
            v1_raise(c)
        if v.wire_type < V1_LIST:
            item = v1_scalar(r, c, &v)
        else:
            if AMQP_UNLIKELY(depth >= DEPTH_LIMIT):
                v1_fail(c, BAD_DEPTH, NULL, 0, 0)
            item = v1_compound(r, c, &v, depth + 1)
        items.append(item)
    if AMQP_UNLIKELY(v1_end_items(c, V1_ARRAY) < 0):
        v1_raise(c)
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
    cdef Place outer = c.fault.at
    cdef bint unusual = start[1] != CTOR_SMALLULONG
    cdef bint done = False
    if AMQP_UNLIKELY(o == NULL):
        raise MemoryError
    o.mode = <uint32_t>r.mode
    place_begin(&c.fault.at, d.name, NULL)
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
    c.fault.at = outer
    return <PyObject*>o


cdef int v1_restricted(V1Reader* r, const V1Desc* d, Cursor* c, MessageObject* o, int depth,
                       bint* unusual) except -1:
    """The one value of a restricted type, such as data."""
    cdef object value
    cdef Cursor at = c[0]
    cdef V1Check k
    v1_check_begin(&k, r.zero_width)
    # Only a check before says whether encode would write the very bytes.
    if v1_check_restricted(d, &at) < 0 or v1_check(&at, &k, depth) < 0:
        v1_raise(&at)
    if k.unusual:
        unusual[0] = True
    value = v1_value(r, c, depth)
    class_store(o, 0, Py_NewRef(<PyObject*>value))
    if d.op[0].wire_type >= V1_LIST:
        class_track(<PyObject*>o)
    return 0


cdef int v1_fields(V1Reader* r, const V1Desc* d, Cursor* c, MessageObject* o, int depth,
                   bint* unusual) except -1:
    """The list of a composite's fields: those that are missing or null stay unset."""
    cdef V1Value x
    cdef const uint8_t* p
    cdef const uint8_t* end = c.end
    cdef int count, small
    cdef int i = 0
    cdef int last = 0           # fields up to the last one that is there
    cdef object value
    small = v1_open_list(d, c, &x, depth)
    if AMQP_UNLIKELY(small < 0):
        v1_raise(c)
    if not small and not v1_minimal(&x):
        unusual[0] = True
    count = <int>x.count
    while True:
        p = v1_compact_fields(r, d, c.p, c.end, &i, count, o, depth, &last, unusual)
        c.p = p
        if i == count:
            break
        place_begin(&c.fault.at, d.name, d.field[i])
        if AMQP_UNLIKELY(v1_read(c, &x) < 0):
            v1_raise(c)
        value = v1_field(r, &d.op[i], c, &x, p, depth + 1, unusual)
        class_store(o, i, Py_NewRef(<PyObject*>value))
        if x.wire_type >= V1_LIST:
            class_track(<PyObject*>o)        # only now can it be part of a cycle
        i += 1
        last = i
    # Nulls at the end are not written; without a mandatory field encode refuses it, unless it came so.
    if last != count or count < d.mandatory:
        unusual[0] = True
    if AMQP_UNLIKELY(v1_end_items(c, V1_LIST) < 0):
        place_begin(&c.fault.at, d.name, NULL)
        v1_raise(c)
    c.end = end
    return 0


cdef object v1_field(V1Reader* r, const V1Op* op, Cursor* c, const V1Value* v, const uint8_t* start,
                     int depth, bint* unusual):
    """One field that is not null: checked, and made. v: what was read of it; start: where it begins."""
    cdef Cursor at = c[0]
    cdef V1Check k
    cdef V1Desc* d
    cdef object made
    if v.wire_type == V1_DESCRIBED and (op.wire_type == V1_ANY or op.wire_type == V1_COMPOSITE):
        d = v1_known(r.types, &at)
        if d != NULL and (op.wire_type == V1_ANY or d == op.desc):
            c.p = at.p
            return v1_owned(v1_known_type(r, d, c, start, depth + 1))
        at.p = c.p
    v1_verify_begin(&k, r.types)
    k.zero_width = r.zero_width
    if AMQP_UNLIKELY(v1_verify_field(op, &at, v, start, &k, depth) < 0):
        v1_raise(&at)
    if k.unusual:
        unusual[0] = True
    if op.multiple:
        return v1_multiple(r, op, c, v, depth)
    if v.wire_type == op.wire_type and op.wire_type <= V1_ULONG:
        return v1_declared_number(op, v)
    if v.wire_type == V1_STRING:
        return v1_text(r, c, v, op.longest)
    if v.wire_type == V1_DESCRIBED:
        return v1_described(r, c, depth + 1)
    if v.wire_type >= V1_LIST:
        return v1_compound(r, c, v, depth + 1)
    if op.wire_type == V1_TIMESTAMP:
        return v1_moment(r.cache, <int64_t>v.u)     # also in typed mode
    made = v1_scalar(r, c, v)
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
        return (v1_scalar(r, c, v),)
    v1_inside(c, v, &inner)
    inner.p += 1
    v1_elements(r, &inner, v.p[0], v.count, depth + 1, items)
    return tuple(items)
