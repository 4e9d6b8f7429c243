# Arrow values to the bytes of field tables: the type says the tag.
#
# int: I where the value fits 32 bits, else the dialect's 64 bits; float64: d, smaller floats: f; bool: t;
# text: S; binary: x (S by the letter of 0-9-1); timestamp: T; decimal: D; list: A; struct and map: F.
# A null is void in a list or map; in a struct, which has all its fields in every row, it is not written.


cdef int put_table_bytes(Buffer* b, const Source* s, int64_t i, uintptr_t mode, Refusal* r) noexcept nogil:
    cdef const uint8_t* p = NULL
    cdef uint64_t n = 0
    if bytes_at(s, i, &p, &n) < 0:
        return BAD_OFFSETS
    if n > MAX_U32:
        return refuse(r, b"a table value takes at most 4294967295 bytes, not %llu", NULL, n)
    if buffer_ensure(b, 5 + <size_t>n) < 0:
        return NO_MEMORY
    if s.text:
        if not is_utf8(p, <size_t>n):
            return refuse(r, b"text that is not UTF-8", NULL, 0)
        b.p[0] = c'S'
    else:
        b.p[0] = c'S' if mode & MODE_NO_X else c'x'
    store32(b.p + 1, <uint32_t>n)
    copy_bytes(b.p + 5, p, <size_t>n)
    buffer_commit(b, b.p + 5 + n)
    return 0


cdef int put_table_int(Buffer* b, const Source* s, int64_t i, uintptr_t mode, Refusal* r) noexcept nogil:
    """I where it fits 32 bits, else the dialect's 64 bits."""
    cdef int64_t v = signed_at(s.input_type, s.data, s.at + i)
    if s.input_type == IN_UINT64 and v < 0:
        if not mode & MODE_LETTER:
            return refuse_int(r, mode)
        return buffer_put_int(b, c'l', <uint64_t>v, 8)
    if v == <int32_t>v:
        return buffer_put_int(b, c'I', <uint64_t>v, 4)
    if mode & MODE_OLD:
        return refuse_int(r, mode)
    return buffer_put_int(b, c'L' if mode & MODE_LETTER else c'l', <uint64_t>v, 8)


cdef int put_table_decimal(Buffer* b, const Source* s, int64_t i, Refusal* r) noexcept nogil:
    cdef int32_t unscaled = 0
    cdef uint8_t scale = 0
    if not fit_decimal(s.data + (s.at + i) * s.width, s.width, s.scale, &unscaled, &scale):
        return refuse(r, b"a decimal's unscaled value must fit 32 bits, signed", NULL, 0)
    return put_scaled(b, scale, <uint32_t>unscaled)


cdef int refuse_seconds(Refusal* r) noexcept nogil:
    return refuse(r, b"a timestamp must be from 1970 on and fit 64 bits, unsigned", NULL, 0)


cdef int put_table_value(Buffer* b, const Source* s, int64_t i, uintptr_t mode, int depth,
                         Refusal* r) noexcept nogil:
    """Tag and bytes of the value at row i, void where there is none. depth: of the table around."""
    cdef size_t at = buffer_size(b)
    cdef int status = put_any_value(b, s, i, mode, depth, r)
    if AMQP_UNLIKELY(status == 0 and mode & MODE_OLD):
        return check_tag(b.start[at], mode, r)
    return status


cdef int put_any_value(Buffer* b, const Source* s, int64_t i, uintptr_t mode, int depth,
                       Refusal* r) noexcept nogil:
    cdef int64_t seconds = 0
    cdef size_t at
    cdef int status = find_value(&s, &i)
    if status < 0:
        return status
    if status == NO_VALUE:
        return buffer_put_byte(b, c'V')
    if is_bytes(s):
        return put_table_bytes(b, s, i, mode, r)
    if s.input_type == IN_BOOL:
        return buffer_put_int(b, c't', <uint64_t>signed_at(IN_BOOL, s.data, s.at + i), 1)
    if is_integer(s):
        return put_table_int(b, s, i, mode, r)
    if s.input_type == IN_DOUBLE:
        return buffer_put_int(b, c'd', (<const uint64_t*>s.data)[s.at + i], 8)
    if s.input_type == IN_FLOAT:
        return buffer_put_int(b, c'f', (<const uint32_t*>s.data)[s.at + i], 4)
    if s.input_type == IN_HALF:
        return buffer_put_int(b, c'f', float_to_bits(half_to_float((<const uint16_t*>s.data)[s.at + i])), 4)
    if s.input_type == IN_TIME:
        seconds_at(s, i, &seconds)
        if seconds < 0:
            return refuse_seconds(r)
        return buffer_put_int(b, c'T', <uint64_t>seconds, 8)
    if s.input_type == IN_DECIMAL:
        return put_table_decimal(b, s, i, r)
    if s.input_type == IN_OTHER:
        return refuse(r, b"a table cannot hold %s", s.type, 0)
    if depth >= DEPTH_LIMIT:
        return refuse_depth(r)
    at = buffer_size(b)
    if s.input_type == IN_STRUCT or s.input_type == IN_MAP:
        status = buffer_put_int(b, c'F', 0, 4)      # the length is written last
        if status == 0:
            status = put_table_pairs(b, s, i, mode, depth + 1, r)
    else:
        status = buffer_put_int(b, c'A', 0, 4)
        if status == 0:
            status = put_table_items(b, s, i, mode, depth + 1, r)
    return close_length(b, at + 1, r, b"a table") if status == 0 else status


