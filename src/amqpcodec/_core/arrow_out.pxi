# Arrow columns on their way out, by the C Data Interface.

# One array of the tree: the struct's own memory, and its hold on the table.
cdef struct Node:
    Table* table
    const void* buffers[3]
    const void* few[12]     # of views: theirs, and behind them the sizes of those
    const void** many       # of more of them than that
    ArrowArray* child       # and behind them where each is


cdef void release_array(ArrowArray* a) noexcept nogil:
    cdef Node* node = <Node*>a.private_data
    cdef int64_t i
    for i in range(a.n_children):
        # A consumer may have moved a child out: then it is released elsewhere.
        if node.child[i].release != NULL:
            node.child[i].release(&node.child[i])
    table_drop(node.table)
    free(node.many)
    free(node.child)
    free(node)
    a.release = NULL


cdef int begin_array(Table* t, ArrowArray* a, int64_t n_children) noexcept nogil:
    """An array without buffers. On failure there is nothing to release."""
    cdef Node* node = <Node*>calloc(1, sizeof(Node))
    cdef ArrowArray** children = NULL
    cdef int64_t i
    memset(a, 0, sizeof(ArrowArray))
    if node == NULL:
        return NO_MEMORY
    if n_children:
        node.child = <ArrowArray*>calloc(<size_t>n_children, sizeof(ArrowArray) + sizeof(ArrowArray*))
        if node.child == NULL:
            free(node)
            return NO_MEMORY
        children = <ArrowArray**>(node.child + n_children)
        for i in range(n_children):
            children[i] = &node.child[i]
    node.table = t
    atomic_add_(&t.refs, 1)
    a.length = t.rows
    a.buffers = node.buffers
    a.n_children = n_children
    a.children = children
    a.private_data = node
    a.release = release_array
    return 0


cdef int export_views(Table* t, Column* c, ArrowArray* a) noexcept nogil:
    """Buffers of a column of views: its own octets, and the input in pieces."""
    cdef Node* node = <Node*>a.private_data
    cdef uint64_t step = <uint64_t>1 << t.shift
    cdef uint64_t pieces = (t.base_n + step - 1) >> t.shift if t.referred and c.present else 0
    cdef int64_t* sizes
    cdef uint64_t i
    cdef const void** buffers = node.few
    if 2 * pieces + 6 > sizeof(node.few) // sizeof(void*):
        buffers = node.many = <const void**>calloc(<size_t>(2 * pieces + 6), sizeof(void*))
        if buffers == NULL:
            return NO_MEMORY
    sizes = <int64_t*>(buffers + pieces + 4)
    buffers[2] = t.zeros if c.data.p == NULL else c.data.p
    sizes[0] = 0 if c.data.p == NULL else <int64_t>c.used
    for i in range(pieces):
        buffers[3 + i] = t.base + i * step
        # A value may begin at a piece's end and be of any length that a view can say.
        sizes[1 + i] = <int64_t>min(t.base_n - i * step, step + <uint64_t>0x7FFFFFFF)
    buffers[3 + pieces] = sizes
    a.n_buffers = <int64_t>pieces + 4
    a.buffers = buffers
    return 0


cdef int export_items(Table* items, ArrowArray* map_, ArrowArray* a) noexcept nogil:
    """The entries of a map, which is released where they cannot be made."""
    cdef Node* node
    cdef int i
    if begin_array(items, a, items.n) < 0:
        map_.release(map_)
        return NO_MEMORY
    node = <Node*>a.private_data
    a.n_buffers = 1
    for i in range(items.n):
        if export_column(items, i, &node.child[i]) < 0:
            map_.release(map_)
            return NO_MEMORY
    return 0


