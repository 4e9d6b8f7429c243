# What other files use of request.pxi.

cdef enum:
    LEVEL_FRAME
    LEVEL_MESSAGE

@cython.final
cdef class Request:
    cdef FramePlan plan
    cdef tuple structs          # as the plan's
    cdef int level
    cdef tuple schema           # (name, format, children) of each that goes out, in order
    cdef int n                  # columns of the table, asked for or not
    cdef int made               # from here on they are the two of each Variant
    cdef int tables             # what tables become
    cdef uint8_t* form          # of each column
    cdef int* first             # of each that is a Variant: its own two
    cdef uint8_t* arrow_type
    cdef uint8_t* asked
    cdef Atomic* sizes          # of each column in the decode before: see update_sizes
    cdef int n_out
    cdef int* order             # of those that go out: number of the column
    cdef int picks, wants
    cdef uint16_t* targets      # as in Sink
    cdef Target* target
    cdef uint8_t* picked
    cdef uint32_t* masks        # of AMQP 1.0, as in Sink
    cdef V1Step* v1_steps       # likewise, or NULL
    cdef Wanted* wanted
    cdef int n_wanted
    cdef bint any_property
    cdef bint views             # text and bytes are views
    cdef bint texts             # some column is one that runs do not write, such as JSON text
    cdef list names             # of all columns of the table that may be too large
    cdef list keep
    cdef dict related           # other protocols' requests of the same columns

cdef FramePlan frame_plan(object protocol)

cdef Request find_request(object protocol, str level, object fields, str layout,
                          str field_tables=*)

cdef object unknown_column(FramePlan plan, int level, str name, tuple own=*)

cdef tuple wanted_type(str text)
