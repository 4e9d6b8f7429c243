# Field tables as Variants, their values: first written one by one, then put in their places.

# ---- the first step: scalars, and what holds them ----

cdef inline int leaf_string_head(Text* t, size_t n, bint is_text) noexcept nogil:
    """What stands before n octets of text, or others, for which there is room then."""
    if text_room(t, n + 5) < 0:
        return NO_MEMORY
    if is_text and n < SHORT_STRING:
        t.w[0] = <uint8_t>(n << 2 | 1)
        t.w += 1
    else:
        t.w[0] = VARIANT_STRING if is_text else VARIANT_BINARY
        put_little(t.w + 1, n, 4)
        t.w += 5
    return 0


cdef inline int leaf_string(Text* t, const uint8_t* p, size_t n, bint is_text) noexcept nogil:
    """Text or octets."""
    if leaf_string_head(t, n, is_text) < 0:
        return NO_MEMORY
    memcpy(t.w, p, n)
    t.w += n
    return 0


cdef inline void leaf_integer(Text* t, int64_t x) noexcept nogil:
    """In the least octets."""
    cdef int width
    if <int8_t>x == x:
        t.w[0], width = VARIANT_INT8, 1
    elif <int16_t>x == x:
        t.w[0], width = VARIANT_INT16, 2
    elif <int32_t>x == x:
        t.w[0], width = VARIANT_INT32, 4
    else:
        t.w[0], width = VARIANT_INT64, 8
    put_little(t.w + 1, <uint64_t>x, width)
    t.w += 1 + width


cdef void leaf_decimal(Text* t, int64_t unscaled, uint64_t high, uint8_t scale) noexcept nogil:
    """high: what stands above 64 bits. A decimal has 9, 18 or 38 digits, and no more places."""
    cdef int width
    if high + (unscaled < 0) == 0 and scale <= 9 and -1000000000 < unscaled < 1000000000:
        t.w[0], width = VARIANT_DECIMAL4, 4
    elif (high + (unscaled < 0) == 0 and scale <= 18
            and -<int64_t>1000000000000000000 < unscaled < <int64_t>1000000000000000000):
        t.w[0], width = VARIANT_DECIMAL8, 8
    else:
        t.w[0], width = VARIANT_DECIMAL16, 16
    t.w[1] = scale
    put_little(t.w + 2, <uint64_t>unscaled, min(width, 8))
    if width == 16:
        put_little(t.w + 10, high, 8)
    t.w += 2 + width


cdef inline void leaf_u64(Text* t, uint64_t x) noexcept nogil:
    if x >> 63:
        leaf_decimal(t, <int64_t>x, 0, 0)
    else:
        leaf_integer(t, <int64_t>x)


cdef int leaf_value(Text* t, const uint8_t* p, uint8_t tag, const int8_t* shapes) noexcept nogil:
    """A scalar; p: behind its tag."""
    if tag == c'S':
        return leaf_string(t, p + 4, load32(p), is_utf8(p + 4, load32(p)))
    if tag == c'x':
        return leaf_string(t, p + 4, load32(p), False)
    if tag == c's' and shapes[tag] == SHAPE_SHORT:
        return leaf_string(t, p + 1, p[0], is_utf8(p + 1, p[0]))
    if text_room(t, 24) < 0:
        return NO_MEMORY
    if tag == c'I':
        leaf_integer(t, <int32_t>load32(p))
    elif tag == c'l' and shapes == SHAPES[MODE_LETTER]:
        leaf_u64(t, load64(p))
    elif tag == c'l' or tag == c'L':
        leaf_integer(t, <int64_t>load64(p))
    elif tag == c't':
        t.w[0] = VARIANT_TRUE if p[0] else VARIANT_FALSE
        t.w += 1
    elif tag == c'd':
        t.w[0] = VARIANT_DOUBLE
        put_little(t.w + 1, load64(p), 8)
        t.w += 9
    elif tag == c'T':
        t.w[0] = VARIANT_TIMESTAMP
        put_little(t.w + 1, load64(p) * 1000000, 8)
        t.w += 9
    elif tag == c'b':
        leaf_integer(t, <int8_t>p[0])
    elif tag == c'B':
        leaf_integer(t, p[0])
    elif tag == c's' or tag == c'U':
        leaf_integer(t, <int16_t>load16(p))
    elif tag == c'u':
        leaf_integer(t, load16(p))
    elif tag == c'i':
        leaf_integer(t, load32(p))
    elif tag == c'f':
        t.w[0] = VARIANT_FLOAT
        put_little(t.w + 1, load32(p), 4)
        t.w += 5
    elif tag == c'D':
        leaf_decimal(t, <int32_t>load32(p + 1), 0 if p[1] < 128 else ~<uint64_t>0, p[0])
    else:       # V
        t.w[0] = VARIANT_NULL
        t.w += 1
    return 0


