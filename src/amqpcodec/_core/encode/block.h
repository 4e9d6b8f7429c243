/* Columns of a block of rows: what their values have in common, and how they get into all rows. */
#ifndef AMQPCODEC_BLOCK_H
#define AMQPCODEC_BLOCK_H

#include "columns/copy.h"

/* Ask for bytes of the next block of rows, which will be read when this one is done. */
#if defined(__GNUC__) || defined(__clang__)
#define BLOCK_PREFETCH(p) __builtin_prefetch(p, 0, 2)
#else
#define BLOCK_PREFETCH(p) ((void)(p))
#endif

/* Sixteen bytes in a register, where the machine has such. */
#ifdef COPY_SSE2
typedef __m128i Piece;
static inline Piece load_piece(const uint8_t *p) { return _mm_loadu_si128((const __m128i *)p); }
static inline void store_piece(uint8_t *w, Piece x) { _mm_storeu_si128((__m128i *)w, x); }
#else
typedef struct {
    uint64_t a, b;
} Piece;
static inline Piece load_piece(const uint8_t *p) {
    Piece x = {load_word(p), load_word(p + 8)};
    return x;
}
static inline void store_piece(uint8_t *w, Piece x) {
    store_word(w, x.a);
    store_word(w + 8, x.b);
}
#endif

/* is_ascii for long runs. */
static inline int is_ascii_run(const uint8_t *p, size_t n) {
#ifdef COPY_SSE2
    if (n >= 16) {
        const uint8_t *last = p + n - 16;
        Piece seen = load_piece(last), more = seen;
        for (; last - p >= 64; p += 64) {
            seen = _mm_or_si128(seen, _mm_or_si128(load_piece(p), load_piece(p + 16)));
            more = _mm_or_si128(more, _mm_or_si128(load_piece(p + 32), load_piece(p + 48)));
        }
        for (; p < last; p += 16) seen = _mm_or_si128(seen, load_piece(p));
        return _mm_movemask_epi8(_mm_or_si128(seen, more)) == 0;
    }
#endif
    return is_ascii(p, n);
}

#ifdef COPY_SSE2
/* What is not well-formed UTF-8 (see is_utf8) in sixteen bytes, from those before each. */
AMQP_INLINE Piece wrong_utf8(Piece x, Piece before, Piece second, Piece third) {
#define ALL(x) _mm_set1_epi8((char)(x))
    /* what must continue a letter has its top bit in `must` */
    Piece must = _mm_or_si128(_mm_subs_epu8(before, ALL(0xC0 - 0x80)),
                              _mm_or_si128(_mm_subs_epu8(second, ALL(0xE0 - 0x80)),
                                           _mm_subs_epu8(third, ALL(0xF0 - 0x80))));
    Piece wrong = _mm_and_si128(_mm_xor_si128(must, _mm_cmplt_epi8(x, ALL(0xC0))), ALL(0x80));
    Piece low = _mm_cmplt_epi8(x, ALL(0xA0)), lower = _mm_cmplt_epi8(x, ALL(0x90));
    wrong = _mm_or_si128(wrong, _mm_cmpeq_epi8(_mm_and_si128(x, ALL(0xFE)), ALL(0xC0)));
    wrong = _mm_or_si128(wrong, _mm_subs_epu8(x, ALL(0xF4)));
    wrong = _mm_or_si128(wrong, _mm_and_si128(low, _mm_cmpeq_epi8(before, ALL(0xE0))));
    wrong = _mm_or_si128(wrong, _mm_andnot_si128(low, _mm_cmpeq_epi8(before, ALL(0xED))));
    wrong = _mm_or_si128(wrong, _mm_and_si128(lower, _mm_cmpeq_epi8(before, ALL(0xF0))));
    return _mm_or_si128(wrong, _mm_andnot_si128(lower, _mm_cmpeq_epi8(before, ALL(0xF4))));
#undef ALL
}
#endif

/* is_utf8 for long runs, in a time that does not depend on what they hold. */
static inline int is_utf8_run(const uint8_t *p, size_t n) {
#ifdef COPY_SSE2
    Piece wrong = _mm_setzero_si128(), last = wrong;
    uint8_t rest[16] = {0};
    for (;; p += 16, n -= 16) {
        Piece x;
        if (n < 16) {
            memcpy(rest, p, n); /* the zeros end a letter, too */
            p = rest;
        }
        x = load_piece(p);
        wrong = _mm_or_si128(wrong, wrong_utf8(x, _mm_or_si128(_mm_slli_si128(x, 1), _mm_srli_si128(last, 15)),
                                         _mm_or_si128(_mm_slli_si128(x, 2), _mm_srli_si128(last, 14)),
                                         _mm_or_si128(_mm_slli_si128(x, 3), _mm_srli_si128(last, 13))));
        if (n < 16) break;
        last = x;
    }
    return _mm_movemask_epi8(_mm_cmpeq_epi8(wrong, _mm_setzero_si128())) == 0xFFFF;
#else
    return is_utf8(p, n);
#endif
}

