/* Numbers as Arrow's decimals, of 128 or 256 bits: exactly, or not at all. */
#ifndef AMQPCODEC_DECIMAL_H
#define AMQPCODEC_DECIMAL_H

#include <stdint.h>
#include <string.h>

#define DECIMAL_MAX_DIGITS 38      /* of 128 bits */
#define WIDE_DECIMAL_MAX_DIGITS 76 /* of 256 bits */

/* digits * 10**exponent, n ASCII digits, as an integer in units of 10**-scale: n_bytes (16 or 32) at
 * `to`, in the order of this machine. 0, with nothing written, where it has more digits than
 * `precision` or other than zeros below 10**-scale. precision: at most what n_bytes hold. */
static int store_decimal_integer(uint8_t *to, int n_bytes, int negative, const uint8_t *digits, int n,
                               int exponent, int precision, int scale) {
    uint32_t limb[8] = {0, 0, 0, 0, 0, 0, 0, 0}; /* the lowest first */
    uint64_t word;
    int zeros, i, k;
    while (n && digits[0] == '0') {
        digits++;
        n--;
    }
    while (n && digits[n - 1] == '0') {
        n--;
        exponent++;
    }
    zeros = exponent + scale;
    if (n && (zeros < 0 || n + zeros > precision)) return 0;
    for (i = 0; n && i < n + zeros; i++) {
        uint64_t carry = i < n ? (uint64_t)(digits[i] - '0') : 0;
        for (k = 0; k < n_bytes / 4; k++) {
            carry += (uint64_t)limb[k] * 10;
            limb[k] = (uint32_t)carry;
            carry >>= 32;
        }
    }
    if (negative) {
        uint64_t carry = 1;
        for (k = 0; k < n_bytes / 4; k++) {
            carry += (uint32_t)~limb[k];
            limb[k] = (uint32_t)carry;
            carry >>= 32;
        }
    }
    for (i = 0; i < n_bytes / 8; i++) {
        k = LITTLE_ENDIAN_MACHINE ? i : n_bytes / 8 - 1 - i;
        word = limb[2 * k] | (uint64_t)limb[2 * k + 1] << 32;
        memcpy(to + 8 * i, &word, 8);
    }
    return 1;
}

/* Text of a decimal, "-1.50", "1E+20" or what is no number, as above. */
static int store_decimal_text(uint8_t *to, int n_bytes, const uint8_t *p, const uint8_t *end,
                            int precision, int scale) {
    uint8_t digits[64];
    int n = 0, exponent = 0, power = 0, negative = p < end && *p == '-', negative_power, point = 0;
    p += negative;
    for (; p < end && ((*p >= '0' && *p <= '9') || *p == '.'); p++) {
        if (*p == '.') {
            point = 1;
        } else if (n == (int)sizeof(digits)) {
            return 0;
        } else {
            digits[n++] = *p;
            exponent -= point;
        }
    }
    if (n == 0) return 0;
    if (p < end) {
        if (*p++ != 'E') return 0;
        negative_power = p < end && *p == '-';
        p += p < end && (*p == '-' || *p == '+');
        for (; p < end && power < 100000; p++) power = power * 10 + (*p - '0');
        exponent += negative_power ? -power : power;
    }
    return store_decimal_integer(to, n_bytes, negative, digits, n, exponent, precision, scale);
}

#endif
