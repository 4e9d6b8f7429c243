# Which column of the input is what: found once for a schema.

# A property column: a member of `properties`, or a column `properties.message_id` of its own.
cdef struct PropertySource:
    const Source* source
    const Source* parent    # the struct, whose null hides it, or NULL
    const char* column      # full name
    int16_t* field          # by content class: which property it is there, or -1

# A column `headers.x-tenant`.
cdef struct HeaderSource:
    const Source* source
    const char* column
    const uint8_t* name
    uint32_t name_n

# Where the arguments of a method come from; looked up when the first row has it.
cdef struct MethodSources:
    bint ready
    const Source** plain    # by field: the column of that name, or NULL
    const Source** named    # the column `basic.consume.no_ack`, which goes first, or NULL
    int n_foreign
    const Source** foreign  # columns of arguments that this method does not have

cdef enum:
    KEPT_PLANS = 4          # of schemas that were encoded lately, for each protocol

cdef struct FastPlan


cdef str header_name(str key):
    """The name of a header, without the type that batch.decode takes after its last colon."""
    head, colon, suffix = key.rpartition(":")
    return head if colon and head and wanted_type(suffix) is not None else key


cdef class ColumnPlan:
    """The columns of one schema by what they are for a protocol."""

    cdef SourceTree tree
    cdef const Source* channel
    cdef const Source* arguments        # JSON text
    cdef const Source* body
    cdef const Source* error
    cdef const Source** argument        # columns of arguments, or of fields of performatives
    cdef int n_arguments

    def __dealloc__(self):
        free(self.argument)

    cdef bint place_column(self, Source* s, str name) except *:
        """Find the place of a column that not all plans have; whether there is one."""
        return False

    cdef bint place_member(self, const Source* s, const Source* parent, str struct_, str name) except *:
        """The same of a member of a struct, or of a column `struct.name`, which has no parent."""
        return False

    cdef str hint(self, list unknown):
        """What was probably meant."""
        return ""

    cdef int place_columns(self) except -1:
        cdef Source* root = &self.tree.root
        cdef int i
        seen = set()
        unknown = []
        for i in range(root.n_children):
            name = root.child[i].name.decode("utf-8", "replace")
            if name in seen:
                raise ValueError(f"column {name!r} is there twice")
            seen.add(name)
            if name == "channel":
                self.channel = &root.child[i]
            elif name == "arguments":
                self.arguments = &root.child[i]
            elif name == "error":
                self.error = &root.child[i]
            elif not self.place_column(&root.child[i], name) and name not in IGNORED_COLUMNS:
                unknown.append(name)
        if unknown:
            raise ValueError(f"no part of a message: column{'s' * (len(unknown) > 1)} "
                             f"{', '.join(map(repr, unknown))}{self.hint(unknown)}")
        return 0

    cdef bint place_struct(self, Source* s, str name, str member) except *:
        """Find the places of a struct's members; False: it is null. member: what each of them is."""
        cdef int k
        if s.input_type == IN_NULL:
            return False
        if s.input_type != IN_STRUCT:
            raise TypeError(f"column {name!r} is a struct, not {s.type.decode()}")
        unknown = []
        for k in range(s.n_children):
            child = s.child[k].name.decode("utf-8", "replace")
            if not self.place_member(&s.child[k], s, name, child):
                unknown.append(f"{name}.{child}")
        if unknown:
            raise ValueError(f"no {member}: {', '.join(map(repr, unknown))}")
        return True

    cdef int place_header(self, HeaderSource* h, const Source* s, str name) except -1:
        """A column of one entry, which may name a type as decode does. name: without what stands before it."""
        cdef str key = header_name(name)
        h.source = s
        h.column = s.name
        h.name = <const uint8_t*>self.tree.text(key)
        h.name_n = <uint32_t>len(key.encode("utf-8", "replace"))
        return 0


