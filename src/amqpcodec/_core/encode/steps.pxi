# The fast path, its plan: the steps in which a block of rows of one method is written, column by column.

cdef extern from "encode/block.h" nogil:
    void prefetch_bytes(const uint8_t* p, size_t n)
    bint are_utf8(const uint8_t* data, const int32_t* ends, int n)
    uint32_t copy_ends(int32_t* to, const uint8_t* from_, int n)
    bint have_size(const int32_t* ends, int n, uint32_t largest)
    bint same_values(const uint8_t* p, size_t size, int n)
    uint64_t bits_at(const uint8_t* p, int64_t bit, int n)
    void store_low_bytes(uint8_t* w, const uint64_t* value, int n)
    void store_bits_apart(uint8_t* w, uint8_t bits, int shift)

cdef extern from "encode/rows.h" nogil:
    enum:
        PUT_FRAME_END, PUT_SLACK, PUT_TEXT, PUT_LONG, PUT_EACH, PUT_FRONT, PUT_BODY, PUT_BODIES, PUT_END
    ctypedef struct Put:
        const uint8_t* front
        size_t front_n
        const int32_t* ends
        const uint8_t* data
        size_t ahead
        uint8_t** at
        uint8_t form
        uint8_t wide
        uint8_t number
        uint8_t always
        uint32_t prefix_n
        const uint8_t* prefix
        const uint64_t* value
        const uint32_t* sizes
        uint64_t mask
    void copy_32(uint8_t* w, const uint8_t* p)
    uint8_t* store_rows(uint8_t* w, const Put* puts, int32_t* ends, size_t i, size_t n, bint tight, size_t ahead)
    void store_numbers(uint8_t** at, size_t on, int n, const uint8_t* value, int width)

cdef enum:
    FAST_ROWS = 64           # as encode/block.h has it
    FAST_STEPS = 80
    FAST_LEAST_ROWS = 4      # below, it is not worth it
    FAST_CONSTANTS = 8192    # bytes of names and defaults
    FAST_SAME = 255          # of a value that all rows have
    FRONT_ROOM = 32768      # of all that, at most, and lengths and numbers
    FRONT_SLACK = 64        # bytes that may be written after what all rows have

if PUT_FRAME_END != FRAME_END:
    raise ImportError("encode/rows.h: PUT_FRAME_END is not the protocol's frame-end")

# What a step writes, after its prefix.
cdef enum:
    STEP_SHORT              # u8 length, bytes
    STEP_LONG               # u32 length, bytes
    STEP_RAW                # bytes
    STEP_NUMBER             # `width` bytes
    STEP_INT                # of a table: tag and 4 or 8 bytes
    STEP_BITS               # one byte, of up to eight columns
    STEP_LENGTH             # u32: of the table whose entries follow

cdef enum:
    PART_ARGUMENTS
    PART_PROPERTIES
    PART_TABLE              # entries of it

# How a step gets into the rows of the block at hand.
cdef enum:
    WAY_NONE                # no row has it
    WAY_SAME                # the same bytes in all rows
    WAY_TEXTS               # values one after another in a column
    WAY_VALUES              # numbers, the same width in all rows
    WAY_EACH                # row by row: some may not have it
    WAY_TABLE               # the length of what follows

# A place in the rows of the block at hand: so far after an address in each.
cdef struct PutPlace:
    uint8_t** at
    size_t on

# A piece of every row. Steps are in the order of the wire.
cdef struct FastStep:
    uint8_t what
    uint8_t part
    uint8_t wire            # type of a field; 0xFF for entries of tables
    uint8_t width
    bint is_table           # JSON text, a map or a struct as a whole
    uint16_t flag           # of a property
    const Source* s
    const Source* parent    # whose null hides it, or NULL
    const Source* bits[8]
    const uint8_t* prefix
    uint32_t prefix_n
    # of the block at hand
    uint64_t mask           # rows that have it
    uint8_t way
    bint far                # some are of more than 255 bytes
    uint8_t constant[8]     # a number that all rows have
    const uint8_t* data     # the value, numbers, or what `ends` counts from
    const int32_t* ends     # of WAY_TEXTS: our copy
    uint32_t size           # of a value
    PutPlace place          # of numbers

