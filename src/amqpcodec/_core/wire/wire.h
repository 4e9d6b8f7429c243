/* Bytes and integers in network order: no pointer casts, no alignment assumed. */
#ifndef AMQPCODEC_WIRE_H
#define AMQPCODEC_WIRE_H

#include <stdint.h>
#include <string.h>

#if defined(__GNUC__) || defined(__clang__)
#define AMQP_LIKELY(x) __builtin_expect(!!(x), 1)
#define AMQP_UNLIKELY(x) __builtin_expect(!!(x), 0)
/* In units of this size gcc stops inlining by itself at some point, and not where code is rarely run. */
#define AMQP_INLINE static inline __attribute__((always_inline))
#define AMQP_COLD __attribute__((noinline, cold))
/* What is called now and then, from many places. */
#define AMQP_APART __attribute__((noinline))
/* What the caller knows, and the compiler need not test. */
#define AMQP_ASSUME(x) \
    do { \
        if (!(x)) __builtin_unreachable(); \
    } while (0)
#else
#define AMQP_LIKELY(x) (x)
#define AMQP_UNLIKELY(x) (x)
#define AMQP_INLINE static inline
#define AMQP_COLD
#define AMQP_APART
#define AMQP_ASSUME(x) (void)0
#endif

/* Compilers turn these shifts into one load and one byte swap. */
AMQP_INLINE uint16_t load16(const uint8_t *p) {
    return (uint16_t)((uint16_t)p[0] << 8 | p[1]);
}
AMQP_INLINE uint32_t load32(const uint8_t *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}
AMQP_INLINE uint64_t load64(const uint8_t *p) {
    return (uint64_t)load32(p) << 32 | load32(p + 4);
}
AMQP_INLINE void store16(uint8_t *p, uint16_t v) {
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}
AMQP_INLINE void store32(uint8_t *p, uint32_t v) {
    p[0] = (uint8_t)(v >> 24);
    p[1] = (uint8_t)(v >> 16);
    p[2] = (uint8_t)(v >> 8);
    p[3] = (uint8_t)v;
}
AMQP_INLINE void store64(uint8_t *p, uint64_t v) {
    store32(p, (uint32_t)(v >> 32));
    store32(p + 4, (uint32_t)v);
}

/* The low bytes of v: 1, 2, 4 or 8. */
AMQP_INLINE void store_uint(uint8_t *p, uint64_t v, int width) {
    if (width == 1)
        p[0] = (uint8_t)v;
    else if (width == 2)
        store16(p, (uint16_t)v);
    else if (width == 4)
        store32(p, (uint32_t)v);
    else
        store64(p, v);
}

static inline double bits_to_double(uint64_t bits) {
    double d;
    memcpy(&d, &bits, 8);
    return d;
}
static inline uint64_t double_to_bits(double d) {
    uint64_t bits;
    memcpy(&bits, &d, 8);
    return bits;
}
static inline float bits_to_float(uint32_t bits) {
    float f;
    memcpy(&f, &bits, 4);
    return f;
}
static inline uint32_t float_to_bits(float f) {
    uint32_t bits;
    memcpy(&bits, &f, 4);
    return bits;
}

/* memcpy for the short runs that names and tags are: no call, the last move overlaps. (Where gcc
 * knows that n is below 256 it makes `rep movs` of memcpy, which takes longer to start than all this.) */
AMQP_INLINE void copy_bytes(uint8_t *to, const uint8_t *from, size_t n) {
    if (n >= 256) {
        memcpy(to, from, n);
    } else if (n >= 16) {
        uint64_t a[2], last[2];
        memcpy(last, from + n - 16, 16);
        for (size_t i = 0; i + 16 < n; i += 16) {
            memcpy(a, from + i, 16);
            memcpy(to + i, a, 16);
        }
        memcpy(to + n - 16, last, 16);
    } else if (n >= 8) {
        uint64_t a, b;
        memcpy(&a, from, 8);
        memcpy(&b, from + n - 8, 8);
        memcpy(to, &a, 8);
        memcpy(to + n - 8, &b, 8);
    } else if (n >= 4) {
        uint32_t a, b;
        memcpy(&a, from, 4);
        memcpy(&b, from + n - 4, 4);
        memcpy(to, &a, 4);
        memcpy(to + n - 4, &b, 4);
    } else if (n) {
        to[0] = from[0];
        to[n / 2] = from[n / 2];
        to[n - 1] = from[n - 1];
    }
}

