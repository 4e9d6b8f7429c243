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
    e.refusal.method = d.name if d != NULL else NULL
    e.refusal.field = d.field[k] if d != NULL and k >= 0 else NULL
    e.refusal.column = column


cdef inline bint v1e_is_null(const Text* t, size_t at) noexcept nogil:
    """Whether what was written from `at` on is null alone: none of many values, for one."""
    return t.w == t.block.p + at + 1 and t.block.p[at] == CTOR_NULL


cdef inline int v1e_part(Text* t, const V1Parts* parts, int k) noexcept nogil:
    """A field that was written before, once more."""
    if text_room(t, parts.n[k]) < 0:
        return NO_MEMORY
    memcpy(t.w, t.block.p + parts.at[k], parts.n[k])
    t.w += parts.n[k]
    return 0


cdef int v1e_choice(const V1Op* op, const uint8_t* p, size_t n, Refusal* r) noexcept nogil:
    """Whether a symbol is one of those that a field has."""
    cdef const char* s = op.symbols
    cdef size_t length
    if op.named == NULL:
        return 0
    while s[0]:
        length = strlen(s)
        if length == n and memcmp(s, p, n) == 0:
            return 0
        s += length + 1
    return refuse(r, b"is none of the field's choices", NULL, 0)


cdef inline int v1e_code(Text* t, uint8_t code) noexcept nogil:
    if text_room(t, 1) < 0:
        return NO_MEMORY
    t.w[0] = code
    t.w += 1
    return 0


cdef uint8_t* v1e_fixed(uint8_t* w, uint8_t code, uint64_t u) noexcept nogil:
    """What follows a constructor of fixed width: how wide, its category says."""
    cdef uint8_t category = code >> 4
    if category == CATEGORY_FIXED1:
        w[0] = <uint8_t>u
        return w + 1
    if category == CATEGORY_FIXED2:
        store16(w, <uint16_t>u)
        return w + 2
    if category == CATEGORY_FIXED4:
        store32(w, <uint32_t>u)
        return w + 4
    store64(w, u)
    return w + 8


cdef int v1e_number(Text* t, uint8_t wire_type, uint64_t u) noexcept nogil:
    """A number, boolean or char, signed ones extended, in the smallest encoding of its type."""
    cdef uint8_t* w
    if text_room(t, 9) < 0:
        return NO_MEMORY
    w = t.w
    if wire_type == V1_BOOLEAN:
        w[0] = CTOR_TRUE if u else CTOR_FALSE
        t.w += 1
        return 0
    if u == 0 and (wire_type == V1_UINT or wire_type == V1_ULONG):
        w[0] = CTOR_UINT0 if wire_type == V1_UINT else CTOR_ULONG0
        t.w += 1
        return 0
    if v1_narrow(wire_type, u):
        w[0] = CTOR_NARROW[wire_type]
        w[1] = <uint8_t>u
        t.w += 2
        return 0
    w[0] = CTOR_WIDE[wire_type]
    t.w = v1e_fixed(w + 1, w[0], u)
    return 0


cdef int v1e_sixteen(Text* t, uint8_t code, const uint8_t* p) noexcept nogil:
    """A uuid or decimal128."""
    if text_room(t, 17) < 0:
        return NO_MEMORY
    t.w[0] = code
    memcpy(t.w + 1, p, 16)
    t.w += 17
    return 0


# ---- bytes ----

cdef int v1e_check(uint8_t wire_type, const uint8_t* p, uint64_t n, Refusal* r) noexcept nogil:
    """Whether bytes are what a string or symbol takes."""
    if n > MAX_U32:
        return refuse(r, b"takes at most 4294967295 bytes, not %llu", NULL, n)
    if wire_type == V1_STRING and not is_utf8(p, <size_t>n):
        return refuse(r, b"text that is not UTF-8", NULL, 0)
    if wire_type == V1_SYMBOL and not is_ascii(p, <size_t>n):
        return refuse(r, b"a symbol takes ASCII characters only", NULL, 0)
    return 0


