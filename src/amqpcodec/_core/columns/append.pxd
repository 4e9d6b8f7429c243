# What other files use of append.pxi.

cdef enum:
    FALLS_BACK = 1             # from the fast path to the slow one
    FAST_KEYS = 24           # of a table
    TOLD_EVERY = 1 << 20    # bytes of input
    FAST_ENTRY = 48          # bytes that the JSON of an entry takes more than the entry, at most

# ---- appending on the fast path: bytes up to COPY_SLACK after a value can be read ----

cdef const char** FRAME_TYPE_NAMES
cdef int8_t[256] TYPE_NUMBERS
cdef int8_t[256] V1_TYPE_NUMBERS    # a heartbeat of 1.0 has the other family's type in an Entry

cdef inline int type_number(uint8_t t) noexcept nogil:
    """Which of FRAME_TYPE_NAMES, or -1."""
    return TYPE_NUMBERS[t]


# ---- which protocol ----
