/* Numbers and bytes as text: no locale, no allocation, no GIL. */
#ifndef AMQPCODEC_DIGITS_H
#define AMQPCODEC_DIGITS_H

#include <stdint.h>
#include <string.h>
#include "columns/copy.h"
#include "wire/keyed.h"

static const char DIGIT_PAIRS[201] =
    "00010203040506070809101112131415161718192021222324"
    "25262728293031323334353637383940414243444546474849"
    "50515253545556575859606162636465666768697071727374"
    "75767778798081828384858687888990919293949596979899";

static inline int count_digits(uint64_t v) {
    int n = 1;
    while (v >= 10000) {
        v /= 10000;
        n += 4;
    }
    return n + (v >= 10) + (v >= 100) + (v >= 1000);
}

/* Exactly n digits, with zeros in front where v has fewer. */
static inline uint8_t *store_n_digits(uint8_t *w, uint64_t v, int n) {
    uint8_t *p = w + n;
    while (p - w >= 2) {
        p -= 2;
        memcpy(p, DIGIT_PAIRS + 2 * (v % 100), 2);
        v /= 100;
    }
    if (p > w) *w = (uint8_t)('0' + v % 10);
    return w + n;
}

/* The four digits of v below 10**4, zeros in front among them, the first one in the lowest byte. */
AMQP_INLINE uint32_t four_digits(uint32_t v) {
    uint32_t high = v / 100, low = v - 100 * high;
    const uint8_t *a = (const uint8_t *)DIGIT_PAIRS + 2 * high;
    const uint8_t *b = (const uint8_t *)DIGIT_PAIRS + 2 * low;
    return (uint32_t)(a[0] | a[1] << 8) | (uint32_t)(b[0] | b[1] << 8) << 16;
}

/* Eight of v below 10**8. */
AMQP_INLINE uint64_t eight_digits(uint32_t v) {
    return four_digits(v / 10000) | (uint64_t)four_digits(v % 10000) << 32;
}

AMQP_INLINE void store_digits(uint8_t *w, uint64_t digits) {
#if LITTLE_ENDIAN_MACHINE
    store_word(w, digits);
#else
    for (int i = 0; i < 8; i++) w[i] = (uint8_t)(digits >> 8 * i);
#endif
}

/* v below 10**4. */
AMQP_INLINE uint8_t *store_four_digits(uint8_t *w, uint32_t v) {
    uint32_t high = v / 100, low = v % 100;
    if (v < 100) {
        *w = (uint8_t)('0' + v);
        if (v < 10) return w + 1;
        memcpy(w, DIGIT_PAIRS + 2 * v, 2);
        return w + 2;
    }
    if (v < 1000) {
        *w = (uint8_t)('0' + high);
        memcpy(w + 1, DIGIT_PAIRS + 2 * low, 2);
        return w + 3;
    }
    memcpy(w, DIGIT_PAIRS + 2 * high, 2);
    memcpy(w + 2, DIGIT_PAIRS + 2 * low, 2);
    return w + 4;
}

/* v below 10**8 and not below 10**4; 8 bytes are written, whatever it takes of them. To count
 * digits is to add here, for ids that grow would have to be guessed. */
AMQP_INLINE uint8_t *store_eight_digits(uint8_t *w, uint32_t v) {
    int n = 5 + (v >= 100000) + (v >= 1000000) + (v >= 10000000);
    store_digits(w, eight_digits(v) >> (64 - 8 * n));
    return w + n;
}

/* v not below 10**4. */
AMQP_APART static uint8_t *store_long_u64(uint8_t *w, uint64_t v) {
    if (v >= 100000000) {
        uint64_t high = v / 100000000;
        w = high < 10000 ? store_four_digits(w, (uint32_t)high) : store_long_u64(w, high);
        store_digits(w, eight_digits((uint32_t)(v % 100000000)));
        return w + 8;
    }
    return store_eight_digits(w, (uint32_t)v);
}

