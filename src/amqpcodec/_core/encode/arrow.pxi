# Arrow values to entries of field tables and to values of AMQP 1.0, without the GIL: the type says the type.
#
# Integers keep their width and sign where the family has it; a float64 is a double, smaller ones a float; text is
# a string, binary a binary, a timestamp a timestamp (floored; without a zone it is taken for UTC), a decimal a
# decimal, a list a list, a struct or map a map. A null is null in a list or map; in a struct, which has all its
# fields in every row, it is not written.

# Type of each IN_BOOL to IN_UINT64.
cdef uint8_t* INTEGER_TYPES = [
    V1_BOOLEAN, V1_BYTE, V1_UBYTE, V1_SHORT, V1_USHORT, V1_INT, V1_UINT, V1_LONG, V1_ULONG]


cdef int arrow_value(Encoder* e, const Source* s, int64_t i, int depth) noexcept nogil:
    """The value at row i, null where there is none. depth: levels that are open around it."""
    cdef size_t at = buffer_size(&e.scratch)
    cdef int status = arrow_any(e, s, i, depth)
    if AMQP_UNLIKELY(e.mode & MODE_OLD and status == 0):
        return check_tag(e, at)
    return status


cdef int arrow_any(Encoder* e, const Source* s, int64_t i, int depth) noexcept nogil:
    cdef int status = find_value(&s, &i)
    if status < 0:
        return status
    if status == NO_VALUE:
        return put_null(e)
    if is_bytes(s):
        return arrow_bytes(e, V1_STRING if s.text else V1_BINARY, s, i)
    if is_integer(s):
        return put_number(e, INTEGER_TYPES[s.input_type - IN_BOOL],
                          <uint64_t>signed_at(s.input_type, s.data, s.at + i))
    if s.input_type == IN_DOUBLE:
        return put_double(e, (<const uint64_t*>s.data)[s.at + i])
    if s.input_type == IN_FLOAT:
        return put_float(e, (<const uint32_t*>s.data)[s.at + i])
    if s.input_type == IN_HALF:
        return put_float(e, float_to_bits(half_to_float((<const uint16_t*>s.data)[s.at + i])))
    if s.input_type == IN_TIME:
        return arrow_time(e, s, i)
    if s.input_type == IN_DECIMAL:
        return arrow_decimal(e, s, i)
    if s.input_type == IN_STRUCT or s.input_type == IN_MAP:
        return arrow_map(e, s, i, depth, False)
    if IN_LIST <= s.input_type <= IN_FIXED_LIST:
        return arrow_list(e, s, i, depth)
    return refuse(&e.fault, b"a table cannot hold %s" if e.v1 == NULL
                  else b"no type of AMQP 1.0 stands for %s", s.type, 0)


cdef int arrow_bytes(Encoder* e, uint8_t wire_type, const Source* s, int64_t i) noexcept nogil:
    cdef const uint8_t* p = NULL
    cdef uint64_t n = 0
    if bytes_at(s, i, &p, &n) < 0:
        return BAD_OFFSETS
    return put_text(e, wire_type, p, n)


cdef int arrow_time(Encoder* e, const Source* s, int64_t i) noexcept nogil:
    cdef int64_t seconds = 0
    cdef uint64_t u = 0
    cdef int status
    if e.v1 != NULL:
        status = v1e_moment(s, i, &u, &e.fault)
        return v1e_number(&e.scratch, V1_TIMESTAMP, u) if status == 0 else status
    seconds_at(s, i, &seconds)
    if seconds < 0:
        return refuse_seconds(&e.fault)
    return put_scalar(e, FORM_timestamp, <uint64_t>seconds)


cdef int arrow_decimal(Encoder* e, const Source* s, int64_t i) noexcept nogil:
    cdef const uint8_t* p = s.data + (s.at + i) * s.width
    cdef uint8_t[16] raw
    cdef int32_t unscaled = 0
    cdef uint8_t scale = 0
    if e.v1 != NULL:
        if v1e_bid_of(p, s.width, s.scale, raw) != V1_DECIMAL_FITS:
            return refuse(&e.fault, b"a decimal128 holds 34 digits, and not every exponent", NULL, 0)
        return v1e_sixteen(&e.scratch, CTOR_DECIMAL128, raw)
    if not fit_decimal(p, s.width, s.scale, &unscaled, &scale):
        return refuse(&e.fault, b"a decimal's unscaled value must fit 32 bits, signed", NULL, 0)
    return put_scaled(e, scale, <uint32_t>unscaled)


