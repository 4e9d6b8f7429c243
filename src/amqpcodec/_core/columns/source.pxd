# What other files use of source.pxi.

# How the values of a column lie in memory.
ctypedef enum InputType:
    IN_NULL
    IN_BOOL
    IN_INT8
    IN_UINT8
    IN_INT16
    IN_UINT16
    IN_INT32
    IN_UINT32
    IN_INT64
    IN_UINT64
    IN_HALF
    IN_FLOAT
    IN_DOUBLE
    IN_BYTES               # int32 offsets
    IN_LARGE_BYTES
    IN_VIEW
    IN_FIXED_BYTES
    IN_TIME
    IN_DECIMAL
    IN_LIST
    IN_LARGE_LIST
    IN_LIST_VIEW
    IN_LARGE_LIST_VIEW
    IN_FIXED_LIST
    IN_STRUCT
    IN_MAP
    IN_DICTIONARY
    IN_OTHER                # nothing of AMQP is like it; width: whether nulls can be seen

cdef enum:
    SOURCE_DEPTH = 400      # of Arrow types within each other: more is not looked at

cdef struct Source:
    uint8_t input_type
    bint text               # bytes that say to be UTF-8
    uint8_t index           # of a dictionary: the input_type of its indices
    int width               # bytes of a fixed value, or values of a fixed list
    int scale               # of a decimal
    int64_t unit            # of a timestamp: how many make a second
    const char* name        # of the column
    uint32_t name_n
    const char* type        # what errors call it
    int n_children
    Source* child
    # of the array at hand
    int64_t n
    int64_t at              # of its first row in the buffers
    const uint8_t* valid    # or NULL
    const uint8_t* data     # numbers, bits, bytes or views
    const uint8_t* ends     # offsets
    const uint8_t* sizes    # of list views
    const uint8_t** pieces  # of views
    const int64_t* piece_sizes
    int64_t n_pieces
    uint64_t last           # end of the last value in data

@cython.final
cdef class SourceTree:
    cdef Source root
    cdef list keep
    cdef const char* text(self, str s) except NULL
    cdef int describe(self, Source* s, const ArrowSchema* schema, int depth) except -1
    cdef str describe_other(self, Source* s, str format_)

cdef int bind_source(Source* s, const ArrowArray* a, int64_t base, int64_t n) except -1
cdef int items_at(const Source* s, int64_t i, int64_t* first, int64_t* n) noexcept nogil

# ---- reading ----

cdef enum:
    NO_VALUE = 0
    HAS_VALUE = 1

cdef inline bint is_valid(const Source* s, int64_t i) noexcept nogil:
    return s.valid == NULL or s.valid[(s.at + i) >> 3] >> ((s.at + i) & 7) & 1

cdef inline int64_t signed_at(uint8_t input_type, const uint8_t* data, int64_t i) noexcept nogil:
    """A value of is_integer, of up to 64 bits; of uint64 its bits."""
    cdef InputType type_ = <InputType>input_type
    if type_ == IN_INT32:
        return (<const int32_t*>data)[i]
    elif type_ == IN_INT64 or type_ == IN_UINT64:
        return (<const int64_t*>data)[i]
    elif type_ == IN_UINT8:
        return data[i]
    elif type_ == IN_INT8:
        return (<const int8_t*>data)[i]
    elif type_ == IN_INT16:
        return (<const int16_t*>data)[i]
    elif type_ == IN_UINT16:
        return (<const uint16_t*>data)[i]
    elif type_ == IN_UINT32:
        return (<const uint32_t*>data)[i]
    elif type_ == IN_BOOL:
        return data[i >> 3] >> (i & 7) & 1
    elif (type_ == IN_NULL or type_ == IN_HALF or type_ == IN_FLOAT or type_ == IN_DOUBLE or type_ == IN_BYTES
            or type_ == IN_LARGE_BYTES or type_ == IN_VIEW or type_ == IN_FIXED_BYTES or type_ == IN_TIME
            or type_ == IN_DECIMAL or type_ == IN_LIST or type_ == IN_LARGE_LIST or type_ == IN_LIST_VIEW
            or type_ == IN_LARGE_LIST_VIEW or type_ == IN_FIXED_LIST or type_ == IN_STRUCT or type_ == IN_MAP
            or type_ == IN_DICTIONARY or type_ == IN_OTHER):
        return 0                # none of is_integer

