# What other files use of plan.pxi.

cdef dict COLUMN_KINDS
cdef frozenset IGNORED_COLUMNS        # by batch.encode

cdef enum:
    PERMISSIVE
    DROPMALFORMED
    FAILFAST

# What a decode came to, apart from 0, NO_MEMORY, COLUMN_FULL and BAD_OFFSETS.
cdef enum:
    BAD_FRAME = 2           # of one frame: the fault says why
    FAILED = -4             # FAILFAST: the fault says why
    STOPPED = -5            # who is told of progress raised something

cdef enum:
    BLOCK = 128             # frames
    AHEAD = 16384           # bytes to ask for in advance: about a block
    RUN_AHEAD = 4096        # the same in a run
    RUN_AFTER = 4           # messages alike that make one
    RUN_LONGEST = 1 << 29   # bytes of a message in one

# A frame of the block, or bytes that are none.
cdef struct Entry:
    const uint8_t* start
    const uint8_t* base     # of its input value
    uint64_t total          # bytes, envelope included
    int64_t row             # of the input value
    uint8_t type            # 0 where it is not known
    uint8_t way             # the type where the fast path may be tried, FRAME_V1, or 0
    uint16_t channel
    uint8_t broken          # not whole: see below
    uint8_t no_channel
    uint64_t lost           # of captures, where it is unusual: see LOST_TEXTS

# What the JSON and the columns need to know of a field.
cdef struct FieldPlan:
    const char* key         # `,"consumer_tag":`
    const char* piece       # of the fast path: the same, and quotes of text before and after it
    uint32_t key_n
    uint32_t piece_n
    bint reserved
    bint headers            # the table of a property list whose entries can be asked for
    uint8_t wire_type            # wire type
    uint8_t op              # what the fast path does with it
    uint8_t bit             # as in Op
    uint8_t zeros           # bytes of a reserved argument, which have to be zero
    uint16_t child          # of a property: its column

cdef struct MethodPlan:
    const char* name        # padded
    uint32_t name_n
    int quoted              # whether the last value on the fast path is text
    uint32_t room           # bytes that JSON takes without tables and the inside of strings
    int n
    int first               # number of the first field among all fields of the protocol
    bint has_content
    FieldPlan* field

cdef class FramePlan:
    cdef tuple columns          # (name, format, children) of each at frame level, in order
    cdef tuple message_columns  # (name, format) of each at message level
    cdef tuple children         # (name, format, sources) of properties
    cdef tuple structs          # (name, column, first of its children, (name, format, ...) of these)
    cdef dict fixed             # name -> format of columns with a number of their own
    cdef dict numbers           # and the number
    cdef tuple not_at_level     # those of each level that are only at the other
    cdef str wanted             # what stands before the name of an entry
    cdef dict formats           # of arguments, by wire type
    cdef const char** type_names # names of wire types
    cdef int picks              # number of the first column for an argument
    cdef const V1Types* v1      # of AMQP 1.0, else NULL
    cdef MethodPlan* method     # as the protocol's descriptors
    cdef int count              # of methods
    cdef FieldPlan* field
    cdef int n_fields
    cdef dict arguments         # name -> [(number of the field, wire type, qualified name), ...]
    cdef dict qualified         # "basic.consume.no_ack" -> (number of the field, wire type)
    cdef dict requests          # what was asked for lately
    cdef dict related           # other protocols' plans for these columns
    cdef list keep

# A property that is there, on the fast path.
cdef struct PropertyStep:
    Column* c               # or NULL: it is only checked
    uint8_t wire_type
    bint headers

# A column that an argument goes to, and the next one for the same argument, or 0.
cdef struct Target:
    uint16_t column
    uint16_t next

cdef struct V1Step:
    uint8_t wire_type            # of values whose bytes say all, V1_ANY: any such; or V1_UNKNOWN
    uint8_t write
    uint8_t compact         # constructor of what goes into a column of text or bytes, or that of null
    uint16_t column         # or the first Target of several
    uint32_t offset         # of the column from the first one, bytes

