# The column sink of the waist: octets to Arrow columns, block by block, no Python object a row.
#
# A block of frames is found first; then each is decoded into the columns that only some rows have;
# then the columns that every row has are written, one after the other.

# Octets of captures that are no frame, by the upper octet of their number.
cdef const char** LOST_TEXTS = [
    b"", b"were not captured", b"of a frame whose rest was not captured",
    b"in which no frame was found", b"of a frame larger than frame_max"]


# ---- a frame ----

cdef inline int take_frame(Sink* s, const Entry* e, int64_t row) noexcept nogil:
    """Into the columns that not every row has; 0, BAD_FRAME or a status below 0."""
    cdef int status = 0
    if e.way == FRAME_METHOD:
        status = hot_method(s, e, row)
    elif e.way == FRAME_HEADER:
        status = hot_header(s, e, row)
    elif e.way == FRAME_BODY:
        if s.payload != NULL:
            return hot_octets(s.table, s.payload, place_of(row), e.start + 7, e.total - 8)
        return 0
    else:
        return take_any_frame(s, e, row)
    if AMQP_UNLIKELY(status > 0):
        return take_any_frame(s, e, row)
    return status


cdef int take_any_frame(Sink* s, const Entry* e, int64_t row) noexcept nogil:
    """The same, the thorough way."""
    cdef WireFrame f
    cdef uint64_t at = <uint64_t>(e.start - e.base)
    s.fault.code = OK
    s.fault.method = NULL
    s.fault.field = NULL
    if AMQP_UNLIKELY(e.odd):
        if e.lost != 0:
            s.fault.code = BAD_CAPTURE
            s.fault.scope = SCOPE_CONNECTION
            s.fault.what = LOST_TEXTS[e.lost >> 56]
            s.fault.have = e.lost & ((<uint64_t>1 << 56) - 1)
            s.fault.offset = at
            s.fault.in_frame = False
        elif scan_frame(e.start, e.start + e.total, 0, at, &f, &s.fault) == SCAN_MORE:
            s.fault.code = BAD_INCOMPLETE
            s.fault.scope = SCOPE_CONNECTION
            s.fault.what = b"a frame"
            s.fault.have = e.total
            s.fault.offset = at
            s.fault.in_frame = not e.no_channel
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
            return append_octets(s.table, s.payload, row, e.start + 7, e.total - 8)
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
        status = append_octets(s.table, s.error, row, text, <size_t>n)
    if status == 0 and s.error_offset != NULL:
        status = append_i64(s.error_offset, row, <int64_t>s.fault.offset)
    return status


cdef int take_block(Sink* s, int n) noexcept nogil:
    """Decode the block's frames; how many became rows, or a status below 0."""
    cdef int i, kept = 0, status
    cdef Entry* e
    for i in range(n):
        e = &s.block[i]
        # Ask for octets of the next block meanwhile: to find frames is to wait for memory.
        AMQP_PREFETCH(e.start + AHEAD)
        AMQP_PREFETCH(e.start + AHEAD + 64)
        AMQP_PREFETCH(e.start + AHEAD + 128)
        status = take_frame(s, e, s.rows + kept)
        if AMQP_UNLIKELY(status != 0):
            if status < 0:
                return status
            if not e.odd:
                s.fault.in_frame = True
                s.fault.frame_type = e.type
                s.fault.channel = e.channel
            if s.mode == FAILFAST:
                s.fault_row = e.row
                return FAILED
            if s.mode == DROPMALFORMED:
                table_rewind(s.table, 0, s.table.n, s.rows + kept)
                continue
            status = put_error(s, s.rows + kept)
            if status < 0:
                return status
        if kept != i:
            s.block[kept] = e[0]
        kept += 1
    return kept


# ---- columns that every row has ----

