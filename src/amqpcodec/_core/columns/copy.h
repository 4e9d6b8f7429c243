/* Copies that look at what they copy: sixteen bytes at a time where the machine can. */
#ifndef AMQPCODEC_COPY_H
#define AMQPCODEC_COPY_H

#include <stdint.h>
#include <string.h>
#include "wire/wire.h"

#if defined(__SSE2__) || defined(_M_X64)
#include <emmintrin.h>
#define COPY_SSE2 1
#endif

#if (defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) || defined(_WIN32)
#define LITTLE_ENDIAN_MACHINE 1
#else
#define LITTLE_ENDIAN_MACHINE 0
#endif

/* Ask for bytes that will be read soon; any address may be given. */
#if defined(__GNUC__) || defined(__clang__)
#define AMQP_PREFETCH(p) __builtin_prefetch(p, 0, 3)
#else
#define AMQP_PREFETCH(p) ((void)(p))
#endif

/* Bytes that may be read after the source and written after the target: nobody can predict how long the
 * next value is, so up to as many are copied and looked at without a branch. */
#define COPY_SLACK 32

static inline uint64_t load_word(const uint8_t *p) {
    uint64_t x;
    memcpy(&x, p, 8);
    return x;
}

static inline void store_word(uint8_t *p, uint64_t x) { memcpy(p, &x, 8); }

static inline int count_bits(uint64_t x) {
    x -= x >> 1 & 0x5555555555555555ull;
    x = (x & 0x3333333333333333ull) + (x >> 2 & 0x3333333333333333ull);
    return (int)(((x + (x >> 4)) & 0x0F0F0F0F0F0F0F0Full) * 0x0101010101010101ull >> 56);
}

/* Zeros in front of the first one of 16 bits, x above 0. */
static inline int leading_zeros_16(uint32_t x) {
#if defined(__GNUC__) || defined(__clang__)
    return __builtin_clz(x) - 16;
#else
    int n = 0;
    while (!(x & 0x8000u)) {
        x <<= 1;
        n++;
    }
    return n;
#endif
}

static inline void copy_16(uint8_t *w, const uint8_t *p) { memcpy(w, p, 16); }

/* n bytes, most often up to 32; that many are read and written at least, or COPY_SLACK more. After them. */
AMQP_INLINE uint8_t *copy_piece(uint8_t *w, const char *piece, size_t n) {
    const uint8_t *p = (const uint8_t *)piece;
    copy_16(w, p);
    copy_16(w + 16, p + 16);
    for (size_t k = 32; AMQP_UNLIKELY(k < n); k += 16) copy_16(w + k, p + k);
    return w + n;
}

/* The first n (0 to 8) bytes in memory of a word, the others blank. */
static inline uint64_t first_bytes(uint64_t x, size_t n) {
    uint64_t mask = n >= 8 ? ~(uint64_t)0 : ((uint64_t)1 << (8 * n)) - 1;
#if !LITTLE_ENDIAN_MACHINE
    mask = n ? ~(uint64_t)0 << (64 - 8 * n) : 0;
#endif
    return (x & mask) | (0x2020202020202020ull & ~mask);
}

/* Which bytes of a word (its top bits) JSON text cannot hold as they are, or are not ASCII; only the
 * first in memory order of the machine is sure. */
static inline uint64_t json_special(uint64_t x) {
    const uint64_t ones = 0x0101010101010101ull, tops = 0x8080808080808080ull;
    uint64_t quote = x ^ (ones * '"'), slash = x ^ (ones * '\\');
    return (x | (x - ones * 0x20) | (quote - ones) | (slash - ones)) & tops;
}

/* Copy n bytes, most often few. Reads and writes up to COPY_SLACK more. */
AMQP_INLINE void copy_short(uint8_t *w, const uint8_t *p, size_t n) {
    if (AMQP_UNLIKELY(n > 512)) {
        memcpy(w, p, n);
        return;
    }
    for (;; n -= 32, p += 32, w += 32) {
        copy_16(w, p);
        copy_16(w + 16, p + 16);
        if (n <= 32) return;
    }
}

#ifdef COPY_SSE2
/* Whether a mask of 32 bytes (the top bits of two times sixteen) has none of the first n, up to 32. */
AMQP_INLINE int none_of_first(__m128i low, __m128i high, size_t n) {
    uint32_t found = (uint32_t)_mm_movemask_epi8(low) | (uint32_t)_mm_movemask_epi8(high) << 16;
    return (found & (uint32_t)(((uint64_t)1 << n) - 1)) == 0;
}
#endif