cdef inline int note_size(Variants* v, uint32_t parent, size_t size) noexcept nogil:
    """One more value in a node: a scalar of so many octets, or 0 for what comes as a node."""
    cdef VariantNode* node
    if block_for(&v.sizes, v.n_sizes, sizeof(uint32_t)) < 0:
        return NO_MEMORY
    (<uint32_t*>v.sizes.p)[v.n_sizes] = <uint32_t>size
    v.n_sizes += 1
    node = <VariantNode*>v.nodes.p + parent
    node.n += 1
    node.octets += size
    return 0


cdef int note_node(Variants* v, uint32_t parent, bint is_object) noexcept nogil:
    cdef VariantNode* node
    if block_for(&v.nodes, v.n_nodes, sizeof(VariantNode)) < 0:
        return NO_MEMORY
    node = <VariantNode*>v.nodes.p + v.n_nodes
    node.octets = 0
    node.n = 0
    node.parent = parent
    node.is_object = is_object
    v.n_nodes += 1
    return 0


cdef int note_within(Variants* v, uint32_t parent, bint is_object) noexcept nogil:
    """A node within another one."""
    if note_size(v, parent, 0) < 0:
        return NO_MEMORY
    return note_node(v, parent, is_object)


cdef inline int leaf_key(Text* t, const uint8_t* key) noexcept nogil:
    """A key as a string, of a table that has one twice."""
    cdef uint8_t[KEY_ROOM] buffer
    if not key_is_odd(key):
        return leaf_string(t, key + 1, key[0], True)
    return leaf_string(t, buffer, put_odd_key(buffer, key), True)


cdef int survey_ours(Variants* v, uint32_t parent, int ours) noexcept nogil:
    """A node with one of OUR_KEYS, whose value is next."""
    if note_within(v, parent, True) < 0:
        return NO_MEMORY
    return note_key(v, NULL, ours)


cdef int survey_value(Variants* v, const uint8_t** at, uint32_t parent) noexcept nogil:
    """One tag and its value; `at` moves behind it."""
    cdef const uint8_t* p = at[0] + 1
    cdef uint8_t tag = at[0][0]
    cdef size_t before
    cdef uint8_t[288] digits
    at[0] += value_octets(at[0], v.shapes)
    if tag == c'F':
        if note_size(v, parent, 0) < 0:
            return NO_MEMORY
        return survey_pairs(v, p + 4, load32(p), parent)
    if tag == c'A':
        if note_within(v, parent, False) < 0:
            return NO_MEMORY
        parent = v.n_nodes - 1
        p += 4
        while p < at[0]:
            if survey_value(v, &p, parent) < 0:
                return NO_MEMORY
        return 0
    before = <size_t>(v.leaf.w - v.leaves.p)
    if AMQP_UNLIKELY(tag == c'D' and p[0] > DECIMAL_PLACES):
        if survey_ours(v, parent, OUR_DECIMAL) < 0:
            return NO_MEMORY
        parent = v.n_nodes - 1
        if leaf_string(&v.leaf, digits, <size_t>(
                put_decimal(digits, <int32_t>load32(p + 1), p[0]) - digits), True) < 0:
            return NO_MEMORY
    elif AMQP_UNLIKELY(tag == c'T' and load64(p) > <uint64_t>9223372036854):
        if survey_ours(v, parent, OUR_TIMESTAMP) < 0 or text_room(&v.leaf, 24) < 0:
            return NO_MEMORY
        parent = v.n_nodes - 1
        leaf_u64(&v.leaf, load64(p))
    elif leaf_value(&v.leaf, p, tag, v.shapes) < 0:
        return NO_MEMORY
    return note_size(v, parent, <size_t>(v.leaf.w - v.leaves.p) - before)