cdef int put_table_items(Buffer* b, const Source* s, int64_t i, uintptr_t mode, int depth,
                         Refusal* r) noexcept nogil:
    """The values of a list."""
    cdef int64_t first = 0, n = 0, k
    cdef int status = items_at(s, i, &first, &n)
    if status < 0:
        return status
    for k in range(first, first + n):
        status = put_table_value(b, s.child, k, mode, depth, r)
        if status != 0:
            return status
    return 0


cdef int put_table_name(Buffer* b, const uint8_t* p, uint64_t n, Refusal* r) noexcept nogil:
    if n > 255:
        return refuse(r, b"a table name takes at most 255 bytes, not %llu", NULL, n)
    if buffer_ensure(b, 1 + <size_t>n) < 0:
        return NO_MEMORY
    b.p[0] = <uint8_t>n
    copy_bytes(b.p + 1, p, <size_t>n)
    buffer_commit(b, b.p + 1 + n)
    return 0


cdef int put_table_pairs(Buffer* b, const Source* s, int64_t i, uintptr_t mode, int depth,
                         Refusal* r) noexcept nogil:
    """Names and values of a struct (those that are not null) or map, without the length."""
    cdef const Source* key
    cdef const Source* value
    cdef const uint8_t* p = NULL
    cdef uint64_t size = 0
    cdef int64_t first = 0, n = 0, k, row
    cdef int status
    if s.input_type == IN_STRUCT:
        for k in range(s.n_children):
            value = &s.child[k]
            row = i
            status = find_value(&value, &row)
            if status < 0:
                return status
            if status == NO_VALUE:
                continue
            status = put_table_name(b, <const uint8_t*>s.child[k].name, s.child[k].name_n, r)
            if status == 0:
                status = put_table_value(b, value, row, mode, depth, r)
            if status != 0:
                return status
        return 0
    status = items_at(s, i, &first, &n)
    if status < 0:
        return status
    for k in range(first, first + n):
        key = &s.child.child[0]
        row = k
        status = find_value(&key, &row)
        if status < 0:
            return status
        if status == NO_VALUE:
            return refuse(r, b"a name in a map is null", NULL, 0)
        if not is_bytes(key):
            return refuse(r, b"a table name is text, not %s", key.type, 0)
        if bytes_at(key, row, &p, &size) < 0:
            return BAD_OFFSETS
        if key.text and not is_utf8(p, <size_t>size):
            return refuse(r, b"a table name that is not UTF-8", NULL, 0)
        status = put_table_name(b, p, size, r)
        if status == 0:
            status = put_table_value(b, &s.child.child[1], k, mode, depth, r)
        if status != 0:
            return status
    return 0


cdef int put_source_table(Buffer* b, const Source* s, int64_t i, uintptr_t mode, Refusal* r) noexcept nogil:
    """A whole table without its length: of JSON text, a struct or a map, which is not null."""
    cdef const uint8_t* p = NULL
    cdef uint64_t n = 0
    if s.input_type == IN_STRUCT or s.input_type == IN_MAP:
        return put_table_pairs(b, s, i, mode, 1, r)
    if is_bytes(s) and s.text:
        if bytes_at(s, i, &p, &n) < 0:
            return BAD_OFFSETS
        return json_to_table(b, p, n, mode, r)
    return refuse(r, b"a table takes JSON text, a map or a struct, not %s", s.type, 0)
