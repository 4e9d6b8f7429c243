# The column sink of the waist: frames to Arrow columns, block by block, no Python object a row.
#
# A block of frames is found first; then each is decoded into the columns that only some rows have;
# then the columns that every row has are written, one after the other.

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
    BLOCK = 256             # frames
    HIGHEST_SECOND = 9223372036854      # that int64 microseconds reach

cdef uint64_t HIGHEST_INT64 = 0x7FFFFFFFFFFFFFFF

# A frame of the block, or octets that are none.
cdef struct Entry:
    const uint8_t* start
    const uint8_t* base     # of its input value
    uint64_t total          # octets, envelope included
    int64_t row             # of the input value
    uint16_t channel
    uint8_t type            # 0 where it is not known
    bint whole              # else the framing is lost, or the type undefined
    bint has_channel

# What the JSON and the columns need to know of a field.
cdef struct FieldPlan:
    const char* key         # `,"consumer_tag":`
    uint32_t key_n
    bint reserved
    int child               # of a property: its column

cdef struct MethodPlan:
    uint32_t name_n
    uint32_t fixed          # octets that all keys take
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
        plan.method[i].name_n = <uint32_t>strlen(d.name)
        plan.method[i].field = &plan.field[n]
        for k in range(d.n):
            key = b',"' + (<bytes>d.field[k]) + b'":'
            plan.keep.append(key)
            plan.field[n].key = PyBytes_AS_STRING(key)
            plan.field[n].key_n = <uint32_t>len(key)
            plan.field[n].reserved = (d.class_id, d.method_id, k) in reserved
            plan.field[n].child = child_of.get((d.class_id, k), -1) if d.method_id == 0 else -1
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
    int mode
    uintptr_t reading       # dialect
    const uint8_t* input_end
    uint64_t total          # octets of input
    uint64_t done
    int64_t rows
    int64_t row_hint        # how many there may be in the end
    Cursor c                # on the frame at hand
    Fault fault
    int64_t fault_row
    AmqpValue[MAX_FIELDS] v
    Entry[BLOCK] block


cdef inline size_t data_hint(const Sink* s, const Column* c) noexcept nogil:
    """Octets that a column may take in the end, guessed from those it takes so far."""
    if s.done == 0:
        return 0
    return <size_t>min(<double>c.used * (<double>s.total / <double>s.done) * 1.07,
                       2.0 * <double>s.total + 65536.0, <double>s.table.limit)


cdef int put_octets_at(Sink* s, Column* c, int64_t row, const void* p, size_t n) noexcept nogil:
    cdef int status = append_octets(s.table, c, row, p, n, s.row_hint,
                                    data_hint(s, c) if c.data.room < c.used + n + 16 else 0)
    return status


cdef inline int begin_text(Sink* s, Text* out, Column* c) noexcept nogil:
    return text_begin(out, c, s.input_end, data_hint(s, c) if c.data.room < c.used + 64 else 0)


# ---- faults that only columns have ----

cdef int note(Sink* s, const Desc* d, int i, int code, const char* what, const uint8_t* at,
              uint64_t value) noexcept nogil:
    """A field that no column can hold: the row's fault, unless it has one."""
    cdef const uint8_t* p = s.c.p
    if s.fault.code == OK:
        s.c.p = at
        fail(&s.c, code, what, value, 0)
        if d != NULL:
            place_fault(d, &s.c, i)
        s.c.p = p
    return 0


cdef int note_text(Sink* s, const Desc* d, int i) noexcept nogil:
    return note(s, d, i, BAD_TEXT, b"shortstr", s.v[i].p, 0)


# ---- arguments ----

cdef inline bint is_zero(const AmqpValue* v) noexcept nogil:
    if v.kind >= W_SHORTSTR and v.kind != W_TIMESTAMP:
        return v.n == 0
    return v.u == 0


