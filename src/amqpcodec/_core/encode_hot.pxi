# Rows of columns to frames, the fast way: a block of rows of one method, column by column.
#
# First every column is looked at for all rows of the block: offsets, UTF-8, lengths and ranges are checked,
# and sizes added up. Then each is written for all rows. Whatever is odd (GIVE_UP, with nothing written)
# leaves the block to encode_rows.pxi, which finds out why; a test holds both ways equal.

cdef enum:
    HOT_ROWS = 64
    HOT_STEPS = 80
    HOT_LEAST_ROWS = 4      # below, it is not worth it
    HOT_CONSTANTS = 8192    # octets of names and defaults

# What a step writes, behind its prefix.
cdef enum:
    STEP_SHORT              # u8 length, octets
    STEP_LONG               # u32 length, octets
    STEP_RAW                # octets
    STEP_NUMBER             # `width` octets
    STEP_INT                # of a table: tag and 4 or 8 octets
    STEP_BITS               # one octet, of up to eight columns
    STEP_LENGTH             # u32: of the table whose entries follow

cdef enum:
    PART_ARGUMENTS
    PART_PROPERTIES
    PART_TABLE              # entries of it

# A piece of every row. Steps are in the order of the wire.
cdef struct HotStep:
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
    const int32_t* ends     # octets straight from the column, or NULL: from `at` and `n`
    bint loose              # 16 octets at a time may be read and written
    uint32_t least          # octets that each row has of it

cdef struct Hot:
    bint ready              # for `desc`
    bint possible
    const Desc* desc
    int n_steps
    int n_arguments         # the first steps
    int n_foreign           # columns that must say nothing
    const Source** foreign
    const uint8_t* head     # of the method frame, with constants
    uint32_t head_n
    const uint8_t* tail     # constants behind the last step of the method
    uint32_t tail_n
    uint8_t* constants
    size_t constants_n
    # of the block at hand
    uint8_t* w[HOT_ROWS]
    uint32_t size[3][HOT_ROWS]      # by part
    uint16_t flags[HOT_ROWS]
    uint16_t channel[HOT_ROWS]
    const uint8_t* body[HOT_ROWS]
    uint32_t body_n[HOT_ROWS]
    uint32_t total[HOT_ROWS]
    HotStep step[HOT_STEPS]
    uint64_t value[HOT_STEPS][HOT_ROWS]     # numbers, or where octets begin
    uint32_t octets[HOT_STEPS][HOT_ROWS]


cdef inline uint64_t first_rows(int n) noexcept nogil:
    return ~<uint64_t>0 >> (64 - n)


cdef uint64_t valid_rows(const Source* s, int64_t row, int n) noexcept nogil:
    """Which of n (1 to 64) rows have a value: a bit each."""
    cdef uint64_t mask = 0
    cdef int64_t bit
    cdef const uint8_t* p
    cdef int i, shift, count
    if s.kind == IN_NULL:
        return 0
    if s.valid == NULL:
        return first_rows(n)
    bit = s.at + row
    p = s.valid + (bit >> 3)
    shift = <int>(bit & 7)
    count = (shift + n + 7) >> 3
    for i in range(min(count, 8)):
        mask |= <uint64_t>p[i] << (8 * i)
    mask >>= shift
    if count == 9:
        mask |= <uint64_t>p[8] << (64 - shift)
    return mask & first_rows(n)


# ---- steps, once for a method ----

cdef HotStep* add_hot_step(Hot* h, uint8_t what, uint8_t part, const Source* s, size_t* pending) noexcept nogil:
    """The next one, with the constants since the last as its prefix; or NULL."""
    cdef HotStep* t
    if h.n_steps == HOT_STEPS:
        return NULL
    t = &h.step[h.n_steps]
    h.n_steps += 1
    memset(t, 0, sizeof(HotStep))
    t.what = what
    t.part = part
    t.s = s
    t.wire = 0xFF
    t.prefix = h.constants + pending[0]
    t.prefix_n = <uint32_t>(h.constants_n - pending[0])
    close_constants(h, pending)
    return t


cdef void close_constants(Hot* h, size_t* pending) noexcept nogil:
    """What follows is another prefix, behind octets that may be read with this one."""
    h.constants_n += 32
    pending[0] = h.constants_n


cdef inline bint add_constant(Hot* h, const void* p, size_t n) noexcept nogil:
    if h.constants_n + n + 64 > HOT_CONSTANTS:
        return False
    memcpy(h.constants + h.constants_n, p, n)
    h.constants_n += n
    return True


cdef int width_of(uint8_t wire) noexcept nogil:
    """Octets of a number, or of the default of anything else."""
    if wire == W_OCTET or wire == W_SHORTSTR:
        return 1
    if wire == W_SHORT:
        return 2
    if wire == W_LONGLONG or wire == W_TIMESTAMP:
        return 8
    return 5 if wire == W_CONTENT else 4


