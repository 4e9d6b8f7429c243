/*
 * Hashes of what a peer chooses: names, addresses. Their keys are drawn when a module is loaded, so that nobody
 * can choose many that share a bucket. No hash leaves the process.
 */
#ifndef AMQP_KEYED_H
#define AMQP_KEYED_H

#include "wire/wire.h"

#if defined(_MSC_VER) && defined(_M_X64)
#include <intrin.h>
#endif

static inline uint64_t multiply_high(uint64_t a, uint64_t b, uint64_t *low) {
#if defined(__SIZEOF_INT128__)
    unsigned __int128 both = (unsigned __int128)a * b;
    *low = (uint64_t)both;
    return (uint64_t)(both >> 64);
#elif defined(_MSC_VER) && defined(_M_X64)
    uint64_t high;
    *low = _umul128(a, b, &high);
    return high;
#else
    uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    uint64_t x = a0 * b0, y = a1 * b0 + (x >> 32), z = a0 * b1 + (uint32_t)y;
    *low = z << 32 | (uint32_t)x;
    return a1 * b1 + (y >> 32) + (z >> 32);
#endif
}

#define HASH_KEYS 4
static uint64_t hash_keys[HASH_KEYS];

/* Both halves of a product whose factors are not known. */
static inline uint64_t fold(uint64_t a, uint64_t b) {
    uint64_t low, high = multiply_high(a, b, &low);
    return high ^ low;
}

/* Two words under the keys k and k + 1. */
static inline uint64_t keyed_pair(uint64_t a, uint64_t b, int k) {
    return fold(a ^ hash_keys[k], b ^ hash_keys[k + 1]);
}

static inline uint32_t keyed_hash(const uint8_t *p, size_t n) {
    uint64_t h = keyed_pair(n, 0, 2);
    uint8_t rest[16];
    for (; n >= 16; p += 16, n -= 16) h = keyed_pair(load64(p) ^ h, load64(p + 8), 0);
    memset(rest, 0, sizeof(rest));
    copy_bytes(rest, p, n & 15); /* n is below 16: for a compiler that does not see it */
    h = keyed_pair(load64(rest) ^ h, load64(rest + 8), 0);
    h = keyed_pair(h, 0, 2);
    return (uint32_t)(h ^ h >> 32);
}

#endif
