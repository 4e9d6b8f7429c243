# Rows of columns to frames, the fast way: a block of rows of one method, column by column.
#
# First every column is looked at for all rows of the block, then each is written for all rows. Whatever is
# odd (GIVE_UP, with nothing written) leaves the block to encode_rows.pxi, which finds out why; a test holds
# both ways equal.

# ---- a step ----

cdef void note_flag(Hot* h, const HotStep* t, int n) noexcept nogil:
    cdef int i
    if all_rows(t, n):
        h.flags_same |= t.flag
        return
    if not h.flags_vary:
        h.flags_vary = True
        memset(h.flags, 0, sizeof(h.flags))
    for i in range(n):
        if t.mask >> i & 1:
            h.flags[i] |= t.flag


cdef int look_step(Encoder* e, Hot* h, int k, int64_t row, int n) noexcept nogil:
    """A column: what there is in this block, and what it takes."""
    cdef HotStep* t = &h.step[k]
    t.way = WAY_NONE
    t.least = 0
    t.mask = step_rows(t, row, n)
    if t.what == STEP_LENGTH:
        h.table_rows = t.mask
    elif t.part == PART_TABLE:
        t.mask &= h.table_rows
    if t.mask == 0:
        if t.part == PART_ARGUMENTS:
            memset(t.constant, 0, 8)
            look_same(h, t, t.constant, 0 if length_octets(t) else t.width)
        return 0
    if t.flag:
        note_flag(h, t, n)
    if t.what == STEP_LENGTH:
        # the table is there, or not, in all rows
        if not all_rows(t, n):
            return GIVE_UP
        look_values(h, t, h.value[k], 4)
        return 0
    if t.is_table or t.what == STEP_RAW:
        return look_made(e, h, t, row, n, h.value[k], h.octets[k])
    if t.what == STEP_SHORT or t.what == STEP_LONG:
        if not is_octets(t.s) and t.s.kind != IN_DICTIONARY:
            return GIVE_UP
        return look_octets(h, t, row, n, h.value[k], h.octets[k])
    if t.what == STEP_INT:
        return look_ints(h, t, row, n, h.value[k], h.octets[k])
    if t.what == STEP_BITS:
        return look_bits(h, t, row, n, h.value[k], h.octets[k])
    return look_numbers(h, t, row, n, h.value[k], h.octets[k])


# ---- what is not a step ----

cdef int look_body(Encoder* e, Hot* h, int64_t row, int n) noexcept nogil:
    """Bodies: h.bodies_vary says in which form; 0 or GIVE_UP."""
    cdef const Source* s = e.body
    cdef const Source* found
    cdef const int32_t* ends
    cdef uint64_t mask = 0 if s == NULL else valid_rows(s, row, n)
    cdef uint64_t size = 0
    cdef uint32_t seen = 0
    cdef int64_t k
    cdef int i
    if mask == 0:
        return 0
    if mask == first_rows(n) and s.kind == IN_OCTETS and not s.text:
        ends = <const int32_t*>s.ends + s.at + row
        seen = look_sizes(ends, n, &h.bodies_vary)
        if seen > 0xFFFFFF or ends[0] < 0 or <uint64_t>ends[n] > s.last:
            return GIVE_UP
        for i in range(n if h.bodies_vary else 1):
            h.body_n[i] = <uint32_t>(ends[i + 1] - ends[i])
            h.body[i] = s.data + ends[i]
    else:
        h.bodies_vary = True
        for i in range(n):
            h.body_n[i] = 0
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
    prefetch_next(s, row, n, h.bodies_vary)
    if e.frame_max and seen + 8 > e.frame_max:
        for i in range(n if h.bodies_vary else 1):
            if h.body_n[i] + 8 > e.frame_max:
                return GIVE_UP
    return 0


# ---- a block ----

cdef int hot_block(Encoder* e, int64_t row, int n) noexcept nogil:
    """Rows of the method e.desc, all of them valid: 0, GIVE_UP and nothing written, or worse."""
    cdef Hot* h = e.hot
    cdef const Desc* d = e.desc
    cdef uint8_t* first
    cdef uint8_t end = FRAME_END
    cdef uint64_t total
    cdef int k, status
    h.even.on = False           # its steps are for this block now
    status = look_block(e, h, row, n)
    if status != 0:
        return status
    total = add_up(h, d, n, e.frame_max)
    if total == 0:
        return GIVE_UP
    status = begin_rows(e, h, row, n, total)
    if status != 0:
        return status
    first = h.w[0]
    h.front_n = 0
    h.on = 0
    add_method(h, n)
    for k in range(h.n_arguments):
        write_step(e, h, k, n)
    if d.has_content:
        add_header(h, d, n)
        for k in range(h.n_arguments, h.n_steps):
            write_step(e, h, k, n)
        write_bodies(h, n)
    else:
        add_front(h, h.tail, h.tail_n, n)
        add_front(h, &end, 1, n)
        drop_front(h, n)
    patch_frames(h, d, first, n)
    end_rows(e, row, n, total)
    if n == HOT_ROWS and d.has_content:
        even_begin(e, h, first)
    return 0