cdef bint plan_hot_field(Hot* h, const Source* s, uint8_t wire, uint8_t part, size_t* pending) noexcept nogil:
    """A step for an argument or property."""
    cdef HotStep* t
    if wire == W_SHORTSTR:
        t = add_hot_step(h, STEP_SHORT, part, s, pending)
    elif wire == W_LONGSTR or wire == W_TABLE:
        t = add_hot_step(h, STEP_LONG, part, s, pending)
    elif wire == W_CONTENT or wire == W_BIT:
        return False
    else:
        t = add_hot_step(h, STEP_NUMBER, part, s, pending)
    if t == NULL:
        return False
    t.wire = wire
    t.width = <uint8_t>width_of(wire)
    t.is_table = wire == W_TABLE
    return True


cdef bint plan_hot_arguments(Encoder* e, Hot* h, const Desc* d) noexcept nogil:
    cdef MethodSources* m = &e.methods[d - e.descs]
    cdef uint8_t[16] head
    cdef const Source* s
    cdef HotStep* t
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
        run = d.op[k].run if d.op[k].kind == W_BIT else 1
        for i in range(k + 1, k + run):
            if m.plain[i] != NULL and m.named[i] != NULL:
                return False
            if m.plain[i] != NULL or m.named[i] != NULL:
                s = m.plain[i] if m.plain[i] != NULL else m.named[i]
        if s == NULL:
            memset(head, 0, 16)
            if not add_constant(h, head, 1 if d.op[k].kind == W_BIT else <size_t>width_of(d.op[k].kind)):
                return False
            k += run
            continue
        if not headed:
            headed = True
            h.head = h.constants
            h.head_n = <uint32_t>h.constants_n
            close_constants(h, &pending)
        if d.op[k].kind == W_BIT:
            t = add_hot_step(h, STEP_BITS, PART_ARGUMENTS, s, &pending)
            if t == NULL:
                return False
            for i in range(run):
                t.bits[i] = m.plain[k + i] if m.plain[k + i] != NULL else m.named[k + i]
            t.width = 1
        elif not plan_hot_field(h, s, d.op[k].kind, PART_ARGUMENTS, &pending):
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


cdef bint plan_hot_entry(Hot* h, const Source* s, const Source* parent, const uint8_t* name, size_t name_n,
                         uintptr_t mode) noexcept nogil:
    """A step for an entry of a table: its name and tag are the prefix."""
    cdef size_t pending = h.constants_n
    cdef uint8_t octet = <uint8_t>name_n
    cdef uint8_t tag = 0
    cdef uint8_t what = STEP_RAW, width = 0
    cdef HotStep* t
    if name_n > 255 or not add_constant(h, &octet, 1) or not add_constant(h, name, name_n):
        return False
    if is_octets(s):
        what = STEP_LONG
        tag = c'S' if s.text or mode & MODE_LETTER else c'x'
    elif s.kind == IN_BOOL:
        what = STEP_NUMBER
        tag = c't'
        width = 1
    elif is_integer(s):
        what = STEP_INT
    elif s.kind == IN_DOUBLE:
        what = STEP_NUMBER
        tag = c'd'
        width = 8
    elif s.kind == IN_TIME:
        what = STEP_NUMBER
        tag = c'T'
        width = 8
    if tag and not add_constant(h, &tag, 1):
        return False
    t = add_hot_step(h, what, PART_TABLE, s, &pending)
    if t == NULL:
        return False
    t.width = width
    t.parent = parent
    return True


cdef bint plan_hot_properties(Encoder* e, Hot* h, const Desc* d) noexcept nogil:
    cdef const PropertySource* found
    cdef const PropertySource* p
    cdef const Source* whole
    cdef size_t pending
    cdef HotStep* t
    cdef int k, i
    if d.n > 15:
        return False
    for k in range(d.n):
        found = NULL
        for i in range(e.n_properties):
            p = &e.properties[i]
            if p.field[e.class_at] == k:
                if found != NULL:
                    return False
                found = p
            elif p.field[e.class_at] < 0:
                return False
        pending = h.constants_n
        if d.op[k].kind == W_TABLE and (e.n_headers or (found != NULL and found.source.kind == IN_STRUCT)):
            whole = NULL
            if not e.n_headers:
                whole = found.source
            t = add_hot_step(h, STEP_LENGTH, PART_PROPERTIES, whole, &pending)
            if t == NULL:
                return False
            t.flag = <uint16_t>(0x8000 >> k)
            if e.n_headers:
                for i in range(e.n_headers):
                    if not plan_hot_entry(h, e.header[i].source, NULL, e.header[i].name,
                                          e.header[i].name_n, e.mode):
                        return False
                continue
            t.parent = found.parent
            for i in range(found.source.n_children):
                if not plan_hot_entry(h, &found.source.child[i], found.source,
                                      <const uint8_t*>found.source.child[i].name,
                                      found.source.child[i].name_n, e.mode):
                    return False
            continue
        if found == NULL:
            continue
        if not plan_hot_field(h, found.source, d.op[k].kind, PART_PROPERTIES, &pending):
            return False
        t = &h.step[h.n_steps - 1]
        t.flag = <uint16_t>(0x8000 >> k)
        t.parent = found.parent
    return True