# A header that was asked for.
cdef struct Wanted:
    const uint8_t* name
    uint32_t name_n
    uint8_t type            # see WANTED_TYPES
    uint8_t precision       # of a decimal: digits, and those of them after the point
    uint8_t scale
    uint16_t column

# A message, as far as it came, or frames that do not make one.
cdef struct Pending:
    uint32_t after, before  # of those open, in the order in which they began
    Entry method            # or what stands there instead of one
    Entry header            # total 0: there was none
    ContentMachine grammar
    uint64_t n_bytes         # of all frames
    const uint8_t* body     # its only frame, or NULL
    const uint8_t* raw      # all bytes, where they are not those of the frames
    uint64_t raw_n
    uint32_t first, last    # frames of a body in pieces, or 0
    uint8_t content         # method and header and body are whole, or there is none
    uint8_t bad             # a fault that only assembly sees, or OK
    uint8_t at_other        # the fault's place is the frame `other`
    const char* what
    Entry other

# What is open on each channel, and the messages that are ready to become rows.
cdef struct Assembly:
    Block memory            # that it lies in itself
    uint32_t* channel       # number of the message that is open, or 0; NULL until one is
    Numbered pending        # Pending messages, number 0 stands before the first and after the last of those open
    Numbered pieces         # BodyParts
    uint32_t n_open
    int n                   # in the block
    int was                 # in it before it was emptied
    Pending[BLOCK] block

# A protocol whose frames come.
cdef struct ProtocolPlan:
    const char* name
    const MethodPlan* methods
    const uint16_t* targets
    const Target* target
    const uint8_t* picked
    const Desc* descs
    const Slot* slot
    uint32_t slot_mask
    Desc** contents
    int n_contents
    const V1Types* v1       # of AMQP 1.0, else NULL
    const uint32_t* masks   # its own: fields of each method that are asked for
    const V1Step* v1_steps  # and what is done with each field

cdef enum:
    MAX_PROTOCOLS = 4

cdef struct Sink

# Reads the messages of a run; see run_messages(). Called by its address: gcc would put the loop into its one caller,
# and what reads properties not into the loop (5 % more instructions).
ctypedef const uint8_t* (*RunReader)(Sink* s, const uint8_t* p, const uint8_t* end, const uint8_t* base,
                                     int64_t value) noexcept nogil

# Many messages with one method and the same properties, see columns/run.pxi.
cdef struct Run:
    RunReader reader        # NULL: no run is on
    uint32_t key            # class id, method id
    uint32_t flags          # of the properties
    int method              # number of the arguments' signature
    const uint8_t* end      # messages of a run end before it
    int64_t first           # row
    int64_t room            # rows with place
    uint8_t* argument[MAX_FIELDS]   # the memory of the column of each, or NULL
    uint8_t* property[MAX_FIELDS]
    int n_bits
    uint8_t* bits[MAX_FIELDS]       # those of them that hold bits
    uint8_t[32] spare       # for views of text that is only checked
    int32_t* channel        # of columns that every message has, or NULL
    uint8_t* body
    int64_t* row
    int64_t* offset
    int64_t* body_size
    uint8_t* names
    uint8_t[16] name        # view of the method's name
    int n_columns
    Column* columns[2 * MAX_FIELDS + 8]

cdef struct V1Slot:
    uint64_t key
    uint32_t number         # of the delivery that is open there, or 0
    bint used

cdef struct V1Links:
    V1Slot* slot
    uint32_t mask, used
    uint32_t* channel       # the newest that is open on each, or 0; NULL until one is
    uint64_t factor         # an odd number that nobody can guess: keys are a peer's choice
    Numbered open           # V1Opens, number 0 stands before the first and after the last of those open
    Numbered pieces         # V1Pieces
    Block joined            # payloads of a delivery
    uint32_t n_open
    const uint8_t* single   # of captures: the value that is one delivery, or NULL
    const uint8_t* single_end

