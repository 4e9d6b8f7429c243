# What other files use of desc.pxi.

cdef enum:
    V1_SHARED = 40          # as long as text is that the cache takes
    V1_MAX_FIELDS = 32      # a composite with more is refused when the table is loaded
    V1_MAX_CHOICES = 8

# What carries a composite.
cdef enum:
    V1_NO_FRAME = 0
    V1_AMQP_FRAME = 1
    V1_SASL_FRAME = 2

cdef struct V1Desc

cdef struct V1Op:
    uint8_t wire_type
    bint multiple
    bint fixed              # one number, boolean or timestamp: at most V1_NUMBER_BYTES
    bint mandatory
    int longest             # text up to here is shared; 0: none
    bint secret
    bint ulong              # of any type; an int is meant as a ulong
    bint symbol_keys        # of a map: fields, annotations and the like have symbols as keys
    uint8_t compact         # the type of what v1_compact() may read, V1_UNKNOWN for none
    int choices             # numbered choices, 0 for none
    PyObject* choice[V1_MAX_CHOICES]
    PyObject* named         # dict: Symbol -> choice, or NULL
    const char* symbols     # those, each with a NUL after it and one more at the end
    const V1Desc* desc      # of a field of one composite type
    PyObject* requires      # tuple of archetypes

cdef struct V1Desc:
    uint8_t code
    int n                   # fields on the wire
    V1Op* op
    bint composite          # else a restricted type with one value
    int mandatory           # fields up to the last mandatory one of a composite
    int frame
    bint section
    uint8_t symbol_n
    const char* symbol
    const char* name
    const char** field
    PyObject* cls
    int payload             # slot of a frame's payload, or -1

# All of them: by code, and by symbol in order.
cdef struct V1Types:
    V1Desc* desc
    int count
    V1Desc* by_code[256]

cdef V1Desc* v1_known_slow(const V1Types* types, Cursor* c) noexcept nogil

cdef inline V1Desc* v1_known(const V1Types* types, Cursor* c) noexcept nogil:
    """The type whose descriptor stands at the cursor, which steps over it; NULL and untouched
    where it is none of the protocol's."""
    cdef V1Desc* d
    if AMQP_LIKELY(c.end - c.p >= 2 and c.p[0] == CTOR_SMALLULONG):
        d = types.by_code[c.p[1]]
        if AMQP_LIKELY(d != NULL):
            c.p += 2
        return d
    return v1_known_slow(types, c)

cdef inline bint v1_takes_number(const V1Op* op, uint64_t u) noexcept nogil:
    """Whether a field takes a number of its type: any, unless it has choices."""
    return not op.choices or (u < <uint64_t>op.choices and op.choice[u] != NULL)

cdef bint v1_names_choice(const V1Op* op, const uint8_t* p, size_t n) noexcept nogil

cdef inline bint v1_takes_symbol(const V1Op* op, const uint8_t* p, size_t n) noexcept nogil:
    """Whether a field takes a symbol: any, unless it has choices with names."""
    return op.named == NULL or v1_names_choice(op, p, n)

cdef int v1_check_restricted(const V1Desc* d, Cursor* c) noexcept nogil

@cython.final
cdef class V1DescTable:
    cdef V1Types types
    cdef list keep
    cdef const char* text(self, str s) except NULL
    cdef int fill(self, V1Desc* d, dict spec) except -1