cdef int plan_hot(Encoder* e, const Desc* d) noexcept nogil:
    """Steps for a method; h.possible says whether there are any."""
    cdef Hot* h = e.hot
    if h == NULL:
        h = e.hot = <Hot*>malloc(sizeof(Hot) + HOT_CONSTANTS)
        if h == NULL:
            return NO_MEMORY
        h.constants = <uint8_t*>h + sizeof(Hot)
        memset(h.constants, 0, HOT_CONSTANTS)
    h.desc = d
    h.n_steps = 0
    h.constants_n = 0
    h.possible = (not e.mode & MODE_OLD and plan_hot_arguments(e, h, d)
                  and (not d.has_content or plan_hot_properties(e, h, d.properties)))
    return 0


# ---- looking at a block ----

cdef inline bint all_rows(const HotStep* t, int n) noexcept nogil:
    return t.mask == first_rows(n)


cdef int look_octets(HotStep* t, int64_t row, int n, uint64_t* at, uint32_t* sizes,
                     uint32_t* total) noexcept nogil:
    """Octets of a column; 0 or GIVE_UP. total: of the part, by row."""
    cdef const Source* s = t.s
    cdef const int32_t* ends
    cdef uint32_t seen = 0, size, more = 4 if t.what == STEP_LONG else 1
    cdef uint64_t length = 0
    cdef const uint8_t* p = NULL
    cdef const Source* found
    cdef int64_t k
    cdef bint text = s.text or t.what == STEP_SHORT
    cdef int i
    t.ends = NULL
    t.least = 0
    if s.kind == IN_OCTETS and all_rows(t, n):
        ends = <const int32_t*>s.ends + s.at + row
        for i in range(n):
            size = <uint32_t>ends[i + 1] - <uint32_t>ends[i]
            seen |= size
            total[i] += size + more
        if ends[0] < 0 or seen > (255 if t.what == STEP_SHORT else <uint32_t>0x7FFFFFFF >> 7) \
                or <uint64_t>ends[n] > s.last:
            return GIVE_UP
        size = <uint32_t>(ends[n] - ends[0])
        if text and not is_ascii(s.data + ends[0], size):
            for i in range(n):
                if not is_utf8(s.data + ends[i], <size_t>(ends[i + 1] - ends[i])):
                    return GIVE_UP
        t.ends = ends
        t.loose = s.last - <uint64_t>ends[n] >= <uint64_t>COPY_SLACK
        t.least = more
        return 0
    t.loose = False
    for i in range(n):
        if not t.mask >> i & 1:
            sizes[i] = 0
            if t.part == PART_ARGUMENTS:
                total[i] += more        # the default, an empty one
            continue
        found = s
        k = row + i
        if find_value(&found, &k) != HAS_VALUE or octets_at(found, k, &p, &length) < 0:
            return GIVE_UP
        if length > (255 if t.what == STEP_SHORT else 0xFFFFFF):
            return GIVE_UP
        if (text or found.text) and not is_utf8(p, <size_t>length):
            return GIVE_UP
        at[i] = <uint64_t><uintptr_t>p
        sizes[i] = <uint32_t>length
        total[i] += <uint32_t>length + more
    return 0


cdef int look_made(Encoder* e, HotStep* t, int64_t row, int n, uint64_t* at, uint32_t* sizes,
                   uint32_t* total) noexcept nogil:
    """Tables and values that are put together in scratch; `at` is where, from its start."""
    cdef const Source* s
    cdef int64_t k
    cdef size_t start
    cdef int i, status
    t.ends = NULL
    t.least = 0
    t.loose = False
    for i in range(n):
        sizes[i] = 0
        if not t.mask >> i & 1:
            if t.part == PART_ARGUMENTS:
                total[i] += 4
            continue
        s = t.s
        k = row + i
        if find_value(&s, &k) != HAS_VALUE:
            return GIVE_UP
        start = <size_t>(e.text.w - e.scratch.p)
        if t.is_table:
            status = put_source_table(&e.text, s, k, e.mode, &e.refusal)
        else:
            status = put_table_value(&e.text, s, k, e.mode, 1, &e.refusal)
        if status != 0:
            return NO_MEMORY if status == NO_MEMORY else GIVE_UP
        at[i] = start
        if <size_t>(e.text.w - e.scratch.p) - start > 0xFFFFFF:
            return GIVE_UP
        sizes[i] = <uint32_t>(<size_t>(e.text.w - e.scratch.p) - start)
        total[i] += sizes[i] + (4 if t.is_table else 0)
    return 0


