# Arrow values to values of AMQP 1.0: the type says the type.
#
# Integers keep their width and sign, float64 is a double, smaller floats a float, bool a boolean, text a
# string, binary a binary, timestamp a timestamp (floored to ms; without a zone it is taken for UTC), decimal
# a decimal128, list a list, struct and map a map. A null is null in a list or map; in a struct, which
# has all its fields in every row, it is not written.

# Type of each IN_BOOL to IN_UINT64.
cdef uint8_t* V1E_INTEGERS = [
    V1_BOOLEAN, V1_BYTE, V1_UBYTE, V1_SHORT, V1_USHORT, V1_INT, V1_UINT, V1_LONG, V1_ULONG]


cdef int v1e_moment(const Source* s, int64_t i, uint64_t* out, Refusal* r) noexcept nogil:
    """Milliseconds of a timestamp, floored."""
    cdef int64_t v = (<const int64_t*>s.data)[s.at + i]
    cdef int64_t part, q
    if s.unit == 1:
        if v > <int64_t>HIGHEST_INT64 // 1000 or v < -(<int64_t>HIGHEST_INT64 // 1000):
            return refuse(r, b"a timestamp must fit 64 bits of milliseconds, signed", NULL, 0)
        out[0] = <uint64_t>(v * 1000)
        return 0
    part = s.unit // 1000
    q = v // part           # C's division, towards zero
    out[0] = <uint64_t>(q - 1 if v < 0 and q * part != v else q)
    return 0


cdef int v1e_arrow_bytes(Buffer* b, uint8_t wire_type, const Source* s, int64_t i, Refusal* r) noexcept nogil:
    cdef const uint8_t* p = NULL
    cdef uint64_t n = 0
    if bytes_at(s, i, &p, &n) < 0:
        return BAD_OFFSETS
    return v1e_run(b, wire_type, p, n, r)


cdef int v1e_arrow_scalar(Buffer* b, const Source* s, int64_t i, Refusal* r) noexcept nogil:
    """A value that is not null and no list, struct or map."""
    cdef uint8_t[16] raw
    cdef uint64_t u = 0
    cdef int status
    if is_bytes(s):
        return v1e_arrow_bytes(b, V1_STRING if s.text else V1_BINARY, s, i, r)
    if is_integer(s):
        return v1e_number(b, V1E_INTEGERS[s.input_type - IN_BOOL],
                          <uint64_t>signed_at(s.input_type, s.data, s.at + i))
    if s.input_type == IN_DOUBLE:
        return v1e_number(b, V1_DOUBLE, (<const uint64_t*>s.data)[s.at + i])
    if s.input_type == IN_FLOAT:
        return v1e_number(b, V1_FLOAT, (<const uint32_t*>s.data)[s.at + i])
    if s.input_type == IN_HALF:
        return v1e_number(b, V1_FLOAT,
                          float_to_bits(half_to_float((<const uint16_t*>s.data)[s.at + i])))
    if s.input_type == IN_TIME:
        status = v1e_moment(s, i, &u, r)
        return v1e_number(b, V1_TIMESTAMP, u) if status == 0 else status
    if s.input_type == IN_DECIMAL:
        if v1e_bid_of(s.data + (s.at + i) * s.width, s.width, s.scale, raw) != V1_DECIMAL_FITS:
            return refuse(r, b"a decimal128 holds 34 digits, and not every exponent", NULL, 0)
        return v1e_sixteen(b, CTOR_DECIMAL128, raw)
    return refuse(r, b"no type of AMQP 1.0 stands for %s", s.type, 0)


cdef int v1e_arrow(Encoder* e, const Source* s, int64_t i, int depth) noexcept nogil:
    """Any value, null where there is none. depth: levels that are open around it."""
    cdef Buffer* b = &e.scratch
    cdef int status = find_value(&s, &i)
    if status < 0:
        return status
    if status == NO_VALUE:
        return buffer_put_byte(b, CTOR_NULL)
    if s.input_type == IN_STRUCT or s.input_type == IN_MAP:
        return v1e_arrow_map(e, s, i, depth, False)
    if IN_LIST <= s.input_type <= IN_FIXED_LIST:
        return v1e_arrow_list(e, s, i, depth)
    return v1e_arrow_scalar(b, s, i, &e.refusal)


