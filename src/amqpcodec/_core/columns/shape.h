/* Messages of one shape: octet for octet the same but for their values, and so the values of many of
 * them are columns already, a message apart. */
#ifndef AMQPCODEC_SHAPE_H
#define AMQPCODEC_SHAPE_H

#include "encode/block.h"
#include "columns/view.h"

#define SHAPE_PIECE 64 /* octets that are compared at a time */
#define SHAPE_GROUP 4  /* messages that are written at a time */

#if defined(COPY_SSE2) && defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include <cpuid.h>
#include <immintrin.h>
#define SHAPE_WIDE 1

static int shape_wide; /* whether to compare 32 octets at a time */

/* Look once whether machine and system have AVX2, which wheels cannot count on. */
static void shape_look(int allowed) {
    unsigned a, b, c, d;
    if (!allowed || !__get_cpuid(1, &a, &b, &c, &d) || ~c & (1u << 27 | 1u << 28)) return;
    __asm__("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
    shape_wide = (a & 6) == 6 && __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & 1u << 5;
}

__attribute__((target("avx2"))) static int count_alike_wide(const uint8_t *p, size_t step, int rows,
                                                            const uint8_t *same,
                                                            const uint8_t *mask, size_t n,
                                                            uint8_t end) {
    for (int i = 0; i < rows; i++, p += step) {
        __m256i odd = _mm256_setzero_si256(), x, y;
        for (size_t k = 0; k < n; k += SHAPE_PIECE) {
            const __m256i *a = (const __m256i *)(same + k), *m = (const __m256i *)(mask + k);
            x = _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)(p + k)), a[0]);
            y = _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)(p + k + 32)), a[1]);
            x = _mm256_or_si256(_mm256_and_si256(x, m[0]), _mm256_and_si256(y, m[1]));
            odd = _mm256_or_si256(odd, x);
        }
        if (!_mm256_testz_si256(odd, odd) || p[step - 1] != end) return i;
    }
    return rows;
}
#else
static void shape_look(int allowed) { (void)allowed; }
#endif

/* How many of `rows` messages, `step` octets each, are as `same` where `mask` has bits, n octets (a
 * multiple of SHAPE_PIECE), and end with `end`. Both are aligned to 32 octets. */
static int count_alike(const uint8_t *p, size_t step, int rows, const uint8_t *same,
                       const uint8_t *mask, size_t n, uint8_t end) {
#ifdef SHAPE_WIDE
    if (AMQP_LIKELY(shape_wide)) return count_alike_wide(p, step, rows, same, mask, n, end);
#endif
    for (int i = 0; i < rows; i++, p += step) {
#ifdef COPY_SSE2
        __m128i odd = _mm_setzero_si128();
        for (size_t k = 0; k < n; k += SHAPE_PIECE) {
            const __m128i *a = (const __m128i *)(same + k), *m = (const __m128i *)(mask + k);
            odd = _mm_or_si128(odd, _mm_and_si128(_mm_xor_si128(load_piece(p + k), a[0]), m[0]));
            odd = _mm_or_si128(odd, _mm_and_si128(_mm_xor_si128(load_piece(p + k + 16), a[1]), m[1]));
            odd = _mm_or_si128(odd, _mm_and_si128(_mm_xor_si128(load_piece(p + k + 32), a[2]), m[2]));
            odd = _mm_or_si128(odd, _mm_and_si128(_mm_xor_si128(load_piece(p + k + 48), a[3]), m[3]));
        }
        if (_mm_movemask_epi8(_mm_cmpeq_epi8(odd, _mm_setzero_si128())) != 0xFFFF) return i;
#else
        uint64_t odd = 0;
        for (size_t k = 0; k < n; k += 8)
            odd |= (load_word(p + k) ^ load_word(same + k)) & load_word(mask + k);
        if (odd) return i;
#endif
        if (p[step - 1] != end) return i;
    }
    return rows;
}

/* Columns of messages that lie `step` octets apart, the first value at p; rows is a multiple of
 * SHAPE_GROUP. */