cdef void found_made(Encoder* e, const HotStep* t, int n, uint64_t* at) noexcept nogil:
    """Scratch stays where it is now."""
    cdef int i
    for i in range(n):
        if t.mask >> i & 1:
            at[i] += <uint64_t><uintptr_t>e.scratch.p


cdef int look_integers(const Source* s, int64_t row, int n, uint64_t* out) noexcept nogil:
    """Integers as 64 bits, whatever they are where there is none."""
    cdef const uint8_t* data = s.data
    cdef int64_t at = s.at + row
    cdef int i
    if s.kind == IN_INT32:
        for i in range(n):
            out[i] = <uint64_t><int64_t>(<const int32_t*>data)[at + i]
    elif s.kind == IN_INT64 or s.kind == IN_UINT64 or s.kind == IN_DOUBLE:
        memcpy(out, <const int64_t*>data + at, 8 * <size_t>n)
    elif is_integer(s):
        for i in range(n):
            out[i] = <uint64_t>signed_at(s.kind, data, at + i)
    else:
        return GIVE_UP
    return 0


cdef int look_numbers(HotStep* t, int64_t row, int n, uint64_t* out) noexcept nogil:
    """Numbers in the range of their type; 0 or GIVE_UP."""
    cdef const Source* s = t.s
    cdef const int64_t* times
    cdef uint64_t limit = highest_of(t.wire) if t.wire != 0xFF else ~<uint64_t>0
    cdef uint64_t seen = 0
    cdef int i
    if s.kind == IN_TIME and (t.wire == W_TIMESTAMP or t.wire == 0xFF):
        times = <const int64_t*>s.data + s.at + row
        if s.unit == 1000000:
            for i in range(n):
                seen |= <uint64_t>times[i]
                out[i] = <uint64_t>times[i] // <uint64_t>1000000
        else:
            for i in range(n):
                seen |= <uint64_t>times[i]
                out[i] = <uint64_t>times[i] // <uint64_t>s.unit
        # before 1970, if only under a null
        return GIVE_UP if seen >> 63 else 0
    if look_integers(s, row, n, out) != 0:
        return GIVE_UP
    if t.wire == 0xFF:
        return 0
    if s.kind == IN_DOUBLE:
        return GIVE_UP
    for i in range(n):
        if not t.mask >> i & 1:
            out[i] = 0
    for i in range(n):
        seen |= out[i]
    if t.wire == W_LONGLONG or t.wire == W_TIMESTAMP:
        return GIVE_UP if seen >> 63 and s.kind != IN_UINT64 else 0
    return GIVE_UP if seen > limit else 0      # limits are all ones


cdef int look_bits(HotStep* t, int64_t row, int n, uint64_t* out) noexcept nogil:
    """Up to eight columns as one octet."""
    cdef uint64_t bit[HOT_ROWS]
    cdef uint64_t mask
    cdef const Source* s
    cdef int i, k
    memset(out, 0, 8 * <size_t>n)
    for k in range(8):
        s = t.bits[k]
        if s == NULL:
            continue
        mask = valid_rows(s, row, n)
        if mask == 0:
            continue
        if s.kind == IN_DICTIONARY or look_integers(s, row, n, bit) != 0:
            return GIVE_UP
        for i in range(n):
            out[i] |= <uint64_t>((bit[i] != 0) & (mask >> i & 1)) << k
    return 0


cdef int look_ints(HotStep* t, int64_t row, int n, uint64_t* out, uint32_t* sizes,
                   uint32_t* total) noexcept nogil:
    """Integers of a table: with their tag, 5 or 9 octets."""
    cdef int i
    cdef int64_t v
    if look_integers(t.s, row, n, out) != 0:
        return GIVE_UP
    for i in range(n):
        if not t.mask >> i & 1:
            continue
        v = <int64_t>out[i]
        if t.s.kind == IN_UINT64 and v < 0:
            return GIVE_UP
        sizes[i] = 5 if v == <int32_t>v else 9
        total[i] += sizes[i]
    t.least = 5 if all_rows(t, n) else 0
    return 0