cdef int survey_pairs(Variants* v, const uint8_t* p, uint32_t n, uint32_t parent) noexcept nogil:
    """A field table: an object, or {"$table": [...]} where a key comes twice."""
    cdef const uint8_t* end = p + n
    cdef const uint8_t* key
    cdef uint32_t node
    cdef size_t before
    cdef int twice = has_twice(p, end, v.shapes)
    if AMQP_UNLIKELY(v.careful) and twice == 0:
        twice = heights_within(p, end, v.shapes) == 3
    if twice < 0 or note_node(v, parent, True) < 0:
        return NO_MEMORY
    node = v.n_nodes - 1
    if AMQP_UNLIKELY(twice):
        if note_key(v, NULL, OUR_TABLE) < 0 or note_within(v, node, False) < 0:
            return NO_MEMORY
        parent = v.n_nodes - 1
    while p < end:
        key = p
        p += 1 + <size_t>p[0]
        if AMQP_UNLIKELY(twice):
            if note_within(v, parent, False) < 0:
                return NO_MEMORY
            node = v.n_nodes - 1
            before = <size_t>(v.leaf.w - v.leaves.p)
            if (leaf_key(&v.leaf, key) < 0
                    or note_size(v, node, <size_t>(v.leaf.w - v.leaves.p) - before) < 0):
                return NO_MEMORY
        elif note_key(v, key, 0) < 0:
            return NO_MEMORY
        if survey_value(v, &p, node) < 0:
            return NO_MEMORY
    return 0


cdef void survey_begin(Variants* v) noexcept nogil:
    v.leaf.block = &v.leaves
    v.leaf.w = v.leaves.p
    v.leaf.end = v.leaves.p + v.leaves.room
    v.n_keys = v.n_sizes = v.n_nodes = 0
    v.heights = 0


cdef int survey(Variants* v, uint32_t n) noexcept nogil:
    survey_begin(v)
    return survey_pairs(v, v.root, n, 0)


# ---- the last step: all in its place ----

cdef inline uint64_t octets_before(const Variants* v, const VariantNode* node) noexcept nogil:
    """What stands before the values of a node."""
    cdef uint64_t octets = 1 + (4 if node.n > 0xFF else 1)
    octets += (<uint64_t>node.n + 1) * <uint64_t>width_of(node.octets)
    return octets + (<uint64_t>node.n * <uint64_t>v.id_width if node.is_object else 0)


cdef uint64_t size_nodes(Variants* v) noexcept nogil:
    """Add inner nodes to outer ones, which come first; the size of all."""
    cdef VariantNode* node = <VariantNode*>v.nodes.p
    cdef uint32_t i = v.n_nodes
    while i > 1:
        i -= 1
        node[node[i].parent].octets += node[i].octets + octets_before(v, &node[i])
    return node[0].octets + octets_before(v, &node[0])


cdef void sift_fields(uint64_t* field, size_t root, size_t n) noexcept nogil:
    cdef size_t child
    cdef uint64_t moved = field[root]
    while 2 * root + 1 < n:
        child = 2 * root + 1
        if child + 1 < n and field[child] < field[child + 1]:
            child += 1
        if moved >= field[child]:
            break
        field[root] = field[child]
        root = child
    field[root] = moved


cdef void sort_fields(uint64_t* field, size_t n) noexcept nogil:
    cdef size_t i, k
    cdef uint64_t moved
    if n <= SORTED_SLOWLY:
        for i in range(1, n):
            moved = field[i]
            k = i
            while k and moved < field[k - 1]:
                field[k] = field[k - 1]
                k -= 1
            field[k] = moved
        return
    i = n // 2
    while i:
        i -= 1
        sift_fields(field, i, n)
    i = n
    while i > 1:
        i -= 1
        moved = field[i]
        field[i] = field[0]
        field[0] = moved
        sift_fields(field, 0, i)


cdef inline uint8_t* copy_leaves(Variants* v, uint8_t* w, size_t n) noexcept nogil:
    if n:
        memcpy(w, v.copied, n)
        v.copied += n
    return w + n


