# Arrow columns: growable ones to append to, and their way out and in by the C Data Interface.

from libc.string cimport memmove

# How a column lies in memory.
cdef enum:
    AS_INT64                # 8 octets a row: integers and timestamps
    AS_INT32
    AS_BOOL                 # a bit a row
    AS_TEXT                 # int32 offsets and octets: text and binary
    AS_STRUCT               # its children only

# What appending came to, apart from 0.
cdef enum:
    COLUMN_FULL = -2        # NO_MEMORY is -1
    ROWS_FIRST = 64         # rows to make room for when a column is first written to

# Rows are appended in order, with gaps: rows that nobody wrote are null. A gap is filled when the next
# row is written or the column is finished, so that a column that is hardly used costs hardly anything.
cdef struct Column:
    int64_t filled          # rows written, gaps included
    int64_t rows            # rows with place in valid and fixed
    size_t used             # octets in data
    size_t full_at          # octets in data from which on it must grow
    Block valid             # a bit a row: it has a value
    Block fixed             # numbers or offsets
    Block data
    const uint8_t* borrowed # octets of the input that stand in for data, or NULL
    int64_t row_hint        # rows and octets that there may be in the end, or 0
    size_t data_hint
    int64_t present         # rows that are not null, once it is finished
    uint8_t kind
    bint nullable           # else every row is written and `valid` is not kept
    bint asked              # it goes out
    int first, n_children   # of a struct: they follow one another

# Columns of one result. Whoever exports or consumes them holds a reference.
cdef struct Table:
    Atomic refs
    int n
    int64_t rows
    int64_t limit           # octets that the data of a column may have: int32 offsets reach no further
    int full                # the column that reached it
    Block zeros             # of columns without a value
    Block input             # what was copied of the input, where a column borrows it
    PyObject* owner         # or the bytes that it borrows, or NULL
    ArrowArray array        # or the array
    Column* column


cdef Table* table_new(int n, int64_t limit) noexcept nogil:
    cdef Table* t = <Table*>calloc(1, sizeof(Table))
    if t == NULL:
        return NULL
    t.column = <Column*>calloc(<size_t>max(n, 1), sizeof(Column))
    if t.column == NULL:
        free(t)
        return NULL
    t.refs = 1
    t.n = n
    t.limit = limit
    return t


cdef void table_drop(Table* t) noexcept nogil:
    """Give up a reference; with the last one the memory goes back to the pool. Any thread may."""
    cdef int i
    if t == NULL or atomic_add_(&t.refs, -1) > 0:
        return
    for i in range(t.n):
        block_give(&t.column[i].valid)
        block_give(&t.column[i].fixed)
        block_give(&t.column[i].data)
    block_give(&t.zeros)
    block_give(&t.input)
    if t.array.release != NULL:
        t.array.release(&t.array)
    if t.owner != NULL and Py_IsInitialized():
        with gil:
            Py_DecRef(t.owner)
    free(t.column)
    free(t)


cdef extern from "copy.h" nogil:
    int count_bits(uint64_t x)

cdef extern from "Python.h":
    bint Py_IsInitialized() nogil
    const char* PyUnicode_AsUTF8AndSize(object s, Py_ssize_t* n) except NULL

# ---- appending ----

cdef enum:
    SLACK = 16              # octets of room behind what fixed and data need, for writes of whole words


cdef inline size_t fixed_room(const Column* c, int64_t rows) noexcept nogil:
    """Octets that `fixed` takes for so many rows."""
    if c.kind == AS_INT64:
        return 8 * <size_t>rows
    if c.kind == AS_BOOL:
        return (<size_t>rows + 7) // 8
    if c.kind == AS_STRUCT:
        return 0
    return 4 * (<size_t>rows + (c.kind == AS_TEXT))


