/* Messages of one shape: octet for octet the same but for their values, and so the values of many of
 * them are columns already, a message apart. */
#ifndef AMQPCODEC_SHAPE_H
#define AMQPCODEC_SHAPE_H

#include "block.h"
#include "view.h"

#define SHAPE_PIECE 64 /* octets that are compared at a time */
#define SHAPE_FAR 4096 /* octets ahead of which messages are asked for */

/* How many of `rows` messages, `step` octets each, are as `same` where `mask` has bits, n octets (a
 * multiple of SHAPE_PIECE), and end with `end`. Both are aligned to 16 octets. */
static int count_alike(const uint8_t *p, size_t step, int rows, const uint8_t *same,
                       const uint8_t *mask, size_t n, uint8_t end) {
    const size_t ahead = step < 512 ? step : 512;
    for (int i = 0; i < rows; i++, p += step) {
        size_t k;
#ifdef COPY_SSE2
        __m128i odd = _mm_setzero_si128();
        for (k = 0; k < n; k += SHAPE_PIECE) {
            const __m128i *a = (const __m128i *)(same + k), *m = (const __m128i *)(mask + k);
            AMQP_PREFETCH(p + SHAPE_FAR + k);
            odd = _mm_or_si128(odd, _mm_and_si128(_mm_xor_si128(load_piece(p + k), a[0]), m[0]));
            odd = _mm_or_si128(odd, _mm_and_si128(_mm_xor_si128(load_piece(p + k + 16), a[1]), m[1]));
            odd = _mm_or_si128(odd, _mm_and_si128(_mm_xor_si128(load_piece(p + k + 32), a[2]), m[2]));
            odd = _mm_or_si128(odd, _mm_and_si128(_mm_xor_si128(load_piece(p + k + 48), a[3]), m[3]));
        }
        if (_mm_movemask_epi8(_mm_cmpeq_epi8(odd, _mm_setzero_si128())) != 0xFFFF) return i;
#else
        uint64_t odd = 0;
        for (k = 0; k < n; k += 8) odd |= (load_word(p + k) ^ load_word(same + k)) & load_word(mask + k);
        if (odd) return i;
        k = 0;
#endif
        if (p[step - 1] != end) return i;
        for (; k < ahead; k += 64) AMQP_PREFETCH(p + SHAPE_FAR + k);
    }
    return rows;
}

/* Views of values of n octets. 16 octets may be read; buffer and at: of the first, see put_view. */
AMQP_APART static void put_shape_views(uint8_t *w, const uint8_t *p, size_t step, int rows, uint32_t n,
                            uint32_t buffer, uint32_t at) {
    int i;
#ifdef COPY_SSE2
    if (n <= VIEW_INLINE) {
        const __m128i mask = load_piece(VIEW_MASKS + 16 - n), size = _mm_cvtsi32_si128((int)n);
        for (i = 0; i < rows; i++, p += step, w += 16)
            store_piece(w, _mm_or_si128(_mm_slli_si128(_mm_and_si128(load_piece(p), mask), 4), size));
    } else {
        __m128i rest = _mm_set_epi32((int)at, (int)buffer, 0, (int)n);
        const __m128i on = _mm_set_epi32((int)step, 0, 0, 0);
        for (i = 0; i < rows; i++, p += step, w += 16) {
            int32_t first;
            memcpy(&first, p, 4);
            store_piece(w, _mm_or_si128(_mm_slli_si128(_mm_cvtsi32_si128(first), 4), rest));
            rest = _mm_add_epi32(rest, on);
        }
    }
#else
    for (i = 0; i < rows; i++, p += step, w += 16, at += (uint32_t)step)
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

/* A bit of an octet each, into a bitmap from a row on. */
static void put_shape_bits(uint8_t *out, int64_t row, const uint8_t *p, size_t step, int rows, int bit) {
    for (int i = 0; i < rows; i++, p += step, row++)
        out[row >> 3] |= (uint8_t)((*p >> bit & 1) << (row & 7));
}

#endif