/* At most 20 bytes; up to 3 more are written. */
static inline uint8_t *store_u64(uint8_t *w, uint64_t v) {
    return v < 10000 ? store_four_digits(w, (uint32_t)v) : store_long_u64(w, v);
}

static inline uint8_t *store_i64(uint8_t *w, int64_t v) {
    if (v >= 0) return store_u64(w, (uint64_t)v);
    *w = '-';
    return store_u64(w + 1, 0 - (uint64_t)v);
}

/* unscaled / 10**scale with every digit of the scale; at most 258 bytes. */
static inline uint8_t *store_scaled(uint8_t *w, int32_t unscaled, uint8_t scale) {
    uint32_t v = unscaled < 0 ? 0 - (uint32_t)unscaled : (uint32_t)unscaled;
    uint8_t digits[24];
    int n = (int)(store_u64(digits, v) - digits), whole = n - scale;
    if (unscaled < 0) *w++ = '-';
    if (whole > 0) {
        memcpy(w, digits, (size_t)whole);
        w += whole;
    } else {
        *w++ = '0';
    }
    if (scale) {
        *w++ = '.';
        for (int i = whole; i < 0; i++) *w++ = '0';
        if (whole < 0) whole = 0;
        memcpy(w, digits + whole, (size_t)(n - whole));
        w += n - whole;
    }
    return w;
}

/* RFC 4648 with padding; 4 bytes for every 3 begun. */
static inline uint8_t *store_base64(uint8_t *w, const uint8_t *p, size_t n) {
    static const char letters[65] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t i;
    for (i = 0; n - i >= 3; i += 3, w += 4) {
        uint32_t v = (uint32_t)p[i] << 16 | (uint32_t)p[i + 1] << 8 | p[i + 2];
        w[0] = (uint8_t)letters[v >> 18];
        w[1] = (uint8_t)letters[v >> 12 & 63];
        w[2] = (uint8_t)letters[v >> 6 & 63];
        w[3] = (uint8_t)letters[v & 63];
    }
    if (n - i) {
        uint32_t v = (uint32_t)p[i] << 16 | (n - i == 2 ? (uint32_t)p[i + 1] << 8 : 0);
        w[0] = (uint8_t)letters[v >> 18];
        w[1] = (uint8_t)letters[v >> 12 & 63];
        w[2] = n - i == 2 ? (uint8_t)letters[v >> 6 & 63] : '=';
        w[3] = '=';
        w += 4;
    }
    return w;
}

/*
 * The shortest decimal that reads back as the same double, and the nearest one of those: Schubfach
 * (R. Giulietti, "The Schubfach way to render doubles", 2020). Powers of ten with 128 bits, rounded
 * up, are computed once at import: POWERS[k - POWER_FIRST] is 10**k scaled into [2**127, 2**128).
 */
#define POWER_FIRST (-292)
#define POWER_LAST 324
typedef struct {
    uint64_t high, low;
} Power;
static Power POWERS[POWER_LAST - POWER_FIRST + 1];

/* floor(log10(2**e)), floor(log10(3/4 * 2**e)), floor(log2(10**e)) for the exponents of doubles. */
static inline int log10_pow2(int e) { return (int)(((int64_t)e * 1262611) >> 22); }
static inline int log10_three_quarters_pow2(int e) {
    return (int)(((int64_t)e * 1262611 - 524031) >> 22);
}
static inline int log2_pow10(int e) { return (int)(((int64_t)e * 1741647) >> 19); }

/* The high 64 bits of power * n, with the lowest one set if anything was cut off. */
static inline uint64_t scale_to_odd(const Power *power, uint64_t n) {
    uint64_t low, between, unused;
    uint64_t carry = multiply_high(power->low, n, &unused);
    uint64_t high = multiply_high(power->high, n, &low);
    between = low + carry;
    high += between < low;
    return high | (between > 1);
}