#define SHAPE_EACH(put) put(0) put(1) put(2) put(3)

/* Views of values of n octets. 16 octets may be read; buffer and at: of the first, see put_view. */
AMQP_APART static void put_shape_views(uint8_t *w, const uint8_t *p, size_t step, int rows, uint32_t n,
                                       uint32_t buffer, uint32_t at) {
#ifdef COPY_SSE2
    const uint8_t *const end = w + 16 * (size_t)rows;
    if (n <= VIEW_INLINE) {
        const __m128i mask = load_piece(VIEW_MASKS + 16 - n), size = _mm_cvtsi32_si128((int)n);
#define PUT_SHAPE_SHORT(i)                                                                        \
    store_piece(w + 16 * i,                                                                       \
                _mm_or_si128(_mm_slli_si128(_mm_and_si128(load_piece(p + i * step), mask), 4), size));
        for (; w < end; w += 16 * SHAPE_GROUP, p += SHAPE_GROUP * step) {
            SHAPE_EACH(PUT_SHAPE_SHORT)
        }
    } else {
        __m128i rest = _mm_set_epi32((int)at, (int)buffer, 0, (int)n);
        const __m128i on = _mm_set_epi32((int)step, 0, 0, 0);
        int32_t first;
#define PUT_SHAPE_LONG(i)                                                                         \
    memcpy(&first, p + i * step, 4);                                                              \
    store_piece(w + 16 * i, _mm_or_si128(_mm_slli_si128(_mm_cvtsi32_si128(first), 4), rest));     \
    rest = _mm_add_epi32(rest, on);
        for (; w < end; w += 16 * SHAPE_GROUP, p += SHAPE_GROUP * step) {
            SHAPE_EACH(PUT_SHAPE_LONG)
        }
    }
#else
    for (int i = 0; i < rows; i++, p += step, w += 16, at += (uint32_t)step)
        if (n <= VIEW_INLINE)
            put_short_view(w, p, n);
        else
            put_long_view(w, p, n, buffer, at);
#endif
}

AMQP_INLINE void put_shape_numbers_of(uint8_t *out, int wide, const uint8_t *p, size_t step, int rows,
                                      int octets, int64_t by) {
    for (int i = 0; i < rows; i++, p += step) {
        uint64_t v = octets == 8 ? load64(p) : octets == 1 ? *p : octets == 4 ? load32(p) : load16(p);
        if (wide)
            ((int64_t *)out)[i] = (int64_t)(v * (uint64_t)by);
        else
            ((int32_t *)out)[i] = (int32_t)v;
    }
}

/* Numbers of 1, 2, 4 or 8 octets to int32 or int64, `by` times as large; the usual ones by loops of
 * their own. */
AMQP_APART static void put_shape_numbers(uint8_t *out, int wide, const uint8_t *p, size_t step, int rows,
                              int octets, int64_t by) {
    if (octets == 8)
        put_shape_numbers_of(out, 1, p, step, rows, 8, by);
    else if (octets == 1 && !wide)
        put_shape_numbers_of(out, 0, p, step, rows, 1, 1);
    else
        put_shape_numbers_of(out, wide, p, step, rows, octets, by);
}

/* Numbers that are not in the messages, `on` apart. */
AMQP_APART static void put_shape_places(uint8_t *out, int wide, int rows, int64_t first, int64_t on) {
    for (int i = 0; i < rows; i++, first += on)
        if (wide)
            ((int64_t *)out)[i] = first;
        else
            ((int32_t *)out)[i] = (int32_t)first;
}

/* A bit of an octet each, into a bitmap from a row on; up to 25 rows. */
static void put_shape_bits(uint8_t *out, int64_t row, const uint8_t *p, size_t step, int rows, int bit) {
    uint32_t bits = 0;
    for (int i = 0; i < rows; i++, p += step) bits |= (uint32_t)(*p >> bit & 1) << i;
    bits <<= row & 7;
    for (out += row >> 3; bits; bits >>= 8) *out++ |= (uint8_t)bits;
}

#endif
