# Variants, their values: first written one by one, then put in their places.

# ---- the first step: scalars, and what holds them ----

cdef inline int leaf_string_head(Buffer* b, size_t n, bint is_text) noexcept nogil:
    """What stands before n bytes of text, or others."""
    cdef uint8_t* w
    if buffer_ensure(b, 5) < 0:
        return NO_MEMORY
    w = b.p
    if is_text and n < SHORT_STRING:
        w[0] = <uint8_t>(n << 2 | 1)
        buffer_commit(b, w + 1)
    else:
        w[0] = VARIANT_STRING if is_text else VARIANT_BINARY
        store_little(w + 1, n, 4)
        buffer_commit(b, w + 5)
    return 0


cdef inline int leaf_string(Buffer* b, const uint8_t* p, size_t n, bint is_text) noexcept nogil:
    """Text or bytes."""
    if leaf_string_head(b, n, is_text) < 0:
        return NO_MEMORY
    return buffer_put(b, p, n)


cdef inline int leaf_fixed(Buffer* b, uint8_t header, uint64_t x, int width) noexcept nogil:
    """A header and an int of this many bytes, at most 8, after it."""
    if buffer_ensure(b, 9) < 0:
        return NO_MEMORY
    b.p[0] = header
    store_little(b.p + 1, x, width)
    buffer_commit(b, b.p + 1 + width)
    return 0


cdef inline int leaf_integer(Buffer* b, int64_t x) noexcept nogil:
    """In the least bytes."""
    if <int8_t>x == x:
        return leaf_fixed(b, VARIANT_INT8, <uint64_t>x, 1)
    if <int16_t>x == x:
        return leaf_fixed(b, VARIANT_INT16, <uint64_t>x, 2)
    if <int32_t>x == x:
        return leaf_fixed(b, VARIANT_INT32, <uint64_t>x, 4)
    return leaf_fixed(b, VARIANT_INT64, <uint64_t>x, 8)


cdef int leaf_decimal(Buffer* b, int64_t unscaled, uint64_t high, uint8_t scale) noexcept nogil:
    """high: what stands above 64 bits. A decimal has 9, 18 or 38 digits, and no more places."""
    cdef uint8_t* w
    cdef int width
    if buffer_ensure(b, 18) < 0:
        return NO_MEMORY
    w = b.p
    if high + (unscaled < 0) == 0 and scale <= 9 and -1000000000 < unscaled < 1000000000:
        w[0], width = VARIANT_DECIMAL4, 4
    elif (high + (unscaled < 0) == 0 and scale <= 18
            and -<int64_t>1000000000000000000 < unscaled < <int64_t>1000000000000000000):
        w[0], width = VARIANT_DECIMAL8, 8
    else:
        w[0], width = VARIANT_DECIMAL16, 16
    w[1] = scale
    store_little(w + 2, <uint64_t>unscaled, min(width, 8))
    if width == 16:
        store_little(w + 10, high, 8)
    buffer_commit(b, w + 2 + width)
    return 0


cdef inline int leaf_u64(Buffer* b, uint64_t x) noexcept nogil:
    if x >> 63:
        return leaf_decimal(b, <int64_t>x, 0, 0)
    return leaf_integer(b, <int64_t>x)


cdef inline int add_variant_size(Variants* v, uint32_t parent, size_t size) noexcept nogil:
    """One more value in a node: a scalar of so many bytes, or 0 for what comes as a node."""
    cdef VariantNode* node
    cdef uint32_t* own = <uint32_t*>items_add(&v.sizes, &v.n_sizes, sizeof(uint32_t))
    if own == NULL:
        return NO_MEMORY
    own[0] = <uint32_t>size
    node = <VariantNode*>v.nodes.p + parent
    node.n += 1
    node.n_bytes += size
    return 0


cdef int add_variant_node(Variants* v, uint32_t parent, bint is_object) noexcept nogil:
    cdef VariantNode* node = <VariantNode*>items_add(&v.nodes, &v.n_nodes, sizeof(VariantNode))
    if node == NULL:
        return NO_MEMORY
    node.n_bytes = 0
    node.n = 0
    node.parent = parent
    node.is_object = is_object
    return 0


cdef int add_variant_child(Variants* v, uint32_t parent, bint is_object) noexcept nogil:
    """A node within another one."""
    if add_variant_size(v, parent, 0) < 0:
        return NO_MEMORY
    return add_variant_node(v, parent, is_object)


cdef int survey_ours(Variants* v, uint32_t parent, int ours) noexcept nogil:
    """A node with one of OUR_KEYS, whose value is next."""
    if add_variant_child(v, parent, True) < 0:
        return NO_MEMORY
    return add_variant_key(v, NULL, ours)


cdef void survey_begin(Variants* v) noexcept nogil:
    buffer_in_block(&v.leaf, &v.leaves, 0)
    v.n_keys = v.n_sizes = v.n_nodes = 0
    v.heights = 0


# ---- the last step: all in its place ----

cdef inline uint64_t bytes_before(const Variants* v, const VariantNode* node) noexcept nogil:
    """What stands before the values of a node."""
    cdef uint64_t n_bytes = 1 + (4 if node.n > 0xFF else 1)
    n_bytes += (<uint64_t>node.n + 1) * <uint64_t>width_of(node.n_bytes)
    return n_bytes + (<uint64_t>node.n * <uint64_t>v.id_width if node.is_object else 0)


