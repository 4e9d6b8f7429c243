# A value of a message of a run, by its wire type: to the memory of its column, if it has one.
#
# Each takes where the value is and gives where the next one is; NULL, which it may be given as well, is
# for what is unusual. Where the fields end is tested once, after the last of them: up to 320 bytes after
# the message can be read for each of its fields (see run_messages), and what a value is copied to has
# room for it, whatever its length says.

cdef extern from "columns/view.h" nogil:
    const uint8_t* run_text(uint8_t* out, uint8_t* spare, int64_t row, const uint8_t* at, uint32_t buffer,
                            const uint8_t* piece)


cdef inline const uint8_t* run_octet(uint8_t* out, int64_t row, const uint8_t* at) noexcept nogil:
    if AMQP_UNLIKELY(at == NULL):
        return NULL
    if out != NULL:
        (<int32_t*>out)[row] = at[0]
    return at + 1


cdef inline const uint8_t* run_short(uint8_t* out, int64_t row, const uint8_t* at) noexcept nogil:
    if AMQP_UNLIKELY(at == NULL):
        return NULL
    if out != NULL:
        (<int32_t*>out)[row] = load16(at)
    return at + 2


cdef inline const uint8_t* run_long(uint8_t* out, int64_t row, const uint8_t* at) noexcept nogil:
    if AMQP_UNLIKELY(at == NULL):
        return NULL
    if out != NULL:
        (<int64_t*>out)[row] = load32(at)
    return at + 4


cdef inline const uint8_t* run_longlong(uint8_t* out, int64_t row, const uint8_t* at) noexcept nogil:
    cdef uint64_t v
    if AMQP_UNLIKELY(at == NULL):
        return NULL
    if out != NULL:
        v = load64(at)
        if AMQP_UNLIKELY(v > HIGHEST_INT64):
            return NULL
        (<int64_t*>out)[row] = <int64_t>v
    return at + 8


cdef inline const uint8_t* run_timestamp(uint8_t* out, int64_t row, const uint8_t* at) noexcept nogil:
    cdef int64_t us = 0
    if AMQP_UNLIKELY(at == NULL or not us_from_seconds(load64(at), &us)):
        return NULL
    if out != NULL:
        (<int64_t*>out)[row] = us
    return at + 8


cdef inline void run_bit(uint8_t* out, int64_t row, uint8_t bits) noexcept nogil:
    """The lowest one; that of a row that was not written yet is 0."""
    if out != NULL:
        out[row >> 3] |= <uint8_t>((bits & 1) << (row & 7))


cdef inline bint run_pairs(Sink* s, const uint8_t* p, const uint8_t* end) noexcept nogil:
    """Whether a table is valid. Up to a name, a tag and a length may be read after the end."""
    cdef const uint8_t* start = p
    cdef size_t n
    cdef uint8_t tag
    cdef int shape
    while p < end:
        p += <size_t>p[0] + 2
        tag = (p - 1)[0]
        # The most frequent ones need not wait for their length to be looked up.
        if AMQP_LIKELY(tag == c'S'):
            n = load32(p)
            if AMQP_UNLIKELY(end - p < <int64_t>n + 4):
                return False
            p += n + 4
        elif AMQP_LIKELY(tag == c'I'):
            p += 4
        else:
            shape = s.options.shapes[tag]
            if AMQP_LIKELY(shape >= 0):
                p += shape
            else:
                return fast_check(s, start, <size_t>(end - start))
    return p == end


cdef inline const uint8_t* run_longstr(uint8_t* out, int64_t row, const uint8_t* at, const uint8_t* stop,
                                       uint32_t buffer, const uint8_t* piece) noexcept nogil:
    """Its bytes. stop: where the fields end."""
    cdef size_t n
    if AMQP_UNLIKELY(at == NULL):
        return NULL
    n = load32(at)
    at += 4
    if AMQP_UNLIKELY(stop - at < <int64_t>n):
        return NULL
    if out != NULL:
        store_view(out + 16 * row, at, n, buffer, <uint32_t>(at - piece))
    return at + n


cdef inline const uint8_t* run_table(Sink* s, uint8_t* out, int64_t row, const uint8_t* at, const uint8_t* stop,
                                     uint32_t buffer, const uint8_t* piece) noexcept nogil:
    """Its bytes."""
    cdef const uint8_t* end = run_longstr(out, row, at, stop, buffer, piece)
    return end if AMQP_LIKELY(end != NULL and run_pairs(s, at + 4, end)) else NULL