cdef extern from "columns/template.h" nogil:
    int TEMPLATE_MOST
    size_t TEMPLATE_NAME, TEMPLATE_ROOM
    ctypedef struct TemplateEntry:
        uint8_t* json
        uint8_t n, json_n, tag
    ctypedef struct TableTemplate:
        int n
        uint32_t misses
        TemplateEntry* entry
    void template_entry(TemplateEntry* e, const uint8_t* p)
    bint template_here(const TemplateEntry* e, const uint8_t* p)

# Columns as a decode asks for them, beside those with a number of their own.
cdef struct SinkColumns:
    uint8_t[N_COLUMNS] written  # numbers of those that have a BlockWriter
    int n_written
    int picks               # columns from here on are those of arguments
    int wants               # and from here on those of headers
    const Wanted* wanted
    int n_wanted
    const uint8_t** found   # where they are in the table at hand
    bint any_property       # some column takes something of property lists
    Atomic* sizes           # of each column in the decode before: see update_sizes
    uint8_t* names          # views of the names of methods, or zeros

# The bytes that are decoded, and how far that is.
cdef struct SinkInput:
    const uint8_t* start
    const uint8_t* end
    const uint8_t* fast_end # frames that end before it may take the fast path
    const uint8_t* v1_end   # those of AMQP 1.0
    const uint8_t* next     # where the next frame would go on with the borrowed ones
    bint borrow             # the input lives as long as the table: frames need no copy
    bint whole              # a message does not go on in the next value
    uint64_t total          # bytes
    uint64_t seen           # bytes that were looked at
    uint64_t done           # bytes whose rows are made
    PyObject* progress      # a list of who is told of it and then of what that raised, or NULL
    uint64_t told           # with one: the bytes that it is told of next

# How frames are read.
cdef struct SinkOptions:
    int mode
    uintptr_t reading       # dialect
    const int8_t* shapes    # of table values
    const int8_t* type_numbers
    bint check              # every frame, whole, whatever columns are asked for
    bint fast               # try the fast readers
    bint runs               # the columns asked for may be written by runs

# Sections of messages of AMQP 1.0 that are asked for.
cdef struct SinkSections:
    int mask                # those that are read; 0 with other columns
    uint32_t header         # fields, as bit masks
    uint32_t properties
    bint own_columns        # the columns are 1.0's own

# What the newest property list consists of.
cdef struct PropertySteps:
    uint32_t key            # class id, flags
    int n                   # -1: there was none
    PropertyStep[16] step

# Messages one after another with one method and flags.
cdef struct AlikeMessages:
    int n
    uint32_t flags
    const MethodPlan* plan

# All that a decode works with. Columns that were not asked for are NULL.
cdef struct Sink:
    Table* table
    Column* asked[N_COLUMNS]    # those of both families, and of 0-x
    SinkColumns columns
    SinkInput input
    SinkOptions options
    ProtocolPlan protocol   # of the frames at hand
    uint8_t protocol_number # and its number
    ProtocolPlan[MAX_PROTOCOLS] protocol_plan
    uint32_t key            # the newest method: class id, method id
    const MethodPlan* plan
    PropertySteps steps
    Cursor c                # on the frame at hand
    Fault fault
    int64_t fault_row
    AmqpValue[MAX_FIELDS] v
    V1Value[V1_MAX_FIELDS] fields
    SinkSections sections
    V1Links* links          # deliveries of AMQP 1.0 that more transfers are to come for
    int waiting             # at 1.0's message level: rows in the block
    Assembly* assembly      # at message level
    int status
    int64_t rows
    uint64_t blocks
    uint64_t empty          # elements of arrays without bytes, in all rows so far
    bint unusual_block      # the block has frames without type or channel
    Variants* variants      # working memory, or NULL
    AlikeMessages alike
    Run run                 # from here on memory is not cleared
    TableTemplate headers   # of the newest messages
    Entry[BLOCK] block