cdef int write_arguments_json(Sink* s, const Desc* d, const FieldPlan* field, uint32_t fixed,
                              Text* t) noexcept nogil:
    """A JSON object of all arguments; reserved ones only where they are not zero."""
    cdef int i, status
    cdef bint first = True
    cdef const AmqpValue* v
    if text_room(t, fixed + 24 * <size_t>d.n + 2) < 0:
        return NO_MEMORY
    t.w[0] = c'{'
    t.w += 1
    for i in range(d.n):
        v = &s.v[i]
        if field[i].reserved and is_zero(v):
            continue
        if text_room(t, field[i].key_n + 24) < 0:
            return NO_MEMORY
        memcpy(t.w, field[i].key + first, field[i].key_n - first)
        t.w += field[i].key_n - first
        first = False
        if v.kind == W_SHORTSTR:
            status = json_string(t, v.p, v.n)
            if AMQP_UNLIKELY(status == NOT_UTF8):
                note_text(s, d, i)
                status = json_literal(t, b"null", 4)
        elif v.kind == W_BIT:
            if v.u:
                memcpy(t.w, <const char*>b"true", 4)
                t.w += 4
            else:
                memcpy(t.w, <const char*>b"false", 5)
                t.w += 5
            status = 0
        elif v.kind == W_TABLE:
            status = json_table(t, v.p, v.n, s.reading)
        elif v.kind == W_LONGSTR:
            status = json_octets(t, v.p, v.n)
        elif v.kind == W_TIMESTAMP:
            status = json_timestamp(t, v.u)
        else:
            t.w = put_u64(t.w, v.u)
            status = 0
        if status < 0:
            return status
    return json_literal(t, b"}", 1)


cdef int check_text(Sink* s, const Desc* d) noexcept nogil:
    """Note the first shortstr that is not UTF-8."""
    cdef int i
    for i in range(d.n):
        if s.v[i].kind == W_SHORTSTR and not is_utf8(s.v[i].p, s.v[i].n):
            note_text(s, d, i)
    return 0


cdef inline const Desc* find_method(const Sink* s, uint32_t key) noexcept nogil:
    cdef uint32_t i = slot_index(key) & s.slot_mask
    while s.slot[i].desc != NULL:
        if s.slot[i].key == key:
            return s.slot[i].desc
        i = (i + 1) & s.slot_mask
    return NULL


cdef int take_method(Sink* s, const Entry* e, int64_t row) noexcept nogil:
    cdef const Desc* d
    cdef const MethodPlan* m
    cdef Text text
    cdef int status
    cdef bint odd
    if AMQP_UNLIKELY(e.total < 12):
        fail(&s.c, BAD_TRUNCATED, b"class id and method id", 4, 0)
        return BAD_FRAME
    d = find_method(s, load32(s.c.p))
    if AMQP_UNLIKELY(d == NULL):
        fail(&s.c, BAD_METHOD, NULL, 0, 0)
        s.fault.class_id = load16(s.c.p)
        s.fault.method_id = load16(s.c.p + 2)
        return BAD_FRAME
    m = &s.methods[d - s.descs]
    if s.method != NULL:
        status = put_octets_at(s, s.method, row, d.name, m.name_n)
        if status < 0:
            return status
    if s.arguments == NULL and not s.check:
        return 0
    s.c.p += 4
    if read_arguments(d, &s.c, s.v, s.reading, &odd) < 0:
        return BAD_FRAME
    if s.arguments == NULL:
        check_text(s, d)
    else:
        status = begin_text(s, &text, s.arguments)
        if status == 0:
            status = write_arguments_json(s, d, m.field, m.fixed, &text)
        if status == 0:
            status = text_commit(s.table, &text, s.arguments, row, s.row_hint)
        if status < 0:
            return status
    return BAD_FRAME if s.fault.code != OK else 0


# ---- content headers ----

cdef inline const Desc* find_properties(const Sink* s, uint16_t class_id) noexcept nogil:
    cdef int i
    for i in range(s.n_contents):
        if s.contents[i].class_id == class_id:
            return s.contents[i]
    return NULL


cdef int note_range(Sink* s, const Desc* d, int i, const uint8_t* start) noexcept nogil:
    """Note a property whose number is too large. start: of the property list."""
    cdef Fault unused
    cdef Cursor c = s.c
    cdef AmqpValue v
    cdef int k
    c.p = start
    c.fault = &unused
    while load16(c.p) & 1:      # flag words
        c.p += 2
    c.p += 2
    for k in range(i):
        if s.v[k].present and s.v[k].kind != W_BIT:
            read_one(&d.op[k], &c, &v, s.reading)
    return note(s, d, i, BAD_RANGE, WIRE_NAMES[s.v[i].kind], c.p, s.v[i].u)