/* FNV-1a, for tables of names. */
static inline uint32_t hash_name(const uint8_t *p, size_t n) {
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < n; i++) h = (h ^ p[i]) * 16777619u;
    return h ^ h >> 15;
}

/* True if no byte has its top bit set. */
static inline int is_ascii(const uint8_t *s, size_t n) {
    if (n >= 16) {
        uint64_t seen[2], words[2];
        memcpy(seen, s + n - 16, 16); /* overlaps what is seen of whole pairs of words */
        for (size_t i = 0; i + 16 < n; i += 16) {
            memcpy(words, s + i, 16);
            seen[0] |= words[0];
            seen[1] |= words[1];
        }
        return ((seen[0] | seen[1]) & 0x8080808080808080ull) == 0;
    }
    if (n >= 8) {
        uint64_t a, b;
        memcpy(&a, s, 8);
        memcpy(&b, s + n - 8, 8);
        return ((a | b) & 0x8080808080808080ull) == 0;
    }
    if (n >= 4) {
        uint32_t a, b;
        memcpy(&a, s, 4);
        memcpy(&b, s + n - 4, 4);
        return ((a | b) & 0x80808080u) == 0;
    }
    return n == 0 || ((s[0] | s[n / 2] | s[n - 1]) & 0x80) == 0;
}

/* True if the bytes are well-formed UTF-8 (RFC 3629: no surrogates, no overlong forms). Then *chars is
 * how many characters they are, and *highest the largest first byte of one. */
AMQP_INLINE int scan_utf8(const uint8_t *s, size_t n, size_t *chars, uint8_t *highest) {
    size_t i = 0, continued = 0;
    uint8_t top = 0;
    while (i < n) {
        if (s[i] < 0x80) {
            if (n - i >= 8) {
                uint64_t word;
                memcpy(&word, s + i, 8);
                if ((word & 0x8080808080808080ull) == 0) {
                    i += 8;
                    continue;
                }
            }
            i++;
            continue;
        }
        uint8_t c = s[i];
        size_t more;
        uint8_t low = 0x80, high = 0xBF; /* bounds of the second byte */
        if (c >= 0xC2 && c <= 0xDF) more = 1;
        else if (c >= 0xE0 && c <= 0xEF) {
            more = 2;
            if (c == 0xE0) low = 0xA0;
            if (c == 0xED) high = 0x9F;
        } else if (c >= 0xF0 && c <= 0xF4) {
            more = 3;
            if (c == 0xF0) low = 0x90;
            if (c == 0xF4) high = 0x8F;
        } else return 0;
        if (n - i <= more) return 0;
        if (s[i + 1] < low || s[i + 1] > high) return 0;
        for (size_t k = 2; k <= more; k++)
            if ((s[i + k] & 0xC0) != 0x80) return 0;
        i += more + 1;
        continued += more;
        if (c > top) top = c;
    }
    *chars = n - continued;
    *highest = top;
    return 1;
}

AMQP_APART static int is_utf8(const uint8_t *s, size_t n) {
    size_t chars;
    uint8_t highest;
    return scan_utf8(s, n, &chars, &highest);
}

/* A Unicode character as UTF-8, at most four bytes. Where it ends. */
AMQP_APART static uint8_t *store_utf8(uint8_t *w, uint32_t c) {
    if (c < 0x80) {
        *w++ = (uint8_t)c;
        return w;
    }
    if (c < 0x800) {
        *w++ = (uint8_t)(0xC0 | c >> 6);
    } else {
        if (c < 0x10000) {
            *w++ = (uint8_t)(0xE0 | c >> 12);
        } else {
            *w++ = (uint8_t)(0xF0 | c >> 18);
            *w++ = (uint8_t)(0x80 | (c >> 12 & 63));
        }
        *w++ = (uint8_t)(0x80 | (c >> 6 & 63));
    }
    *w++ = (uint8_t)(0x80 | (c & 63));
    return w;
}

#endif
