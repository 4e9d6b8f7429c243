# AMQP 1.0 from columns, without the GIL: what every value ends in. The smallest encoding always; the
# bytes are those that v1/write.pxi gives of objects.

cdef extern from "encode/v1.h" nogil:
    int V1_DECIMAL_FITS
    int V1_DECIMAL_NO_TEXT
    int v1e_bid_of(const uint8_t* p, int size, int scale, uint8_t* w)
    int v1e_bid_text(const uint8_t* p, size_t n, uint8_t* w)
    bint parse_hex(uint8_t* w, const uint8_t* p, size_t n)
    bint parse_uuid(uint8_t* w, const uint8_t* p, size_t n)


# A column, or a member of a struct, whose null hides it.
cdef struct V1Column:
    const Source* source    # or NULL
    const Source* parent    # or NULL
    const char* column      # full name

# Where the fields of a composite come from.
cdef struct V1Fields:
    const V1Desc* desc
    V1Column* named         # by field: the column `attach.name`, which goes first
    V1Column* plain         # `name`, or a member of a struct
    int n                   # fields up to the last that has any
    bint singles            # some come from columns of their own, not from a struct
    int n_foreign
    const Source** foreign  # columns of fields that other performatives have

# Fields that were written somewhere in the scratch memory.
cdef struct V1Parts:
    size_t at[V1_MAX_FIELDS]
    size_t n[V1_MAX_FIELDS]     # 0 where there is none
    int last                    # after the last that is there

# What encoding to AMQP 1.0 works with, beside what Encoder has.
cdef struct V1Encode:
    const V1Types* types
    V1Fields* fields[256]       # by descriptor: performatives, header and properties
    const V1Fields* frame       # the newest performative
    const Source* performative
    const Source* header
    const Source* properties
    const Source* section[SEC_COUNT]    # annotations, application properties, footer
    const HeaderSource* property_       # columns application_properties.x
    int n_properties
    const Source* body_form
    const Source* value
    const Source* message
    const Source* payload
    const Source** content      # all columns of messages
    int n_content
    V1Parts parts               # arguments in JSON
    bint other_format           # of the row's message: not that of sections
    bint whole                  # no message of its own: the payload of a single frame
    const uint8_t* piece[3]     # of the row's message
    uint64_t piece_n[3]
    size_t kept[3]              # the piece lies in scratch, at this less 1; or 0


cdef inline void v1e_place(Encoder* e, const V1Desc* d, int k, const char* column) noexcept nogil:
    """Say where it was. k: of a field, or -1."""
    place_begin(&e.fault.at, d.name if d != NULL else NULL, d.field[k] if d != NULL and k >= 0 else NULL)
    e.fault.column = column


cdef inline bint v1e_is_null(const Buffer* b, size_t at) noexcept nogil:
    """Whether what was written from `at` on is null alone: none of many values, for one."""
    return buffer_size(b) == at + 1 and b.start[at] == CTOR_NULL


cdef inline int v1e_part(Buffer* b, const V1Parts* parts, int k) noexcept nogil:
    """A field that was written before, once more."""
    if buffer_ensure(b, parts.n[k]) < 0:
        return NO_MEMORY
    memcpy(b.p, b.start + parts.at[k], parts.n[k])
    buffer_commit(b, b.p + parts.n[k])
    return 0


cdef int v1e_choice(const V1Op* op, const uint8_t* p, size_t n, Fault* f) noexcept nogil:
    """Refuse a symbol that a field does not take."""
    if AMQP_LIKELY(v1_takes_symbol(op, p, n)):
        return 0
    return refuse(f, b"is none of the field's choices", NULL, 0)


cdef int v1e_number(Buffer* b, uint8_t wire_type, uint64_t u) noexcept nogil:
    """A number, boolean or char, signed ones extended, in the smallest encoding of its type."""
    if buffer_ensure(b, V1_NUMBER_BYTES) < 0:
        return NO_MEMORY
    buffer_commit(b, v1_store_number(b.p, wire_type, u, V1_SMALLEST))
    return 0