cdef int look_block(Encoder* e, Hot* h, int64_t row, int n) noexcept nogil:
    """Look at every column: 0, GIVE_UP or worse."""
    cdef const Desc* d = e.desc
    cdef uint64_t* lengths
    cdef uint32_t after
    cdef HotStep* t
    cdef int i, k, status
    h.same[0] = h.same[1] = h.same[2] = 0
    h.varies[0] = h.varies[1] = h.varies[2] = False
    h.flags_same = 0
    h.flags_vary = False
    h.bodies_vary = False
    h.body_n[0] = 0
    e.text.w = e.scratch.p
    if look_channels(e, h, row, n) != 0:
        return GIVE_UP
    for k in range(h.n_foreign):
        if valid_rows(h.foreign[k], row, n):
            for i in range(n):
                if says_nothing(h.foreign[k], row + i) != 1:
                    return GIVE_UP
    for k in range(h.n_steps):
        status = look_step(e, h, k, row, n)
        if status != 0:
            return status
        t = &h.step[k]
        if t.mask:      # values of the other ways are asked for where these are written
            prefetch_next(t.s, row, n, t.way == WAY_SAME or t.way == WAY_EACH)
    if not d.has_content:
        if refuse_some(e, row, n):
            return GIVE_UP
        after = 1
    elif look_body(e, h, row, n) != 0:
        return GIVE_UP
    else:
        after = 1 if h.bodies_vary or h.body_n[0] == 0 else h.body_n[0] + 9
    # What follows a step at least decides whether more than it has may be written.
    for k in range(h.n_steps - 1, -1, -1):
        t = &h.step[k]
        if k == h.n_arguments - 1:
            after += h.tail_n + (22 if d.has_content else 0)
        t.after = after
        after += t.least
        if t.way == WAY_EACH and (t.is_table or t.what == STEP_RAW):
            found_made(e, t, n, h.value[k])
        elif t.what == STEP_LENGTH and t.way != WAY_NONE:
            lengths = h.value[k]
            if not h.varies[PART_TABLE]:
                if t.s == NULL and h.same[PART_TABLE] == 0:
                    return GIVE_UP
                store32(t.constant, h.same[PART_TABLE])
                t.data = t.constant
                t.way = WAY_SAME
                continue
            for i in range(n):
                lengths[i] = h.same[PART_TABLE] + h.size[PART_TABLE][i]
                if lengths[i] == 0 and t.s == NULL:
                    # columns of one header each: there is a table where one of them is
                    return GIVE_UP
    return 0


cdef uint64_t add_up(Hot* h, const Desc* d, int n, uint64_t frame_max) noexcept nogil:
    """Octets of each row into h.total; of all, or 0 where a frame may be larger than frame_max."""
    cdef uint32_t method = h.head_n + h.tail_n + 1 + h.same[PART_ARGUMENTS]
    cdef uint32_t header = 22 + h.same[PART_PROPERTIES] + h.same[PART_TABLE] if d.has_content else 0
    cdef uint32_t most, same
    cdef uint64_t total = 0
    cdef int i, k
    same = method + header
    if d.has_content and not h.bodies_vary and h.body_n[0]:
        same += h.body_n[0] + 8
    for i in range(n):
        h.total[i] = same
    for k in range(3):
        if not h.varies[k]:
            continue
        most = 0
        for i in range(n):
            h.total[i] += h.size[k][i]
            most = max(most, h.size[k][i])
        if k == PART_ARGUMENTS:
            method += most
        else:
            header += most
    if d.has_content and h.bodies_vary:
        for i in range(n):
            h.total[i] += h.body_n[i] + 8 if h.body_n[i] else 0
    for i in range(n):
        total += h.total[i]
    return 0 if frame_max and max(method, header) > frame_max else total


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
    cdef const int32_t* ends
    cdef const uint8_t* p = NULL
    cdef uint64_t size = 0, length
    cdef bint differ = False
    cdef int i
    if s == NULL:
        return n if take_method_name(e, row) == 0 else 0
    if valid_rows(s, row, n) != first_rows(n) or take_method_name(e, row) != 0:
        return 0
    if s.kind == IN_DICTIONARY:
        return same_indices(s, row, n)
    length = strlen(e.desc.name)
    if s.kind == IN_OCTETS:
        # offsets of one distance, from one that was found to be right
        ends = <const int32_t*>s.ends + s.at + row
        look_sizes(ends, n, &differ)
        if not differ and <uint64_t>ends[n] <= s.last and same_values(s.data + ends[0], <size_t>length, n):
            prefetch_next(s, row, n, True)
            return n
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
    if e.hot == NULL or e.hot.desc != e.desc or e.hot.mode != e.mode:
        if plan_hot(e, e.desc) < 0:
            return NO_MEMORY
    if not e.hot.possible:
        return 0
    status = GIVE_UP
    if e.hot.even.on and same == HOT_ROWS:
        status = even_block(e, e.hot, row)
    if status > 0:
        status = hot_block(e, row, same)
    if status == 0:
        e.hot_rows += same
    return same if status == 0 else 0 if status > 0 else status


cdef int take_all_rows(Encoder* e, int64_t rows) noexcept nogil:
    """Every row of the array at hand."""
    cdef int64_t row = 0
    cdef int n, done, status
    if e.hot != NULL:
        even_end(e.hot)
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
        guess_octets(e, e.out.used, e.rows + row)
    return 0
