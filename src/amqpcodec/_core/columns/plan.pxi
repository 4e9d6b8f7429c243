# Columns: which there are, what decoding to them needs to know, and its working memory.

cdef dict COLUMN_NUMBERS = {
    "row": COL_ROW, "offset": COL_OFFSET, "frame_type": COL_TYPE, "channel": COL_CHANNEL,
    "method": COL_METHOD, "arguments": COL_ARGUMENTS, "properties": COL_PROPERTIES,
    "body_size": COL_BODY_SIZE, "payload": COL_PAYLOAD, "frame": COL_FRAME, "error": COL_ERROR,
    "error_offset": COL_ERROR_OFFSET, "body": COL_BODY, "properties_json": COL_PROPERTIES_JSON,
    "properties.raw_headers": COL_RAW_HEADERS,
}

# Columns with a number of their own: those that may be asked for at a level. "properties" has children.
cdef dict FIXED_COLUMNS = {
    "row": "l", "offset": "l", "frame_type": "u", "channel": "i", "method": "u", "arguments": "u",
    "properties": "+s", "body_size": "l", "payload": "z", "body": "z", "frame": "z", "error": "u",
    "error_offset": "l", "properties_json": "u", "properties.raw_headers": "z",
}

cdef tuple NOT_AT_LEVEL = (("body",), ("payload",))

# Without `fields`. What is not fixed holds the argument of that name, where it has that type.
cdef tuple MESSAGE_COLUMNS = (
    ("row", "l"), ("channel", "i"), ("method", "u"), ("exchange", "u"), ("routing_key", "u"),
    ("consumer_tag", "u"), ("delivery_tag", "l"), ("redelivered", "b"), ("mandatory", "b"),
    ("reply_code", "i"), ("reply_text", "u"), ("properties", "+s"), ("body", "z"), ("error", "u"),
)

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

# What the fast path does with a field of AMQP 1.0 that is there and of its type.
cdef enum:
    V1_TO_NOTHING
    V1_TO_64
    V1_TO_TIME
    V1_TO_32
    V1_TO_BOOL
    V1_TO_TEXT              # or bytes
    V1_TO_ID                # a message id or address: text, where it is a string
    V1_TO_OTHER             # falls back to put_v1_field
    V1_TO_SEVERAL           # columns

# A frame of a body that waits for the others.
cdef struct BodyPart:
    const uint8_t* start
    uint64_t total
    uint32_t next           # its number, or 0

# A transfer of a delivery that is not whole.
cdef struct V1Piece:
    Entry frame
    const uint8_t* payload
    uint64_t n
    uint32_t next           # its number, or 0

# Where the channel stands in a link's key: the handle has a bit more, for there being none.
cdef enum:
    V1_KEY_CHANNEL = 33

# A delivery that more transfers are to come for.
cdef struct V1Open:
    uint64_t key            # channel and handle
    uint32_t first, last    # pieces
    uint32_t before, after  # of those open, in the order in which they began; after also in chains
    uint32_t above, below   # of those open on the channel, the newest first
    uint32_t state          # the piece with the newest state, or 0
    bint settled            # some transfer said so
    bint passing            # given up: its transfers are rows of their own
    bint loose              # given up at the end of a value: only what names no delivery is its rest
    uint64_t have           # bytes of payload
    uint64_t n_bytes         # of frames
