# What encoding reads of Arrow arrays, beside values as `columns/source.pxd` gives them.

cdef extern from "encode/encode.h" nogil:
    size_t copy_json_run(uint8_t* w, const uint8_t* p, size_t n)
    int64_t parse_base64(uint8_t* w, const uint8_t* p, size_t n)
    float half_to_float(uint16_t half)
    bint fit_decimal(const uint8_t* p, int size, int scale, int32_t* unscaled, uint8_t* fits)


cdef inline int seconds_at(const Source* s, int64_t i, int64_t* seconds) noexcept nogil:
    """Whole seconds of a timestamp, floored."""
    cdef int64_t v = (<const int64_t*>s.data)[s.at + i]
    seconds[0] = coarser_time(v, s.unit)
    return 0


cdef int is_default_value(const Source* s, int64_t i) noexcept nogil:
    """Whether a value is null, false, zero or empty: 1, 0 or BAD_OFFSETS."""
    cdef const uint8_t* p = NULL
    cdef uint64_t n = 0
    cdef int status = find_value(&s, &i)
    if status != HAS_VALUE:
        return status if status < 0 else 1
    if is_bytes(s):
        if bytes_at(s, i, &p, &n) < 0:
            return BAD_OFFSETS
        return n == 0
    return is_integer(s) and signed_at(s.input_type, s.data, s.at + i) == 0