/* digits * 10**exponent == d, d finite and above zero. */
static inline uint64_t shortest_decimal(uint64_t bits, int *exponent) {
    uint64_t fraction = bits & (((uint64_t)1 << 52) - 1);
    int biased = (int)(bits >> 52 & 0x7FF);
    uint64_t c = biased ? fraction | (uint64_t)1 << 52 : fraction;
    int q = (biased ? biased : 1) - 1075;
    int closer_below = fraction == 0 && biased > 1;
    int even = (c & 1) == 0;
    int k, h;
    const Power *power;
    uint64_t low, here, high, s, t;
    int low_in, high_in;
    if (q <= 0 && q > -53 && (c & (((uint64_t)1 << -q) - 1)) == 0) {
        /* a whole number below 2**53: its own digits, without zeros at the end */
        s = c >> -q;
        k = 0;
        while (s % 10 == 0) {
            s /= 10;
            k++;
        }
        *exponent = k;
        return s;
    }
    k = closer_below ? log10_three_quarters_pow2(q) : log10_pow2(q);
    h = q + log2_pow10(-k) + 1;
    power = &POWERS[-k - POWER_FIRST];
    low = scale_to_odd(power, (4 * c - 2 + (uint64_t)closer_below) << h);
    here = scale_to_odd(power, (4 * c) << h);
    high = scale_to_odd(power, (4 * c + 2) << h);
    /* halfway to a neighbour reads back as the even one */
    if (!even) {
        low++;
        high--;
    }
    s = here / 4;
    if (s >= 10) {
        t = s / 10;
        low_in = low <= 40 * t;
        high_in = 40 * t + 40 <= high;
        if (low_in != high_in) {
            t += (uint64_t)high_in;
            k++;
            while (t % 10 == 0) {
                t /= 10;
                k++;
            }
            *exponent = k;
            return t;
        }
    }
    low_in = low <= 4 * s;
    high_in = 4 * s + 4 <= high;
    if (low_in != high_in) {
        s += (uint64_t)high_in;
    } else {
        t = 4 * s + 2;
        s += here > t || (here == t && (s & 1));
    }
    while (s % 10 == 0) {
        s /= 10;
        k++;
    }
    *exponent = k;
    return s;
}

/* A finite double as Python's repr writes it: 1.0, -0.0, 1e+16, 5e-324. At most 24 bytes. */
static inline uint8_t *store_double_text(uint8_t *w, double d) {
    uint64_t bits = double_to_bits(d), v;
    int exponent, n, point, i;
    if (bits >> 63) *w++ = '-';
    bits &= ~((uint64_t)1 << 63);
    if (bits == 0) {
        memcpy(w, "0.0", 3);
        return w + 3;
    }
    v = shortest_decimal(bits, &exponent);
    n = count_digits(v);
    point = n + exponent; /* 0.DIGITS * 10**point */
    if (-4 < point && point <= 16) {
        if (exponent >= 0) {
            w = store_n_digits(w, v, n);
            for (i = 0; i < exponent; i++) *w++ = '0';
            memcpy(w, ".0", 2);
            return w + 2;
        }
        if (point <= 0) {
            *w++ = '0';
            *w++ = '.';
            for (i = point; i < 0; i++) *w++ = '0';
            return store_n_digits(w, v, n);
        }
        store_n_digits(w + 1, v, n);
        memmove(w, w + 1, (size_t)point);
        w[point] = '.';
        return w + n + 1;
    }
    store_n_digits(w + 1, v, n);
    w[0] = w[1];
    if (n > 1) {
        w[1] = '.';
        w += n + 1;
    } else {
        w += 1;
    }
    *w++ = 'e';
    point--;
    *w++ = point < 0 ? '-' : '+';
    if (point < 0) point = -point;
    return store_n_digits(w, (uint64_t)point, point < 100 ? 2 : 3);
}

#endif