cdef int put_property(Sink* s, const Desc* d, int i, const uint8_t* start, Column* c,
                      int64_t row) noexcept nogil:
    """A property that is there, into its column. c: NULL to check it only. start: of the list."""
    cdef const AmqpValue* v = &s.v[i]
    cdef Text text
    cdef int status
    if v.kind == W_SHORTSTR:
        if c == NULL:
            status = 0 if is_utf8(v.p, v.n) else NOT_UTF8
        else:
            status = append_utf8(s.table, c, row, v.p, v.n, s.input_end, s.row_hint,
                                 data_hint(s, c) if c.data.room < c.used + v.n + 16 else 0)
        if AMQP_UNLIKELY(status == NOT_UTF8):
            return note_text(s, d, i)
        return status
    if v.kind == W_TIMESTAMP:
        if AMQP_UNLIKELY(v.u > <uint64_t>HIGHEST_SECOND):
            return note_range(s, d, i, start)
        return 0 if c == NULL else append_i64(c, row, <int64_t>(v.u * 1000000), s.row_hint)
    if v.kind == W_LONGLONG and v.u > HIGHEST_INT64:
        return note_range(s, d, i, start)
    if c == NULL:
        return 0
    if v.kind == W_TABLE:
        status = begin_text(s, &text, c)
        if status == 0:
            status = json_table(&text, v.p, v.n, s.reading)
        return text_commit(s.table, &text, c, row, s.row_hint) if status == 0 else status
    if v.kind == W_OCTET or v.kind == W_SHORT:
        return append_i32(c, row, <int32_t>v.u, s.row_hint)
    if v.kind == W_LONG or v.kind == W_LONGLONG:
        return append_i64(c, row, <int64_t>v.u, s.row_hint)
    if v.kind == W_BIT:
        return append_bool(c, row, v.u != 0, s.row_hint)
    return put_octets_at(s, c, row, v.p, v.n)


cdef int take_header(Sink* s, const Entry* e, int64_t row) noexcept nogil:
    cdef const Desc* d
    cdef const FieldPlan* field
    cdef Column* c
    cdef uint64_t body_size
    cdef int i, status
    cdef bint odd
    if AMQP_UNLIKELY(e.total < 20):
        fail(&s.c, BAD_TRUNCATED, b"content header", 12, 0)
        return BAD_FRAME
    d = find_properties(s, load16(s.c.p))
    if AMQP_UNLIKELY(d == NULL):
        fail(&s.c, BAD_HEADER_CLASS, NULL, 0, 0)
        s.fault.class_id = load16(s.c.p)
        s.fault.offset = <uint64_t>(e.start - e.base)
        return BAD_FRAME
    body_size = load64(s.c.p + 4)
    if AMQP_UNLIKELY(body_size > HIGHEST_INT64):
        note(s, NULL, 0, BAD_RANGE, b"body size", s.c.p + 4, body_size)
    elif s.body_size != NULL and append_i64(s.body_size, row, <int64_t>body_size, s.row_hint) < 0:
        return NO_MEMORY
    if s.properties == NULL and not s.check:
        return BAD_FRAME if s.fault.code != OK else 0
    s.c.p += 12
    if read_properties(d, &s.c, s.v, s.reading, &odd) < 0:
        return BAD_FRAME
    if s.properties != NULL and column_at(s.properties, row, s.row_hint) < 0:
        return NO_MEMORY
    field = s.methods[d - s.descs].field
    for i in range(d.n):
        if not s.v[i].present:
            continue
        c = NULL if s.properties == NULL else s.table.column + field[i].child
        status = put_property(s, d, i, e.start + 19, c, row)
        if status < 0:
            return status
    return BAD_FRAME if s.fault.code != OK else 0


# ---- a frame ----

