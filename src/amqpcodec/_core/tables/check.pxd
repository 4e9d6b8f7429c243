# What other files use of check.pxi.

cdef extern from "tables/tags.h" nogil:
    enum:
        SHAPE_UNKNOWN
        SHAPE_LONG
        SHAPE_TABLE
        SHAPE_ARRAY
        SHAPE_SHORT
        TAG_LINES
        NUMBER_FORMS            # those of fixed width, which come first
    ctypedef int Form       # an enum; of Cython's only an int is an index
    enum:
        FORM_void
        FORM_boolean
        FORM_int8
        FORM_uint8
        FORM_int16
        FORM_uint16
        FORM_int32
        FORM_uint32
        FORM_int64
        FORM_uint64
        FORM_float
        FORM_double
        FORM_decimal
        FORM_timestamp
        FORM_text8
        FORM_text32
        FORM_bytes32
    ctypedef struct FormLine:
        ScalarKind kind
        int8_t shape
        const char* name
    const FormLine* FORMS
    ctypedef struct TagLine:
        uint8_t dialects
        uint8_t tag
        Form form
    const TagLine* TAGS
    void form_read(Form form, const uint8_t* p, Scalar* v)
    void form_store(Form form, uint8_t* w, const Scalar* v)
    enum:
        TAG_TABLE
        TAG_ARRAY
    enum:
        DIALECT_0_8
        DIALECT_0_9
    bint old_has_tag(int dialect, uint8_t tag)
    uint8_t tag_of(Form form, uintptr_t letter)
    Form int_form(int64_t v)
    size_t tagged_bytes(Form form)
    int buffer_put_tagged(Buffer* b, Form form, uintptr_t letter, uint64_t u, uint32_t n)
    void store_tagged(uint8_t* w, Form form, uintptr_t letter, uint64_t u, uint32_t n)

cdef int check_value(Cursor* c, const int8_t* shapes, int depth) noexcept nogil
cdef int check_pairs(Cursor* c, const int8_t* shapes, int depth) noexcept nogil

cdef inline int check_items(Cursor* c, const int8_t* shapes, int depth) noexcept nogil:
    """Step over values to the end of the cursor, which is the end of an array."""
    while c.p < c.end:
        if check_value(c, shapes, depth) < 0:
            return -1
    return 0

cdef int8_t SHAPES[2][512]      # dialect, tag -> SHAPE_*; 256 + tag -> the form of a scalar


cdef inline Form form_of(const int8_t* shapes, uint8_t tag) noexcept nogil:
    """shapes: one of SHAPES."""
    return <Form>shapes[256 + tag]


cdef inline size_t value_bytes(const uint8_t* p, const int8_t* shapes) noexcept nogil:
    """Bytes that a checked value takes, its tag included."""
    cdef int shape = shapes[p[0]]
    if shape >= 0:
        return 1 + <size_t>shape
    if shape == SHAPE_SHORT:
        return 2 + <size_t>p[1]
    return 5 + <size_t>load32(p + 1)


cdef inline bint find_content(const uint8_t* p, size_t n, const int8_t* shapes, size_t* head,
                              size_t* size) noexcept nogil:
    """Of a tag and a value that nobody checked, in n bytes: how many bytes stand before the value's content (tag and
    length), and how many it takes. False where they are not known, or are more than there are; head is at most n."""
    cdef int shape = shapes[p[0]]
    if shape >= 0:
        head[0] = 1
        size[0] = <size_t>shape
    elif shape == SHAPE_UNKNOWN:
        head[0] = 1
        return False
    else:
        head[0] = 2 if shape == SHAPE_SHORT else 5
        if n < head[0]:
            head[0] = n
            return False
        size[0] = p[1] if shape == SHAPE_SHORT else load32(p + 1)
    return size[0] <= n - head[0]


cdef inline int check_table(const uint8_t* p, uint32_t n, const Cursor* around, uintptr_t mode) noexcept nogil:
    """A table's bytes without their length: 0, or -1 with the fault noted."""
    cdef Cursor c
    if n == 0:
        return 0
    c = around[0]
    c.p = p
    c.end = p + n
    return check_pairs(&c, SHAPES[mode & MODE_LETTER], 1)
