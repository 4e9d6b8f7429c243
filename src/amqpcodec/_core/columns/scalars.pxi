# A scalar of either family in each form of columns but Python objects: JSON text, Variants, typed columns.
#
# Each output names every kind of wire/scalar.h. The C compiler refuses a module where an output lacks one.

cdef extern from "columns/v1_text.h" nogil:
    uint8_t* v1_store_bid(uint8_t* w, const uint8_t* p, int raw)
    uint8_t* v1_store_hex(uint8_t* w, const uint8_t* p, size_t n, bint upper)
    uint8_t* v1_store_uuid(uint8_t* w, const uint8_t* p)

cdef enum:
    SCALAR_TEXT = 288       # bytes that a decimal, a UUID or a character takes as text, at most


cdef uint8_t* store_bid(uint8_t* w, const Scalar* v) noexcept nogil:
    """A decimal of IEEE 754; at most 64 bytes."""
    cdef uint8_t[8] memory
    if v.kind == KIND_BID128:
        return v1_store_bid(w, v.p, 16)
    if v.kind == KIND_BID64:
        store64(memory, v.u)
        return v1_store_bid(w, memory, 8)
    store32(memory, <uint32_t>v.u)
    return v1_store_bid(w, memory, 4)


# ---- JSON text ----

cdef int json_marked(JsonText* t, const char* name, const uint8_t* text, const uint8_t* end) noexcept nogil:
    """An object of one key, whose value is text without anything to escape. name: what stands before it."""
    cdef size_t name_n = strlen(name)
    cdef size_t n = <size_t>(end - text)
    if buffer_ensure(&t.out, name_n + n + 2) < 0:
        return NO_MEMORY
    memcpy(t.out.p, name, name_n)
    memcpy(t.out.p + name_n, text, n)
    memcpy(t.out.p + name_n + n, <const char*>b'"}', 2)
    buffer_commit(&t.out, t.out.p + name_n + n + 2)
    return 0


cdef int json_char(JsonText* t, uint32_t u) noexcept nogil:
    cdef uint8_t[8] text
    if u < 0x80:
        return json_marked(t, b'{"$char":"', text, escape_byte(text, <uint8_t>u))
    return json_marked(t, b'{"$char":"', text, store_utf8(text, u))


cdef int json_milliseconds(JsonText* t, int64_t ms) noexcept nogil:
    cdef uint8_t* w
    if buffer_ensure(&t.out, 48) < 0:
        return NO_MEMORY
    memcpy(t.out.p, <const char*>b'{"$timestamp_ms":', 17)
    w = store_i64(t.out.p + 17, ms)
    w[0] = c'}'
    buffer_commit(&t.out, w + 1)
    return 0


cdef int json_scalar(JsonText* t, const Scalar* v) noexcept nogil:
    cdef ScalarKind kind = v.kind
    cdef uint8_t[SCALAR_TEXT] text
    if kind == KIND_LONGSTR or kind == KIND_SHORTSTR:
        return json_bytes(t, v.p, v.n)
    elif kind == KIND_STRING or kind == KIND_SYMBOL:
        return json_string(t, v.p, v.n)
    elif kind == KIND_SIGNED:
        return json_i64(t, <int64_t>v.u)
    elif kind == KIND_UNSIGNED:
        return json_u64(t, v.u)
    elif kind == KIND_BOOLEAN:
        return json_literal(t, b"true", 4) if v.u else json_literal(t, b"false", 5)
    elif kind == KIND_VOID:
        return json_literal(t, b"null", 4)
    elif kind == KIND_DOUBLE:
        return json_double(t, bits_to_double(v.u))
    elif kind == KIND_FLOAT:
        return json_double(t, bits_to_float(<uint32_t>v.u))
    elif kind == KIND_BYTES:
        return json_binary(t, v.p, v.n)
    elif kind == KIND_SECONDS:
        return json_timestamp(t, v.u)
    elif kind == KIND_MILLISECONDS:
        return json_milliseconds(t, <int64_t>v.u)
    elif kind == KIND_DECIMAL:
        return json_marked(t, b'{"$decimal":"', text, store_scaled(text, <int32_t>v.u, <uint8_t>v.n))
    elif kind == KIND_BID32 or kind == KIND_BID64 or kind == KIND_BID128:
        return json_marked(t, b'{"$decimal":"', text, store_bid(text, v))
    elif kind == KIND_UUID:
        return json_marked(t, b'{"$uuid":"', text, v1_store_uuid(text, v.p))
    elif kind == KIND_CHAR:
        return json_char(t, <uint32_t>v.u)