# Sixteen octets each, so that they can be copied as one word.
cdef const char** FRAME_TYPE_NAMES = [
    "method\0\0\0\0\0\0\0\0\0\0", "header\0\0\0\0\0\0\0\0\0\0", "body\0\0\0\0\0\0\0\0\0\0\0\0",
    "heartbeat\0\0\0\0\0\0\0", "protocol-header\0"]
cdef uint8_t* FRAME_TYPE_OCTETS = [6, 6, 4, 9, 15]
cdef int8_t[256] TYPE_NUMBERS


cdef void type_numbers_ready() noexcept:
    memset(TYPE_NUMBERS, -1, 256)
    TYPE_NUMBERS[FRAME_METHOD] = 0
    TYPE_NUMBERS[FRAME_HEADER] = 1
    TYPE_NUMBERS[FRAME_BODY] = 2
    TYPE_NUMBERS[FRAME_HEARTBEAT] = 3
    TYPE_NUMBERS[<uint8_t>c'A'] = 4

type_numbers_ready()


cdef inline int type_number(uint8_t t) noexcept nogil:
    """Which of FRAME_TYPE_NAMES, or -1."""
    return TYPE_NUMBERS[t]


cdef int write_types(Sink* s, int n) noexcept nogil:
    cdef Column* c = s.type
    cdef Entry* e = s.block
    cdef uint8_t* w
    cdef int32_t* ends
    cdef size_t used
    cdef int i, k
    cdef int status
    if c.used + 16 * <size_t>n >= c.full_at:
        status = data_grow(s.table, c, 16 * <size_t>n)
        if status < 0:
            return status
    if s.rows + n > c.rows and column_grow(c, s.rows + n) < 0:
        return NO_MEMORY
    if AMQP_UNLIKELY(s.odd_block):
        for i in range(n):
            k = type_number(e[i].type)
            if k >= 0:
                status = append_octets(s.table, c, s.rows + i, FRAME_TYPE_NAMES[k],
                                       FRAME_TYPE_OCTETS[k])
                if status < 0:
                    return status
        return 0
    if c.filled < s.rows:
        column_fill(c, s.rows)
    w = c.data.p
    used = c.used
    ends = <int32_t*>c.fixed.p + s.rows + 1
    for i in range(n):
        k = type_number(e[i].type)
        copy_16(w + used, <const uint8_t*>FRAME_TYPE_NAMES[k])
        used += FRAME_TYPE_OCTETS[k]
        ends[i] = <int32_t>used
    c.used = used
    mark_rows(c, s.rows, n)
    return 0


cdef int write_channels(Sink* s, int n) noexcept nogil:
    cdef Column* c = s.channel
    cdef Entry* e = s.block
    cdef int32_t* out
    cdef int i
    if s.rows + n > c.rows and column_grow(c, s.rows + n) < 0:
        return NO_MEMORY
    if AMQP_UNLIKELY(s.odd_block):
        for i in range(n):
            if not e[i].no_channel and append_i32(c, s.rows + i, e[i].channel) < 0:
                return NO_MEMORY
        return 0
    if c.filled < s.rows:
        column_fill(c, s.rows)
    out = <int32_t*>c.fixed.p + s.rows
    for i in range(n):
        out[i] = e[i].channel
    mark_rows(c, s.rows, n)
    return 0


cdef void copy_run(uint8_t* to, const uint8_t* from_, size_t n) noexcept nogil:
    """Piece by piece: memcpy does large pieces, and compilers inlined ones, by `rep movs`, which
    takes twice as long where the processor has no fast one."""
    cdef size_t k
    while n:
        k = min(n, <size_t>4096)
        memmove(to, from_, k)
        to += k
        from_ += k
        n -= k