cdef uint8_t* write_node(Variants* v, uint8_t* w) noexcept nogil:
    """The next node, with all in it; for which there is room. Where it ends."""
    cdef const VariantNode* node = <VariantNode*>v.nodes.p + v.node
    cdef uint32_t i, n = node.n, size
    cdef bint is_object = node.is_object
    cdef int width = width_of(node.octets), id_width = v.id_width
    cdef uint64_t* field = <uint64_t*>v.fields.p + v.field
    cdef uint8_t* ids
    cdef uint8_t* offsets
    cdef uint8_t* start
    cdef uint64_t offset = 0
    cdef size_t leaves = 0      # octets of scalars that are not copied yet
    v.node += 1
    if is_object:
        w[0] = <uint8_t>(((n > 0xFF) << 4 | (id_width - 1) << 2 | (width - 1)) << 2 | 2)
        v.field += n
    else:
        w[0] = <uint8_t>(((n > 0xFF) << 2 | (width - 1)) << 2 | 3)
    put_little(w + 1, n, 4 if n > 0xFF else 1)
    ids = w + (5 if n > 0xFF else 2)
    offsets = ids + (<size_t>n * <size_t>id_width if is_object else 0)
    w = start = offsets + (<size_t>n + 1) * <size_t>width
    for i in range(n):
        if is_object:
            field[i] = <uint64_t>(<uint32_t*>v.ids.p)[v.key] << 32 | offset
            v.key += 1
        else:
            put_little(offsets + <size_t>i * <size_t>width, offset, width)
        size = (<uint32_t*>v.sizes.p)[v.size]
        v.size += 1
        if size:
            leaves += size
            offset += size
            continue
        w = write_node(v, copy_leaves(v, w, leaves))
        leaves = 0
        offset = <uint64_t>(w - start)
    w = copy_leaves(v, w, leaves)
    put_little(offsets + <size_t>n * <size_t>width, offset, width)
    if is_object:
        v.field -= n
        sort_fields(field, n)
        for i in range(n):
            put_little(ids + <size_t>i * <size_t>id_width, field[i] >> 32, id_width)
            put_little(offsets + <size_t>i * <size_t>width, field[i], width)
    return w


cdef int write_names(Variants* v, Text* t) noexcept nogil:
    """The dictionary of all keys, in order."""
    cdef const VariantKey* key = <VariantKey*>v.keys.p
    cdef uint8_t[KEY_ROOM] buffer
    cdef const uint8_t* p
    cdef uint8_t* offsets
    cdef int width = width_of(max(v.names, <uint64_t>v.n_names))
    cdef uint64_t offset = 0
    cdef uint32_t i
    cdef size_t n
    if text_room(t, 1 + (<size_t>v.n_names + 2) * <size_t>width + v.names) < 0:
        return NO_MEMORY
    t.w[0] = <uint8_t>((width - 1) << 6 | 1 << 4 | 1)      # sorted; version 1
    put_little(t.w + 1, v.n_names, width)
    offsets = t.w + 1 + width
    t.w = offsets + (<size_t>v.n_names + 1) * <size_t>width
    for i in range(v.n_names):
        put_little(offsets, offset, width)
        offsets += width
        p = key_text(v, &key[i], buffer, &n)
        memcpy(t.w, p, n)
        t.w += n
        offset += n
    put_little(offsets, offset, width)
    return 0


cdef int variant_write(Variants* v, Text* value, Text* names) noexcept nogil:
    """What was surveyed: 0, NO_MEMORY, or COLUMN_FULL where no column could hold it."""
    cdef uint64_t size
    if number_keys(v) < 0:
        return NO_MEMORY
    size = size_nodes(v)
    if size > MAX_TABLE or v.names > MAX_TABLE:
        return COLUMN_FULL
    if (text_room(value, size) < 0 or write_names(v, names) < 0
            or v.n_keys and block_room(&v.fields, 0, v.n_keys * sizeof(uint64_t)) < 0):
        return NO_MEMORY
    v.key = v.size = v.node = v.field = 0
    v.copied = v.leaves.p
    value.w = write_node(v, value.w)
    return 0


cdef int variant_table(Variants* v, Text* value, Text* names, const uint8_t* p, uint32_t n,
                       uintptr_t mode) noexcept nogil:
    """A table as a Variant: as variant_write."""
    if n > MAX_TABLE:
        return COLUMN_FULL
    v.shapes = SHAPES[mode & MODE_LETTER]
    v.root = p
    v.careful = False
    if survey(v, n) < 0:
        return NO_MEMORY
    if AMQP_UNLIKELY(v.heights == 3):
        v.careful = True
        if survey(v, n) < 0:
            return NO_MEMORY
    return variant_write(v, value, names)
