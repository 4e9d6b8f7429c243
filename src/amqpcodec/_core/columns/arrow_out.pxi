# Arrow columns on their way out, by the C Data Interface.

cdef void family_drop(Family* f) noexcept nogil:
    if atomic_add_(&f.refs, -1) == 0:
        free(f)


cdef struct Kid:
    ArrowArray array
    Node node


cdef void release_array(ArrowArray* a) noexcept nogil:
    cdef Node* node = <Node*>a.private_data
    cdef int64_t i
    for i in range(a.n_children):
        # A consumer may have moved a child out: then it is released elsewhere.
        if a.children[i].release != NULL:
            a.children[i].release(a.children[i])
    if node.kids != NULL:
        family_drop(node.kids)
    table_drop(node.table)
    free(node.many)
    a.release = NULL
    family_drop(node.home)


cdef int begin_array(Table* t, ArrowArray* a, int64_t n_children) noexcept nogil:
    """An array without buffers; a: zeros, or a child of one. On failure there is nothing to release."""
    cdef Node* node = <Node*>a.private_data
    cdef Family* home = NULL
    cdef Family* kids = NULL
    cdef Kid* kid
    cdef int64_t i
    if node == NULL:
        home = <Family*>calloc(1, sizeof(Family) + sizeof(Node))
        if home == NULL:
            return NO_MEMORY
        node = <Node*>(home + 1)
        node.home = home
    if n_children:
        kids = <Family*>calloc(1, sizeof(Family) + <size_t>n_children * (sizeof(Kid) + sizeof(ArrowArray*)))
        if kids == NULL:
            free(home)
            return NO_MEMORY
        kids.refs = 1
        kid = <Kid*>(kids + 1)
        a.children = <ArrowArray**>(kid + n_children)
        for i in range(n_children):
            kid.node.home = kids
            kid.array.private_data = &kid.node
            a.children[i] = &kid.array
            kid += 1
    node.kids = kids
    node.table = t
    atomic_add_(&node.home.refs, 1)
    atomic_add_(&t.refs, 1)
    a.length = t.rows
    a.buffers = node.buffers
    a.n_children = n_children
    a.private_data = node
    a.release = release_array
    return 0


cdef int export_views(Table* t, Column* c, ArrowArray* a) noexcept nogil:
    """Buffers of a column of views: its own bytes, and the input in pieces."""
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


cdef int export_column(Table* t, int index, ArrowArray* a) noexcept nogil:
    cdef Column* c = &t.column[index]
    cdef Node* node
    cdef int i, status
    cdef bint none = c.present == 0
    if begin_array(t, a, c.n_children if c.items == NULL else 1) < 0:
        return NO_MEMORY
    node = <Node*>a.private_data
    a.null_count = t.rows - c.present if c.nullable else 0
    a.n_buffers = 1 if c.arrow_type == AS_STRUCT else 3 if c.arrow_type == AS_TEXT and c.items == NULL else 2
    if c.arrow_type == AS_VIEW and export_views(t, c, a) < 0:
        a.release(a)
        return NO_MEMORY
    if a.null_count:
        a.buffers[0] = t.zeros if none else c.valid.p
    if c.arrow_type != AS_STRUCT:
        a.buffers[1] = t.zeros if none else c.fixed.p
    if c.items != NULL:
        # The items of a list, or the entries of a map.
        status = export_table(c.items, NULL, c.items.n, a.children[0]) if c.items.n > 1 else export_column(
            c.items, 0, a.children[0])
        if status < 0:
            a.release(a)
        return status
    if c.arrow_type == AS_TEXT:
        node.buffers[2] = t.zeros if c.data.p == NULL else c.data.p
        if c.borrowed != NULL:
            node.buffers[2] = c.borrowed
    for i in range(c.n_children):
        if export_column(t, c.first + i, a.children[i]) < 0:
            a.release(a)
            return NO_MEMORY
    return 0


