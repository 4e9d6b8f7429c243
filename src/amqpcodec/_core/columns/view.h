/* Views of Arrow's string_view and binary_view: sixteen bytes a value. */
#ifndef AMQPCODEC_VIEW_H
#define AMQPCODEC_VIEW_H

#include "columns/copy.h"

#define VIEW_INLINE 12 /* bytes that stand in the view itself, zeros after them */

/* A value of more bytes: its length, its first four bytes, the buffer and the place in it. */
static inline void store_long_view(uint8_t *w, const uint8_t *p, uint32_t n, uint32_t buffer, uint32_t at) {
#if LITTLE_ENDIAN_MACHINE
    uint32_t first;
    memcpy(&first, p, 4);
    store_word(w, n | (uint64_t)first << 32);
    store_word(w + 8, buffer | (uint64_t)at << 32);
    return;
#endif
    memcpy(w, &n, 4);
    memcpy(w + 4, p, 4);
    memcpy(w + 8, &buffer, 4);
    memcpy(w + 12, &at, 4);
}

/* A value of at most VIEW_INLINE bytes. */
static inline void store_short_view(uint8_t *w, const uint8_t *p, uint32_t n) {
    memset(w, 0, 16);
    memcpy(w, &n, 4);
    if (n) memcpy(w + 4, p, n);
}

#ifdef COPY_SSE2
/* The first n bytes of sixteen, zeros after; n up to 16. */
static const uint8_t VIEW_MASKS[32] = {
    255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
};
#endif

#ifdef COPY_SSE2
/* The first n bytes of 32 as they are, zeros after: from n before the zeros on. */
#define VIEW_ONES 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255
static const uint8_t VIEW_ENDS[256 + 32] = {
    VIEW_ONES, VIEW_ONES, VIEW_ONES, VIEW_ONES, VIEW_ONES, VIEW_ONES, VIEW_ONES, VIEW_ONES,
    VIEW_ONES, VIEW_ONES, VIEW_ONES, VIEW_ONES, VIEW_ONES, VIEW_ONES, VIEW_ONES, VIEW_ONES,
};
#endif

/* Any value, of which up to COPY_SLACK bytes more may be read. buffer and at: of a value that does not
 * stand in the view. */
AMQP_INLINE void store_view(uint8_t *w, const uint8_t *p, size_t n, uint32_t buffer, uint32_t at) {
    if (n > VIEW_INLINE) {
        store_long_view(w, p, (uint32_t)n, buffer, at);
        return;
    }
#ifdef COPY_SSE2
    {
        __m128i x = _mm_loadu_si128((const __m128i *)p);
        x = _mm_and_si128(x, _mm_loadu_si128((const __m128i *)(VIEW_MASKS + 16 - n)));
        _mm_storeu_si128((__m128i *)w, _mm_or_si128(_mm_slli_si128(x, 4), _mm_cvtsi32_si128((int)n)));
    }
#else
    store_short_view(w, p, (uint32_t)n);
#endif
}

/* The same of a text of up to 255 bytes: whether all are ASCII. 8 bytes may be written after the view.
 * Nobody can predict the size of what comes next: there is no branch for it up to 32 bytes. */
AMQP_INLINE int store_text_view(uint8_t *w, const uint8_t *p, size_t n, uint32_t buffer, uint32_t at) {
#ifdef COPY_SSE2
    const uint8_t *mask = VIEW_ENDS + 256 - n;
    __m128i x = _mm_and_si128(_mm_loadu_si128((const __m128i *)p), _mm_loadu_si128((const __m128i *)mask));
    __m128i seen = _mm_and_si128(_mm_loadu_si128((const __m128i *)(p + 16)),
                                 _mm_loadu_si128((const __m128i *)(mask + 16)));
    seen = _mm_or_si128(seen, x);
    _mm_storeu_si128((__m128i *)w, _mm_or_si128(_mm_slli_si128(x, 4), _mm_cvtsi32_si128((int)n)));
    /* If that was all of it, this goes to where the next view will be. */
    store_word(w + 8 + 8 * (size_t)(n <= VIEW_INLINE), buffer | (uint64_t)at << 32);
    if (AMQP_UNLIKELY(n > 32)) {
        const uint8_t *last = p + n - 16;
        for (p += 32; p < last; p += 16) seen = _mm_or_si128(seen, _mm_loadu_si128((const __m128i *)p));
        seen = _mm_or_si128(seen, _mm_loadu_si128((const __m128i *)last));
    }
    return _mm_movemask_epi8(seen) == 0;
#else
    uint64_t seen = 0;
    store_view(w, p, n, buffer, at);
    for (; n > 8; n -= 8, p += 8) seen |= load_word(p);
    return ((seen | first_bytes(load_word(p), n)) & 0x8080808080808080ull) == 0;
#endif
}

/* A short string of a message of a run into its row of a column's views, or to spare where the column is
 * NULL: after it; or NULL, where it is not UTF-8, or at is NULL. piece: where the buffer begins. */
AMQP_INLINE const uint8_t *run_text(uint8_t *out, uint8_t *spare, int64_t row, const uint8_t *at,
                                    uint32_t buffer, const uint8_t *piece) {
    size_t n;
    if (AMQP_UNLIKELY(at == NULL)) return NULL;
    n = *at++;
    out = AMQP_UNLIKELY(out == NULL) ? spare : out + 16 * row;
    if (AMQP_UNLIKELY(!store_text_view(out, at, n, buffer, (uint32_t)(at - piece))) && !is_utf8(at, n))
        return NULL;
    return at + n;
}

#endif