cdef int v1e_run(Text* t, uint8_t wire_type, const uint8_t* p, uint64_t n, Refusal* r) noexcept nogil:
    """A binary, string or symbol."""
    cdef int status = v1e_check(wire_type, p, n, r)
    if status != 0:
        return status
    if text_room(t, 5 + <size_t>n) < 0:
        return NO_MEMORY
    if AMQP_LIKELY(n <= 255):
        t.w[0] = CTOR_NARROW[wire_type]
        t.w[1] = <uint8_t>n
        t.w += 2
    else:
        t.w[0] = CTOR_WIDE[wire_type]
        store32(t.w + 1, <uint32_t>n)
        t.w += 5
    copy_bytes(t.w, p, <size_t>n)
    t.w += n
    return 0


cdef int v1e_end_run(Text* t, size_t at, uint8_t wire_type, Refusal* r) noexcept nogil:
    """Write the head of what was written after the two bytes left for it at `at`; text is UTF-8."""
    cdef uint8_t* p = t.block.p + at
    cdef uint64_t n = <uint64_t>(t.w - p) - 2
    cdef int status
    if AMQP_UNLIKELY(wire_type == V1_SYMBOL or n > MAX_U32):
        status = v1e_check(wire_type, p + 2, n, r)
        if status != 0:
            return status
    if AMQP_LIKELY(n <= 255):
        p[0] = CTOR_NARROW[wire_type]
        p[1] = <uint8_t>n
        return 0
    if text_room(t, 3) < 0:
        return NO_MEMORY
    p = t.block.p + at
    memmove(p + 5, p + 2, <size_t>n)
    t.w += 3
    p[0] = CTOR_WIDE[wire_type]
    store32(p + 1, <uint32_t>n)
    return 0


# ---- compounds ----

cdef inline int v1e_enter(int depth, Refusal* r) noexcept nogil:
    if AMQP_UNLIKELY(depth >= DEPTH_LIMIT):
        return refuse(r, b"values nested deeper than %llu levels", NULL, <uint64_t>DEPTH_LIMIT)
    return 0


cdef inline int v1e_open(Text* t, size_t* at) noexcept nogil:
    """Leave room for the longest head of a compound."""
    if text_room(t, 9) < 0:
        return NO_MEMORY
    at[0] = <size_t>(t.w - t.block.p)
    t.w += 9
    return 0


cdef int v1e_close(Text* t, size_t at, uint8_t wire_type, uint64_t count, Refusal* r) noexcept nogil:
    """Write the head: small where size and count fit a byte each."""
    cdef uint8_t* head = t.block.p + at
    cdef uint64_t n = <uint64_t>(t.w - head) - 9
    if wire_type == V1_LIST and count == 0:
        head[0] = CTOR_LIST0
        t.w = head + 1
        return 0
    if AMQP_LIKELY(n <= 254 and count <= 255):
        head[0] = CTOR_NARROW[wire_type]
        head[1] = <uint8_t>(n + 1)
        head[2] = <uint8_t>count
        memmove(head + 3, head + 9, <size_t>n)
        t.w -= 6
        return 0
    if n + 4 > MAX_U32 or count > MAX_U32:
        return refuse(r, b"a %s takes at most 4294967295 bytes, not %llu", V1_NAMES[wire_type], n)
    head[0] = CTOR_WIDE[wire_type]
    store32(head + 1, <uint32_t>(n + 4))
    store32(head + 5, <uint32_t>count)
    return 0


cdef int v1e_described(Text* t, uint8_t code) noexcept nogil:
    """The start of a value of the protocol's own types."""
    if text_room(t, 3) < 0:
        return NO_MEMORY
    t.w[0] = CTOR_DESCRIBED
    t.w[1] = CTOR_SMALLULONG
    t.w[2] = code
    t.w += 3
    return 0