cdef int export_table(Table* t, const int* order, int n, ArrowArray* a) noexcept nogil:
    """A struct array of the columns in this order; NULL: that of the table."""
    cdef int i
    if begin_array(t, a, n) < 0:
        return NO_MEMORY
    a.n_buffers = 1
    for i in range(n):
        if export_column(t, order[i] if order != NULL else i, a.children[i]) < 0:
            a.release(a)
            return NO_MEMORY
    return 0


cdef void release_schema(ArrowSchema* s) noexcept nogil:
    cdef int64_t i
    for i in range(s.n_children):
        if s.children[i].release != NULL:
            s.children[i].release(s.children[i])
    if s.n_children:
        family_drop(<Family*>s.children - 1)
    s.release = NULL
    family_drop(<Family*>s.private_data)        # name and format


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


cdef Py_ssize_t schema_text(ArrowSchema* s, str name, str format_) except -1:
    """Take their bytes for now; how many they are, with the NUL after each."""
    cdef Py_ssize_t name_n = 0, format_n = 0
    s.name = PyUnicode_AsUTF8AndSize(name, &name_n)
    s.format = PyUnicode_AsUTF8AndSize(format_, &format_n)
    return name_n + format_n + 2


cdef char* schema_begin(ArrowSchema* s, Family* home, char* text) noexcept:
    """A schema whose text lies in the block from here on: where there is place for more."""
    cdef const char* format_ = s.format
    cdef size_t n = strlen(s.name) + 1
    memcpy(text, s.name, n)
    s.name = text
    text += n
    s.flags = ARROW_FLAG_NULLABLE
    if format_[0] == c"!":
        s.flags = 0
    if format_[0] == c"!" or format_[0] == c"?":
        format_ += 1
        if format_[0] == c"v" and format_[1] == c"a":       # VARIANT_NAMES
            s.metadata = <const char*>VARIANT_MARK
            format_ = b"z"
    n = strlen(format_) + 1
    memcpy(text, format_, n)
    s.format = text
    s.private_data = home
    s.release = release_schema
    home.refs += 1
    return text + n


cdef int schema_children(ArrowSchema* s, tuple children) except -1:
    """The tree below a schema. Raises with nothing more to release."""
    cdef Py_ssize_t i, n = len(children), n_bytes = 0
    cdef ArrowSchema one
    cdef ArrowSchema* child
    cdef Family* kids
    cdef char* text
    cdef tuple each
    if n == 0:
        return 0
    for each in children:
        n_bytes += schema_text(&one, <str>each[0], <str>each[1])
    kids = <Family*>calloc(1, sizeof(Family) + <size_t>n_bytes
                           + <size_t>n * (sizeof(ArrowSchema*) + sizeof(ArrowSchema)))
    if kids == NULL:
        raise MemoryError
    kids.refs = 1
    s.children = <ArrowSchema**>(kids + 1)
    s.n_children = n
    child = <ArrowSchema*>(s.children + n)
    text = <char*>(child + n)
    for i in range(n):
        s.children[i] = &child[i]
    for i in range(n):
        each = <tuple>children[i]
        schema_text(&child[i], <str>each[0], <str>each[1])
        text = schema_begin(&child[i], kids, text)
        schema_children(&child[i], <tuple>each[2])
    return 0


cdef int export_schema(ArrowSchema* s, str format_, tuple children) except -1:
    """The tree of a schema without a name; strings are copied into it. Raises with nothing left to
    release."""
    cdef Family* home
    memset(s, 0, sizeof(ArrowSchema))
    home = <Family*>calloc(1, sizeof(Family) + <size_t>schema_text(s, "", format_))
    if home == NULL:
        raise MemoryError
    schema_begin(s, home, <char*>(home + 1))
    try:
        schema_children(s, children)
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


cdef object array_capsule(ArrowArray** a):
    """A capsule for an array that is filled in next; it releases what there is of it."""
    a[0] = <ArrowArray*>calloc(1, sizeof(ArrowArray))
    if a[0] == NULL:
        raise MemoryError
    try:
        return PyCapsule_New(a[0], "arrow_array", free_array_capsule)
    except BaseException:
        free(a[0])
        raise