# The block of rows at hand: what varies in it, and where it goes.
cdef struct FastBlock:
    uint64_t room           # bytes of values that are not the same in all rows
    size_t safe             # rows after whose values there are PUT_SLACK bytes more
    uint16_t flags_same
    bint flags_vary
    uint16_t flags[FAST_ROWS]
    uint64_t table_rows     # that have a table of entries
    bint channels_vary
    uint16_t channel[FAST_ROWS]
    uint8_t body_form       # how bodies are put
    uint64_t body[FAST_ROWS]     # where each is; only the first, and the
    uint32_t body_n[FAST_ROWS]   # sizes, where they lie one after another
    int32_t body_ends[FAST_ROWS + 1]
    PutPlace start          # of a row
    PutPlace method_end     # the byte that says so
    PutPlace header_end
    PutPlace opened         # a table of entries, and where it
    PutPlace closed
    size_t front_from       # what all rows have next begins here, up to front_n
    size_t front_n
    uint8_t** front_at      # where it stands in each row, if that is asked for
    int n_at
    int n_put
    Put put[2 * FAST_STEPS + 2]
    uint64_t value[FAST_STEPS][FAST_ROWS]     # numbers, or where bytes begin
    uint32_t sizes[FAST_STEPS][FAST_ROWS]
    uint8_t* at[FAST_STEPS + 1][FAST_ROWS]    # places
    uint8_t front[FRONT_ROOM + FRONT_SLACK]    # what all rows have

cdef struct FastPlan:
    bint possible
    const Desc* desc
    uintptr_t mode          # dialect of the plan
    int n_steps
    int n_arguments         # the first steps
    int n_foreign           # columns that must say nothing
    const Source** foreign
    const uint8_t* head     # of the method frame, with constants
    uint32_t head_n
    const uint8_t* tail     # constants after the last step of the method
    uint32_t tail_n
    uint8_t* constants
    size_t constants_n
    FastStep step[FAST_STEPS]
    FastBlock block


cdef inline uint64_t first_rows(int n) noexcept nogil:
    return ~<uint64_t>0 >> (64 - n)


cdef inline uint64_t valid_rows(const Source* s, int64_t row, int n) noexcept nogil:
    """Which of n (1 to 64) rows have a value: a bit each."""
    if s.input_type == IN_NULL:
        return 0
    if s.valid == NULL:
        return first_rows(n)
    return bits_at(s.valid, s.at + row, n)


# ---- steps, once for a method ----

cdef FastStep* add_fast_step(FastPlan* h, uint8_t what, uint8_t part, const Source* s, size_t* pending) noexcept nogil:
    """The next one, with the constants since the last as its prefix; or NULL."""
    cdef FastStep* t
    if h.n_steps == FAST_STEPS:
        return NULL
    t = &h.step[h.n_steps]
    h.n_steps += 1
    memset(t, 0, sizeof(FastStep))
    t.what = what
    t.part = part
    t.s = s
    t.wire = 0xFF
    t.prefix = h.constants + pending[0]
    t.prefix_n = <uint32_t>(h.constants_n - pending[0])
    close_constants(h, pending)
    return t


cdef void close_constants(FastPlan* h, size_t* pending) noexcept nogil:
    """What follows is another prefix, after bytes that may be read with this one."""
    h.constants_n += 32
    pending[0] = h.constants_n


cdef inline bint add_constant(FastPlan* h, const void* p, size_t n) noexcept nogil:
    if h.constants_n + n + 64 > FAST_CONSTANTS:
        return False
    memcpy(h.constants + h.constants_n, p, n)
    h.constants_n += n
    return True