cdef int export_column(Table* t, int index, ArrowArray* a) noexcept nogil:
    cdef Column* c = &t.column[index]
    cdef Node* node
    cdef int i
    cdef bint none = c.present == 0
    if begin_array(t, a, c.n_children if c.items == NULL else 1) < 0:
        return NO_MEMORY
    node = <Node*>a.private_data
    a.null_count = t.rows - c.present if c.nullable else 0
    a.n_buffers = 1 if c.kind == AS_STRUCT else 3 if c.kind == AS_TEXT and c.items == NULL else 2
    if c.kind == AS_VIEW and export_views(t, c, a) < 0:
        a.release(a)
        return NO_MEMORY
    if a.null_count:
        a.buffers[0] = t.zeros if none else c.valid.p
    if c.kind != AS_STRUCT:
        a.buffers[1] = t.zeros if none else c.fixed.p
    if c.items != NULL:
        return export_items(c.items, a, &node.child[0])
    if c.kind == AS_TEXT:
        node.buffers[2] = t.zeros if c.data.p == NULL else c.data.p
        if c.borrowed != NULL:
            node.buffers[2] = c.borrowed
    for i in range(c.n_children):
        if export_column(t, c.first + i, &node.child[i]) < 0:
            a.release(a)
            return NO_MEMORY
    return 0


cdef int export_table(Table* t, const int* order, int n, ArrowArray* a) noexcept nogil:
    """A struct array of the columns in this order."""
    cdef int i
    cdef Node* node
    if begin_array(t, a, n) < 0:
        return NO_MEMORY
    node = <Node*>a.private_data
    a.n_buffers = 1
    for i in range(n):
        if export_column(t, order[i], &node.child[i]) < 0:
            a.release(a)
            return NO_MEMORY
    return 0


cdef void release_schema(ArrowSchema* s) noexcept nogil:
    cdef int64_t i
    for i in range(s.n_children):
        if s.children[i] != NULL:
            if s.children[i].release != NULL:
                s.children[i].release(s.children[i])
    free(s.children)            # and they themselves
    free(s.private_data)        # name and format
    s.release = NULL


# Formats of ours: "!" stands before one whose column is never null, "?" before one that is no view in
# any layout, and there is one with metadata.
cdef str VARIANT_NAMES = "!variant"
cdef uint8_t[4 + 4 + 7 + 4 + 4] VARIANT_MARK       # {"variant": "true"}, as the interface has it


cdef void variant_mark_ready() noexcept:
    cdef int32_t[3] number = [1, 7, 4]
    memcpy(VARIANT_MARK, number, 8)
    memcpy(VARIANT_MARK + 8, <const char*>b"variant", 7)
    memcpy(VARIANT_MARK + 15, &number[2], 4)
    memcpy(VARIANT_MARK + 19, <const char*>b"true", 4)

variant_mark_ready()


cdef int export_schema(ArrowSchema* s, str name, str format_, tuple children, bint nullable) except -1:
    """The tree of a schema; strings are copied into it. Raises with nothing left to release."""
    cdef Py_ssize_t name_n = 0, format_n = 0, i, n = len(children)
    cdef const char* name_text = PyUnicode_AsUTF8AndSize(name, &name_n)
    cdef const char* format_text = PyUnicode_AsUTF8AndSize(format_, &format_n)
    cdef char* own
    cdef tuple child
    memset(s, 0, sizeof(ArrowSchema))
    own = <char*>malloc(<size_t>(name_n + format_n + 2))
    if own == NULL:
        raise MemoryError
    # with the NUL behind each
    memcpy(own, name_text, <size_t>name_n + 1)
    memcpy(own + name_n + 1, format_text, <size_t>format_n + 1)
    s.private_data = own
    s.name = own
    s.format = own + name_n + 1
    s.flags = ARROW_FLAG_NULLABLE if nullable else 0
    s.release = release_schema
    try:
        if n:
            s.children = <ArrowSchema**>calloc(<size_t>n, sizeof(ArrowSchema*) + sizeof(ArrowSchema))
            if s.children == NULL:
                raise MemoryError
            s.n_children = n
        for i in range(n):
            s.children[i] = <ArrowSchema*>(s.children + n) + i
            child = <tuple>children[i]
            format_ = <str>child[1]
            required = format_[0] == "!"
            marked = format_ == VARIANT_NAMES
            if required or format_[0] == "?":
                format_ = "z" if marked else format_[1:]
            export_schema(s.children[i], <str>child[0], format_, <tuple>child[2], not required)
            if marked:
                s.children[i].metadata = <const char*>VARIANT_MARK
    except BaseException:
        s.release(s)
        raise
    return 0


