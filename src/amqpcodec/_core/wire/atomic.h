/* Numbers that several threads change at once, and a flag by which one use of an object keeps out others. */
#ifndef AMQPCODEC_ATOMIC_H
#define AMQPCODEC_ATOMIC_H

#include "wire/python.h"

typedef long Atomic;
#if defined(_MSC_VER)
#include <intrin.h>
static inline long atomic_add_(Atomic *a, long n) { return _InterlockedExchangeAdd(a, n) + n; }
static inline int atomic_close_(Atomic *a) { return _InterlockedExchange(a, 1) == 0; }
static inline void atomic_drop_(Atomic *a) { (void)_InterlockedExchange(a, 0); }
static inline long atomic_get_(Atomic *a) { return _InterlockedExchangeAdd(a, 0); }
static inline void atomic_set_(Atomic *a, long n) { (void)_InterlockedExchange(a, n); }
#else
static inline long atomic_add_(Atomic *a, long n) {
    return __atomic_add_fetch(a, n, __ATOMIC_ACQ_REL);
}
static inline int atomic_close_(Atomic *a) { return __atomic_exchange_n(a, 1, __ATOMIC_ACQUIRE) == 0; }
static inline void atomic_drop_(Atomic *a) { __atomic_store_n(a, 0, __ATOMIC_RELEASE); }
static inline long atomic_get_(Atomic *a) { return __atomic_load_n(a, __ATOMIC_RELAXED); }
static inline void atomic_set_(Atomic *a, long n) { __atomic_store_n(a, n, __ATOMIC_RELAXED); }
#endif

/* 0 where the object is in use, by another thread or by a call further up this one. To be called with
 * the GIL, where there is one: then nobody comes between the test and the store. */
static inline int use_begin(Atomic *in_use) {
#if PYTHON_HAS_GIL
    if (*in_use) return 0;
    *in_use = 1;
    return 1;
#else
    return atomic_close_(in_use);
#endif
}

static inline void use_end(Atomic *in_use) {
#if PYTHON_HAS_GIL
    *in_use = 0;
#else
    atomic_drop_(in_use);
#endif
}

#endif
