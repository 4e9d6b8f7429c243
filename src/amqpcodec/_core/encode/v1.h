/* AMQP 1.0 from text and from Arrow's integers: decimal128 in its binary (BID) encoding, UUIDs, hexadecimal. */
#ifndef AMQPCODEC_ENCODE_V1_H
#define AMQPCODEC_ENCODE_V1_H

#include <stdint.h>
#include <string.h>
#include "encode/encode.h"
#include "wire/wire.h"

enum { V1_DECIMAL_FITS = 0, V1_DECIMAL_NO_TEXT = 1, V1_DECIMAL_TOO_LARGE = 2 };

#define V1_LIMBS 8

static inline void v1e_limbs_times(uint32_t *limb, uint32_t factor, uint32_t more) {
    uint64_t carry = more;
    for (int i = 0; i < V1_LIMBS; i++) {
        carry += (uint64_t)limb[i] * factor;
        limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

/* Divide by ten in place; the rest. */
static inline uint32_t v1e_limbs_tenth(uint32_t *limb) {
    uint64_t rest = 0;
    for (int i = V1_LIMBS - 1; i >= 0; i--) {
        rest = rest << 32 | limb[i];
        limb[i] = (uint32_t)(rest / 10);
        rest %= 10;
    }
    return (uint32_t)rest;
}

/* Whether it has more than 34 digits, what a decimal128 holds. */
static inline int v1e_limbs_large(const uint32_t *limb) {
    static const uint32_t limit[4] = {0, 0x378D8E64u, 0xBEAD87C0u, 0x0001ED09u}; /* 10**34 */
    int i;
    for (i = V1_LIMBS - 1; i >= 4; i--)
        if (limb[i]) return 1;
    for (; i >= 0; i--)
        if (limb[i] != limit[i]) return limb[i] > limit[i];
    return 1;
}

static inline int v1e_limbs_zero(const uint32_t *limb) {
    uint32_t any = 0;
    for (int i = 0; i < V1_LIMBS; i++) any |= limb[i];
    return !any;
}

/* limb * 10**power as a decimal128, exactly, with the exponent as it is where that is possible:
 * the same as amqpcodec.v1_decimal.encode. The limbs are used up. */
static inline int v1e_bid(uint32_t *limb, int negative, int64_t power, uint8_t *w) {
    const int64_t most = 12287;
    int64_t exponent = power + 6176;
    uint32_t next[V1_LIMBS];
    if (v1e_limbs_zero(limb)) {
        exponent = exponent < 0 ? 0 : exponent > most ? most : exponent;
    } else {
        while (exponent < 0 || v1e_limbs_large(limb)) {
            if (exponent >= most) return V1_DECIMAL_TOO_LARGE;
            memcpy(next, limb, sizeof(next));
            if (v1e_limbs_tenth(next)) return V1_DECIMAL_TOO_LARGE;
            memcpy(limb, next, sizeof(next));
            exponent++;
        }
        for (; exponent > most; exponent--) {
            v1e_limbs_times(limb, 10, 0);
            if (v1e_limbs_large(limb)) return V1_DECIMAL_TOO_LARGE;
        }
    }
    store32(w, limb[3] | (uint32_t)exponent << 17 | (negative ? 0x80000000u : 0));
    store32(w + 4, limb[2]);
    store32(w + 8, limb[1]);
    store32(w + 12, limb[0]);
    return V1_DECIMAL_FITS;
}

/* An Arrow decimal of so many bytes. */
static inline int v1e_bid_of(const uint8_t *p, int size, int scale, uint8_t *w) {
    uint32_t limb[V1_LIMBS] = {0};
    int negative = decimal_limbs(p, size, limb);
    return v1e_bid(limb, negative, -(int64_t)scale, w);
}

/* Infinity, NaN or sNaN, the latter with a payload of up to 33 digits. */
static inline int v1e_bid_special(const uint8_t *p, size_t n, int negative, uint8_t *w) {
    uint32_t limb[V1_LIMBS] = {0};
    uint32_t top = negative ? 0x80000000u : 0;
    size_t i = 0, k;
    if ((n == 8 && !memcmp(p, "Infinity", 8)) || (n == 3 && !memcmp(p, "Inf", 3))) {
        top |= 0x78000000u;
    } else {
        top |= 0x7C000000u;
        if (n && p[0] == 's') {
            top |= 0x02000000u;
            i = 1;
        }
        if (n - i < 3 || memcmp(p + i, "NaN", 3)) return V1_DECIMAL_NO_TEXT;
        for (i += 3; i < n && p[i] == '0'; i++) {}
        if (n - i > 33) return V1_DECIMAL_TOO_LARGE;
        for (k = i; k < n; k++) {
            if (p[k] < '0' || p[k] > '9') return V1_DECIMAL_NO_TEXT;
            v1e_limbs_times(limb, 10, (uint32_t)(p[k] - '0'));
        }
    }
    store32(w, limb[3] | top);
    store32(w + 4, limb[2]);
    store32(w + 8, limb[1]);
    store32(w + 12, limb[0]);
    return V1_DECIMAL_FITS;
}

/* Text as Python's Decimal writes and reads it. */
static inline int v1e_bid_text(const uint8_t *p, size_t n, uint8_t *w) {
    uint32_t limb[V1_LIMBS] = {0};
    int64_t power = 0, far = 0;
    size_t i = 0, first;
    int negative = 0, minus = 0, point = 0, digits = 0, kept = 0;
    if (n && (p[0] == '-' || p[0] == '+')) {
        negative = p[0] == '-';
        i = 1;
    }
    if (i < n && (p[i] == 'N' || p[i] == 's' || p[i] == 'I')) return v1e_bid_special(p + i, n - i, negative, w);
    for (; i < n; i++) {
        if (p[i] == '.' && !point) {
            point = 1;
            continue;
        }
        if (p[i] < '0' || p[i] > '9') break;
        digits = 1;
        power -= point;
        if (kept == 34) { /* no room for another: only zeros may follow */
            if (p[i] != '0') return V1_DECIMAL_TOO_LARGE;
            power++;
            continue;
        }
        if (kept || p[i] != '0') kept++;
        v1e_limbs_times(limb, 10, (uint32_t)(p[i] - '0'));
    }
    if (!digits) return V1_DECIMAL_NO_TEXT;
    if (i < n && (p[i] == 'e' || p[i] == 'E')) {
        i++;
        if (i < n && (p[i] == '-' || p[i] == '+')) minus = p[i++] == '-';
        for (first = i; i < n && p[i] >= '0' && p[i] <= '9'; i++)
            if (far < 1000000000) far = far * 10 + (p[i] - '0');
        if (i == first) return V1_DECIMAL_NO_TEXT;
        power += minus ? -far : far;
    }
    return i == n ? v1e_bid(limb, negative, power, w) : V1_DECIMAL_NO_TEXT;
}

static inline int v1e_hex_digit(uint8_t c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* Digits in pairs to bytes (w may be p): 1, or 0 where they are none. */
static inline int parse_hex(uint8_t *w, const uint8_t *p, size_t n) {
    size_t i;
    if (n % 2) return 0;
    for (i = 0; i < n; i += 2) {
        int high = v1e_hex_digit(p[i]), low = v1e_hex_digit(p[i + 1]);
        if (high < 0 || low < 0) return 0;
        w[i / 2] = (uint8_t)(high << 4 | low);
    }
    return 1;
}

/* 8-4-4-4-12 digits to 16 bytes (w may be p): 1, or 0 where it is none. */
static inline int parse_uuid(uint8_t *w, const uint8_t *p, size_t n) {
    uint8_t digit[32];
    size_t i, k = 0;
    if (n != 36) return 0;
    for (i = 0; i < 36; i++) {
        if (i == 8 || i == 13 || i == 18 || i == 23) {
            if (p[i] != '-') return 0;
        } else {
            digit[k++] = p[i];
        }
    }
    return parse_hex(w, digit, 32);
}

#endif
