/* Values of AMQP 1.0 that have a text of their own: decimals in the BID encoding, and UUIDs. */
#ifndef AMQPCODEC_V1_TEXT_H
#define AMQPCODEC_V1_TEXT_H

#include <stdint.h>
#include <string.h>
#include "columns/digits.h"

/* Divide by ten in place; the rest. */
static inline uint32_t v1_tenth(uint32_t *limb) {
    uint64_t rest = 0;
    for (int i = 0; i < 4; i++) {
        rest = rest << 32 | limb[i];
        limb[i] = (uint32_t)(rest / 10);
        rest %= 10;
    }
    return (uint32_t)rest;
}

/* The digits of a coefficient without zeros in front, 0 of them for zero. At most 39. */
static inline int v1_coefficient(const uint32_t *from, uint8_t *digits) {
    uint32_t limb[4];
    uint8_t back[40];
    int n = 0;
    memcpy(limb, from, sizeof(limb));
    while (limb[0] | limb[1] | limb[2] | limb[3]) back[n++] = (uint8_t)('0' + v1_tenth(limb));
    for (int i = 0; i < n; i++) digits[i] = back[n - 1 - i];
    return n;
}

/* A decimal of 4, 8 or 16 bytes as Python's Decimal writes it; at most 64 bytes. A coefficient, or
 * a NaN's payload, with too many digits counts as 0, as amqpcodec.v1_decimal has it. */
static uint8_t *v1_store_bid(uint8_t *w, const uint8_t *p, int n_bytes) {
    int large = n_bytes == 16, most = n_bytes == 4 ? 7 : large ? 34 : 16;
    int exponent_bits = n_bytes == 4 ? 8 : large ? 14 : 10;
    int bias = n_bytes == 4 ? 101 : large ? 6176 : 398;
    int bits = 8 * n_bytes - 1 - exponent_bits; /* of the coefficient */
    uint32_t limb[4] = {0, 0, 0, 0};
    uint32_t top;
    uint64_t exponent;
    uint8_t digits[40];
    int i, n, power, adjusted, first = 4 - n_bytes / 4, special;
    for (i = 0; i < n_bytes / 4; i++) limb[first + i] = load32(p + 4 * i);
    top = limb[first];
    if (top >> 31) *w++ = '-';
    special = (top >> 27 & 15) == 15;
    if (special && !(top >> 26 & 1)) {
        memcpy(w, "Infinity", 8);
        return w + 8;
    }
    /* The exponent's last bit is in the first word, whatever the width. */
    if (special) {
        int keep = bits - 3 - 32 * (n_bytes / 4 - 1);
        limb[first] &= ((uint32_t)1 << keep) - 1;
        n = v1_coefficient(limb, digits);
        if (n > most - 1) n = 0;
        if (top >> 25 & 1) *w++ = 's';
        memcpy(w, "NaN", 3);
        memcpy(w + 3, digits, (size_t)n);
        return w + 3 + n;
    }
    n = bits - 32 * (n_bytes / 4 - 1); /* bits of the coefficient in the first word */
    if ((top >> 29 & 3) == 3) {
        exponent = top >> (n - 2) & (((uint32_t)1 << exponent_bits) - 1);
        limb[first] = (limb[first] & (((uint32_t)1 << (n - 2)) - 1)) | (uint32_t)1 << n;
    } else {
        exponent = top >> n & (((uint32_t)1 << exponent_bits) - 1);
        limb[first] &= ((uint32_t)1 << n) - 1;
    }
    n = v1_coefficient(limb, digits);
    if (n == 0 || n > most) {
        digits[0] = '0';
        n = 1;
    }
    power = (int)exponent - bias;
    adjusted = power + n - 1;
    if (power <= 0 && adjusted >= -6) {
        int whole = n + power;
        if (whole <= 0) {
            *w++ = '0';
            *w++ = '.';
            for (; whole < 0; whole++) *w++ = '0';
            memcpy(w, digits, (size_t)n);
            return w + n;
        }
        memcpy(w, digits, (size_t)whole);
        w += whole;
        if (power) {
            *w++ = '.';
            memcpy(w, digits + whole, (size_t)-power);
            w += -power;
        }
        return w;
    }
    *w++ = digits[0];
    if (n > 1) {
        *w++ = '.';
        memcpy(w, digits + 1, (size_t)(n - 1));
        w += n - 1;
    }
    *w++ = 'E';
    *w++ = adjusted < 0 ? '-' : '+';
    return store_u64(w, (uint64_t)(adjusted < 0 ? -adjusted : adjusted));
}

/* Two digits for each byte. */
static uint8_t *v1_store_hex(uint8_t *w, const uint8_t *p, size_t n, int upper) {
    const char *letters = upper ? "0123456789ABCDEF" : "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        *w++ = (uint8_t)letters[p[i] >> 4];
        *w++ = (uint8_t)letters[p[i] & 15];
    }
    return w;
}

/* 36 bytes. */
static inline uint8_t *v1_store_uuid(uint8_t *w, const uint8_t *p) {
    for (int i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10) *w++ = '-';
        w = v1_store_hex(w, p + i, 1, 0);
    }
    return w;
}

#endif