cdef inline int64_t index_at(const Source* s, int64_t i) noexcept nogil:
    """What row i of a dictionary has for an index."""
    cdef const uint8_t* data = s.data
    i += s.at
    if s.index == IN_INT32:
        return read_once_32(<const int32_t*>data + i)
    if s.index == IN_INT64 or s.index == IN_UINT64:
        return read_once_64(<const int64_t*>data + i)
    if s.index == IN_UINT32:
        return <int64_t><uint32_t>read_once_32(<const int32_t*>data + i)
    return signed_at(s.index, data, i)      # never beyond what one load reads

cdef inline int find_value(const Source** at, int64_t* row) noexcept nogil:
    """Go through dictionaries to where the value is: HAS_VALUE, NO_VALUE or BAD_OFFSETS."""
    cdef const Source* s = at[0]
    cdef int64_t i = row[0], k
    while True:
        if s.input_type == IN_NULL:
            return NO_VALUE
        if not is_valid(s, i):
            return NO_VALUE
        if AMQP_LIKELY(s.input_type != IN_DICTIONARY):
            at[0] = s
            row[0] = i
            return HAS_VALUE
        k = index_at(s, i)
        s = s.child
        if k < 0 or k >= s.n:
            return BAD_OFFSETS
        i = k

cdef inline bint is_bytes(const Source* s) noexcept nogil:
    return IN_BYTES <= s.input_type <= IN_FIXED_BYTES

cdef inline bint is_integer(const Source* s) noexcept nogil:
    return IN_BOOL <= s.input_type <= IN_UINT64

cdef inline int bytes_at(const Source* s, int64_t i, const uint8_t** p, uint64_t* n) noexcept nogil:
    """The bytes of a value of is_bytes; 0 or BAD_OFFSETS."""
    cdef uint64_t from_, to
    cdef const uint8_t* view
    cdef const uint8_t* data
    cdef int64_t room
    cdef int32_t piece, offset
    i += s.at
    if s.input_type == IN_BYTES or s.input_type == IN_LARGE_BYTES:
        if s.input_type == IN_BYTES:
            from_ = <uint64_t><int64_t>read_once_32(<const int32_t*>s.ends + i)
            to = <uint64_t><int64_t>read_once_32(<const int32_t*>s.ends + i + 1)
        else:
            from_ = <uint64_t>read_once_64(<const int64_t*>s.ends + i)
            to = <uint64_t>read_once_64(<const int64_t*>s.ends + i + 1)
        if AMQP_UNLIKELY(from_ > to or to > s.last):
            return BAD_OFFSETS
        p[0] = s.data + from_
        n[0] = to - from_
        return 0
    if s.input_type == IN_FIXED_BYTES:
        p[0] = s.data + i * s.width if s.width else &NO_BYTES
        n[0] = <uint64_t>s.width
        return 0
    if AMQP_UNLIKELY(s.input_type != IN_VIEW):
        return BAD_OFFSETS
    view = s.data + 16 * i
    piece = read_once_32(view)
    if piece < 0:
        return BAD_OFFSETS
    n[0] = <uint64_t>piece
    if piece <= 12:
        p[0] = view + 4
        return 0
    piece = read_once_32(view + 8)
    offset = read_once_32(view + 12)
    if piece < 0 or piece >= s.n_pieces or offset < 0:
        return BAD_OFFSETS
    data = s.pieces[piece]
    room = read_once_64(&s.piece_sizes[piece])
    if data == NULL or room < offset or <uint64_t>(room - offset) < n[0]:
        return BAD_OFFSETS
    p[0] = data + offset
    return 0