cdef int take_frame(Sink* s, Entry* e, int64_t row) noexcept nogil:
    """Into the columns that not every row has; 0, BAD_FRAME or a status below 0."""
    cdef WireFrame f
    cdef uint64_t at = <uint64_t>(e.start - e.base)
    s.fault.code = OK
    s.fault.method = NULL
    s.fault.field = NULL
    if AMQP_UNLIKELY(not e.whole):
        if scan_frame(e.start, e.start + e.total, 0, at, &f, &s.fault) == SCAN_MORE:
            s.fault.code = BAD_INCOMPLETE
            s.fault.scope = SCOPE_CONNECTION
            s.fault.what = b"a frame"
            s.fault.have = e.total
            s.fault.offset = at
            s.fault.in_frame = e.has_channel
            s.fault.frame_type = e.type
            s.fault.channel = e.channel
        return BAD_FRAME
    s.c.p = e.start + 7
    s.c.end = e.start + e.total - 1
    s.c.base = e.base
    if e.type == FRAME_METHOD:
        return take_method(s, e, row)
    if e.type == FRAME_HEADER:
        return take_header(s, e, row)
    if e.type == FRAME_BODY:
        if s.payload != NULL:
            return put_octets_at(s, s.payload, row, e.start + 7, e.total - 8)
        return 0
    if e.type == FRAME_HEARTBEAT and (e.total != 8 or e.channel != 0):
        s.fault.code = BAD_HEARTBEAT
        s.fault.scope = SCOPE_FRAME
        s.fault.have = e.total - 8
        s.fault.offset = at
        s.fault.channel = e.channel
        return BAD_FRAME
    return 0


cdef int put_error(Sink* s, int64_t row) noexcept nogil:
    cdef char[FAULT_TEXT_SIZE] text
    cdef int n
    cdef int status = 0
    if s.error != NULL:
        n = fault_text(&s.fault, text, FAULT_TEXT_SIZE)
        # A long name from an XML file may have been cut inside of a letter.
        while not is_utf8(<const uint8_t*>text, <size_t>n):
            n -= 1
        status = put_octets_at(s, s.error, row, text, <size_t>n)
    if status == 0 and s.error_offset != NULL:
        status = append_i64(s.error_offset, row, <int64_t>s.fault.offset, s.row_hint)
    return status


cdef int take_block(Sink* s, int n) noexcept nogil:
    """Decode the block's frames; how many became rows, or a status below 0."""
    cdef int i, kept = 0, status
    cdef Entry* e
    for i in range(n):
        e = &s.block[i]
        status = take_frame(s, e, s.rows + kept)
        if AMQP_UNLIKELY(status != 0):
            if status < 0:
                return status
            if e.whole:
                s.fault.in_frame = True
                s.fault.frame_type = e.type
                s.fault.channel = e.channel
            if s.mode == FAILFAST:
                s.fault_row = e.row
                return FAILED
            if s.mode == DROPMALFORMED:
                table_rewind(s.table, s.rows + kept)
                continue
            status = put_error(s, s.rows + kept)
            if status < 0:
                return status
        if kept != i:
            s.block[kept] = e[0]
        kept += 1
    return kept


# ---- columns that every row has ----

cdef int type_number(uint8_t t) noexcept nogil:
    """Which of FRAME_TYPE_NAMES, or -1."""
    if 1 <= t <= 3:
        return t - 1
    if t == FRAME_HEARTBEAT:
        return 3
    if t == c'A':
        return 4
    return -1

cdef const char** FRAME_TYPE_NAMES = ["method", "header", "body", "heartbeat", "protocol-header"]


cdef int write_types(Sink* s, int n) noexcept nogil:
    cdef int i, k, status
    for i in range(n):
        k = type_number(s.block[i].type)
        if AMQP_LIKELY(k >= 0):
            status = put_octets_at(s, s.type, s.rows + i, FRAME_TYPE_NAMES[k],
                                   strlen(FRAME_TYPE_NAMES[k]))
            if status < 0:
                return status
    return 0