# ---- Variants ----

cdef bint v1_plain_decimal(const uint8_t* p, const uint8_t* end, uint64_t* low, uint64_t* high,
                           int* scale) noexcept nogil:
    """A decimal's text as a number of 128 bits and its places, if it is one without loss."""
    cdef bint negative = p[0] == c'-'
    cdef uint64_t a, b
    cdef int digits = 0, exponent = 0
    low[0] = high[0] = 0
    scale[0] = -1
    p += negative
    while p < end and (c'0' <= p[0] <= c'9' or p[0] == c'.'):
        if p[0] == c'.':
            scale[0] = 0
        else:
            a = (low[0] & MAX_U32) * 10 + (p[0] - <uint8_t>c'0')
            b = (low[0] >> 32) * 10 + (a >> 32)
            low[0] = b << 32 | (a & MAX_U32)
            high[0] = high[0] * 10 + (b >> 32)
            digits += 1
            if scale[0] >= 0:
                scale[0] += 1
        p += 1
    scale[0] = max(scale[0], 0)
    if end - p > 2 and p[0] == c'E' and p[1] == c'-':
        p += 2
        while p < end and exponent < 10000:
            exponent = exponent * 10 + (p[0] - <int>c'0')
            p += 1
        scale[0] += exponent
    if p < end or digits == 0 or digits > DECIMAL_PLACES or scale[0] > DECIMAL_PLACES:
        return False
    if negative:
        low[0] = ~low[0] + 1
        high[0] = ~high[0] + (low[0] == 0)
        return low[0] != 0 or high[0] != 0          # there is no -0
    return True


cdef int survey_text(Variants* v, uint32_t parent, int ours, const uint8_t* text,
                     const uint8_t* end) noexcept nogil:
    """An object with one of OUR_KEYS, whose value is text."""
    cdef size_t before = buffer_size(&v.leaf)
    if survey_ours(v, parent, ours) < 0 or leaf_string(&v.leaf, text, <size_t>(end - text), True) < 0:
        return NO_MEMORY
    return add_variant_size(v, v.n_nodes - 1, buffer_size(&v.leaf) - before)


cdef int survey_number(Variants* v, uint32_t parent, int ours, uint64_t u, bint negative) noexcept nogil:
    """An object with one of OUR_KEYS, whose value is a number. negative: it is as int64 has it."""
    cdef size_t before = buffer_size(&v.leaf)
    if survey_ours(v, parent, ours) < 0:
        return NO_MEMORY
    if (leaf_integer(&v.leaf, <int64_t>u) if negative else leaf_u64(&v.leaf, u)) < 0:
        return NO_MEMORY
    return add_variant_size(v, v.n_nodes - 1, buffer_size(&v.leaf) - before)


cdef int survey_bid(Variants* v, uint32_t parent, const Scalar* x) noexcept nogil:
    """A decimal: a number where a Variant has it."""
    cdef size_t before = buffer_size(&v.leaf)
    cdef uint8_t[SCALAR_TEXT] text
    cdef const uint8_t* end = store_bid(text, x)
    cdef uint64_t low, high
    cdef int scale
    if not v1_plain_decimal(text, end, &low, &high, &scale):
        return survey_text(v, parent, OUR_DECIMAL, text, end)
    if leaf_decimal(&v.leaf, <int64_t>low, high, <uint8_t>scale) < 0:
        return NO_MEMORY
    return add_variant_size(v, parent, buffer_size(&v.leaf) - before)