@cython.final
cdef class EncodePlan(ColumnPlan):
    """Of a protocol of 0-x."""

    cdef bytes key                      # see schema_key
    cdef Protocol protocol
    cdef const Source* method
    cdef const Source* properties_json
    cdef PropertySource* property_
    cdef int n_properties
    cdef HeaderSource* header
    cdef int n_headers
    cdef int16_t* fields                # of property_
    cdef MethodSources* methods         # as the protocol's descriptors
    cdef int16_t* name_slot             # descriptors by their name
    cdef uint32_t name_mask
    cdef int n_methods
    cdef FastPlan* fast_plan            # of the newest method, or NULL

    def __cinit__(self, SourceTree tree not None, Protocol protocol not None):
        cdef Source* root = &tree.root
        cdef int i, k
        cdef int most = root.n_children
        self.tree = tree
        self.protocol = protocol
        self.n_methods = protocol.descs.count
        for i in range(root.n_children):
            most += root.child[i].n_children
        self.argument = <const Source**>calloc(<size_t>most + 1, sizeof(Source*))
        self.property_ = <PropertySource*>calloc(<size_t>most + 1, sizeof(PropertySource))
        self.header = <HeaderSource*>calloc(<size_t>most + 1, sizeof(HeaderSource))
        self.fields = <int16_t*>calloc(<size_t>(most + 1) * (protocol.n_contents + 1), sizeof(int16_t))
        self.methods = <MethodSources*>calloc(<size_t>protocol.descs.count + 1, sizeof(MethodSources))
        if (self.argument == NULL or self.property_ == NULL or self.header == NULL
                or self.fields == NULL or self.methods == NULL):
            raise MemoryError
        self.index_names()
        self.place_columns()
        names = [self.property_[k].column for k in range(self.n_properties)]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"{name.decode('utf-8', 'replace')} is there twice, as a column and "
                                 "as a member of properties")
        if self.n_headers and b"properties.headers" in names:
            raise ValueError("headers come as properties.headers or as columns headers.x, not both")

    def __dealloc__(self):
        cdef int i
        if self.methods != NULL:
            for i in range(self.n_methods):
                free(self.methods[i].plain)     # the others lie after
            free(self.methods)
        free(self.property_)
        free(self.header)
        free(self.fields)
        free(self.name_slot)
        free(self.fast_plan)

    cdef bint place_column(self, Source* s, str name) except *:
        cdef HeaderSource* h
        if name == "method":
            self.method = s
        elif name == "properties_json":
            self.properties_json = s
        elif name == "body":
            self.body = s
        elif name == "properties":
            self.place_struct(s, name, "property")
        elif name.startswith("properties."):
            return self.place_member(s, NULL, "properties", name[11:])
        elif name.startswith("headers.") and len(name) > 8:
            h = &self.header[self.n_headers]
            self.place_header(h, s, name[8:])
            if h.name_n > 255:
                raise ValueError(f"column {name[:40] + '...'!r}: a table name takes at most 255 bytes, not {h.name_n}")
            self.n_headers += 1
        elif self.is_argument(s.name):
            self.argument[self.n_arguments] = s
            self.n_arguments += 1
        else:
            return False
        return True

    cdef bint place_member(self, const Source* s, const Source* parent, str struct_, str name) except *:
        cdef PropertySource* p = &self.property_[self.n_properties]
        cdef const Desc* d
        cdef int i, k
        cdef bint found = False
        cdef bytes field = PROPERTY_ALIASES.get(name, name).encode("utf-8", "replace")
        p.source = s
        p.parent = parent
        p.field = self.fields + self.n_properties * (self.protocol.n_contents + 1)
        for i in range(self.protocol.n_contents):
            d = self.protocol.contents[i]
            p.field[i] = -1
            for k in range(d.n):
                if strcmp(d.field[k], PyBytes_AS_STRING(field)) == 0:
                    p.field[i] = <int16_t>k
                    found = True
        for class_id, k in self.column_sources(name):
            for i in range(self.protocol.n_contents):
                if self.protocol.contents[i].class_id == class_id:
                    p.field[i] = <int16_t>k
                    found = True
        if found:
            p.column = self.tree.text(f"properties.{name}")
            self.n_properties += 1
        return found

    cdef tuple column_sources(self, str name):
        """(class id, index) of the properties that decode puts into a member of `properties`."""
        for column, _, sources in self.protocol.table["property_columns"]:
            if column == name:
                return tuple(sources)
        return ()

    cdef bint is_argument(self, const char* name) noexcept:
        """Whether any method has an argument of this name, alone or after the method's."""
        cdef const Desc* d
        cdef int i, k
        for i in range(self.protocol.descs.count):
            d = &self.protocol.descs.desc[i]
            if d.method_id == 0:
                continue
            for k in range(d.n):
                if names_argument(d, k, name):
                    return True
        return False

    cdef str hint(self, list unknown):
        cdef int i, k
        for i in range(self.protocol.n_contents):
            for k in range(self.protocol.contents[i].n):
                name = self.protocol.contents[i].field[k].decode()
                if name in unknown:
                    return f" (a property is a member of properties, or a column properties.{name})"
        return ""

    cdef int index_names(self) except -1:
        """A hash table of the methods' names."""
        cdef const Desc* d
        cdef int i
        cdef uint32_t slot
        self.name_mask = 64
        while self.name_mask < 4 * <uint32_t>self.protocol.descs.count:
            self.name_mask *= 2
        self.name_slot = <int16_t*>malloc(self.name_mask * sizeof(int16_t))
        if self.name_slot == NULL:
            raise MemoryError
        memset(self.name_slot, 0xFF, self.name_mask * sizeof(int16_t))
        self.name_mask -= 1
        for i in range(self.protocol.descs.count):
            d = &self.protocol.descs.desc[i]
            if d.method_id == 0:
                continue
            slot = hash_name(<const uint8_t*>d.name, strlen(d.name)) & self.name_mask
            while self.name_slot[slot] >= 0:
                slot = (slot + 1) & self.name_mask
            self.name_slot[slot] = <int16_t>i
        return 0