cdef bint plan_fast_field(FastPlan* h, const Source* s, WireType wire, uint8_t part, size_t* pending) noexcept nogil:
    """A step for an argument or property."""
    cdef FastStep* t = NULL
    if wire == W_SHORTSTR:
        t = add_fast_step(h, STEP_SHORT, part, s, pending)
    elif wire == W_LONGSTR or wire == W_TABLE:
        t = add_fast_step(h, STEP_LONG, part, s, pending)
    elif wire == W_OCTET or wire == W_SHORT or wire == W_LONG or wire == W_LONGLONG or wire == W_TIMESTAMP:
        t = add_fast_step(h, STEP_NUMBER, part, s, pending)
    elif wire == W_CONTENT or wire == W_BIT:
        return False
    if t == NULL:
        return False
    t.wire = <uint8_t>wire
    t.width = <uint8_t>wire_bytes(wire)
    t.is_table = wire == W_TABLE
    return True


cdef bint plan_fast_arguments(Encoder* e, FastPlan* h, const Desc* d) noexcept nogil:
    cdef MethodSources* m = &e.protocol.methods[d - e.protocol.descs]
    cdef uint8_t[16] head
    cdef const Source* s
    cdef FastStep* t
    cdef size_t pending = 0
    cdef bint headed = False
    cdef int k, i, run
    memset(head, 0, 16)
    head[0] = FRAME_METHOD
    store16(head + 7, d.class_id)
    store16(head + 9, d.method_id)
    add_constant(h, head, 11)
    k = 0
    while k < d.n:
        if m.plain[k] != NULL and m.named[k] != NULL:
            return False
        s = m.plain[k] if m.plain[k] != NULL else m.named[k]
        run = d.op[k].run if d.op[k].wire_type == W_BIT else 1
        for i in range(k + 1, k + run):
            if m.plain[i] != NULL and m.named[i] != NULL:
                return False
            if m.plain[i] != NULL or m.named[i] != NULL:
                s = m.plain[i] if m.plain[i] != NULL else m.named[i]
        if s == NULL:
            memset(head, 0, 16)
            if not add_constant(h, head, <size_t>wire_bytes(<WireType>d.op[k].wire_type)):
                return False
            k += run
            continue
        if not headed:
            headed = True
            h.head = h.constants
            h.head_n = <uint32_t>h.constants_n
            close_constants(h, &pending)
        if d.op[k].wire_type == W_BIT:
            t = add_fast_step(h, STEP_BITS, PART_ARGUMENTS, s, &pending)
            if t == NULL:
                return False
            for i in range(run):
                t.bits[i] = m.plain[k + i] if m.plain[k + i] != NULL else m.named[k + i]
            t.width = 1
        elif not plan_fast_field(h, s, <WireType>d.op[k].wire_type, PART_ARGUMENTS, &pending):
            return False
        k += run
    if not headed:
        h.head = h.constants
        h.head_n = <uint32_t>h.constants_n
        close_constants(h, &pending)
    h.tail = h.constants + pending
    h.tail_n = <uint32_t>(h.constants_n - pending)
    close_constants(h, &pending)
    h.n_arguments = h.n_steps
    h.n_foreign = m.n_foreign
    h.foreign = m.foreign
    return True