cdef int write_frames(Sink* s, int n) noexcept nogil:
    """Frames that follow one another in an input that lives on stay where they are; else
    neighbours are copied together."""
    cdef Column* c = s.frame
    cdef Entry* e = s.block
    cdef int32_t* ends
    cdef const uint8_t* p
    cdef int i = 0, status
    if s.rows + n > c.rows and column_grow(c, s.rows + n) < 0:
        return NO_MEMORY
    ends = <int32_t*>c.fixed.p + s.rows + 1
    c.filled += n
    if not s.borrow:
        return copy_frames(s, e, n, ends)
    if s.rows == 0:
        c.borrowed = s.next = e.start
    p = s.next
    while i < n and e[i].start == p:
        p += e[i].total
        ends[i] = <int32_t>(p - c.borrowed)
        i += 1
    s.next = p
    if AMQP_UNLIKELY(p - c.borrowed > s.table.limit):
        s.table.full = COL_FRAME
        return COLUMN_FULL
    c.used = <size_t>(p - c.borrowed)
    if AMQP_LIKELY(i == n):
        return 0
    # Something lies between: from here on it has to be a copy.
    s.borrow = False
    c.data_hint = <size_t>s.total + SLACK
    status = block_room(&c.data, 0, c.used + SLACK)
    if status == 0:
        copy_run(c.data.p, c.borrowed, c.used)
        c.borrowed = NULL
        status = copy_frames(s, e + i, n - i, ends + i)
    return status


cdef int copy_frames(Sink* s, Entry* e, int n, int32_t* ends) noexcept nogil:
    cdef Column* c = s.frame
    cdef Entry* end = e + n
    cdef const uint8_t* start
    cdef uint64_t size = 0
    cdef int i, status
    for i in range(n):
        size += e[i].total
    if c.used + size >= c.full_at:
        c.data_hint = <size_t>s.total + SLACK       # all of the input at most
        status = data_grow(s.table, c, size)
        if status < 0:
            return status
    while e < end:
        start = e.start
        size = 0
        while True:
            size += e.total
            ends[0] = <int32_t>(c.used + size)
            ends += 1
            e += 1
            if e == end or e.start != start + size:
                break
        copy_run(c.data.p + c.used, start, size)
        c.used += size
    return 0


cdef int write_places(Sink* s, int n) noexcept nogil:
    """Input row, and offset in the input value."""
    cdef Entry* e = s.block
    cdef int64_t* rows = NULL
    cdef int64_t* offsets = NULL
    cdef Column* c = s.row
    cdef int i
    if c != NULL:
        if s.rows + n > c.rows and column_grow(c, s.rows + n) < 0:
            return NO_MEMORY
        rows = <int64_t*>c.fixed.p + s.rows
        c.filled += n
    c = s.offset
    if c != NULL:
        if s.rows + n > c.rows and column_grow(c, s.rows + n) < 0:
            return NO_MEMORY
        offsets = <int64_t*>c.fixed.p + s.rows
        c.filled += n
    if rows != NULL and offsets != NULL:
        for i in range(n):
            rows[i] = e[i].row
            offsets[i] = e[i].start - e[i].base
    elif rows != NULL:
        for i in range(n):
            rows[i] = e[i].row
    elif offsets != NULL:
        for i in range(n):
            offsets[i] = e[i].start - e[i].base
    return 0


cdef int write_block(Sink* s, int n) noexcept nogil:
    cdef int status = write_places(s, n)
    if status == 0 and s.channel != NULL:
        status = write_channels(s, n)
    if status == 0 and s.type != NULL:
        status = write_types(s, n)
    if status == 0 and s.frame != NULL:
        status = write_frames(s, n)
    return status


cdef void guess_sizes(Sink* s, int n, uint64_t seen) noexcept nogil:
    """How large the columns will be in the end, from what they are so far: where they grow, they
    need not grow again. seen: octets of input up to the end of the block."""
    cdef int i
    cdef Column* c
    cdef int64_t rows = s.rows + n
    cdef double octets = 0
    cdef double most = min(2.0 * <double>s.total + 65536.0, <double>s.table.limit)
    if 0 < seen < s.total:
        rows = <int64_t>(<double>rows * (<double>s.total / <double>seen) * 1.07) + 64
        rows = min(rows, s.rows + n + <int64_t>(s.total - seen))
    if s.done:
        octets = <double>s.total / <double>s.done * 1.07
    for i in range(s.table.n):
        c = &s.table.column[i]
        c.row_hint = rows
        # At first, a third of the input: memory that is not written to costs nothing.
        c.data_hint = <size_t>min(<double>c.used * octets if s.done else <double>s.total / 3, most)


