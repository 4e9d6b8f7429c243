# Maps of AMQP 1.0 as Variants. Only maps that v1/verify.pxi has passed come here.
#
# As columns/variant.pxi, with the forms that JSON text of 1.0 has for what a Variant cannot say: {"$uuid": text},
# {"$char": text}, {"$described": [descriptor, value]}, {"$described_array": [descriptor, list]},
# {"$map": [[key, value], ...]} where a key is no text, {"$timestamp_ms": n} beyond microseconds in 64
# bits, {"$decimal": text} for those that are no number of 38 places. A map with a key of more than
# 255 bytes is a $table.

cdef enum:
    V1_VARIANT_KEY = 255        # bytes of a name

cdef inline int survey_v1_scalar(Variants* v, uint32_t parent, const V1Value* x) noexcept nogil:
    cdef Scalar scalar
    v1_as_scalar(x, &scalar)
    return survey_scalar(v, parent, &scalar)


# ---- what holds others ----

cdef int survey_v1(Variants* v, uint32_t parent, Cursor* c) noexcept nogil:
    """The value at the cursor, which steps over it."""
    cdef V1Value x
    v1_again(c, &x)
    if x.wire_type < V1_LIST:
        return survey_v1_scalar(v, parent, &x)
    if x.wire_type != V1_DESCRIBED:
        return survey_v1_compound(v, parent, c, &x)
    if survey_ours(v, parent, OUR_DESCRIBED) < 0 or add_variant_child(v, v.n_nodes - 1, False) < 0:
        return NO_MEMORY
    parent = v.n_nodes - 1
    if survey_v1(v, parent, c) < 0:
        return NO_MEMORY
    return survey_v1(v, parent, c)


cdef int survey_v1_compound(Variants* v, uint32_t parent, const Cursor* c, const V1Value* x) noexcept nogil:
    """A list, map or array whose head was read."""
    cdef Cursor inner
    cdef uint32_t i
    v1_inside(c, x, &inner)
    if x.wire_type == V1_ARRAY:
        return survey_v1_array(v, parent, &inner, x.count)
    if x.wire_type == V1_MAP:
        return NO_MEMORY if add_variant_size(v, parent, 0) < 0 else survey_v1_map(v, &inner, x.count >> 1, parent)
    if add_variant_child(v, parent, False) < 0:
        return NO_MEMORY
    parent = v.n_nodes - 1
    for i in range(x.count):
        if survey_v1(v, parent, &inner) < 0:
            return NO_MEMORY
    return 0


cdef int survey_v1_array(Variants* v, uint32_t parent, Cursor* c, uint32_t count) noexcept nogil:
    """The elements; where these are described, their descriptor once."""
    cdef V1Value x
    cdef uint8_t code = c.p[0]
    cdef uint32_t i
    cdef int status = 0
    c.p += 1
    if code == 0:
        if survey_ours(v, parent, OUR_DESCRIBED_ARRAY) < 0 or add_variant_child(v, v.n_nodes - 1, False) < 0:
            return NO_MEMORY
        parent = v.n_nodes - 1
        return NO_MEMORY if survey_v1(v, parent, c) < 0 else survey_v1_array(v, parent, c, count)
    if add_variant_child(v, parent, False) < 0:
        return NO_MEMORY
    parent = v.n_nodes - 1
    memset(&x, 0, sizeof(x))
    x.wire_type = CTOR_WIRE_TYPE[code]
    for i in range(count):
        v1_content(c, &x, code)
        status = survey_v1_scalar(v, parent, &x) if x.wire_type < V1_LIST else survey_v1_compound(v, parent, c, &x)
        if status < 0:
            break
    return status


cdef int v1_keys_for_names(const Variants* v, const Cursor* map_, uint32_t count) noexcept nogil:
    """As v1_keys; V1_KEYS_TWICE also where the keys cannot be names of one object."""
    cdef Cursor c = map_[0]
    cdef V1Value x
    cdef uint32_t i
    cdef int found = v1_keys(map_, count), height = 0
    for i in range(count):
        if found != V1_KEYS_TEXT:
            break
        v1_again(&c, &x)
        if x.n > V1_VARIANT_KEY:
            return V1_KEYS_TWICE
        if v.careful:
            height |= heights(x.p - 1)
        v1_pass(&c)
    return V1_KEYS_TWICE if found == V1_KEYS_TEXT and height == 3 else found


cdef int survey_v1_map(Variants* v, Cursor* c, uint32_t count, uint32_t parent) noexcept nogil:
    """A map of so many pairs: an object, {"$table": [...]} or {"$map": [...]}."""
    cdef V1Value x
    cdef uint32_t i, node
    cdef int keys = v1_keys_for_names(v, c, count)
    if keys < 0 or add_variant_node(v, parent, True) < 0:
        return NO_MEMORY
    node = v.n_nodes - 1
    if keys != V1_KEYS_TEXT:
        if (add_variant_key(v, NULL, OUR_TABLE if keys == V1_KEYS_TWICE else OUR_MAP) < 0
                or add_variant_child(v, node, False) < 0):
            return NO_MEMORY
        parent = v.n_nodes - 1
    for i in range(count):
        if keys == V1_KEYS_TEXT:
            v1_again(c, &x)
            # The byte before a text of no more than 255 is its length, or the last of that.
            if add_variant_key(v, x.p - 1, 0) < 0:
                return NO_MEMORY
        else:
            if add_variant_child(v, parent, False) < 0:
                return NO_MEMORY
            node = v.n_nodes - 1
            if (survey_v1_name(v, node, c) if keys == V1_KEYS_TWICE else survey_v1(v, node, c)) < 0:
                return NO_MEMORY
        if survey_v1(v, node, c) < 0:
            return NO_MEMORY
    return 0


cdef int survey_v1_name(Variants* v, uint32_t parent, Cursor* c) noexcept nogil:
    """A key of a $table: one more $ in front of one."""
    cdef Buffer* b = &v.leaf
    cdef size_t before = buffer_size(b), n
    cdef V1Value x
    v1_again(c, &x)
    if x.n == 0 or x.p[0] != c'$':
        return survey_v1_scalar(v, parent, &x)
    n = <size_t>x.n + 1
    if leaf_string_head(b, n, True) < 0 or buffer_put_byte(b, c'$') < 0 or buffer_put(b, x.p, x.n) < 0:
        return NO_MEMORY
    return add_variant_size(v, parent, buffer_size(b) - before)


cdef int survey_v1_root(Variants* v, Cursor c, uint32_t count) noexcept nogil:
    survey_begin(v)
    return survey_v1_map(v, &c, count, 0)


cdef int variant_v1(Variants* v, Buffer* value, Buffer* names, const Cursor* c, uint32_t count) noexcept nogil:
    """A map of so many pairs as a Variant: 0, NO_MEMORY, or COLUMN_FULL where no column could hold it."""
    if c.end - c.p > MAX_TABLE:
        return COLUMN_FULL
    v.root = c.p
    v.careful = False
    if survey_v1_root(v, c[0], count) < 0:
        return NO_MEMORY
    if AMQP_UNLIKELY(v.heights == 3):
        v.careful = True
        if survey_v1_root(v, c[0], count) < 0:
            return NO_MEMORY
    return variant_write(v, value, names)
