# What values are written as: entries of field tables of 0-x, or values of AMQP 1.0. The walkers of JSON text and
# of Arrow values call these functions, whatever the family; a type is one of AMQP 1.0, which has all that field
# tables have.
#
# In a field table an int has 32 bits where it fits, else the dialect's 64 bits; binary is text by the letter of 0-9-1.

cdef enum:
    TABLE_HEAD = 5          # a tag and a length


# ---- levels ----

cdef inline int enter_level(Encoder* e, int depth) noexcept nogil:
    """depth: levels that are open around it."""
    if AMQP_UNLIKELY(depth >= DEPTH_LIMIT):
        return refuse(&e.fault, b"tables nested deeper than %llu levels" if e.v1 == NULL
                      else b"values nested deeper than %llu levels", NULL, <uint64_t>DEPTH_LIMIT)
    return 0


cdef inline int open_compound(Encoder* e, uint8_t wire_type, size_t* at) noexcept nogil:
    """The beginning of a list or map, which close_compound completes."""
    at[0] = buffer_size(&e.scratch)
    if e.v1 != NULL:
        return buffer_leave(&e.scratch, V1_HEAD_BYTES)
    return buffer_put_int(&e.scratch, TAG_TABLE if wire_type == V1_MAP else TAG_ARRAY, 0, 4)


cdef inline int close_compound(Encoder* e, size_t at, uint8_t wire_type, uint64_t count) noexcept nogil:
    """count: of items; of a map keys and values."""
    if e.v1 != NULL:
        return v1e_close(&e.scratch, at, wire_type, count, &e.fault)
    return close_length(e, at + 1, b"a table")


cdef int close_length(Encoder* e, size_t at, const char* what) noexcept nogil:
    """Store the length of what stands after the four bytes at `at`."""
    cdef uint64_t n = buffer_size(&e.scratch) - at - 4
    if n > MAX_U32:
        return refuse(&e.fault, b"%s takes at most 4294967295 bytes, not %llu", what, n)
    store32(e.scratch.start + at, <uint32_t>n)
    return 0


# ---- bytes ----

cdef inline size_t text_head(const Encoder* e) noexcept nogil:
    return TABLE_HEAD if e.v1 == NULL else 2


cdef inline int begin_text(Encoder* e, size_t* at) noexcept nogil:
    """Leave text_head bytes before a string, which end_text fills in."""
    at[0] = buffer_size(&e.scratch)
    return buffer_leave(&e.scratch, text_head(e))


cdef inline uint8_t text_tag(const Encoder* e, uint8_t wire_type) noexcept nogil:
    return tag_of(bytes_form(e.mode) if wire_type == V1_BINARY else FORM_text32, e.mode)


cdef inline int end_text(Encoder* e, size_t at, uint8_t wire_type) noexcept nogil:
    """wire_type: string, symbol or binary; text is UTF-8."""
    if e.v1 != NULL:
        return v1e_end_run(&e.scratch, at, wire_type, &e.fault)
    e.scratch.start[at] = text_tag(e, wire_type)
    return close_length(e, at + 1, b"a table value")


cdef inline int put_text(Encoder* e, uint8_t wire_type, const uint8_t* p, uint64_t n) noexcept nogil:
    """A string, symbol or binary of bytes that nobody has looked at."""
    cdef Buffer* b = &e.scratch
    if e.v1 != NULL:
        return v1e_run(b, wire_type, p, n, &e.fault)
    if n > MAX_U32:
        return refuse(&e.fault, b"a table value takes at most 4294967295 bytes, not %llu", NULL, n)
    if wire_type != V1_BINARY and not is_utf8(p, <size_t>n):
        return refuse(&e.fault, b"text that is not UTF-8", NULL, 0)
    if buffer_ensure(b, TABLE_HEAD + <size_t>n) < 0:
        return NO_MEMORY
    b.p[0] = text_tag(e, wire_type)
    store32(b.p + 1, <uint32_t>n)
    copy_bytes(b.p + TABLE_HEAD, p, <size_t>n)
    buffer_commit(b, b.p + TABLE_HEAD + n)
    return 0