cdef int flush_block(Sink* s, int n, uint64_t seen) noexcept nogil:
    """Make rows of the frames that were found. seen: octets of input up to here."""
    cdef int status
    if n == 0:
        return 0
    s.blocks += 1
    if s.blocks & (s.blocks - 1) == 0:
        guess_sizes(s, n, seen)     # after 1, 2, 4, 8, ... blocks
    status = take_block(s, n)
    if status > 0:
        n = status
        status = write_block(s, n)
        s.rows += n
    s.done = seen
    s.odd_block = False
    return status


# ---- the loop ----

cdef const uint8_t* find_odd_frame(Entry* e, const uint8_t* p, const uint8_t* end) noexcept nogil:
    """The frame at p, whatever it is: where the next one starts."""
    cdef WireFrame f
    cdef Fault fault
    cdef int found = scan_frame(p, end, 0, 0, &f, &fault)
    e.way = 0
    e.lost = 0
    e.odd = False
    e.no_channel = False
    if found == SCAN_FRAME:
        e.type = f.type
        e.channel = f.channel
        e.total = f.total
        return p + f.total
    e.odd = True
    e.type = 0
    e.channel = 0
    if found == SCAN_BAD and fault.scope == SCOPE_FRAME:
        e.channel = f.channel       # the type is undefined, the frame is not
        e.total = f.total
        return p + f.total
    e.total = <uint64_t>(end - p)
    e.no_channel = e.total < 7 or not is_known_type(p[0])
    if not e.no_channel:
        e.type = p[0]
        e.channel = load16(p + 1)
    return end


cdef inline const uint8_t* find_frame(Sink* s, Entry* e, const uint8_t* p, const uint8_t* end) noexcept nogil:
    """The frame at p: where the next one starts. e.base and e.row are set by the caller."""
    cdef uint64_t head, total
    e.start = p
    if AMQP_LIKELY(end - p >= 8):
        head = load64(p)            # type, channel, size and an octet of the payload
        total = <uint64_t><uint32_t>(head >> 8) + 8
        if AMQP_LIKELY(total <= <uint64_t>(end - p) and p[total - 1] == FRAME_END
                       and (head >> 56) - 1 <= 2):
            e.total = total
            e.type = <uint8_t>(head >> 56)
            e.way = <uint8_t>(head >> 56) if p + total <= s.hot_end else 0
            e.channel = <uint16_t>(head >> 40)
            e.odd = False
            e.no_channel = False
            return p + total
    p = find_odd_frame(e, p, end)
    if e.odd:
        s.odd_block = True
    return p


cdef void find_lost(Sink* s, Entry* e, uint64_t lost, const uint8_t* p, const uint8_t* end,
                    int64_t row) noexcept nogil:
    """A value of a capture that is no frame: one row, also where it is empty."""
    memset(e, 0, sizeof(Entry))
    e.start = p
    e.base = p
    e.row = row
    e.total = <uint64_t>(end - p)
    e.lost = lost
    e.odd = True
    e.no_channel = True
    s.odd_block = True