cdef int look_step(Encoder* e, Hot* h, int k, int64_t row, int n) noexcept nogil:
    """A column: what there is in this block, and what it takes."""
    cdef HotStep* t = &h.step[k]
    cdef uint32_t* total = h.size[t.part]
    cdef uint64_t* value = h.value[k]
    cdef uint64_t mask
    cdef int i, status
    if t.what == STEP_LENGTH:
        t.mask = first_rows(n) if t.s == NULL else valid_rows(t.s, row, n)
    elif t.what == STEP_BITS:
        t.mask = first_rows(n)
    else:
        t.mask = valid_rows(t.s, row, n)
        if t.s.kind == IN_DICTIONARY:
            for i in range(n):
                if t.mask >> i & 1 and not dictionary_has(t.s, row + i):
                    t.mask &= ~(<uint64_t>1 << i)
    if t.parent != NULL:
        mask = valid_rows(t.parent, row, n)
        t.mask &= mask
    t.least = 0
    t.ends = NULL
    if t.what == STEP_LENGTH:
        # the table is there, or not, in all rows
        if t.s != NULL and t.mask != 0 and not all_rows(t, n):
            return GIVE_UP
        if t.mask:
            for i in range(n):
                total[i] += 4
                h.flags[i] |= t.flag
            t.least = 4
        return 0
    if t.mask == 0 and t.part != PART_ARGUMENTS:
        return 0
    if t.flag:
        if all_rows(t, n):
            for i in range(n):
                h.flags[i] |= t.flag
        else:
            for i in range(n):
                if t.mask >> i & 1:
                    h.flags[i] |= t.flag
    if t.is_table or t.what == STEP_RAW:
        status = look_made(e, t, row, n, value, h.octets[k], total)
    elif t.what == STEP_SHORT or t.what == STEP_LONG:
        if t.mask and not is_octets(t.s) and t.s.kind != IN_DICTIONARY:
            return GIVE_UP
        status = look_octets(t, row, n, value, h.octets[k], total)
    elif t.mask == 0:
        memset(value, 0, 8 * <size_t>n)
        for i in range(n):
            total[i] += t.width
        status = 0
        t.least = t.width
    elif t.what == STEP_INT:
        status = look_ints(t, row, n, value, h.octets[k], total)
    else:
        status = look_bits(t, row, n, value) if t.what == STEP_BITS else look_numbers(t, row, n, value)
        if all_rows(t, n) or t.part == PART_ARGUMENTS:
            for i in range(n):
                total[i] += t.width
            t.least = t.width
        else:
            for i in range(n):
                if t.mask >> i & 1:
                    total[i] += t.width
    if status != 0:
        return status
    if t.prefix_n:
        if all_rows(t, n) or t.part == PART_ARGUMENTS:
            for i in range(n):
                total[i] += t.prefix_n
            t.least += t.prefix_n
        else:
            for i in range(n):
                if t.mask >> i & 1:
                    total[i] += t.prefix_n
    return 0


cdef bint dictionary_has(const Source* s, int64_t i) noexcept nogil:
    return find_value(&s, &i) != NO_VALUE


cdef int look_body(Encoder* e, Hot* h, int64_t row, int n, uint32_t* least) noexcept nogil:
    cdef const Source* s = e.body
    cdef const Source* found
    cdef const int32_t* ends
    cdef uint64_t mask = 0 if s == NULL else valid_rows(s, row, n)
    cdef uint64_t size = 0
    cdef uint32_t seen = 0, low = 0xFFFFFF
    cdef int64_t k
    cdef int i
    if mask == first_rows(n) and s.kind == IN_OCTETS and not s.text:
        ends = <const int32_t*>s.ends + s.at + row
        for i in range(n):
            h.body_n[i] = <uint32_t>ends[i + 1] - <uint32_t>ends[i]
            h.body[i] = s.data + ends[i]
            seen |= h.body_n[i]
            low = min(low, h.body_n[i])
        if seen > 0xFFFFFF or ends[0] < 0 or <uint64_t>ends[n] > s.last:
            return GIVE_UP
    else:
        for i in range(n):
            h.body_n[i] = 0
            low = 0
            if not mask >> i & 1:
                continue
            found = s
            k = row + i
            if find_value(&found, &k) == NO_VALUE:
                continue
            if not is_octets(found) or octets_at(found, k, &h.body[i], &size) < 0 or size > 0xFFFFFF:
                return GIVE_UP
            if found.text and not is_utf8(h.body[i], <size_t>size):
                return GIVE_UP
            h.body_n[i] = <uint32_t>size
            seen |= h.body_n[i]
    least[0] = low + 8 if low else 0
    if e.frame_max and seen + 8 > e.frame_max:
        for i in range(n):
            if h.body_n[i] + 8 > e.frame_max:
                return GIVE_UP
    return 0