cdef int put_name(Encoder* e, const uint8_t* p, uint64_t n, bint symbol) noexcept nogil:
    """The name of an entry of a map."""
    if e.v1 != NULL:
        return v1e_run(&e.scratch, V1_SYMBOL if symbol else V1_STRING, p, n, &e.fault)
    return put_table_name(&e.scratch, p, n, &e.fault)


cdef inline int put_table_name(Buffer* b, const uint8_t* p, uint64_t n, Fault* f) noexcept nogil:
    if n > 255:
        return refuse(f, b"a table name takes at most 255 bytes, not %llu", NULL, n)
    if buffer_ensure(b, 1 + <size_t>n) < 0:
        return NO_MEMORY
    b.p[0] = <uint8_t>n
    copy_bytes(b.p + 1, p, <size_t>n)
    buffer_commit(b, b.p + 1 + n)
    return 0


# ---- numbers ----

cdef inline int put_scalar(Encoder* e, Form form, uint64_t u) noexcept nogil:
    """A value of a field table, of fixed width."""
    return buffer_put_tagged(&e.scratch, form, e.mode, u, 0)


cdef inline int put_null(Encoder* e) noexcept nogil:
    return put_scalar(e, FORM_void, 0) if e.v1 == NULL else buffer_put_byte(&e.scratch, CTOR_NULL)


cdef int wire_bytes(WireType wire_type) noexcept nogil:
    """Bytes of a number, or of the default of anything else."""
    if wire_type == W_BIT or wire_type == W_OCTET or wire_type == W_SHORTSTR:
        return 1
    elif wire_type == W_SHORT:
        return 2
    elif wire_type == W_LONG or wire_type == W_LONGSTR or wire_type == W_TABLE:
        return 4
    elif wire_type == W_LONGLONG or wire_type == W_TIMESTAMP:
        return 8
    elif wire_type == W_CONTENT:
        return 5


cdef inline int put_float(Encoder* e, uint32_t bits) noexcept nogil:
    """The bits of a float."""
    return put_scalar(e, FORM_float, bits) if e.v1 == NULL else buffer_put_int(&e.scratch, CTOR_FLOAT, bits, 4)


cdef inline int put_double(Encoder* e, uint64_t bits) noexcept nogil:
    """The bits of a double."""
    return put_scalar(e, FORM_double, bits) if e.v1 == NULL else buffer_put_int(&e.scratch, CTOR_DOUBLE, bits, 8)


cdef inline int put_number(Encoder* e, uint8_t wire_type, uint64_t u) noexcept nogil:
    """A boolean or an integer (signed ones extended)."""
    cdef Form form
    if e.v1 != NULL:
        return v1e_number(&e.scratch, wire_type, u)
    if wire_type == V1_BOOLEAN:
        return put_scalar(e, FORM_boolean, u)
    form = FORM_uint64 if wire_type == V1_ULONG and <int64_t>u < 0 else int_form(<int64_t>u)
    if form == FORM_int32:
        return put_scalar(e, FORM_int32, u)
    if e.mode & MODE_OLD or not tag_of(form, e.mode):
        return refuse_int(e)
    return put_scalar(e, form, u)


cdef int refuse_int(Encoder* e) noexcept nogil:
    return refuse(&e.fault, b"an int in a table of 0-8 or 0-9 must fit 32 bits, signed" if e.mode & MODE_OLD
                  else b"an int in a table must fit 64 bits, -2**63 to 2**64-1" if e.mode & MODE_LETTER
                  else b"an int in a table must fit 64 bits, signed", NULL, 0)


cdef int put_scaled(Encoder* e, uint8_t scale, uint32_t unscaled) noexcept nogil:
    """A decimal of a field table."""
    return buffer_put_tagged(&e.scratch, FORM_decimal, e.mode, unscaled, scale)


cdef int refuse_seconds(Fault* f) noexcept nogil:
    return refuse(f, b"a timestamp must be from 1970 on and fit 64 bits, unsigned", NULL, 0)


# ---- dialects ----

cdef int check_tag(Encoder* e, size_t at) noexcept nogil:
    """Refuse what the tables of 0-8 and 0-9 have no type for: the value that was written at `at`."""
    if is_old_tag(e.scratch.start[at], e.mode):
        return 0
    return refuse(&e.fault, b"tables of 0-8 hold S I D T F only" if e.mode & MODE_0_8
                  else b"tables of 0-9 hold S I D T F V only", NULL, 0)