cdef int survey_scalar(Variants* v, uint32_t parent, const Scalar* x) noexcept nogil:
    cdef Buffer* b = &v.leaf
    cdef size_t before = buffer_size(b)
    cdef ScalarKind kind = x.kind
    cdef uint8_t[SCALAR_TEXT] text
    cdef int64_t us = 0
    cdef int status
    if kind == KIND_LONGSTR or kind == KIND_SHORTSTR:
        status = leaf_string(b, x.p, x.n, is_utf8(x.p, x.n))
    elif kind == KIND_STRING or kind == KIND_SYMBOL:
        status = leaf_string(b, x.p, x.n, True)
    elif kind == KIND_BYTES:
        status = leaf_string(b, x.p, x.n, False)
    elif kind == KIND_SIGNED:
        status = leaf_integer(b, <int64_t>x.u)
    elif kind == KIND_UNSIGNED:
        status = leaf_u64(b, x.u)
    elif kind == KIND_BOOLEAN:
        status = buffer_put_byte(b, VARIANT_TRUE if x.u else VARIANT_FALSE)
    elif kind == KIND_VOID:
        status = buffer_put_byte(b, VARIANT_NULL)
    elif kind == KIND_DOUBLE:
        status = leaf_fixed(b, VARIANT_DOUBLE, x.u, 8)
    elif kind == KIND_FLOAT:
        status = leaf_fixed(b, VARIANT_FLOAT, x.u, 4)
    elif kind == KIND_SECONDS:
        if AMQP_UNLIKELY(not us_from_seconds(x.u, &us)):
            return survey_number(v, parent, OUR_TIMESTAMP, x.u, False)
        status = leaf_fixed(b, VARIANT_TIMESTAMP, <uint64_t>us, 8)
    elif kind == KIND_MILLISECONDS:
        if AMQP_UNLIKELY(not us_from_ms(<int64_t>x.u, &us)):
            return survey_number(v, parent, OUR_TIMESTAMP_MS, x.u, True)
        status = leaf_fixed(b, VARIANT_TIMESTAMP, <uint64_t>us, 8)
    elif kind == KIND_DECIMAL:
        if AMQP_UNLIKELY(x.n > DECIMAL_PLACES):
            return survey_text(v, parent, OUR_DECIMAL, text, store_scaled(text, <int32_t>x.u, <uint8_t>x.n))
        status = leaf_decimal(b, <int64_t>x.u, ~<uint64_t>0 if <int64_t>x.u < 0 else 0, <uint8_t>x.n)
    elif kind == KIND_BID32 or kind == KIND_BID64 or kind == KIND_BID128:
        return survey_bid(v, parent, x)
    elif kind == KIND_UUID:
        return survey_text(v, parent, OUR_UUID, text, v1_store_uuid(text, x.p))
    elif kind == KIND_CHAR:
        return survey_text(v, parent, OUR_CHAR, text, store_utf8(text, <uint32_t>x.u))
    return add_variant_size(v, parent, buffer_size(b) - before) if status == 0 else status


# ---- values of maps: text is itself, what is no text is JSON text, void is null ----

cdef int map_text(Table* items, const uint8_t* p, size_t n, const uint8_t* input_end) noexcept nogil:
    cdef Column* c = &items.column[1]
    cdef JsonText text
    cdef int status = append_utf8(items, c, items.rows, p, n, input_end)
    if AMQP_LIKELY(status != NOT_UTF8):
        return status
    status = text_begin(&text, c, input_end)
    if status == 0:
        status = json_binary(&text, p, n)
    return data_commit(items, &text.out, c, items.rows) if status == 0 else status


cdef int append_map_scalar(Table* items, const Scalar* v, const uint8_t* input_end) noexcept nogil:
    cdef ScalarKind kind = v.kind
    cdef Column* c = &items.column[1]
    cdef JsonText json
    cdef int status
    if kind == KIND_LONGSTR or kind == KIND_SHORTSTR:
        return map_text(items, v.p, v.n, input_end)
    elif kind == KIND_STRING or kind == KIND_SYMBOL:
        return append_bytes(items, c, items.rows, v.p, v.n)
    elif kind == KIND_VOID:
        return 0
    elif (kind == KIND_SIGNED or kind == KIND_UNSIGNED or kind == KIND_BOOLEAN or kind == KIND_DOUBLE
            or kind == KIND_FLOAT or kind == KIND_BYTES or kind == KIND_SECONDS or kind == KIND_MILLISECONDS
            or kind == KIND_DECIMAL or kind == KIND_BID32 or kind == KIND_BID64 or kind == KIND_BID128
            or kind == KIND_UUID or kind == KIND_CHAR):
        status = text_begin(&json, c, input_end)
        if status == 0:
            status = json_scalar(&json, v)
        return data_commit(items, &json.out, c, items.rows) if status == 0 else status