cdef uint64_t size_nodes(Variants* v) noexcept nogil:
    """Add inner nodes to outer ones, which come first; the size of all."""
    cdef VariantNode* node = <VariantNode*>v.nodes.p
    cdef uint32_t i = v.n_nodes
    while i > 1:
        i -= 1
        node[node[i].parent].n_bytes += node[i].n_bytes + bytes_before(v, &node[i])
    return node[0].n_bytes + bytes_before(v, &node[0])


cdef bint field_before(const void* context, const void* a, const void* b) noexcept nogil:
    return (<const uint64_t*>a)[0] < (<const uint64_t*>b)[0]


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
    cdef int width = width_of(node.n_bytes), id_width = v.id_width
    cdef uint64_t* field = <uint64_t*>v.fields.p + v.field
    cdef uint8_t* ids
    cdef uint8_t* offsets
    cdef uint8_t* start
    cdef uint64_t offset = 0, moved
    cdef size_t leaves = 0      # bytes of scalars that are not copied yet
    v.node += 1
    if is_object:
        w[0] = <uint8_t>(((n > 0xFF) << 4 | (id_width - 1) << 2 | (width - 1)) << 2 | 2)
        v.field += n
    else:
        w[0] = <uint8_t>(((n > 0xFF) << 2 | (width - 1)) << 2 | 3)
    store_little(w + 1, n, 4 if n > 0xFF else 1)
    ids = w + (5 if n > 0xFF else 2)
    offsets = ids + (<size_t>n * <size_t>id_width if is_object else 0)
    w = start = offsets + (<size_t>n + 1) * <size_t>width
    for i in range(n):
        if is_object:
            field[i] = <uint64_t>(<uint32_t*>v.ids.p)[v.key] << 32 | offset
            v.key += 1
        else:
            store_little(offsets + <size_t>i * <size_t>width, offset, width)
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
    store_little(offsets + <size_t>n * <size_t>width, offset, width)
    if is_object:
        v.field -= n
        sort_items(field, n, sizeof(uint64_t), &moved, field_before, NULL)
        for i in range(n):
            store_little(ids + <size_t>i * <size_t>id_width, field[i] >> 32, id_width)
            store_little(offsets + <size_t>i * <size_t>width, field[i], width)
    return w


cdef int write_names(Variants* v, Buffer* b) noexcept nogil:
    """The dictionary of all keys, in order."""
    cdef const VariantKey* key = <VariantKey*>v.keys.p
    cdef uint8_t[KEY_ROOM] buffer
    cdef const uint8_t* p
    cdef uint8_t* offsets
    cdef uint8_t* w
    cdef int width = width_of(max(v.names, <uint64_t>v.n_names))
    cdef uint64_t offset = 0
    cdef uint32_t i
    cdef size_t n
    if buffer_ensure(b, 1 + (<size_t>v.n_names + 2) * <size_t>width + v.names) < 0:
        return NO_MEMORY
    w = b.p
    w[0] = <uint8_t>((width - 1) << 6 | 1 << 4 | 1)      # sorted; version 1
    store_little(w + 1, v.n_names, width)
    offsets = w + 1 + width
    w = offsets + (<size_t>v.n_names + 1) * <size_t>width
    for i in range(v.n_names):
        store_little(offsets, offset, width)
        offsets += width
        p = key_text(v, &key[i], buffer, &n)
        memcpy(w, p, n)
        w += n
        offset += n
    store_little(offsets, offset, width)
    buffer_commit(b, w)
    return 0


cdef int variant_write(Variants* v, Buffer* value, Buffer* names) noexcept nogil:
    """What was surveyed: 0, NO_MEMORY, or COLUMN_FULL where no column could hold it."""
    cdef uint64_t size
    if number_keys(v) < 0:
        return NO_MEMORY
    size = size_nodes(v)
    if size > MAX_TABLE or v.names > MAX_TABLE:
        return COLUMN_FULL
    if (write_names(v, names) < 0 or v.n_keys and block_room(&v.fields, 0, v.n_keys * sizeof(uint64_t)) < 0
            or buffer_ensure(value, size) < 0):
        return NO_MEMORY
    v.key = v.size = v.node = v.field = 0
    v.copied = v.leaves.p
    buffer_commit(value, write_node(v, value.p))
    return 0


# ---- their two columns ----

cdef int variant_begin(Table* t, const Column* c, Buffer* value, Buffer* names) noexcept nogil:
    cdef int status = data_begin(value, &t.column[c.first])
    return data_begin(names, &t.column[c.first + 1]) if status == 0 else status


cdef int variant_commit(Table* t, Column* c, int64_t row, Buffer* value, Buffer* names,
                        int status) noexcept nogil:
    """status: how writing both went."""
    if status == COLUMN_FULL:
        t.full = <int>(c - t.column)
    if status == 0:
        status = data_commit(t, value, &t.column[c.first], row)
    if status == 0:
        status = data_commit(t, names, &t.column[c.first + 1], row)
    return column_at(c, row) if status == 0 else status