cdef int decode_values(Sink* s, const Values* values) noexcept nogil:
    """All frames of all values."""
    cdef int64_t i
    cdef int n = 0, status
    cdef uint64_t from_, to
    cdef uint64_t first = value_end(values, 0) if values.n else 0
    cdef const uint8_t* base
    cdef const uint8_t* p
    cdef const uint8_t* end
    cdef Entry* e
    s.total = values.last - first
    s.input_end = values.data + values.last
    if s.hot and s.total > COPY_SLACK:
        s.hot_end = s.input_end - COPY_SLACK
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
        if values.lost != NULL and values.lost[values.at + i] != 0:
            find_lost(s, &s.block[n], values.lost[values.at + i], p, end, i)
            p = end
            n += 1
            if n == BLOCK:
                status = flush_block(s, n, <uint64_t>(p - values.data) - first)
                if status < 0:
                    return status
                n = 0
        while p < end:
            e = &s.block[n]
            e.base = base
            e.row = i
            p = find_frame(s, e, p, end)
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
    out.columns = plan.schema if chosen is plan.columns else schema_columns(chosen)
    for i in range(plan.n):
        c = &out.table.column[i]
        c.kind = plan.kind[i]
        c.nullable = i != COL_ROW and i != COL_OFFSET and i != COL_FRAME
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
                      uintptr_t reading, bint borrow=False) except -1:
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
        s.hot = protocol.hot
        s.borrow = borrow
        s.mode = mode
        s.reading = reading
        s.shapes = SHAPES[reading & MODE_LETTER]
        s.methods = plan.method
        s.descs = protocol.descs.desc
        s.slot = protocol.slot
        s.slot_mask = protocol.slot_mask
        s.contents = protocol.contents
        s.n_contents = protocol.n_contents
        s.n_steps = -1
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
    if mode not in BAD_ROW_MODES:
        raise ValueError(f"mode is {', '.join(map(repr, BAD_ROW_MODES))}, not {mode!r}")
    out = new_columns(plan, chosen, limit)
    if hasattr(data, "__arrow_c_array__"):
        schema, array = data.__arrow_c_array__()
        fill_from_array(protocol, plan, out, schema, array, BAD_ROW_MODES[mode], reading)
    elif isinstance(data, str):
        raise TypeError("takes octets or an Arrow binary array, not str")
    elif hasattr(data, "__arrow_c_stream__"):
        raise TypeError("takes octets or one Arrow array, not a stream of arrays "
                        f"({type(data).__name__}): pass its chunks one by one")
    else:
        fill_from_buffer(protocol, plan, out, data, BAD_ROW_MODES[mode], reading)
    return out


cdef int fill_from_array(Protocol protocol, FramePlan plan, Columns out, object schema, object array,
                         int mode, uintptr_t reading) except -1:
    cdef Values values
    cdef ArrowArray* a = take_values(schema, array, &values)
    fill_columns(protocol, plan, out, &values, mode, reading, True)
    if out.table.column[COL_FRAME].borrowed != NULL:
        # Moved, as consumers do: now it is ours to release.
        out.table.array = a[0]
        a.release = NULL
    return 0


cdef int fill_from_buffer(Protocol protocol, FramePlan plan, Columns out, object data, int mode,
                          uintptr_t reading) except -1:
    cdef Table* t = out.table
    cdef Py_buffer view
    cdef Values values
    cdef int64_t[2] ends
    cdef object owner = data.obj if type(data) is memoryview else data
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        memset(&values, 0, sizeof(values))
        values.n = 1
        values.data = <const uint8_t*>view.buf
        values.last = <uint64_t>view.len
        values.long_ = ends
        ends[0] = 0
        ends[1] = view.len
        if type(owner) is not bytes and view.len:
            # Others may write to it while the GIL is away: what was checked must not change.
            if block_room(&t.input, 0, <size_t>view.len) < 0:
                raise MemoryError
            memcpy(t.input.p, view.buf, <size_t>view.len)
            values.data = t.input.p
        fill_columns(protocol, plan, out, &values, mode, reading, True)
        if t.column[COL_FRAME].borrowed == NULL:
            block_give(&t.input)
        elif t.input.p == NULL:
            t.owner = Py_NewRef(<PyObject*>owner)
    finally:
        PyBuffer_Release(&view)
    return 0


def column_pool(bint clear=False):
    """Octets that the pool of released columns holds; clear=True gives them back first."""
    if clear:
        pool_clear()
    return pool_octets()