cdef int write_frames(Sink* s, int n) noexcept nogil:
    """Neighbours in the input are copied together."""
    cdef Column* c = s.frame
    cdef Entry* e = s.block
    cdef Entry* end = e + n
    cdef const uint8_t* start
    cdef int32_t* offsets
    cdef uint64_t size = 0
    cdef int i, status
    for i in range(n):
        size += e[i].total
    status = data_room(s.table, c, size, s.total)
    if status < 0:
        return status
    if s.rows + n > c.rows and column_grow(c, s.rows + n, s.row_hint) < 0:
        return NO_MEMORY
    offsets = <int32_t*>c.fixed.p + s.rows + 1
    while e < end:
        start = e.start
        size = 0
        while True:
            size += e.total
            offsets[0] = <int32_t>(c.used + size)
            offsets += 1
            e += 1
            if e == end or e.start != start + size:
                break
        memcpy(c.data.p + c.used, start, size)
        c.used += size
    c.filled += n
    c.present += n
    return 0


cdef int write_int64s(Sink* s, Column* c, int n) noexcept nogil:
    """Input row, or offset in the input value."""
    cdef int64_t* out
    cdef int i
    if s.rows + n > c.rows and column_grow(c, s.rows + n, s.row_hint) < 0:
        return NO_MEMORY
    out = <int64_t*>c.fixed.p + s.rows
    if c == s.row:
        for i in range(n):
            out[i] = s.block[i].row
    else:
        for i in range(n):
            out[i] = s.block[i].start - s.block[i].base
    c.filled += n
    c.present += n
    return 0


cdef int write_block(Sink* s, int n) noexcept nogil:
    cdef int i, status = 0
    if s.row != NULL:
        status = write_int64s(s, s.row, n)
    if status == 0 and s.offset != NULL:
        status = write_int64s(s, s.offset, n)
    if status == 0 and s.channel != NULL:
        for i in range(n):
            if s.block[i].has_channel:
                if append_i32(s.channel, s.rows + i, s.block[i].channel, s.row_hint) < 0:
                    return NO_MEMORY
    if status == 0 and s.type != NULL:
        status = write_types(s, n)
    if status == 0 and s.frame != NULL:
        status = write_frames(s, n)
    return status


cdef int flush_block(Sink* s, int n, uint64_t seen) noexcept nogil:
    """Make rows of the frames that were found. seen: octets of input up to here."""
    cdef int status
    if n == 0:
        return 0
    s.row_hint = s.rows + n
    if seen < s.total:
        s.row_hint = <int64_t>(<double>s.row_hint * (<double>s.total / <double>seen) * 1.07) + 64
        s.row_hint = min(s.row_hint, s.rows + n + <int64_t>(s.total - seen))
    status = take_block(s, n)
    if status > 0:
        n = status
        status = write_block(s, n)
        s.rows += n
    s.done = seen
    return status


# ---- the loop ----

cdef const uint8_t* find_frame(Entry* e, const uint8_t* p, const uint8_t* end, Fault* fault) noexcept nogil:
    """The frame at p: where the next one starts. e.start, e.base and e.row are set by the caller."""
    cdef WireFrame f
    cdef int found = scan_frame(p, end, 0, 0, &f, fault)
    if AMQP_LIKELY(found == SCAN_FRAME):
        e.type = f.type
        e.channel = f.channel
        e.total = f.total
        e.whole = True
        e.has_channel = True
        return p + f.total
    e.whole = False
    e.type = 0
    e.channel = 0
    e.has_channel = False
    if found == SCAN_BAD and fault.scope == SCOPE_FRAME:
        e.channel = f.channel       # the type is undefined, the frame is not
        e.has_channel = True
        e.total = f.total
        return p + f.total
    e.total = <uint64_t>(end - p)
    if e.total >= 7 and is_known_type(p[0]):
        e.type = p[0]
        e.channel = load16(p + 1)
        e.has_channel = True
    return end