cdef int add_schema_key(Buffer* b, const ArrowSchema* schema, int depth) except -1:
    """What a plan takes from a schema; 0, or 1 where it is none that can be kept."""
    cdef const char* part
    cdef size_t size
    cdef int64_t k
    cdef uint8_t[16] shape      # zeros after
    if depth > SOURCE_DEPTH or schema.format == NULL or schema.n_children < 0 \
            or schema.n_children and schema.children == NULL:
        return 1
    memset(shape, 0, 16)
    store64(shape, <uint64_t>schema.n_children)
    shape[8] = schema.dictionary != NULL
    for k in range(3):
        part = <const char*>shape
        size = 16
        if k < 2:
            part = schema.name if k else schema.format
            if part == NULL:
                part = <const char*>shape + 12
            size = strlen(part) + 1
        put_bytes(b, part, size)
    for k in range(schema.n_children + (schema.dictionary != NULL)):
        if add_schema_key(b, schema.children[k] if k < schema.n_children else schema.dictionary, depth + 1):
            return 1
    return 0


cdef bytes schema_key(Buffer* scratch, const ArrowSchema* schema):
    """Bytes that are the same for schemas with the same plan; None where that is hard to say."""
    buffer_truncate(scratch, 0)
    if add_schema_key(scratch, schema, 0):
        return None
    return buffer_bytes(scratch)


cdef SourceTree tree_of(const ArrowSchema* schema, object given):
    cdef SourceTree tree = SourceTree.__new__(SourceTree)
    tree.describe(&tree.root, schema, 0)
    if tree.root.input_type != IN_STRUCT:
        raise TypeError(f"takes a struct array or record batch of messages, not {tree.root.type.decode()} "
                        f"({type(given).__name__})")
    return tree


cdef EncodePlan borrow_plan(Protocol protocol, Buffer* scratch, const ArrowSchema* schema, object given):
    """A plan for a schema, for one at a time: a kept one, or one made now."""
    cdef EncodePlan plan
    cdef bytes key
    if schema.release == NULL:
        raise ValueError("the Arrow schema was released already")
    key = schema_key(scratch, schema)
    found = None if key is None else protocol.encode_plans.pop(key, None)
    if found is not None:
        return <EncodePlan>found
    plan = EncodePlan.__new__(EncodePlan, tree_of(schema, given), protocol)
    plan.key = key
    return plan


cdef int return_plan(EncodePlan plan) except -1:
    """It is not needed any more."""
    cdef dict kept = plan.protocol.encode_plans
    if plan.key is not None:
        if len(kept) >= KEPT_PLANS:
            kept.clear()
        kept[plan.key] = plan
    return 0


cdef extern from "<string.h>" nogil:
    int strcmp(const char* a, const char* b)


cdef const Desc* method_named(const int16_t* slots, uint32_t mask, const Desc* descs, const uint8_t* p,
                              uint64_t n) noexcept nogil:
    """The method of this name, or NULL."""
    cdef uint32_t slot
    cdef const Desc* d
    if n > 255:
        return NULL
    slot = hash_name(p, <size_t>n) & mask
    while slots[slot] >= 0:
        d = &descs[slots[slot]]
        if strlen(d.name) == n and memcmp(d.name, p, <size_t>n) == 0:
            return d
        slot = (slot + 1) & mask
    return NULL


cdef bint names_argument(const Desc* d, int k, const char* name) noexcept nogil:
    """`queue` or `basic.consume.queue`."""
    return strcmp(d.field[k], name) == 0 or names_exactly(d, k, name)


cdef bint names_exactly(const Desc* d, int k, const char* name) noexcept nogil:
    cdef size_t n = strlen(d.name)
    return strlen(name) > n and memcmp(d.name, name, n) == 0 and name[n] == c'.' \
        and strcmp(d.field[k], name + n + 1) == 0


cdef int find_sources(MethodSources* m, const Desc* d, const Source** argument, int n) noexcept nogil:
    """Fill in where a method's arguments come from."""
    cdef int i, k
    cdef bint found
    m.plain = <const Source**>calloc(<size_t>(2 * d.n + n + 1), sizeof(Source*))
    if m.plain == NULL:
        return NO_MEMORY
    m.named = m.plain + d.n
    m.foreign = m.named + d.n
    for i in range(n):
        found = False
        for k in range(d.n):
            if names_exactly(d, k, argument[i].name):
                m.named[k] = argument[i]
                found = True
            elif strcmp(d.field[k], argument[i].name) == 0:
                m.plain[k] = argument[i]
                found = True
        if not found:
            m.foreign[m.n_foreign] = argument[i]
            m.n_foreign += 1
    m.ready = True
    return 0