cdef int column_grow(Column* c, int64_t rows) noexcept nogil:
    """Make place for so many rows."""
    cdef size_t used = (<size_t>c.rows + 7) // 8
    cdef size_t need
    cdef int64_t want = max(rows, 2 * c.rows, c.row_hint, <int64_t>ROWS_FIRST)
    if c.kind != AS_STRUCT:
        if block_room(&c.fixed, fixed_room(c, c.rows) if c.rows else 0,
                      fixed_room(c, want) + SLACK) < 0:
            return NO_MEMORY
    # Use what the block has, rather than what was asked for.
    if c.kind == AS_INT64:
        want = <int64_t>((c.fixed.room - SLACK) // 8)
    elif c.kind == AS_INT32 or c.kind == AS_TEXT:
        want = <int64_t>((c.fixed.room - SLACK) // 4) - (c.kind == AS_TEXT)
    elif c.kind == AS_BOOL:
        memset(c.fixed.p + used, 0, c.fixed.room - used)
    if c.kind == AS_TEXT and c.rows == 0:
        (<int32_t*>c.fixed.p)[0] = 0
    if c.nullable:
        need = (<size_t>want + 7) // 8
        if block_room(&c.valid, used, need) < 0:
            return NO_MEMORY
        memset(c.valid.p + used, 0, need - used)
    c.rows = want
    return 0


cdef void column_fill(Column* c, int64_t row) noexcept nogil:
    """Nulls up to this row, for which there is place."""
    cdef int64_t i
    cdef int32_t* offsets
    if c.kind == AS_TEXT:
        offsets = <int32_t*>c.fixed.p
        for i in range(c.filled, row):
            offsets[i + 1] = <int32_t>c.used
    elif c.kind == AS_INT64:
        memset(c.fixed.p + 8 * c.filled, 0, <size_t>(8 * (row - c.filled)))
    elif c.kind == AS_INT32:
        memset(c.fixed.p + 4 * c.filled, 0, <size_t>(4 * (row - c.filled)))
    c.filled = row


cdef inline void now_present(Column* c, int64_t row) noexcept nogil:
    c.filled = row + 1
    if c.nullable:
        c.valid.p[row >> 3] |= <uint8_t>(1 << (row & 7))


cdef inline int column_at(Column* c, int64_t row) noexcept nogil:
    """Stand at a row that was not written yet, and call it present; the caller writes the value."""
    if AMQP_UNLIKELY(row >= c.rows):
        if column_grow(c, row + 1) < 0:
            return NO_MEMORY
    if c.filled < row:
        column_fill(c, row)
    now_present(c, row)
    return 0


# The next three do the same, each for its kind: a gap of a few rows is one write, also over the row
# itself and, within the slack, behind it.

cdef inline int text_at(Column* c, int64_t row) noexcept nogil:
    """The caller writes the octets and where they end."""
    cdef int32_t[4] fill
    if AMQP_UNLIKELY(row >= c.rows):
        if column_grow(c, row + 1) < 0:
            return NO_MEMORY
    if AMQP_LIKELY(row - c.filled <= 4):
        fill[0] = fill[1] = fill[2] = fill[3] = <int32_t>c.used
        memcpy(<int32_t*>c.fixed.p + c.filled + 1, fill, 16)
    else:
        column_fill(c, row)
    now_present(c, row)
    return 0


cdef inline int append_i64(Column* c, int64_t row, int64_t v) noexcept nogil:
    if AMQP_UNLIKELY(row >= c.rows):
        if column_grow(c, row + 1) < 0:
            return NO_MEMORY
    if AMQP_LIKELY(row - c.filled <= 2):
        memset(<int64_t*>c.fixed.p + c.filled, 0, 16)
    else:
        column_fill(c, row)
    now_present(c, row)
    (<int64_t*>c.fixed.p)[row] = v
    return 0


cdef inline int append_i32(Column* c, int64_t row, int32_t v) noexcept nogil:
    if AMQP_UNLIKELY(row >= c.rows):
        if column_grow(c, row + 1) < 0:
            return NO_MEMORY
    if AMQP_LIKELY(row - c.filled <= 4):
        memset(<int32_t*>c.fixed.p + c.filled, 0, 16)
    else:
        column_fill(c, row)
    now_present(c, row)
    (<int32_t*>c.fixed.p)[row] = v
    return 0


cdef int append_bool(Column* c, int64_t row, bint v) noexcept nogil:
    if column_at(c, row) < 0:
        return NO_MEMORY
    if v:
        c.fixed.p[row >> 3] |= <uint8_t>(1 << (row & 7))
    return 0


cdef void mark_rows(Column* c, int64_t row, int64_t n) noexcept nogil:
    """Call n rows present that the caller writes; there is place for them, and no gap."""
    cdef int64_t end = row + n
    c.filled = end
    while row < end and row & 7:
        c.valid.p[row >> 3] |= <uint8_t>(1 << (row & 7))
        row += 1
    if end - row >= 8:
        memset(c.valid.p + (row >> 3), 0xFF, <size_t>((end - row) >> 3))
        row += (end - row) & ~<int64_t>7
    if row < end:
        c.valid.p[row >> 3] |= <uint8_t>((1 << (end - row)) - 1)


cdef int data_grow(Table* t, Column* c, size_t n) noexcept nogil:
    """Room for n more octets."""
    if n > <size_t>t.limit or c.used > <size_t>t.limit - n:
        t.full = <int>(c - t.column)
        return COLUMN_FULL
    if c.used + n + SLACK > c.data.room:
        if block_room(&c.data, c.used, max(c.used + n + SLACK, 2 * c.data.room, c.data_hint)) < 0:
            return NO_MEMORY
    c.full_at = min(c.data.room - SLACK, <size_t>t.limit)
    return 0


cdef inline int append_octets(Table* t, Column* c, int64_t row, const void* p, size_t n) noexcept nogil:
    cdef int status
    if AMQP_UNLIKELY(c.used + n >= c.full_at):
        status = data_grow(t, c, n)
        if status < 0:
            return status
    if text_at(c, row) < 0:
        return NO_MEMORY
    copy_octets(c.data.p + c.used, <const uint8_t*>p, n)
    c.used += n
    (<int32_t*>c.fixed.p)[row + 1] = <int32_t>c.used
    return 0


cdef inline int append_utf8(Table* t, Column* c, int64_t row, const uint8_t* p, size_t n,
                            const uint8_t* input_end) noexcept nogil:
    """Text, checked while it is copied. NOT_UTF8: nothing is written."""
    cdef int status
    if AMQP_UNLIKELY(c.used + n >= c.full_at):
        status = data_grow(t, c, n)
        if status < 0:
            return status
    if AMQP_LIKELY(<size_t>(input_end - p) >= n + COPY_SLACK):
        if AMQP_UNLIKELY(not copy_ascii(c.data.p + c.used, p, n)) and not is_utf8(p, n):
            return NOT_UTF8
    elif is_utf8(p, n):
        memcpy(c.data.p + c.used, p, n)
    else:
        return NOT_UTF8
    if text_at(c, row) < 0:
        return NO_MEMORY
    c.used += n
    (<int32_t*>c.fixed.p)[row + 1] = <int32_t>c.used
    return 0


cdef int text_begin(Text* out, Column* c, const uint8_t* input_end) noexcept nogil:
    """Write into the data of a column; text_commit makes a row of it."""
    if AMQP_UNLIKELY(c.data.room < c.used + 64):
        if block_room(&c.data, c.used, max(c.used + 64, c.data_hint)) < 0:
            return NO_MEMORY
    out.block = &c.data
    out.w = c.data.p + c.used
    out.end = c.data.p + c.data.room
    out.input_end = input_end
    return 0


cdef int text_commit(Table* t, Text* out, Column* c, int64_t row) noexcept nogil:
    cdef size_t used = <size_t>(out.w - c.data.p)
    if used > <size_t>t.limit:
        t.full = <int>(c - t.column)
        return COLUMN_FULL
    if text_at(c, row) < 0:
        return NO_MEMORY
    c.used = used
    (<int32_t*>c.fixed.p)[row + 1] = <int32_t>used
    return 0


cdef void table_rewind(Table* t, int first, int n, int64_t row) noexcept nogil:
    """Take back what was written of this row, the newest one, in columns from `first` to n."""
    cdef int i
    cdef Column* c
    for i in range(first, n):
        c = &t.column[i]
        if c.filled <= row:
            continue
        c.filled = row
        if c.nullable:
            c.valid.p[row >> 3] &= <uint8_t>~(1 << (row & 7))
        if c.kind == AS_BOOL:
            c.fixed.p[row >> 3] &= <uint8_t>~(1 << (row & 7))
        if c.kind == AS_TEXT:
            c.used = <size_t>(<int32_t*>c.fixed.p)[row]


cdef int64_t count_present(const Column* c) noexcept nogil:
    cdef int64_t n = 0
    cdef size_t i
    cdef size_t octets = (<size_t>c.filled + 7) // 8
    if not c.nullable:
        return c.filled
    for i in range(octets // 8):
        n += count_bits(load_word(c.valid.p + 8 * i))
    for i in range(octets // 8 * 8, octets):
        n += count_bits(c.valid.p[i])
    return n


cdef int table_finish(Table* t, int64_t rows) noexcept nogil:
    """Fill every column to so many rows: then it can go out."""
    cdef int i
    cdef Column* c
    cdef size_t zeros = 0
    t.rows = rows
    for i in range(t.n):
        c = &t.column[i]
        if not c.asked:
            continue
        c.present = count_present(c)
        if c.present == 0:
            zeros = max(zeros, fixed_room(c, rows), (<size_t>rows + 7) // 8, <size_t>64)
            continue
        if rows > c.rows and column_grow(c, rows) < 0:
            return NO_MEMORY
        if c.filled < rows:
            column_fill(c, rows)
    if zeros:
        if block_room(&t.zeros, 0, zeros) < 0:
            return NO_MEMORY
        memset(t.zeros.p, 0, zeros)
    return 0


# ---- out ----

# One array of the tree: the struct's own memory, and its hold on the table.
cdef struct Node:
    Table* table
    const void* buffers[3]
    ArrowArray** children
    ArrowArray* child


cdef void release_array(ArrowArray* a) noexcept nogil:
    cdef Node* node = <Node*>a.private_data
    cdef int64_t i
    for i in range(a.n_children):
        # A consumer may have moved a child out: then it is released elsewhere.
        if node.child[i].release != NULL:
            node.child[i].release(&node.child[i])
    table_drop(node.table)
    free(node.children)
    free(node.child)
    free(node)
    a.release = NULL


cdef int begin_array(Table* t, ArrowArray* a, int64_t n_children) noexcept nogil:
    """An array without buffers. On failure there is nothing to release."""
    cdef Node* node = <Node*>calloc(1, sizeof(Node))
    cdef int64_t i
    memset(a, 0, sizeof(ArrowArray))
    if node == NULL:
        return NO_MEMORY
    if n_children:
        node.child = <ArrowArray*>calloc(<size_t>n_children, sizeof(ArrowArray))
        node.children = <ArrowArray**>calloc(<size_t>n_children, sizeof(ArrowArray*))
        if node.child == NULL or node.children == NULL:
            free(node.child)
            free(node.children)
            free(node)
            return NO_MEMORY
        for i in range(n_children):
            node.children[i] = &node.child[i]
    node.table = t
    atomic_add_(&t.refs, 1)
    a.length = t.rows
    a.buffers = node.buffers
    a.n_children = n_children
    a.children = node.children
    a.private_data = node
    a.release = release_array
    return 0


cdef int export_column(Table* t, int index, ArrowArray* a) noexcept nogil:
    cdef Column* c = &t.column[index]
    cdef Node* node
    cdef int i
    cdef bint none = c.present == 0
    if begin_array(t, a, c.n_children) < 0:
        return NO_MEMORY
    node = <Node*>a.private_data
    a.null_count = t.rows - c.present
    a.n_buffers = 1 if c.kind == AS_STRUCT else 3 if c.kind == AS_TEXT else 2
    if a.null_count:
        node.buffers[0] = t.zeros.p if none else c.valid.p
    if c.kind != AS_STRUCT:
        node.buffers[1] = t.zeros.p if none else c.fixed.p
    if c.kind == AS_TEXT:
        node.buffers[2] = t.zeros.p if c.data.p == NULL else c.data.p
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
            free(s.children[i])
    free(s.children)
    free(s.private_data)        # name and format
    s.release = NULL


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
            s.children = <ArrowSchema**>calloc(<size_t>n, sizeof(ArrowSchema*))
            if s.children == NULL:
                raise MemoryError
            s.n_children = n
        for i in range(n):
            s.children[i] = <ArrowSchema*>calloc(1, sizeof(ArrowSchema))
            if s.children[i] == NULL:
                raise MemoryError
            child = <tuple>children[i]
            export_schema(s.children[i], <str>child[0], <str>child[1], <tuple>child[2], True)
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
    The column `frame` may borrow the octets of bytes or an Arrow array, which it then keeps alive;
    nothing else is borrowed. Its memory is shared by all who took it, and goes back to the
    decoder's pool when the last of them, this object included, lets go of it.
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


# ---- in ----

# A binary column of someone else, or one value.
cdef struct Values:
    int64_t n
    int64_t at              # the first row's index in the buffers
    const uint8_t* valid    # or NULL
    const int32_t* short_   # offsets, one of the two
    const int64_t* long_
    const uint8_t* data
    uint64_t last           # end of the last value in data
    const uint64_t* lost    # of captures: what values are that are no frames, or NULL


cdef inline uint64_t value_end(const Values* v, int64_t i) noexcept nogil:
    """Where value i - 1 ends and value i begins."""
    if v.short_ != NULL:
        return <uint64_t>v.short_[v.at + i]
    return <uint64_t>v.long_[v.at + i]


cdef inline bint value_present(const Values* v, int64_t i) noexcept nogil:
    return v.valid == NULL or v.valid[(v.at + i) >> 3] >> ((v.at + i) & 7) & 1


cdef ArrowArray* take_values(object schema_capsule_, object array_capsule_, Values* v) except NULL:
    """Look at a binary array in its capsules: it stays theirs to release."""
    cdef ArrowSchema* s
    cdef ArrowArray* a
    cdef str name
    if (not PyCapsule_IsValid(schema_capsule_, "arrow_schema")
            or not PyCapsule_IsValid(array_capsule_, "arrow_array")):
        raise TypeError("__arrow_c_array__ must return the capsules arrow_schema and arrow_array")
    s = <ArrowSchema*>PyCapsule_GetPointer(schema_capsule_, "arrow_schema")
    a = <ArrowArray*>PyCapsule_GetPointer(array_capsule_, "arrow_array")
    if s.release == NULL or a.release == NULL:
        raise ValueError("the Arrow array was released already")
    name = "no format" if s.format == NULL else s.format.decode("utf-8", "replace")
    if s.dictionary != NULL or name not in ("z", "Z"):
        what = "a dictionary" if s.dictionary != NULL else ARROW_NAMES.get(name, f"format {name!r}")
        raise TypeError(f"takes an Arrow array of binary or large_binary, not {what}")
    if a.length < 0 or a.offset < 0 or a.n_buffers != 3 or a.n_children != 0 or a.buffers == NULL:
        raise ValueError("the Arrow array does not have the shape of a binary array")
    memset(v, 0, sizeof(Values))
    v.n = a.length
    v.at = a.offset
    if v.n == 0:
        return a
    if a.null_count != 0:
        v.valid = <const uint8_t*>a.buffers[0]
    if a.buffers[1] == NULL:
        raise ValueError("the Arrow array has no offsets")
    if name == "z":
        v.short_ = <const int32_t*>a.buffers[1]
    else:
        v.long_ = <const int64_t*>a.buffers[1]
    v.data = <const uint8_t*>a.buffers[2]
    v.last = value_end(v, v.n)
    if v.data == NULL and v.last != 0:
        raise ValueError("the Arrow array has no octets")
    if <int64_t>value_end(v, 0) < 0:
        raise ValueError("the offsets of the Arrow array are negative")
    return a

cdef dict ARROW_NAMES = {
    "u": "string", "U": "large_string", "vz": "binary_view (cast it first)",
    "vu": "string_view", "+s": "struct (name one of its columns)", "n": "null",
}