cdef bint plan_fast_entry(FastPlan* h, const Source* s, const Source* parent, const uint8_t* name, size_t name_n,
                          uintptr_t mode) noexcept nogil:
    """A step for an entry of a table: its name and tag are the prefix."""
    cdef size_t pending = h.constants_n
    cdef uint8_t length = <uint8_t>name_n
    cdef InputType type_ = <InputType>s.input_type
    cdef uint8_t what = STEP_NUMBER
    cdef uint8_t tag
    cdef int form = -1
    cdef FastStep* t
    if name_n > 255 or not add_constant(h, &length, 1) or not add_constant(h, name, name_n):
        return False
    if type_ == IN_BYTES or type_ == IN_LARGE_BYTES or type_ == IN_VIEW or type_ == IN_FIXED_BYTES:
        what = STEP_LONG
        form = FORM_text32 if s.text else bytes_form(mode)
    elif type_ == IN_BOOL:
        form = FORM_boolean
    elif type_ == IN_DOUBLE:
        form = FORM_double
    elif type_ == IN_TIME:
        form = FORM_timestamp
    elif (type_ == IN_INT8 or type_ == IN_UINT8 or type_ == IN_INT16 or type_ == IN_UINT16 or type_ == IN_INT32
            or type_ == IN_UINT32 or type_ == IN_INT64 or type_ == IN_UINT64):
        what = STEP_INT
    elif (type_ == IN_NULL or type_ == IN_HALF or type_ == IN_FLOAT or type_ == IN_DECIMAL or type_ == IN_LIST
            or type_ == IN_LARGE_LIST or type_ == IN_LIST_VIEW or type_ == IN_LARGE_LIST_VIEW
            or type_ == IN_FIXED_LIST or type_ == IN_STRUCT or type_ == IN_MAP or type_ == IN_DICTIONARY
            or type_ == IN_OTHER):
        what = STEP_RAW         # arrow_value writes it, or refuses it
    if form >= 0:
        tag = tag_of(form, mode)
        if not add_constant(h, &tag, 1):
            return False
    t = add_fast_step(h, what, PART_TABLE, s, &pending)
    if t == NULL:
        return False
    if what == STEP_NUMBER:
        t.width = <uint8_t>FORMS[form].shape
    t.parent = parent
    return True


cdef bint plan_fast_properties(Encoder* e, FastPlan* h, const Desc* d) noexcept nogil:
    cdef const PropertySource* found
    cdef const PropertySource* p
    cdef const Source* whole
    cdef size_t pending
    cdef FastStep* t
    cdef int k, i
    if d.n > 15:
        return False
    for k in range(d.n):
        found = NULL
        for i in range(e.sources.n_properties):
            p = &e.sources.properties[i]
            if p.field[e.class_at] == k:
                if found != NULL:
                    return False
                found = p
            elif p.field[e.class_at] < 0:
                return False
        pending = h.constants_n
        if d.op[k].wire_type == W_TABLE and (
                e.sources.n_headers or (found != NULL and found.source.input_type == IN_STRUCT)):
            whole = NULL
            if not e.sources.n_headers:
                whole = found.source
            t = add_fast_step(h, STEP_LENGTH, PART_PROPERTIES, whole, &pending)
            if t == NULL:
                return False
            t.flag = <uint16_t>(0x8000 >> k)
            if e.sources.n_headers:
                for i in range(e.sources.n_headers):
                    if not plan_fast_entry(h, e.sources.header[i].source, NULL, e.sources.header[i].name,
                                           e.sources.header[i].name_n, e.mode):
                        return False
                continue
            t.parent = found.parent
            for i in range(found.source.n_children):
                if not plan_fast_entry(h, &found.source.child[i], found.source,
                                       <const uint8_t*>found.source.child[i].name,
                                       found.source.child[i].name_n, e.mode):
                    return False
            continue
        if found == NULL:
            continue
        if not plan_fast_field(h, found.source, <WireType>d.op[k].wire_type, PART_PROPERTIES, &pending):
            return False
        t = &h.step[h.n_steps - 1]
        t.flag = <uint16_t>(0x8000 >> k)
        t.parent = found.parent
    return True


cdef int make_fast_plan(Encoder* e, const Desc* d) noexcept nogil:
    """Steps for a method; h.possible says whether there are any."""
    cdef FastPlan* h = e.fast_plan
    if h == NULL:
        h = e.fast_plan = <FastPlan*>malloc(sizeof(FastPlan) + FAST_CONSTANTS)
        if h == NULL:
            return NO_MEMORY
        h.constants = <uint8_t*>h + sizeof(FastPlan)
        memset(h.constants, 0, FAST_CONSTANTS)
    h.desc = d
    h.mode = e.mode
    h.n_steps = 0
    h.constants_n = 0
    h.possible = (not e.mode & MODE_OLD and plan_fast_arguments(e, h, d)
                  and (not d.has_content or plan_fast_properties(e, h, d.properties)))
    return 0
