# What other files use of arrow_in.pxi.

cdef enum:
    BAD_OFFSETS = -3        # of the Arrow array

# Values of bytes to decode, in memory that nobody else writes to.
cdef struct Values:
    int64_t n
    int64_t at              # the first row's index in the buffers
    const uint8_t* valid    # a bit a value, or NULL
    const int64_t* ends     # offsets into data: n + 1 from `at` on
    const uint8_t* data
    uint64_t last           # end of the last value in data
    const uint64_t* lost    # of captures: what values are that are no frames, or NULL
    const uint8_t* version  # of captures: number of the protocol of each of the n, or NULL
    const int64_t* order    # indexes of values in the order in which they are read, or NULL
    const int32_t* group    # at message level: which conversation each value is of, or NULL
    bint whole              # at message level: a message does not go on in the next value
    bint hold               # what is open at the end is not made a row