cdef int look_channels(Encoder* e, Hot* h, int64_t row, int n) noexcept nogil:
    cdef uint64_t seen = 0, mask
    cdef const Source* s = e.channel
    cdef int i
    cdef uint64_t[HOT_ROWS] number
    mask = valid_rows(s, row, n)
    if mask == 0:
        for i in range(n):
            h.channel[i] = 1
        return 0
    if s.kind == IN_DICTIONARY or look_integers(s, row, n, number) != 0:
        return GIVE_UP
    for i in range(n):
        if not mask >> i & 1:
            number[i] = 1
        seen |= number[i]
        h.channel[i] = <uint16_t>number[i]
    return GIVE_UP if seen > 0xFFFF else 0


# ---- writing a block ----

cdef inline uint8_t* put_prefix(uint8_t* w, const uint8_t* p, size_t n, bint loose) noexcept nogil:
    cdef size_t i
    if n == 0:
        return w
    if loose:
        copy_16(w, p)
        i = 16
        while i < n:
            copy_16(w + i, p + i)
            i += 16
    else:
        copy_octets(w, p, n)
    return w + n


cdef inline void put_run(uint8_t* w, const uint8_t* p, size_t n) noexcept nogil:
    """Sixteen octets at a time, at least."""
    cdef size_t i = 16
    copy_16(w, p)
    while AMQP_UNLIKELY(i < n):
        copy_16(w + i, p + i)
        i += 16


cdef void write_direct(Hot* h, const HotStep* t, int n) noexcept nogil:
    """Octets of every row, straight from the column."""
    cdef const int32_t* ends = t.ends
    cdef const uint8_t* data = t.s.data
    cdef uint8_t* w
    cdef uint32_t size
    cdef int i
    cdef const uint8_t* prefix = t.prefix
    cdef size_t prefix_n = t.prefix_n
    if t.loose and t.what == STEP_SHORT:
        for i in range(n):
            w = put_prefix(h.w[i], prefix, prefix_n, True)
            size = <uint32_t>(ends[i + 1] - ends[i])
            w[0] = <uint8_t>size
            put_run(w + 1, data + ends[i], size)
            h.w[i] = w + 1 + size
    elif t.loose:
        for i in range(n):
            w = put_prefix(h.w[i], prefix, prefix_n, True)
            size = <uint32_t>(ends[i + 1] - ends[i])
            store32(w, size)
            put_run(w + 4, data + ends[i], size)
            h.w[i] = w + 4 + size
    else:
        for i in range(n):
            w = put_prefix(h.w[i], prefix, prefix_n, False)
            size = <uint32_t>(ends[i + 1] - ends[i])
            if t.what == STEP_SHORT:
                w[0] = <uint8_t>size
                w += 1
            else:
                store32(w, size)
                w += 4
            copy_octets(w, data + ends[i], size)
            h.w[i] = w + size


cdef void write_gathered(Hot* h, const HotStep* t, const uint64_t* at, const uint32_t* sizes,
                         int n) noexcept nogil:
    """Octets of the rows that have them."""
    cdef uint8_t* w
    cdef int i
    for i in range(n):
        if not t.mask >> i & 1 and t.part != PART_ARGUMENTS:
            continue
        w = put_prefix(h.w[i], t.prefix, t.prefix_n, False)
        if t.what == STEP_SHORT:
            w[0] = <uint8_t>sizes[i]
            w += 1
        elif t.what == STEP_LONG:
            store32(w, sizes[i])
            w += 4
        if sizes[i]:
            copy_octets(w, <const uint8_t*><uintptr_t>at[i], sizes[i])
        h.w[i] = w + sizes[i]


cdef void write_numbers(Hot* h, const HotStep* t, const uint64_t* value, int n) noexcept nogil:
    cdef uint8_t* w
    cdef int i
    cdef int width = t.width
    cdef bint each = t.part == PART_ARGUMENTS or all_rows(t, n)
    for i in range(n):
        if not each and not t.mask >> i & 1:
            continue
        w = put_prefix(h.w[i], t.prefix, t.prefix_n, t.loose)
        if width == 1:
            w[0] = <uint8_t>value[i]
        elif width == 8:
            store64(w, value[i])
        elif width == 4:
            store32(w, <uint32_t>value[i])
        else:
            store16(w, <uint16_t>value[i])
        h.w[i] = w + width


cdef void write_ints(Hot* h, const HotStep* t, const uint64_t* value, const uint32_t* sizes, int n,
                     uint8_t wide) noexcept nogil:
    cdef uint8_t* w
    cdef int i
    for i in range(n):
        if not t.mask >> i & 1:
            continue
        w = put_prefix(h.w[i], t.prefix, t.prefix_n, t.loose)
        if AMQP_LIKELY(sizes[i] == 5):
            w[0] = c'I'
            store32(w + 1, <uint32_t>value[i])
        else:
            w[0] = wide
            store64(w + 1, value[i])
        h.w[i] = w + sizes[i]


