/* What encoding columns needs beside copies: JSON strings, base64, halves and decimals. */
#ifndef AMQPCODEC_ENCODE_H
#define AMQPCODEC_ENCODE_H

#include <stdint.h>
#include <string.h>
#include "columns/arrow.h"
#include "columns/copy.h"
#include "wire/wire.h"

static inline size_t first_bit(uint32_t x) {
#if defined(__GNUC__) || defined(__clang__)
    return (size_t)__builtin_ctz(x);
#else
    size_t n = 0;
    while (!(x & 1)) {
        x >>= 1;
        n++;
    }
    return n;
#endif
}

/* Copy what stands in front of a quote, a backslash or a control character: how much that is.
 * COPY_SLACK more than n can be written, nothing after n is read. */
static inline size_t copy_json_run(uint8_t *w, const uint8_t *p, size_t n) {
    size_t i = 0;
#ifdef COPY_SSE2
    const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\');
    const __m128i control = _mm_set1_epi8(0x1F);
    for (; n - i >= 16; i += 16) {
        __m128i x = _mm_loadu_si128((const __m128i *)(p + i));
        __m128i special = _mm_or_si128(_mm_cmpeq_epi8(_mm_min_epu8(x, control), x),
                                   _mm_or_si128(_mm_cmpeq_epi8(x, quote), _mm_cmpeq_epi8(x, slash)));
        int found = _mm_movemask_epi8(special);
        _mm_storeu_si128((__m128i *)(w + i), x);
        if (found) return i + first_bit((uint32_t)found);
    }
#endif
    for (; i < n; i++) {
        if (p[i] < 0x20 || p[i] == '"' || p[i] == '\\') break;
        w[i] = p[i];
    }
    return i;
}

static inline int base64_digit(uint8_t c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* RFC 4648 with padding, to the letter: how many bytes were written (w may be p), or -1. */
static inline int64_t parse_base64(uint8_t *w, const uint8_t *p, size_t n) {
    uint8_t *start = w;
    size_t i, k, pad;
    if (n % 4) return -1;
    for (i = 0; i < n; i += 4) {
        uint32_t v = 0;
        pad = 0;
        if (i + 4 == n) pad = (size_t)(p[i + 3] == '=') + (size_t)(p[i + 3] == '=' && p[i + 2] == '=');
        for (k = 0; k < 4; k++) {
            int digit = k < 4 - pad ? base64_digit(p[i + k]) : 0;
            if (digit < 0) return -1;
            v = v << 6 | (uint32_t)digit;
        }
        if (v & (pad == 1 ? 0xFFu : pad == 2 ? 0xFFFFu : 0)) return -1;
        *w++ = (uint8_t)(v >> 16);
        if (pad < 2) *w++ = (uint8_t)(v >> 8);
        if (pad < 1) *w++ = (uint8_t)v;
    }
    return w - start;
}

/* An IEEE 754 half is a float exactly. */
static inline float half_to_float(uint16_t half) {
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31, fraction = half & 1023;
    if (exponent == 31) return bits_to_float(sign | 0x7F800000u | fraction << 13);
    if (exponent == 0) {
        if (fraction == 0) return bits_to_float(sign);
        exponent = 113;
        while (!(fraction & 1024)) {
            fraction <<= 1;
            exponent--;
        }
        return bits_to_float(sign | exponent << 23 | (fraction & 1023) << 13);
    }
    return bits_to_float(sign | (exponent + 112) << 23 | fraction << 13);
}

/* The magnitude of an Arrow decimal of so many bytes, its least 32 bits first: 1 where negative. */
static inline int decimal_limbs(const uint8_t *p, int size, uint32_t *limb) {
    int n = size / 4, i, negative;
    for (i = 0; i < n; i++) memcpy(&limb[LITTLE_ENDIAN_MACHINE ? i : n - 1 - i], p + 4 * i, 4);
    negative = (int)(limb[n - 1] >> 31);
    if (negative) {
        uint64_t carry = 1;
        for (i = 0; i < n; i++) {
            carry += (uint32_t)~limb[i];
            limb[i] = (uint32_t)carry;
            carry >>= 32;
        }
    }
    return negative;
}

/* An Arrow decimal of so many bytes as 32 bits, signed, and a scale of 0 to 255: 1, or 0 where it
 * does not fit. Zeros after the point go where they are in the way. */
static inline int fit_decimal(const uint8_t *p, int size, int scale, int32_t *unscaled, uint8_t *fits) {
    uint32_t limb[8] = {0};
    int n = size / 4, i, large, negative = decimal_limbs(p, size, limb);
    for (;;) {
        for (large = 0, i = 1; i < n; i++) large |= limb[i] != 0;
        large |= limb[0] > 0x7FFFFFFFu + (uint32_t)negative;
        if (!large && scale <= 255) break;
        if (scale <= 0) return 0;
        uint64_t rest = 0;
        for (i = n - 1; i >= 0; i--) {
            rest = rest << 32 | limb[i];
            limb[i] = (uint32_t)(rest / 10);
            rest %= 10;
        }
        if (rest) return 0;
        scale--;
    }
    for (; scale < 0 && limb[0]; scale++) {
        uint64_t more = (uint64_t)limb[0] * 10;
        if (more > 0x7FFFFFFFu + (uint64_t)negative) return 0;
        limb[0] = (uint32_t)more;
    }
    *unscaled = (int32_t)(negative ? 0 - limb[0] : limb[0]);
    *fits = (uint8_t)(scale < 0 ? 0 : scale);
    return 1;
}

#endif
