# What other files use of value.pxi.

# Wire types of arguments and properties (0-9-1 §4.2.5); numbers shared with the lowered tables.
ctypedef enum WireType:
    W_BIT = 0
    W_OCTET = 1
    W_SHORT = 2
    W_LONG = 3
    W_LONGLONG = 4
    W_SHORTSTR = 5
    W_LONGSTR = 6
    W_TIMESTAMP = 7
    W_TABLE = 8
    W_CONTENT = 9           # 0-9 only: a byte, 0 for inline or 1 for a reference; a longstr

cdef const char** WIRE_NAMES

# One argument. Bytes are borrowed: from the input on decode, from objects on encode.
cdef struct AmqpValue:
    uint64_t u              # bit, integers, timestamp; of a content: whether it is a reference
    const uint8_t* p        # first byte of a string or table, its length not included
    uint32_t n
    uint8_t wire_type
    bint present            # properties only

# One scalar value of any protocol; see wire/scalar.h.
cdef extern from "wire/scalar.h" nogil:
    ctypedef enum ScalarKind:
        KIND_VOID
        KIND_BOOLEAN
        KIND_SIGNED
        KIND_UNSIGNED
        KIND_FLOAT
        KIND_DOUBLE
        KIND_DECIMAL
        KIND_BID32
        KIND_BID64
        KIND_BID128
        KIND_SECONDS
        KIND_MILLISECONDS
        KIND_CHAR
        KIND_UUID
        KIND_BYTES
        KIND_LONGSTR
        KIND_SHORTSTR
        KIND_STRING
        KIND_SYMBOL
    ctypedef struct Scalar:
        uint64_t u
        const uint8_t* p
        uint32_t n
        ScalarKind kind

# How the bytes of tables are read and written: kept with lazily read tables.
cdef enum:
    MODE_LETTER = 1         # the letter of 0-9-1, not RabbitMQ's dialect
    MODE_TYPED = 2          # values keep their tag as a class of amqpcodec.types
    MODE_TRAILING = 4       # bytes after the last field are kept, not refused
    MODE_0_9 = 8            # encode only: S I D T F V, the types that 0-9 has
    MODE_0_8 = 16           # encode only: S I D T F
    MODE_OLD = 24           # either
    MODE_NO_X = 25          # bytes are an S

cdef int DEPTH_LIMIT
cdef int64_t checked_limit(str name, object limit, int64_t least, int64_t most) except -1