cdef int decode_values(Sink* s, const Values* values) noexcept nogil:
    """All frames of all values."""
    cdef int64_t i
    cdef int n = 0, status
    cdef uint64_t from_, to
    cdef uint64_t first = value_end(values, 0) if values.n else 0
    cdef const uint8_t* base
    cdef const uint8_t* p
    cdef const uint8_t* end
    cdef Fault fault
    s.total = values.last - first
    s.input_end = values.data + values.last
    to = first
    for i in range(values.n):
        from_ = to
        to = value_end(values, i + 1)
        if AMQP_UNLIKELY(to < from_ or to > values.last):
            return BAD_OFFSETS
        if AMQP_UNLIKELY(not value_present(values, i)):
            continue
        p = base = values.data + from_
        end = values.data + to
        while p < end:
            s.block[n].start = p
            s.block[n].base = base
            s.block[n].row = i
            p = find_frame(&s.block[n], p, end, &fault)
            n += 1
            if n == BLOCK:
                status = flush_block(s, n, <uint64_t>(p - values.data) - first)
                if status < 0:
                    return status
                n = 0
    status = flush_block(s, n, s.total)
    return status if status < 0 else table_finish(s.table, s.rows)


# ---- what batch.py calls ----

cdef FramePlan frame_plan(Protocol protocol):
    if protocol.frame_plan is None:
        protocol.frame_plan = make_frame_plan(protocol)
    return <FramePlan>protocol.frame_plan


cdef tuple choose_columns(FramePlan plan, object fields):
    """The columns that were asked for, in that order."""
    cdef list chosen
    if fields is None:
        return plan.columns
    if isinstance(fields, (str, bytes)):
        raise TypeError(f"fields takes names of columns in a list, not {type(fields).__name__}")
    known = {column[0]: column for column in plan.columns}
    chosen = []
    seen = set()
    for name in fields:
        if not isinstance(name, str):
            raise TypeError(f"fields takes names of columns, not {type(name).__name__}")
        if name in seen:
            raise ValueError(f"fields names {name!r} twice")
        seen.add(name)
        if name not in known:
            raise ValueError(f"no column {name!r} at frame level; there is {', '.join(known)} "
                             "(arguments, properties and headers cannot be named one by one yet)")
        chosen.append(known[name])
    return tuple(chosen)


cdef tuple schema_columns(tuple columns):
    """(name, format, children) all the way down."""
    return tuple([(name, format_, tuple([(child[0], child[1], ()) for child in children]))
                  for name, format_, children in columns])


def columns_schema(Protocol protocol not None, fields):
    """See amqpcodec.batch.schema."""
    cdef Schema schema = Schema.__new__(Schema)
    schema.columns = schema_columns(choose_columns(frame_plan(protocol), fields))
    return schema


cdef Columns new_columns(FramePlan plan, tuple chosen, int64_t limit):
    """Columns without rows."""
    cdef Columns out = Columns.__new__(Columns)
    cdef Column* c
    cdef int i, k
    out.table = table_new(plan.n, limit)
    out.n = <int>len(chosen)
    out.order = <int*>calloc(<size_t>max(out.n, 1), sizeof(int))
    if out.table == NULL or out.order == NULL:
        raise MemoryError
    out.columns = schema_columns(chosen)
    for i in range(plan.n):
        c = &out.table.column[i]
        c.kind = plan.kind[i]
        c.nullable = i not in (COL_ROW, COL_OFFSET, COL_FRAME)
    for i in range(out.n):
        k = COLUMN_NUMBERS[chosen[i][0]]
        out.order[i] = k
        c = &out.table.column[k]
        c.asked = True
        if k == COL_PROPERTIES:
            c.first = N_COLUMNS
            c.n_children = plan.n_children
            for k in range(plan.n_children):
                out.table.column[N_COLUMNS + k].asked = True
    return out


cdef uint8_t NO_OCTETS = 0


cdef inline Column* if_asked(Table* t, int k) noexcept nogil:
    return &t.column[k] if t.column[k].asked else NULL