/* Copy n bytes; whether all are ASCII. Reads and writes up to COPY_SLACK more. */
static inline int copy_ascii(uint8_t *w, const uint8_t *p, size_t n) {
#ifdef COPY_SSE2
    __m128i x = _mm_loadu_si128((const __m128i *)p), y = _mm_loadu_si128((const __m128i *)(p + 16));
    _mm_storeu_si128((__m128i *)w, x);
    _mm_storeu_si128((__m128i *)(w + 16), y);
    if (AMQP_LIKELY(n <= 32)) return none_of_first(x, y, n);
    y = _mm_or_si128(x, y);
    for (size_t k = 32; k + 16 < n; k += 16) {
        x = _mm_loadu_si128((const __m128i *)(p + k));
        _mm_storeu_si128((__m128i *)(w + k), x);
        y = _mm_or_si128(y, x);
    }
    x = _mm_loadu_si128((const __m128i *)(p + n - 16));
    _mm_storeu_si128((__m128i *)(w + n - 16), x);
    return _mm_movemask_epi8(_mm_or_si128(y, x)) == 0;
#else
    uint64_t x, seen = 0;
    for (; n > 8; n -= 8, p += 8, w += 8) {
        x = load_word(p);
        store_word(w, x);
        seen |= x;
    }
    x = load_word(p);
    store_word(w, x);
    return ((seen | first_bytes(x, n)) & 0x8080808080808080ull) == 0;
#endif
}

#ifdef COPY_SSE2
/* The same of sixteen bytes, all of them: the top bits. */
static inline __m128i json_special_16(__m128i x) {
    __m128i special = _mm_or_si128(_mm_cmpeq_epi8(x, _mm_set1_epi8('"')),
                               _mm_cmpeq_epi8(x, _mm_set1_epi8('\\')));
    /* signed and without overflow: what is not ASCII is below a blank, too */
    return _mm_or_si128(_mm_subs_epi8(x, _mm_set1_epi8(0x20)), special);
}
#endif

/* Copy n bytes; whether all are ASCII that a JSON string holds as it is. Reads and writes up to
 * COPY_SLACK more. */
static inline int copy_plain(uint8_t *w, const uint8_t *p, size_t n) {
#ifdef COPY_SSE2
    __m128i x = _mm_loadu_si128((const __m128i *)p), y = _mm_loadu_si128((const __m128i *)(p + 16));
    _mm_storeu_si128((__m128i *)w, x);
    _mm_storeu_si128((__m128i *)(w + 16), y);
    x = json_special_16(x);
    y = json_special_16(y);
    if (AMQP_LIKELY(n <= 32)) return none_of_first(x, y, n);
    y = _mm_or_si128(x, y);
    for (size_t k = 32; k + 16 < n; k += 16) {
        x = _mm_loadu_si128((const __m128i *)(p + k));
        _mm_storeu_si128((__m128i *)(w + k), x);
        y = _mm_or_si128(y, json_special_16(x));
    }
    x = _mm_loadu_si128((const __m128i *)(p + n - 16));
    _mm_storeu_si128((__m128i *)(w + n - 16), x);
    return _mm_movemask_epi8(_mm_or_si128(y, json_special_16(x))) == 0;
#else
    uint64_t x, seen = 0;
    for (; n > 8; n -= 8, p += 8, w += 8) {
        x = load_word(p);
        store_word(w, x);
        seen |= json_special(x);
    }
    x = load_word(p);
    store_word(w, x);
    return (seen | json_special(first_bytes(x, n))) == 0;
#endif
}

/* Whether bytes that are not plain ASCII can stand in a JSON string as they are after all. Reads up to
 * COPY_SLACK more. */
AMQP_APART static int is_plain_utf8(const uint8_t *p, size_t n) {
#ifdef COPY_SSE2
    for (size_t k = 0; k < n; k += 16) {
        __m128i x = _mm_loadu_si128((const __m128i *)(p + k));
        __m128i special = _mm_or_si128(_mm_cmpeq_epi8(x, _mm_set1_epi8('"')),
                                   _mm_cmpeq_epi8(x, _mm_set1_epi8('\\')));
        special = _mm_or_si128(special, _mm_cmpeq_epi8(x, _mm_min_epu8(x, _mm_set1_epi8(0x1F))));
        if (_mm_movemask_epi8(special) & (n - k < 16 ? (1 << (n - k)) - 1 : 0xFFFF)) return 0;
    }
#else
    for (size_t k = 0; k < n; k++)
        if (p[k] < 0x20 || p[k] == '"' || p[k] == '\\') return 0;
#endif
    return is_utf8(p, n);
}

#endif
