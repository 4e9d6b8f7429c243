# What other files use of arrow.pxi.

cdef extern from "columns/arrow.h" nogil:
    uint8_t* NO_VALUES
    size_t NO_VALUES_ROOM
    int32_t read_once_32(const void* p)
    int64_t read_once_64(const void* p)

cdef extern from "columns/copy.h" nogil:
    int COPY_SLACK
    void AMQP_PREFETCH(const void* p)
    uint64_t load_word(const uint8_t* p)
    void copy_16(uint8_t* w, const uint8_t* p)
    void copy_short(uint8_t* w, const uint8_t* p, size_t n)
    int leading_zeros_16(uint32_t x)
    bint copy_ascii(uint8_t* w, const uint8_t* p, size_t n)
    bint copy_plain(uint8_t* w, const uint8_t* p, size_t n)
    bint is_plain_utf8(const uint8_t* p, size_t n)
    uint8_t* copy_piece(uint8_t* w, const char* piece, size_t n)
    int count_bits(uint64_t x)

cdef enum:
    NOT_UTF8 = 1

# How a column lies in memory.
cdef enum:
    AS_INT64                # 8 bytes a row: integers and timestamps
    AS_INT32
    AS_BOOL                 # a bit a row
    AS_TEXT                 # int32 offsets and bytes: text and binary
    AS_STRUCT               # its children only
    AS_VIEW                 # 16 bytes a row, which may point into data or into the input
    AS_DECIMAL              # 16 bytes a row
    AS_WIDE_DECIMAL         # 32 bytes a row

# What appending came to, apart from 0.
cdef enum:
    COLUMN_FULL = -2        # NO_MEMORY is -1
    ROWS_FIRST = 64         # rows to make room for when a column is first written to
    DATA_FIRST = 1024       # bytes of data, likewise

# Rows are appended in order, with gaps: rows that nobody wrote are null. A gap is filled when the next
# row is written or the column is finished, so that a column that is hardly used costs hardly anything.
cdef struct Table

cdef struct Column:
    int64_t filled          # rows written, gaps included
    int64_t rows            # rows with place in valid and fixed
    size_t used             # bytes in data
    size_t full_at          # bytes in data from which on it must grow
    Block valid             # a bit a row: it has a value
    Block fixed             # numbers or offsets
    Block data
    const uint8_t* borrowed # bytes of the input that stand in for data, or NULL
    int64_t row_hint        # rows and bytes that there may be in the end, or 0
    size_t data_hint
    int64_t present         # rows that are not null, once it is finished
    uint8_t arrow_type
    bint nullable           # else every row is written and `valid` is not kept
    bint asked              # it goes out
    int first, n_children   # of a struct: they follow one another
    uint8_t form            # of a column of tables: what they become
    Table* items            # keys and values of maps, items of lists: offsets of either lie like those of a text

# Columns of one result. Whoever exports or consumes them holds a reference.
cdef struct Table:
    Atomic refs
    int n
    int64_t rows
    int64_t limit           # bytes that the data of a column may have: int32 offsets reach no further
    int full                # the column that reached it
    uint8_t* zeros          # of columns without a value: NO_VALUES, or more of them
    Block more_zeros
    const uint8_t* base     # bytes that views may point into, or NULL
    uint64_t base_n
    int shift               # they are buffers of views that begin every 1 << shift bytes
    bint referred           # some view does
    Block input             # what was copied of the input, where a column borrows it
    PyObject* owner         # or the bytes that it borrows, or NULL
    Column* column

cdef Table* table_new(int n, int64_t limit) noexcept nogil
cdef void table_drop(Table* t) noexcept nogil
cdef int column_grow(Column* c, int64_t rows) noexcept nogil
cdef void column_fill(Column* c, int64_t row) noexcept nogil

cdef inline void now_present(Column* c, int64_t row) noexcept nogil:
    c.filled = row + 1
    if c.nullable:
        c.valid.p[row >> 3] |= <uint8_t>(1 << (row & 7))

cdef inline int zeros_before(Column* c, int64_t row, int64_t width) noexcept nogil:
    """Room for a row of numbers of so many bytes, and zeros in those before it that have none."""
    if AMQP_UNLIKELY(row >= c.rows) and column_grow(c, row + 1) < 0:
        return NO_MEMORY
    if AMQP_LIKELY(row - c.filled <= 16 // width):
        memset(c.fixed.p + c.filled * width, 0, 16)
    else:
        column_fill(c, row)
    return 0

cdef inline int append_i64(Column* c, int64_t row, int64_t v) noexcept nogil:
    if zeros_before(c, row, sizeof(int64_t)) < 0:
        return NO_MEMORY
    now_present(c, row)
    (<int64_t*>c.fixed.p)[row] = v
    return 0

cdef inline int append_i32(Column* c, int64_t row, int32_t v) noexcept nogil:
    if zeros_before(c, row, sizeof(int32_t)) < 0:
        return NO_MEMORY
    now_present(c, row)
    (<int32_t*>c.fixed.p)[row] = v
    return 0

cdef int append_bool(Column* c, int64_t row, bint v) noexcept nogil
cdef int mark_rows(Column* c, int64_t row, int64_t n) noexcept nogil
cdef enum:
    SLACK = 32              # bytes of room after what fixed and data need, for writes of whole words

cdef int data_grow(Table* t, Column* c, size_t n) noexcept nogil

cdef inline void data_promise(Column* c, size_t used, size_t n) noexcept nogil:
    """There is room for n bytes of data after those used: the caller stores these, and SLACK more at most."""
    block_promise(&c.data, c.data.p + used, n + SLACK)

cdef inline int data_room(Table* t, Column* c, size_t n) noexcept nogil:
    """Reserve n bytes of data after those used: the caller stores these, and SLACK more at most. A status below 0."""
    if AMQP_UNLIKELY(c.used + n >= c.full_at):
        return data_grow(t, c, n)
    data_promise(c, c.used, n)
    return 0

cdef int data_begin(Buffer* b, Column* c) noexcept nogil
cdef int data_commit(Table* t, Buffer* b, Column* c, int64_t row) noexcept nogil
cdef int append_bytes(Table* t, Column* c, int64_t row, const void* p, size_t n) noexcept nogil
cdef int table_finish(Table* t, int64_t rows) noexcept nogil
cdef uint8_t NO_BYTES

# Where released blocks wait for the next batch; the modules that share it call pool_use with it.
cdef Pool* shared_pool() noexcept
