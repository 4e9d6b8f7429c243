# Columns: which there are, what decoding to them needs to know, and its working memory.

# Arrow formats of arguments, as those of properties: Spark has no unsigned types; tables are JSON, and
# so are contents, which may be references.
cdef dict WIRE_FORMATS = {
    W_BIT: "b", W_OCTET: "i", W_SHORT: "i", W_LONG: "l", W_LONGLONG: "l", W_SHORTSTR: "u",
    W_LONGSTR: "z", W_TIMESTAMP: "tsu:UTC", W_TABLE: "u", W_CONTENT: "u",
}

cdef dict COLUMN_KINDS = {
    "l": AS_INT64, "tsu:UTC": AS_INT64, "g": AS_INT64, "i": AS_INT32, "b": AS_BOOL, "u": AS_TEXT,
    "z": AS_TEXT, "+s": AS_STRUCT, "vu": AS_VIEW, "vz": AS_VIEW,
    "+m": AS_TEXT, "!z": AS_TEXT,
}


# ---- columns that have a name of their own ----

cdef enum:
    NEVER
    ON_REQUEST
    BY_DEFAULT


cdef tuple columns_of(bint v1):
    """Of a family's named columns: formats and numbers by name, then, each for frames and for messages, names that
    are not there, and (name, format) of those that are there by default."""
    cdef dict formats = {}, numbers = {}
    cdef tuple absent = ([], []), default = ([], [])
    cdef int k
    for number, name, v1_name, format_, _, levels, *_ in NAMED_COLUMNS:
        levels = levels[2:] if v1 else levels[:2]
        if levels == (NEVER, NEVER):
            continue
        known = dict.fromkeys((v1_name, name) if v1 else (name,))
        formats.update(dict.fromkeys(known, format_))
        numbers.update(dict.fromkeys(known, number))
        for k in range(2):
            if levels[k] == NEVER:
                absent[k].extend(known)
            elif levels[k] == BY_DEFAULT:
                default[k].append((next(iter(known)), format_))
        if number == COL_ARGUMENTS:
            default[1].extend(ARGUMENTS[v1])
    return formats, numbers, absent, default[0], tuple(default[1])


# Writes a column for the n rows of the block, for which there is place; of a nullable column it marks the rows
# that have a value (mark_rows). A status below 0, or 0.
ctypedef int (*BlockWriter)(Sink* s, Column* c, int n) noexcept nogil

cdef BlockWriter[V1_N_COLUMNS] BLOCK_WRITERS
cdef tuple COLUMNS_0X = columns_of(False)
cdef frozenset IGNORED_COLUMNS = frozenset([column[1] for column in NAMED_COLUMNS if column[6] == "ignores"])
cdef uint8_t[V1_N_COLUMNS] BLOCK_TYPES      # with a BlockWriter: how the column lies in memory
cdef uint8_t[V1_N_COLUMNS] NULLABLE
cdef uint8_t[V1_N_COLUMNS] IN_RUNS          # runs may write it
for _column in NAMED_COLUMNS:
    NULLABLE[<int>_column[0]] = <bint>_column[4]
    IN_RUNS[<int>_column[0]] = <bint>_column[7]


cdef int fills_blocks(int number, int arrow_type, BlockWriter writer) except -1:
    """State that code fills a column, which every row has and which lies so in memory."""
    BLOCK_WRITERS[number] = writer
    BLOCK_TYPES[number] = <uint8_t>arrow_type
    return 0


cdef dict BAD_ROW_MODES = {
    "PERMISSIVE": PERMISSIVE, "DROPMALFORMED": DROPMALFORMED, "FAILFAST": FAILFAST}

# What the fast path does with an argument.
cdef enum:
    FAST_TEXT
    FAST_64                  # numbers, each half as large as the one before it
    FAST_32
    FAST_16
    FAST_8
    FAST_FIRST_BIT           # of a byte
    FAST_BIT
    FAST_ZEROS
    FAST_LONG_TEXT
    FAST_TABLE
    FAST_NEVER               # falls back to the slow path

cdef enum:
    FRAME_V1 = 0xF1         # a way: a whole frame of AMQP 1.0

cdef enum:
    BROKEN_TYPE = 1            # undefined, in a frame that is whole
    BROKEN_LOST = 2            # the framing is lost

cdef class FramePlan:
    """What decoding a protocol's frames to columns needs, made once from its lowered table."""

    def __dealloc__(self):
        free(self.method)
        free(self.field)


cdef int begin_plan(FramePlan plan, tuple layout, tuple children, int count, int n_fields) except -1:
    """What plans of all protocols have. layout: see columns_of; children: of properties."""
    plan.fixed, plan.numbers, plan.not_at_level, columns, plan.message_columns = layout
    plan.columns = tuple([(name, format_, children if name == "properties" else ()) for name, format_ in columns])
    plan.children = children
    plan.arguments = {}
    plan.qualified = {}
    plan.requests = {}
    plan.related = {}
    plan.count = count
    plan.n_fields = n_fields
    plan.method = <MethodPlan*>calloc(<size_t>max(count, 1), sizeof(MethodPlan))
    plan.field = <FieldPlan*>calloc(<size_t>max(n_fields, 1), sizeof(FieldPlan))
    if plan.method == NULL or plan.field == NULL:
        raise MemoryError
    return 0


# What the fast path does with a field of AMQP 1.0 that is there and of its type.
cdef enum:
    V1_TO_NOTHING
    V1_TO_64
    V1_TO_TIME
    V1_TO_32
    V1_TO_BOOL
    V1_TO_TEXT              # or bytes
    V1_TO_ID                # a message id or address: text, where it is a string
    V1_TO_OTHER             # falls back to append_v1_field
    V1_TO_SEVERAL           # columns

# A frame of a body that waits for the others.
cdef struct BodyPart:
    uint32_t next           # its number, or 0
    const uint8_t* start
    uint64_t total

# A transfer of a delivery that is not whole.
cdef struct V1Piece:
    uint32_t next           # its number, or 0
    Entry frame
    const uint8_t* payload
    uint64_t n

# Where the channel stands in a link's key: the handle has a bit more, for there being none.
cdef enum:
    V1_KEY_CHANNEL = 33

# A delivery that more transfers are to come for.
cdef struct V1Open:
    uint32_t after, before  # of those open, in the order in which they began
    uint32_t first, last    # pieces
    uint64_t key            # channel and handle
    uint32_t above, below   # of those open on the channel, the newest first
    uint32_t state          # the piece with the newest state, or 0
    DeliveryState grammar   # that skips the rest: its transfers are rows of their own
    bint settled            # some transfer said so
    bint loose              # given up at the end of a value: only what names no delivery is its rest
    uint64_t have           # bytes of payload
    uint64_t n_bytes         # of frames