cdef void free_schema_capsule(object capsule) noexcept:
    cdef ArrowSchema* s = <ArrowSchema*>PyCapsule_GetPointer(capsule, "arrow_schema")
    if s.release != NULL:
        s.release(s)
    free(s)


cdef void free_array_capsule(object capsule) noexcept:
    cdef ArrowArray* a = <ArrowArray*>PyCapsule_GetPointer(capsule, "arrow_array")
    if a.release != NULL:
        a.release(a)
    free(a)


cdef object schema_capsule(tuple columns):
    cdef ArrowSchema* s = <ArrowSchema*>calloc(1, sizeof(ArrowSchema))
    if s == NULL:
        raise MemoryError
    try:
        export_schema(s, "", "+s", columns, False)
        return PyCapsule_New(s, "arrow_schema", free_schema_capsule)
    except BaseException:
        if s.release != NULL:
            s.release(s)
        free(s)
        raise


@cython.final
cdef class Schema:
    """What columns there are, for pyarrow.schema() and the like."""

    cdef tuple columns

    def __init__(self):
        raise TypeError("schemas are made by amqpcodec.batch.schema")

    @property
    def names(self):
        """The names of the columns, in order."""
        return [column[0] for column in self.columns]

    def __repr__(self):
        return f"<amqpcodec.batch.Schema: {', '.join(self.names)}>"

    def __arrow_c_schema__(self):
        """The Arrow schema, of a struct, in a PyCapsule."""
        return schema_capsule(self.columns)


@cython.final
cdef class Columns:
    """A struct array of columns, in Arrow's C Data Interface.

    pyarrow.record_batch(columns), polars.from_arrow(columns) and the like take it without a copy.
    The column `frame`, and views, may borrow the octets of bytes or an Arrow array, which are then
    kept alive; nothing else is borrowed. Its memory is shared by all who took it, and goes back to
    the decoder's pool when the last of them, this object included, lets go of it.
    """

    cdef Table* table
    cdef int* order
    cdef int n
    cdef tuple columns

    def __init__(self):
        raise TypeError("columns are made by amqpcodec.batch.decode")

    def __dealloc__(self):
        table_drop(self.table)
        free(self.order)

    def __len__(self):
        return 0 if self.table == NULL else self.table.rows

    def __repr__(self):
        return f"<amqpcodec.batch.Columns: {len(self)} rows of {', '.join(self.names)}>"

    @property
    def names(self):
        """The names of the columns, in order."""
        return [column[0] for column in self.columns]

    def __arrow_c_schema__(self):
        """The Arrow schema, of a struct, in a PyCapsule."""
        return schema_capsule(self.columns)

    def __arrow_c_array__(self, requested_schema=None):
        """The Arrow schema and array, a struct, in two PyCapsules; as often as one likes.

        requested_schema is not followed: there is one type for each column.
        """
        cdef object schema = schema_capsule(self.columns)
        cdef ArrowArray* a = <ArrowArray*>calloc(1, sizeof(ArrowArray))
        if a == NULL:
            raise MemoryError
        try:
            if export_table(self.table, self.order, self.n, a) < 0:
                raise MemoryError
            return schema, PyCapsule_New(a, "arrow_array", free_array_capsule)
        except BaseException:
            if a.release != NULL:
                a.release(a)
            free(a)
            raise

    def __arrow_c_stream__(self, requested_schema=None):
        """A stream of this one batch, in a PyCapsule, for those who take nothing else."""
        schema, array = self.__arrow_c_array__()
        return stream_capsule(schema, array)
