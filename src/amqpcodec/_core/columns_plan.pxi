# Frame-level columns: which there are, what decoding to them needs to know, and its working memory.

cdef enum:
    COL_ROW
    COL_OFFSET
    COL_TYPE
    COL_CHANNEL
    COL_METHOD
    COL_ARGUMENTS
    COL_PROPERTIES
    COL_BODY_SIZE
    COL_PAYLOAD
    COL_FRAME
    COL_ERROR
    COL_ERROR_OFFSET
    N_COLUMNS               # the children of properties come behind these

cdef dict COLUMN_NUMBERS = {
    "row": COL_ROW, "offset": COL_OFFSET, "frame_type": COL_TYPE, "channel": COL_CHANNEL,
    "method": COL_METHOD, "arguments": COL_ARGUMENTS, "properties": COL_PROPERTIES,
    "body_size": COL_BODY_SIZE, "payload": COL_PAYLOAD, "frame": COL_FRAME, "error": COL_ERROR,
    "error_offset": COL_ERROR_OFFSET,
}
cdef dict COLUMN_KINDS = {
    "l": AS_INT64, "tsu:UTC": AS_INT64, "i": AS_INT32, "b": AS_BOOL, "u": AS_TEXT, "z": AS_TEXT,
    "+s": AS_STRUCT,
}

cdef enum:
    PERMISSIVE
    DROPMALFORMED
    FAILFAST

cdef dict BAD_ROW_MODES = {
    "PERMISSIVE": PERMISSIVE, "DROPMALFORMED": DROPMALFORMED, "FAILFAST": FAILFAST}

# What a decode came to, apart from 0, NO_MEMORY and COLUMN_FULL.
cdef enum:
    BAD_FRAME = 2           # of one frame: the fault says why
    BAD_OFFSETS = -3        # of the Arrow array
    FAILED = -4             # FAILFAST: the fault says why

cdef enum:
    BLOCK = 128             # frames
    AHEAD = 16384           # octets to ask for in advance: about a block
    HIGHEST_SECOND = 9223372036854      # that int64 microseconds reach

cdef uint64_t HIGHEST_INT64 = 0x7FFFFFFFFFFFFFFF

# A frame of the block, or octets that are none.
cdef struct Entry:
    const uint8_t* start
    const uint8_t* base     # of its input value
    uint64_t total          # octets, envelope included
    int64_t row             # of the input value
    uint64_t lost           # of captures, where it is not whole: see LOST_TEXTS
    uint16_t channel
    uint8_t type            # 0 where it is not known
    uint8_t way             # the type where the fast way may be tried, else 0
    uint8_t whole           # else the framing is lost, or the type undefined
    uint8_t has_channel

# What the JSON and the columns need to know of a field.
cdef struct FieldPlan:
    const char* key         # `,"consumer_tag":`
    uint32_t key_n
    bint reserved
    uint8_t kind            # wire type
    uint8_t bit             # as in Op
    uint8_t run
    uint16_t child          # of a property: its column
    uint32_t child_at       # octets from the first column to that one

cdef struct MethodPlan:
    const char* name        # padded
    uint32_t name_n
    uint32_t fixed          # octets that all keys take
    int n
    FieldPlan* field


cdef class FramePlan:
    """What decoding a protocol's frames to columns needs, made once from its lowered table."""

    cdef tuple columns          # (name, format, children) of each, in order
    cdef MethodPlan* method     # as the protocol's descriptors
    cdef FieldPlan* field
    cdef uint8_t* kind          # of all columns, children behind
    cdef int n                  # of all columns
    cdef int n_children
    cdef list keep

    def __dealloc__(self):
        free(self.method)
        free(self.field)
        free(self.kind)


cdef FramePlan make_frame_plan(Protocol protocol):
    cdef FramePlan plan = FramePlan.__new__(FramePlan)
    cdef DescTable descs = protocol.descs
    cdef Desc* d
    cdef int i, k, n = 0
    cdef bytes key
    plan.keep = []
    plan.columns = protocol.table["columns"]["frame"]
    children = ()
    for name, format_, below in plan.columns:
        if name == "properties":
            children = below
    plan.n_children = <int>len(children)
    plan.n = N_COLUMNS + plan.n_children
    for i in range(descs.count):
        n += descs.desc[i].n
    plan.method = <MethodPlan*>calloc(<size_t>max(descs.count, 1), sizeof(MethodPlan))
    plan.field = <FieldPlan*>calloc(<size_t>max(n, 1), sizeof(FieldPlan))
    plan.kind = <uint8_t*>calloc(<size_t>plan.n, 1)
    if plan.method == NULL or plan.field == NULL or plan.kind == NULL:
        raise MemoryError
    for name, format_, _ in plan.columns:
        plan.kind[<int>COLUMN_NUMBERS[name]] = COLUMN_KINDS[format_]
    child_of = {}
    for i, (_, format_, sources) in enumerate(children):
        plan.kind[N_COLUMNS + i] = COLUMN_KINDS[format_]
        for source in sources:
            child_of[source] = N_COLUMNS + i
    reserved = {}
    for cls in protocol.table["classes"]:
        for method in cls["methods"]:
            for i, field in enumerate(method["fields"]):
                if field[2] & FIELD_RESERVED:
                    reserved[cls["index"], method["index"], i] = True
    n = 0
    for i in range(descs.count):
        d = &descs.desc[i]
        key = (<bytes>d.name) + bytes(COPY_SLACK)
        plan.keep.append(key)
        plan.method[i].name = PyBytes_AS_STRING(key)
        plan.method[i].name_n = <uint32_t>len(key) - COPY_SLACK
        plan.method[i].field = &plan.field[n]
        plan.method[i].n = d.n
        for k in range(d.n):
            # Padded, so that it can be copied by whole words.
            key = b',"' + (<bytes>d.field[k]) + b'":' + bytes(2 * COPY_SLACK)
            plan.keep.append(key)
            plan.field[n].key = PyBytes_AS_STRING(key)
            plan.field[n].key_n = <uint32_t>len(key) - 2 * COPY_SLACK
            plan.field[n].kind = d.op[k].kind
            plan.field[n].bit = d.op[k].bit
            plan.field[n].run = d.op[k].run
            plan.field[n].reserved = (d.class_id, d.method_id, k) in reserved
            if d.method_id == 0:
                plan.field[n].child = child_of[d.class_id, k]
                plan.field[n].child_at = <uint32_t>(plan.field[n].child * sizeof(Column))
            plan.method[i].fixed += plan.field[n].key_n
            n += 1
    return plan


# All that a decode works with. Columns that were not asked for are NULL.
cdef struct Sink:
    Table* table
    Column* row
    Column* offset
    Column* type
    Column* channel
    Column* method
    Column* arguments
    Column* properties
    Column* body_size
    Column* payload
    Column* frame
    Column* error
    Column* error_offset
    const MethodPlan* methods
    const Desc* descs
    const Slot* slot
    uint32_t slot_mask
    Desc** contents
    int n_contents
    bint check              # every frame, whole, whatever columns are asked for
    bint hot                # try the fast readers
    const uint8_t* hot_end  # frames that end before it may go the fast way
    uint32_t key            # the newest method: class id, method id
    const Desc* desc
    bint odd_block          # the block has frames without type or channel
    int mode
    uintptr_t reading       # dialect
    const uint8_t* input_end
    uint64_t total          # octets of input
    uint64_t done
    int64_t rows
    Cursor c                # on the frame at hand
    Fault fault
    int64_t fault_row
    AmqpValue[MAX_FIELDS] v
    Entry[BLOCK] block
