/* Blocks of rows in which all values of a column have the same size. */
#ifndef AMQPCODEC_EVEN_H
#define AMQPCODEC_EVEN_H

#include "wire/wire.h"

/* Whether n values, n + 1 offsets, have so many octets each; size * n is below 1 << 31. */
AMQP_APART static int are_even(const int32_t *ends, int n, uint32_t size) {
    uint32_t odd = 0, end = (uint32_t)ends[0];
    for (int i = 0; i < n; i++) odd |= (uint32_t)ends[i + 1] ^ (end + (uint32_t)(i + 1) * size);
    return odd == 0;
}

/* All bits of n numbers, those of what is 1 << 31 above them, and those in which they differ. */
static inline void look_words(const uint64_t *value, int n, uint64_t *seen, uint64_t *far,
                              uint64_t *differ) {
    uint64_t all = 0, above = 0, odd = 0, first = value[0];
    for (int i = 0; i < n; i++) {
        all |= value[i];
        above |= value[i] + 0x80000000u;
        odd |= value[i] ^ first;
    }
    *seen = all;
    *far = above;
    *differ = odd;
}

#endif