cdef object schema_capsule(tuple children, str format_="!+s"):
    """A capsule for a schema; without another format that of a struct of columns."""
    cdef ArrowSchema* s = <ArrowSchema*>calloc(1, sizeof(ArrowSchema))
    if s == NULL:
        raise MemoryError
    try:
        export_schema(s, format_, children)
        return PyCapsule_New(s, "arrow_schema", free_schema_capsule)
    except BaseException:
        if s.release != NULL:
            s.release(s)
        free(s)
        raise


@cython.final
cdef class Schema:
    """What columns there are, for pyarrow.schema() and the like."""

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


cdef class StructArray:
    """Columns of one length, as a struct array in Arrow's C Data Interface."""

    cdef str public_name(self):
        """Of its class, in the package."""
        return "batch.StructArray"

    def __repr__(self):
        return f"<amqpcodec.{self.public_name()}: {len(self)} rows of {', '.join(self.names)}>"

    def _repr_html_(self):
        """A table of the first rows, for notebooks: text is cut, and bytes are counted only."""
        from amqpcodec._facade.html import rows_html
        return rows_html(self.public_name().rpartition(".")[2], self)

    @property
    def names(self):
        """The names of the columns, in order."""
        return [column[0] for column in self.columns]

    def to_numpy(self, column):
        """A column as an array of NumPy: ``to_numpy("channel")``. It needs pyarrow.

        A member of a struct is named after a dot: ``to_numpy("properties.message_id")``. Text and
        bytes are objects, None where there is no value; timestamps are datetime64[us], NaT where
        there is none; other columns with nulls are float64, or objects where they are booleans.

        Raises KeyError where there is no such column.
        """
        from amqpcodec._facade.arrays import column_to_numpy
        return column_to_numpy(self, column)

    def to_pylist(self):
        """The rows as dicts. It needs pyarrow, whose own to_pylist this is but for timestamps.

        A timestamp is an aware datetime, or beyond year 9999, where Python's calendar ends and
        pyarrow's to_pylist raises OverflowError, the number of the wire: ``types.Timestamp``
        (seconds) or, of AMQP 1.0, ``v1_0.Timestamp`` (milliseconds).
        """
        from amqpcodec._facade.arrays import rows_to_pylist
        return rows_to_pylist(self)

    def __arrow_c_schema__(self):
        """The Arrow schema, of a struct, in a PyCapsule."""
        return schema_capsule(self.columns)

    def __arrow_c_stream__(self, requested_schema=None):
        """A stream of this one batch, in a PyCapsule, for those who take nothing else."""
        schema, array = self.__arrow_c_array__()
        return stream_capsule(schema, array)


@cython.final
cdef class Columns(StructArray):
    """A struct array of columns, in Arrow's C Data Interface.

    pyarrow.record_batch(columns), polars.from_arrow(columns) and the like take it without a copy.
    The column `frame`, and views, may borrow the memory of bytes, which are then kept alive;
    nothing else is borrowed. Its memory is shared by all who took it, and goes back to
    the decoder's pool when the last of them, this object included, lets go of it.
    """

    def __init__(self):
        raise TypeError("columns are made by amqpcodec.batch.decode")

    def __dealloc__(self):
        table_drop(self.table)
        free(self.order)

    cdef str public_name(self):
        return "batch.Columns"

    def __len__(self):
        return 0 if self.table == NULL else self.table.rows

    @property
    def held(self):
        """What was open at the end: (row, bytes, link) each, and links; see decode_columns."""
        return self.open_messages

    def __arrow_c_array__(self, requested_schema=None):
        """The Arrow schema and array, a struct, in two PyCapsules; as often as one likes.

        requested_schema is not followed: there is one type for each column.
        """
        cdef object schema = schema_capsule(self.columns)
        cdef ArrowArray* a = NULL
        cdef object array = array_capsule(&a)
        if export_table(self.table, self.order, self.n, a) < 0:
            raise MemoryError
        return schema, array