cdef void write_step(Encoder* e, Hot* h, int k, int n) noexcept nogil:
    cdef HotStep* t = &h.step[k]
    cdef int i
    if t.mask == 0 and t.part != PART_ARGUMENTS:
        return
    if t.what == STEP_LENGTH:
        for i in range(n):
            store32(h.w[i], h.size[PART_TABLE][i])
            h.w[i] += 4
    elif t.ends != NULL:
        write_direct(h, t, n)
    elif t.what == STEP_NUMBER or t.what == STEP_BITS:
        write_numbers(h, t, h.value[k], n)
    elif t.what == STEP_INT:
        write_ints(h, t, h.value[k], h.octets[k], n, c'L' if e.mode & MODE_LETTER else c'l')
    else:
        write_gathered(h, t, h.value[k], h.octets[k], n)


cdef void write_methods(Hot* h, int n) noexcept nogil:
    """Where each row begins: the envelope and what is the same in all."""
    cdef uint8_t* w
    cdef uint32_t same = h.head_n - 7
    cdef int i
    cdef size_t k
    for i in range(n):
        w = h.w[i]
        k = 0
        while k < h.head_n:
            copy_16(w + k, h.head + k)
            k += 16
        store16(w + 1, h.channel[i])
        store32(w + 3, h.size[PART_ARGUMENTS][i] + same + h.tail_n)
        h.w[i] = w + h.head_n


cdef void write_headers(Hot* h, const Desc* d, int n) noexcept nogil:
    """The method frame's end, the header frame up to its flags."""
    cdef uint8_t[32] head
    cdef uint8_t* w
    cdef int i
    memset(head, 0, 32)
    head[0] = FRAME_END
    head[1] = FRAME_HEADER
    store16(head + 8, d.class_id)
    for i in range(n):
        w = h.w[i]
        if h.tail_n:
            copy_octets(w, h.tail, h.tail_n)
            w += h.tail_n
        copy_16(w, head)
        store16(w + 2, h.channel[i])
        store32(w + 4, h.size[PART_PROPERTIES][i] + h.size[PART_TABLE][i] + 14)
        store64(w + 12, h.body_n[i])
        store16(w + 20, h.flags[i])
        h.w[i] = w + 22


cdef void write_ends(Hot* h, int n) noexcept nogil:
    """The header frame's end and the body frame, if there is one."""
    cdef uint8_t* w
    cdef uint32_t size
    cdef int i
    for i in range(n):
        w = h.w[i]
        w[0] = FRAME_END
        size = h.body_n[i]
        if size:
            w[1] = FRAME_BODY
            store16(w + 2, h.channel[i])
            store32(w + 4, size)
            copy_octets(w + 8, h.body[i], size)
            w[8 + size] = FRAME_END


cdef int hot_block(Encoder* e, int64_t row, int n) noexcept nogil:
    """Rows of the method e.desc, all of them valid: 0, GIVE_UP and nothing written, or worse."""
    cdef Hot* h = e.hot
    cdef const Desc* d = e.desc
    cdef Column* c = e.out
    cdef int32_t* ends
    cdef uint64_t total = 0, most = 0
    cdef uint32_t body_least = 0, after, size
    cdef size_t used
    cdef int i, k, status
    if e.channel == NULL:
        for i in range(n):
            h.channel[i] = 1
    elif look_channels(e, h, row, n) != 0:
        return GIVE_UP
    for k in range(h.n_foreign):
        if valid_rows(h.foreign[k], row, n):
            for i in range(n):
                if says_nothing(h.foreign[k], row + i) != 1:
                    return GIVE_UP
    memset(h.size, 0, sizeof(h.size))
    memset(h.flags, 0, sizeof(h.flags))
    e.text.w = e.scratch.p
    for k in range(h.n_steps):
        status = look_step(e, h, k, row, n)
        if status != 0:
            return status
    if d.has_content:
        status = look_body(e, h, row, n, &body_least)
        if status != 0:
            return status
    elif refuse_some(e, row, n):
        return GIVE_UP
    for k in range(h.n_steps):
        if h.step[k].is_table or h.step[k].what == STEP_RAW:
            found_made(e, &h.step[k], n, h.value[k])
        if h.step[k].what == STEP_LENGTH and h.step[k].s == NULL:
            # columns of one header each: there is a table where one of them is
            for i in range(n):
                if h.size[PART_TABLE][i] == 0:
                    return GIVE_UP
    # What follows a step at least decides whether more than it has may be written.
    after = 1 + body_least
    k = h.n_steps
    while k:
        k -= 1
        if k == h.n_arguments - 1:
            after = 22 if d.has_content else 1
        h.step[k].loose = after >= <uint32_t>COPY_SLACK and (h.step[k].loose or h.step[k].ends == NULL)
        after += h.step[k].least
    # Room, then where each row begins.
    if row + n + e.rows > c.rows and column_grow(c, e.rows + row + n) < 0:
        return NO_MEMORY
    for i in range(n):
        size = h.size[PART_ARGUMENTS][i] + h.head_n + h.tail_n + 1
        most = max(most, <uint64_t>size)
        if d.has_content:
            after = h.size[PART_PROPERTIES][i] + h.size[PART_TABLE][i] + 22
            most = max(most, <uint64_t>after)
            size += after + (h.body_n[i] + 8 if h.body_n[i] else 0)
        h.total[i] = size
        total += size
    if e.frame_max and most > e.frame_max:
        return GIVE_UP
    status = out_room(e, total + 32)
    if status == COLUMN_FULL:
        return GIVE_UP
    if status != 0:
        return status
    if c.filled < e.rows + row:
        column_fill(c, e.rows + row)
    ends = <int32_t*>c.fixed.p + e.rows + row + 1
    used = c.used
    for i in range(n):
        h.w[i] = c.data.p + used
        used += h.total[i]
        ends[i] = <int32_t>used
    write_methods(h, n)
    for k in range(h.n_arguments):
        write_step(e, h, k, n)
    if d.has_content:
        write_headers(h, d, n)
        for k in range(h.n_arguments, h.n_steps):
            write_step(e, h, k, n)
        write_ends(h, n)
    else:
        for i in range(n):
            if h.tail_n:
                copy_octets(h.w[i], h.tail, h.tail_n)
            h.w[i][h.tail_n] = FRAME_END
    c.used = used
    mark_rows(c, e.rows + row, n)
    return 0