cdef int arrow_list(Encoder* e, const Source* s, int64_t i, int depth) noexcept nogil:
    cdef int64_t first = 0, n = 0, k
    cdef size_t at = 0
    cdef int status = enter_level(e, depth)
    if status == 0:
        status = items_at(s, i, &first, &n)
    if status == 0:
        status = open_compound(e, V1_LIST, &at)
    for k in range(first, first + n):
        if status != 0:
            return status
        status = arrow_value(e, s.child, k, depth + 1)
    return close_compound(e, at, V1_LIST, <uint64_t>n) if status == 0 else status


cdef int arrow_map(Encoder* e, const Source* s, int64_t i, int depth, bint symbols) noexcept nogil:
    """A struct or map. symbols: its keys are symbols."""
    cdef uint64_t count = 0
    cdef size_t at = 0
    cdef int status = enter_level(e, depth)
    if status == 0:
        status = open_compound(e, V1_MAP, &at)
    if status == 0:
        status = arrow_pairs(e, s, i, depth + 1, symbols, &count)
    return close_compound(e, at, V1_MAP, count) if status == 0 else status


cdef int arrow_pairs(Encoder* e, const Source* s, int64_t i, int depth, bint symbols,
                     uint64_t* count) noexcept nogil:
    """Keys and values of a struct (what of it is not null) or map, counted in `count`."""
    cdef const Source* value
    cdef int64_t first = 0, n = s.n_children, k, row
    cdef int status = 0
    if s.input_type != IN_STRUCT:
        status = items_at(s, i, &first, &n)
    for k in range(first, first + n):
        if status != 0:
            return status
        if s.input_type == IN_STRUCT:
            value = &s.child[k]
            row = i
            status = find_value(&value, &row)
            if status == NO_VALUE:
                continue
            if status > 0:
                status = put_name(e, <const uint8_t*>s.child[k].name, s.child[k].name_n, symbols)
        else:
            value = &s.child.child[1]
            row = k
            status = arrow_key(e, &s.child.child[0], k, depth, symbols)
        if status == 0:
            status = arrow_value(e, value, row, depth)
        count[0] += 2
    return status


cdef int arrow_key(Encoder* e, const Source* s, int64_t i, int depth, bint symbols) noexcept nogil:
    """A key of a map: text in a field table; in AMQP 1.0 of any type, but symbol or ulong where it must be."""
    cdef const uint8_t* p = NULL
    cdef uint64_t n = 0
    cdef int64_t v
    cdef int status = find_value(&s, &i)
    if status < 0:
        return status
    if status == NO_VALUE:
        return refuse(&e.fault, b"a name in a map is null" if e.v1 == NULL else b"a key in a map is null", NULL, 0)
    if e.v1 == NULL:
        if not is_bytes(s):
            return refuse(&e.fault, b"a table name is text, not %s", s.type, 0)
        if bytes_at(s, i, &p, &n) < 0:
            return BAD_OFFSETS
        if s.text and not is_utf8(p, <size_t>n):
            return refuse(&e.fault, b"a table name that is not UTF-8", NULL, 0)
        return put_table_name(&e.scratch, p, n, &e.fault)
    if not symbols:
        return arrow_value(e, s, i, depth)
    if is_bytes(s):
        return arrow_bytes(e, V1_SYMBOL, s, i)
    if is_integer(s) and s.input_type != IN_BOOL:
        v = signed_at(s.input_type, s.data, s.at + i)
        if v >= 0 or s.input_type == IN_UINT64:
            return v1e_number(&e.scratch, V1_ULONG, <uint64_t>v)
    return refuse(&e.fault, b"a key here is a symbol or ulong, not %s", s.type, 0)


# ---- complete columns ----

cdef int put_source_table(Encoder* e, const Source* s, int64_t i) noexcept nogil:
    """A complete field table without its length: of JSON text, a struct or a map, which is not null."""
    cdef uint64_t count = 0
    cdef Json j
    cdef int status
    if s.input_type == IN_STRUCT or s.input_type == IN_MAP:
        return arrow_pairs(e, s, i, 1, False, &count)
    if not (is_bytes(s) and s.text):
        return refuse(&e.fault, b"a table takes JSON text, a map or a struct, not %s", s.type, 0)
    status = json_begin(&j, s, i, &e.fault)
    if status == 0:
        status = json_table(e, &j)
    return json_end(&j) if status == 0 else status