cdef int v1e_sixteen(Buffer* b, uint8_t code, const uint8_t* p) noexcept nogil:
    """A uuid or decimal128."""
    if buffer_ensure(b, 17) < 0:
        return NO_MEMORY
    b.p[0] = code
    memcpy(b.p + 1, p, 16)
    buffer_commit(b, b.p + 17)
    return 0


cdef int v1e_moment(const Source* s, int64_t i, uint64_t* out, Fault* f) noexcept nogil:
    """Milliseconds of a timestamp, floored."""
    cdef int64_t v = (<const int64_t*>s.data)[s.at + i]
    if s.unit == 1:
        if v > <int64_t>HIGHEST_INT64 // 1000 or v < -(<int64_t>HIGHEST_INT64 // 1000):
            return refuse(f, b"a timestamp must fit 64 bits of milliseconds, signed", NULL, 0)
        out[0] = <uint64_t>(v * 1000)
        return 0
    out[0] = <uint64_t>coarser_time(v, s.unit // 1000)
    return 0


# ---- bytes ----

cdef int v1e_check(uint8_t wire_type, const uint8_t* p, uint64_t n, Fault* f) noexcept nogil:
    """Whether bytes are what a string or symbol takes."""
    if n > MAX_U32:
        return refuse(f, b"takes at most 4294967295 bytes, not %llu", NULL, n)
    if AMQP_UNLIKELY(not v1_can_hold(wire_type, p, <size_t>n)):
        return refuse(f, (b"text that is not UTF-8" if wire_type == V1_STRING
                      else b"a symbol takes ASCII characters only"), NULL, 0)
    return 0


cdef int v1e_run(Buffer* b, uint8_t wire_type, const uint8_t* p, uint64_t n, Fault* f) noexcept nogil:
    """A binary, string or symbol."""
    cdef int status = v1e_check(wire_type, p, n, f)
    if status != 0:
        return status
    if buffer_ensure(b, V1_RUN_BYTES + <size_t>n) < 0:
        return NO_MEMORY
    buffer_commit(b, v1_store_run(b.p, wire_type, p, <size_t>n, V1_SMALLEST))
    return 0


cdef int v1e_end_run(Buffer* b, size_t at, uint8_t wire_type, Fault* f) noexcept nogil:
    """Write the head of what was written after the two bytes left for it at `at`; text is UTF-8."""
    cdef uint8_t* p = b.start + at
    cdef uint64_t n = <uint64_t>(b.p - p) - 2
    cdef int status
    if AMQP_UNLIKELY(wire_type == V1_SYMBOL or n > MAX_U32):
        status = v1e_check(wire_type, p + 2, n, f)
        if status != 0:
            return status
    if AMQP_UNLIKELY(n > 255):
        if buffer_leave(b, 3) < 0:
            return NO_MEMORY
        p = b.start + at
        memmove(p + V1_RUN_BYTES, p + 2, <size_t>n)
    v1_store_size(p, wire_type, <size_t>n, V1_SMALLEST)
    return 0


# ---- compounds ----

cdef inline int v1e_open(Buffer* b, size_t* at) noexcept nogil:
    """Leave room for the longest head of a compound."""
    at[0] = buffer_size(b)
    return buffer_leave(b, V1_HEAD_BYTES)


cdef int v1e_close(Buffer* b, size_t at, uint8_t wire_type, uint64_t count, Fault* f) noexcept nogil:
    if AMQP_UNLIKELY(not v1_store_head(b, at, wire_type, count, V1_SMALLEST)):
        return refuse(f, b"a %s takes at most 4294967295 bytes, not %llu", V1_NAMES[wire_type],
                      buffer_size(b) - at - V1_HEAD_BYTES)
    return 0


cdef int v1e_described(Buffer* b, uint8_t code) noexcept nogil:
    """The start of a value of the protocol's own types."""
    if buffer_ensure(b, V1_DESCRIPTOR_BYTES) < 0:
        return NO_MEMORY
    buffer_commit(b, v1_store_small_descriptor(b.p, code))
    return 0