cdef int v1e_arrow_list(Encoder* e, const Source* s, int64_t i, int depth) noexcept nogil:
    cdef Buffer* b = &e.scratch
    cdef int64_t first = 0, n = 0, k
    cdef size_t at = 0
    cdef int status = v1e_enter(depth, &e.refusal)
    if status == 0:
        status = items_at(s, i, &first, &n)
    if status == 0:
        status = v1e_open(b, &at)
    for k in range(first, first + n):
        if status != 0:
            return status
        status = v1e_arrow(e, s.child, k, depth + 1)
    return v1e_close(b, at, V1_LIST, <uint64_t>n, &e.refusal) if status == 0 else status


cdef int v1e_arrow_map(Encoder* e, const Source* s, int64_t i, int depth, bint symbols) noexcept nogil:
    """A struct (what of it is not null) or map. symbols: its keys are symbols."""
    cdef Buffer* b = &e.scratch
    cdef const Source* value
    cdef uint64_t count = 0
    cdef int64_t first = 0, n = 0, k, row
    cdef size_t at = 0
    cdef int status = v1e_enter(depth, &e.refusal)
    if status == 0:
        status = v1e_open(b, &at)
    if s.input_type == IN_STRUCT:
        n = s.n_children
    elif status == 0:
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
                status = v1e_run(b, V1_SYMBOL if symbols else V1_STRING,
                                 <const uint8_t*>s.child[k].name, s.child[k].name_n, &e.refusal)
        else:
            value = &s.child.child[1]
            row = k
            status = v1e_arrow_key(e, &s.child.child[0], k, depth + 1, symbols)
        if status == 0:
            status = v1e_arrow(e, value, row, depth + 1)
        count += 2
    return v1e_close(b, at, V1_MAP, count, &e.refusal) if status == 0 else status


cdef int v1e_arrow_key(Encoder* e, const Source* s, int64_t i, int depth, bint symbols) noexcept nogil:
    """A key of a map: of any type, but symbol or ulong where it must be."""
    cdef int64_t v
    cdef int status = find_value(&s, &i)
    if status < 0:
        return status
    if status == NO_VALUE:
        return refuse(&e.refusal, b"a key in a map is null", NULL, 0)
    if not symbols:
        return v1e_arrow(e, s, i, depth)
    if is_bytes(s):
        return v1e_arrow_bytes(&e.scratch, V1_SYMBOL, s, i, &e.refusal)
    if is_integer(s) and s.input_type != IN_BOOL:
        v = signed_at(s.input_type, s.data, s.at + i)
        if v >= 0 or s.input_type == IN_UINT64:
            return v1e_number(&e.scratch, V1_ULONG, <uint64_t>v)
    return refuse(&e.refusal, b"a key here is a symbol or ulong, not %s", s.type, 0)


# ---- whole columns ----

cdef int v1e_json_column(Encoder* e, const Source* s, int64_t i, Json* j) noexcept nogil:
    """Begin to read the JSON text of a row."""
    cdef const uint8_t* p = NULL
    cdef uint64_t n = 0
    if bytes_at(s, i, &p, &n) < 0:
        return BAD_OFFSETS
    return json_begin(j, p, n, 0, &e.refusal)


cdef int v1e_map_column(Encoder* e, const Source* s, int64_t i, int depth, bint symbols) noexcept nogil:
    """A map that is not null: of JSON text, a struct or a map."""
    cdef Json j
    cdef size_t at
    cdef int status
    if s.input_type == IN_STRUCT or s.input_type == IN_MAP:
        return v1e_arrow_map(e, s, i, depth, symbols)
    if not (is_bytes(s) and s.text):
        return refuse(&e.refusal, b"a map takes JSON text, a map or a struct, not %s", s.type, 0)
    at = buffer_size(&e.scratch)
    status = v1e_json_column(e, s, i, &j)
    if status == 0:
        status = v1e_json_object(e, &j, depth, symbols)
    if status == 0 and CTOR_WIRE_TYPE[e.scratch.start[at]] != V1_MAP:
        return refuse(&e.refusal, b"takes a JSON object that is a map", NULL, 0)
    return json_end(&j) if status == 0 else status


cdef int v1e_any_column(Encoder* e, const Source* s, int64_t i, int depth) noexcept nogil:
    """Any value that is not null: text is JSON, all else as its type says."""
    cdef Json j
    cdef int status
    if not (is_bytes(s) and s.text):
        return v1e_arrow(e, s, i, depth)
    status = v1e_json_column(e, s, i, &j)
    if status == 0:
        status = v1e_json(e, &j, depth)
    return json_end(&j) if status == 0 else status
