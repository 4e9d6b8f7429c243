/* Items of one size in order, by heapsort where they are many: no choice of them can make it slow. What the caller
   knows of them is known here as well, so that each use becomes a function of its own. */
#ifndef AMQPCODEC_SORT_H
#define AMQPCODEC_SORT_H

#include "wire/wire.h"

enum { SORTED_SLOWLY = 24 }; /* as many are put in order by insertion */

typedef int (*SortBefore)(const void *context, const void *a, const void *b);

AMQP_INLINE void sort_sift(uint8_t *items, size_t root, size_t n, size_t size, void *moved, SortBefore before,
                           const void *context) {
    size_t child;
    memcpy(moved, items + root * size, size);
    while (2 * root + 1 < n) {
        child = 2 * root + 1;
        if (child + 1 < n && before(context, items + child * size, items + (child + 1) * size)) child++;
        if (!before(context, moved, items + child * size)) break;
        memcpy(items + root * size, items + child * size, size);
        root = child;
    }
    memcpy(items + root * size, moved, size);
}

/* moved: room for one item. */
AMQP_INLINE void sort_items(void *first, size_t n, size_t size, void *moved, SortBefore before, const void *context) {
    uint8_t *items = (uint8_t *)first;
    size_t i, k;
    if (n <= SORTED_SLOWLY) {
        for (i = 1; i < n; i++) {
            memcpy(moved, items + i * size, size);
            for (k = i; k && before(context, moved, items + (k - 1) * size); k--)
                memcpy(items + k * size, items + (k - 1) * size, size);
            memcpy(items + k * size, moved, size);
        }
        return;
    }
    for (i = n / 2; i; i--) sort_sift(items, i - 1, n, size, moved, before, context);
    for (i = n - 1; i; i--) {
        memcpy(moved, items + i * size, size);
        memcpy(items + i * size, items, size);
        memcpy(items, moved, size);
        sort_sift(items, 0, i, size, moved, before, context);
    }
}

#endif
