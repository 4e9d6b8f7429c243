# What other files use of wire.pxi.

cdef extern from "wire/wire.h" nogil:
    uint64_t MAX_U32 "((uint64_t)UINT32_MAX)"      # a literal of this size would be a Python int
    uint64_t HIGHEST_INT64 "((uint64_t)INT64_MAX)"
    uint16_t load16(const uint8_t* p)
    uint32_t load32(const uint8_t* p)
    uint64_t load64(const uint8_t* p)
    void store16(uint8_t* p, uint16_t v)
    void store32(uint8_t* p, uint32_t v)
    void store64(uint8_t* p, uint64_t v)
    void store_uint(uint8_t* p, uint64_t v, int width)
    double bits_to_double(uint64_t bits)
    uint64_t double_to_bits(double d)
    float bits_to_float(uint32_t bits)
    uint32_t float_to_bits(float f)
    void copy_bytes(uint8_t* to, const uint8_t* from_, size_t n)
    uint32_t hash_name(const uint8_t* p, size_t n)
    bint is_ascii(const uint8_t* s, size_t n)
    bint is_utf8(const uint8_t* s, size_t n)
    uint8_t* store_utf8(uint8_t* w, uint32_t c)
    bint AMQP_LIKELY(bint x)
    bint AMQP_UNLIKELY(bint x)
    void AMQP_ASSUME(bint x)

cdef extern from "wire/date.h" nogil:
    int EPOCH_DAY
    uint32_t day_from_date(int year, int month, int day_of_month)
    void date_from_day(uint32_t day, int* year, int* month, int* day_of_month)
    bint us_from_seconds(uint64_t seconds, int64_t* us)
    bint us_from_ms(int64_t ms, int64_t* us)
    int64_t coarser_time(int64_t time, int64_t units)

cdef extern from "wire/foreign.h" nogil:
    size_t FOREIGN_BYTES
    uint8_t FOREIGN_LEAST
    const char* foreign_protocol(const uint8_t* p, size_t n)

cdef extern from "wire/sort.h" nogil:
    ctypedef bint (*SortBefore)(const void* context, const void* a, const void* b) noexcept nogil
    void sort_items(void* first, size_t n, size_t size, void* moved, SortBefore before, const void* context)

cdef extern from "wire/atomic.h" nogil:
    ctypedef long Atomic
    long atomic_add_(Atomic* a, long n)
    long atomic_get_(Atomic* a)
    void atomic_set_(Atomic* a, long n)
    bint use_begin(Atomic* in_use)
    void use_end(Atomic* in_use)

# What can be wrong: see the table there.
cdef extern from "wire/faults.h" nogil:
    enum:
        OK
        BAD_TRUNCATED
        BAD_TRAILING
        BAD_TAG
        BAD_DEPTH
        BAD_FRAME_END
        BAD_FRAME_SIZE
        BAD_FRAME_TYPE
        BAD_HEARTBEAT
        BAD_METHOD
        BAD_HEADER_CLASS
        BAD_TEXT
        BAD_RANGE
        BAD_ORDER
        BAD_CHANNEL
        BAD_BODY_SIZE
        BAD_INCOMPLETE
        BAD_CAPTURE
        BAD_CONTENT
        BAD_COLUMN
        BAD_OPEN
        BAD_DIGITS
        BAD_VALUE
        V1_BAD_CONSTRUCTOR
        V1_BAD_SIZE
        V1_BAD_TEXT
        V1_BAD_FIELD
        V1_BAD_VALUE
        V1_BAD_FIELDS
        V1_BAD_COUNT
        V1_BAD_SECTION
        V1_BAD_DESCRIPTOR
        V1_BAD_ENVELOPE
        V1_BAD_TYPE
        V1_BAD_ORDER
        FAULT_CODES
    ctypedef struct FaultKind:
        const char* error
        const char* condition
        const char* text
    const FaultKind* FAULT_KINDS
    const char* fault_type_name(uint8_t constructor)

cdef enum:
    SIGNED_RANGE = 1        # Fault.byte of BAD_RANGE: the number may be negative

cdef enum:
    SCOPE_FRAME
    SCOPE_CHANNEL
    SCOPE_CONNECTION

# A level of the path to a value: the name of its entry, or its index where there is none.
cdef struct Step:
    const Step* outer
    PyObject* name          # borrowed, or NULL
    Py_ssize_t index        # -1: of no item, but of all that hold them

# Where something is wrong: a method or type, a field of it (names of the protocol's descriptors, or NULL), and the
# path of names and indexes inside of the field's value.
cdef struct Place:
    const char* method
    const char* field
    const Step* step        # the innermost, or NULL; it lives as long as what it is of is written

cdef inline void place_begin(Place* at, const char* method, const char* field) noexcept nogil:
    at.method = method
    at.field = field
    at.step = NULL

# What is wrong, and where.
cdef struct Fault:
    int code
    int scope
    uint64_t offset
    uint64_t need
    uint64_t have
    const char* what
    const char* text        # of BAD_VALUE: a format with `what` (if there is one) and then `need`
    const char* column      # of BAD_VALUE: the input's column, or NULL
    Place at
    bint in_frame           # frame_type and channel are known
    uint8_t byte
    uint8_t frame_type
    uint16_t channel
    uint16_t class_id
    uint16_t method_id

# Bytes not yet read. The first fault sticks; offsets count from `base`, which is at `base_at`.
cdef struct Cursor:
    const uint8_t* p
    const uint8_t* end
    const uint8_t* base
    uint64_t base_at
    Fault* fault

cdef inline void begin_cursor(Cursor* c, Fault* fault, const uint8_t* p, const uint8_t* end,
                              const uint8_t* base, uint64_t base_at) noexcept nogil:
    """A cursor over bytes, and a fault that knows nothing yet."""
    # What fail() sets needs no value before; this runs for every value of 1.0.
    fault.code = OK
    place_begin(&fault.at, NULL, NULL)
    fault.in_frame = False
    c.p = p
    c.end = end
    c.base = base
    c.base_at = base_at
    c.fault = fault

cdef int fail(Cursor* c, int code, const char* what, uint64_t need, uint8_t byte) noexcept nogil

cdef inline bint short_of(Cursor* c, size_t n, const char* what) noexcept nogil:
    """True, and the fault noted, where fewer than n bytes remain."""
    if AMQP_UNLIKELY(<size_t>(c.end - c.p) < n):
        fail(c, BAD_TRUNCATED, what, n, 0)
        return True
    return False