# ---- typed columns ----

cdef int append_wanted_number(Column* c, int64_t row, const Wanted* w, bint negative, uint64_t u) noexcept nogil:
    """A whole number. negative: it is as int64 has it."""
    if w.type == AS_WANTED_DECIMAL:
        return append_wanted_integer(c, row, w, negative, 0 - u if negative else u, 0)
    if w.type == AS_WANTED_DOUBLE:
        return append_i64(c, row, <int64_t>double_to_bits(<double><int64_t>u if negative else <double>u))
    if w.type != AS_WANTED_LONG:
        return 0
    return DOES_NOT_FIT if u > HIGHEST_INT64 and not negative else append_i64(c, row, <int64_t>u)


cdef int append_wanted_scalar(Table* t, Column* c, int64_t row, const Wanted* w, const Scalar* x,
                              const uint8_t* input_end) noexcept nogil:
    """A value as the type that was asked for, which is not JSON; a value of another type is null. DOES_NOT_FIT:
    it is of that type, and the column cannot hold it."""
    cdef ScalarKind kind = x.kind
    cdef uint8_t type_ = w.type
    cdef uint8_t[SCALAR_TEXT] text
    cdef int64_t us = 0
    cdef int status
    if kind == KIND_LONGSTR or kind == KIND_SHORTSTR:
        if type_ == AS_WANTED_STRING:
            status = append_utf8(t, c, row, x.p, x.n, input_end)
            return 0 if status == NOT_UTF8 else status
        return append_bytes(t, c, row, x.p, x.n) if type_ == AS_WANTED_BINARY else 0
    elif kind == KIND_STRING or kind == KIND_SYMBOL:
        if type_ == AS_WANTED_STRING or type_ == AS_WANTED_BINARY:
            return append_bytes(t, c, row, x.p, x.n)
    elif kind == KIND_BYTES:
        return append_bytes(t, c, row, x.p, x.n) if type_ == AS_WANTED_BINARY else 0
    elif kind == KIND_SIGNED:
        return append_wanted_number(c, row, w, <int64_t>x.u < 0, x.u)
    elif kind == KIND_UNSIGNED:
        return append_wanted_number(c, row, w, False, x.u)
    elif kind == KIND_BOOLEAN:
        return append_bool(c, row, x.u != 0) if type_ == AS_WANTED_BOOLEAN else 0
    elif kind == KIND_DOUBLE:
        return append_i64(c, row, <int64_t>x.u) if type_ == AS_WANTED_DOUBLE else 0
    elif kind == KIND_FLOAT:
        if type_ == AS_WANTED_DOUBLE:
            return append_i64(c, row, <int64_t>double_to_bits(bits_to_float(<uint32_t>x.u)))
    elif kind == KIND_SECONDS:
        if type_ == AS_WANTED_TIMESTAMP:
            return append_i64(c, row, us) if us_from_seconds(x.u, &us) else DOES_NOT_FIT
    elif kind == KIND_MILLISECONDS:
        if type_ == AS_WANTED_TIMESTAMP:
            return append_i64(c, row, us) if us_from_ms(<int64_t>x.u, &us) else DOES_NOT_FIT
    elif kind == KIND_DECIMAL:
        if type_ == AS_WANTED_STRING:
            return append_bytes(t, c, row, text, <size_t>(store_scaled(text, <int32_t>x.u, <uint8_t>x.n) - text))
        if type_ == AS_WANTED_DECIMAL:
            return append_wanted_integer(c, row, w, <int64_t>x.u < 0, 0 - x.u if <int64_t>x.u < 0 else x.u,
                                         -<int>x.n)
    elif kind == KIND_BID32 or kind == KIND_BID64 or kind == KIND_BID128:
        if type_ == AS_WANTED_STRING:
            return append_bytes(t, c, row, text, <size_t>(store_bid(text, x) - text))
        if type_ == AS_WANTED_DECIMAL:
            return append_wanted_text(c, row, w, text, store_bid(text, x))
    elif kind == KIND_VOID or kind == KIND_CHAR or kind == KIND_UUID:
        return 0
    return 0