cdef bint refuse_some(Encoder* e, int64_t row, int n) noexcept nogil:
    """A method without content: whether some row has any."""
    cdef int i
    for i in range(n):
        if refuse_content(e, e.desc, row + i) != 0:
            return True
    return False


# ---- the loop ----

cdef inline bint has_none(const Source* s, int64_t row, int n) noexcept nogil:
    return s == NULL or (s.kind != IN_OTHER and valid_rows(s, row, n) == 0)


cdef int same_method(Encoder* e, int64_t row, int n) noexcept nogil:
    """How many of n rows from this one on have its method, which becomes e.desc; 0 where that
    cannot be said."""
    cdef const Source* s = e.method
    cdef const uint8_t* p = NULL
    cdef uint64_t size = 0, length
    cdef int i
    if s == NULL:
        return n if take_method_name(e, row) == 0 else 0
    if not is_octets(s) or valid_rows(s, row, n) != first_rows(n) or take_method_name(e, row) != 0:
        return 0
    length = strlen(e.desc.name)
    for i in range(1, n):
        if octets_at(s, row + i, &p, &size) < 0 or size != length \
                or memcmp(p, e.desc.name, <size_t>size) != 0:
            return i
    return n


cdef int take_hot_rows(Encoder* e, int64_t row, int n) noexcept nogil:
    """Up to n rows, the fast way if that is possible: how many were done, or a status below 0."""
    cdef int status, same
    if (valid_rows(e.root, row, n) != first_rows(n) or not has_none(e.error, row, n)
            or not has_none(e.arguments, row, n) or not has_none(e.properties_json, row, n)):
        return 0
    same = same_method(e, row, n)
    if same < HOT_LEAST_ROWS:
        return 0
    if e.hot == NULL or e.hot.desc != e.desc:
        if plan_hot(e, e.desc) < 0:
            return NO_MEMORY
    if not e.hot.possible:
        return 0
    status = hot_block(e, row, same)
    if status == 0:
        e.hot_rows += same
    return same if status == 0 else 0 if status > 0 else status


cdef int take_all_rows(Encoder* e, int64_t rows) noexcept nogil:
    """Every row of the array at hand."""
    cdef int64_t row = 0
    cdef int n, done, status
    while row < rows:
        n = <int>min(rows - row, <int64_t>HOT_ROWS)
        done = take_hot_rows(e, row, n) if e.fast else 0
        if done < 0:
            return done
        if done == 0:
            status = take_rows(e, row, n)
            if status < 0:
                return status
            done = n
        row += done
        guess_octets(e, row)
    return 0


cdef inline void guess_octets(Encoder* e, int64_t row) noexcept nogil:
    """How large the messages will be in the end, from what they are so far."""
    cdef Column* c = e.out
    cdef int64_t done = e.rows + row
    if c.data_hint == 0 or done & (done - 1) == 0:
        c.row_hint = e.total
        c.data_hint = <size_t>min(<double>c.used / <double>done * 1.07 * <double>e.total + 65536.0,
                                  <double>e.table.limit)