cdef int fill_columns(Protocol protocol, FramePlan plan, Columns out, Values* values, int mode,
                      uintptr_t reading) except -1:
    cdef Table* t = out.table
    cdef Sink* s = <Sink*>calloc(1, sizeof(Sink))
    cdef int status
    if s == NULL:
        raise MemoryError
    if values.data == NULL:
        values.data = &NO_OCTETS
    try:
        s.table = t
        s.row = if_asked(t, COL_ROW)
        s.offset = if_asked(t, COL_OFFSET)
        s.type = if_asked(t, COL_TYPE)
        s.channel = if_asked(t, COL_CHANNEL)
        s.method = if_asked(t, COL_METHOD)
        s.arguments = if_asked(t, COL_ARGUMENTS)
        s.properties = if_asked(t, COL_PROPERTIES)
        s.body_size = if_asked(t, COL_BODY_SIZE)
        s.payload = if_asked(t, COL_PAYLOAD)
        s.frame = if_asked(t, COL_FRAME)
        s.error = if_asked(t, COL_ERROR)
        s.error_offset = if_asked(t, COL_ERROR_OFFSET)
        s.check = mode != PERMISSIVE or s.error != NULL or s.error_offset != NULL
        s.mode = mode
        s.reading = reading
        s.methods = plan.method
        s.descs = protocol.descs.desc
        s.slot = protocol.slot
        s.slot_mask = protocol.slot_mask
        s.contents = protocol.contents
        s.n_contents = protocol.n_contents
        s.c.fault = &s.fault
        with nogil:
            status = decode_values(s, values)
        if status == FAILED:
            error = fault_error(&s.fault)
            error.row = s.fault_row
            error.args = (f"row {s.fault_row}: {error.args[0]}",)
            raise error
        if status == COLUMN_FULL:
            raise ValueError(f"a column would hold more than {t.limit} octets, which its int32 offsets "
                             f"do not reach: {full_name(plan, t.full)}; decode the input in pieces")
        if status == BAD_OFFSETS:
            raise ValueError("the offsets of the Arrow array go backward")
        if status < 0:
            raise MemoryError
    finally:
        free(s)
    return 0


cdef str full_name(FramePlan plan, int k):
    for name, _, children in plan.columns:
        if k >= N_COLUMNS and name == "properties":
            return f"properties.{children[k - N_COLUMNS][0]}"
        if COLUMN_NUMBERS[name] == k:
            return name
    return "?"


def decode_columns(Protocol protocol not None, data, fields, str mode not None, dialect,
                   int64_t limit=0x7FFFFFFF):
    """See amqpcodec.batch.decode. limit: octets that a column may have (tests lower it)."""
    cdef FramePlan plan = frame_plan(protocol)
    cdef tuple chosen = choose_columns(plan, fields)
    cdef uintptr_t reading = reading_mode(dialect, PLAIN, ERROR)
    cdef Values values
    cdef Columns out
    cdef Py_buffer view
    cdef Block copy
    cdef int64_t[2] ends
    if mode not in BAD_ROW_MODES:
        raise ValueError(f"mode is {', '.join(map(repr, BAD_ROW_MODES))}, not {mode!r}")
    out = new_columns(plan, chosen, limit)
    if hasattr(data, "__arrow_c_array__"):
        capsules = data.__arrow_c_array__()
        take_values(capsules[0], capsules[1], &values)
        fill_columns(protocol, plan, out, &values, BAD_ROW_MODES[mode], reading)
        return out
    if isinstance(data, str):
        raise TypeError("takes octets or an Arrow binary array, not str")
    if hasattr(data, "__arrow_c_stream__"):
        raise TypeError(f"takes octets or one Arrow array, not a stream of arrays ({type(data).__name__}): "
                        "pass its chunks one by one")
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    copy.p = NULL
    copy.room = 0
    try:
        memset(&values, 0, sizeof(values))
        values.n = 1
        values.data = <const uint8_t*>view.buf
        values.last = <uint64_t>view.len
        values.long_ = ends
        ends[0] = 0
        ends[1] = view.len
        if not view.readonly and view.len:
            # Others may write to it while the GIL is away: what was checked must not change.
            if block_room(&copy, 0, <size_t>view.len) < 0:
                raise MemoryError
            memcpy(copy.p, view.buf, <size_t>view.len)
            values.data = copy.p
        fill_columns(protocol, plan, out, &values, BAD_ROW_MODES[mode], reading)
    finally:
        block_give(&copy)
        PyBuffer_Release(&view)
    return out


def column_pool(bint clear=False):
    """Octets that the pool of released columns holds; clear=True gives them back first."""
    if clear:
        pool_clear()
    return pool_octets()