/* Values that lie one after another, n + 1 offsets: whether each is well-formed UTF-8. As a whole
 * they are, and none begins inside of a letter. */
AMQP_APART static int are_utf8(const uint8_t *data, const int32_t *ends, int n) {
    const uint8_t *p = data + ends[0];
    size_t size = (size_t)(ends[n] - ends[0]);
    int inside = 0;
    if (AMQP_LIKELY(is_ascii_run(p, size))) return 1;
    if (!is_utf8_run(p, size)) return 0;
    while (ends[n - 1] == ends[n]) n--; /* there are bytes, and none after the last */
    for (int i = 1; i < n; i++) inside |= (data[ends[i]] & 0xC0) == 0x80;
    return !inside;
}

/* Copies n + 1 offsets of an array that others may write to: what is checked must be what is used.
 * The largest size of the n values; above the highest int32 where offsets descend. It is found in what was
 * loaded: the copy, read again at other addresses than it was written at, would wait for memory. */
AMQP_APART static uint32_t copy_ends(int32_t *to, const uint8_t *from, int n) {
    uint32_t largest = 0, before, end;
    int i = 0;
    memcpy(&before, from, 4);
    to[0] = (int32_t)before;
#ifdef COPY_SSE2
    const Piece sign = _mm_set1_epi32((int)(1U << 31)); /* turned, numbers without a sign compare as signed ones */
    Piece earlier = _mm_set1_epi32((int)before), most = sign;
    uint32_t four[4];
    for (; i + 4 <= n; i += 4) {
        Piece ends = load_piece(from + 4 * ((size_t)i + 1));
        Piece begins = _mm_or_si128(_mm_slli_si128(ends, 4), _mm_srli_si128(earlier, 12));
        Piece size = _mm_xor_si128(_mm_sub_epi32(ends, begins), sign), more = _mm_cmpgt_epi32(size, most);
        store_piece((uint8_t *)(to + i + 1), ends);
        most = _mm_or_si128(_mm_and_si128(more, size), _mm_andnot_si128(more, most));
        earlier = ends;
    }
    store_piece((uint8_t *)four, _mm_xor_si128(most, sign));
    for (int k = 0; k < 4; k++) largest = four[k] > largest ? four[k] : largest;
    before = (uint32_t)_mm_cvtsi128_si32(_mm_srli_si128(earlier, 12));
#endif
    for (; i < n; i++) {
        memcpy(&end, from + 4 * ((size_t)i + 1), 4);
        to[i + 1] = (int32_t)end;
        largest = end - before > largest ? end - before : largest;
        before = end;
    }
    return largest;
}

/* Whether all n values (4 to 64), the largest of this size, have it. */
static inline int have_size(const int32_t *ends, int n, uint32_t largest) {
    return (uint64_t)largest * (unsigned)n == (uint32_t)ends[n] - (uint32_t)ends[0];
}

/* Whether n values of so many bytes, 1 at least, are all the same. */
static inline int same_values(const uint8_t *p, size_t size, int n) {
    return memcmp(p, p + size, size * (size_t)(n - 1)) == 0;
}

/* n (1 to 64) bits from one on. */
AMQP_APART static uint64_t bits_at(const uint8_t *p, int64_t bit, int n) {
    uint64_t mask = 0;
    int shift = (int)(bit & 7), size = (shift + n + 7) >> 3;
    p += bit >> 3;
    if (size >= 8)
        for (int i = 0; i < 8; i++) mask |= (uint64_t)p[i] << (8 * i);
    else
        for (int i = size; i-- > 0;) mask = mask << 8 | p[i];
    mask >>= shift;
    if (size == 9) mask |= (uint64_t)p[8] << (64 - shift);
    return mask & ~(uint64_t)0 >> (64 - n);
}

/* The low bytes of n numbers. */
AMQP_APART static void store_low_bytes(uint8_t *w, const uint64_t *value, int n) {
    for (int i = 0; i < n; i++) w[i] = (uint8_t)value[i];
}

/* Eight bits to eight bytes of 0 or 1. */
static inline void store_bits_apart(uint8_t *w, uint8_t bits, int shift) {
#if LITTLE_ENDIAN_MACHINE
    uint64_t x = bits * 0x0101010101010101ull & 0x8040201008040201ull;
    x = (x + 0x7F7F7F7F7F7F7F7Full) >> 7 & 0x0101010101010101ull;
    store_word(w, load_word(w) | x << shift);
#else
    for (int i = 0; i < 8; i++) w[i] |= (uint8_t)((bits >> i & 1) << shift);
#endif
}

static inline void prefetch_bytes(const uint8_t *p, size_t n) {
#if defined(__GNUC__) || defined(__clang__)
    /* To gcc a function that only prefetches does nothing, and it leaves out calls of it. */
    __asm__ volatile("");
#endif
    for (size_t i = 0; i < n; i += 64) BLOCK_PREFETCH(p + i);
    BLOCK_PREFETCH(p + n - 1); /* p may lie in the middle of a line of the cache */
}

#endif
