/* Memory that columns are made of: blocks, and the pool of those that consumers have released. */
#ifndef AMQPCODEC_WIRE_BLOCK_H
#define AMQPCODEC_WIRE_BLOCK_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "wire/atomic.h"
#include "wire/promise.h"
#include "wire/wire.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif
#if defined(__GLIBC__)
#include <malloc.h>
#include <sched.h>
#endif

/* A growable piece of memory. */
typedef struct {
    uint8_t *p;
    size_t room;
    int processor; /* that it was taken on */
#if defined(AMQPCODEC_CHECKED_WRITES)
    uint8_t *promised; /* see wire/promise.h; NULL where nobody reserves in it */
#endif
} Block;

/* The newest n bytes from `at` are reserved, and none after them. */
#define block_promise(b, at, n) promise_make(&(b)->promised, at, n, (b)->p + (b)->room)
/* Stop if bytes before `at` were stored that nobody had reserved. */
#define block_check(b, at) promise_check((b)->promised, at, (b)->p + (b)->room)

/*
 * Blocks that consumers have released, by size, for the next decode: writing into fresh pages costs
 * several times what writing into used ones does. Sizes go up by a quarter or less. The lock is held
 * for a few stores, and only so many times tried: who does not get it (a thread may have held it when
 * this process was forked) asks malloc, so that nothing can wait for ever.
 */
#define POOL_FIRST ((size_t)1024)
#define POOL_CLASSES 68 /* to 112 MiB */
#define POOL_DEPTH 128
#define POOL_LIMIT ((size_t)64 << 20) /* bytes that are kept, if nobody says otherwise */
#if defined(__SANITIZE_ADDRESS__) || defined(AMQPCODEC_CHECKED_WRITES)
#define POOL_ON 0 /* let the sanitizer see every use after release */
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define POOL_ON 0
#endif
#endif
#ifndef POOL_ON
#define POOL_ON 1
#endif

typedef struct {
    Atomic lock;
    size_t bytes;
    size_t limit; /* of bytes; see pool_limit() */
    int limited;  /* whether somebody set it */
    int count[POOL_CLASSES];
    uint8_t *block[POOL_CLASSES][POOL_DEPTH];
    int processor[POOL_CLASSES][POOL_DEPTH]; /* of each block */
    unsigned long asked[POOL_CLASSES]; /* when a block of this size was last wanted */
    unsigned long clock;
} Pool;

/* One for the process: that of _columns. Other modules that include this ask it once for its place. */
static Pool own_pool;
static Pool *pool = &own_pool;
static inline Pool *pool_place(void) { return pool; }
static inline void pool_use(Pool *place) { pool = place; }

#define POOL_TRIES 200

static inline size_t pool_limit(void) { return pool->limited ? pool->limit : POOL_LIMIT; }

static inline int pool_lock(void) {
    for (int i = 0; i < POOL_TRIES; i++)
        if (atomic_close_(&pool->lock)) return 1;
    return 0;
}

/* The class of blocks with room for n bytes, and that room; POOL_CLASSES for those not kept. */
static inline int pool_class(size_t n, size_t *room) {
    size_t base = POOL_FIRST, steps;
    int k = 0;
    while (k < POOL_CLASSES && base * 2 <= n) {
        base *= 2;
        k += 4;
    }
    *room = base;
    if (n <= base) return k;
    steps = ((n - base - 1) >> (8 + k / 4)) + 1; /* of a quarter of base */
    if (k == POOL_CLASSES) { /* n may be what somebody claims: no loop, and no sum that wraps */
        *room = n > SIZE_MAX - base ? n : base + base / 4 * steps;
        return k;
    }
    *room = base + base / 4 * steps;
    k += (int)steps;
    return k < POOL_CLASSES ? k : POOL_CLASSES;
}

static inline size_t pool_room(int k) {
    size_t base = POOL_FIRST << k / 4;
    return base + base / 4 * (size_t)(k % 4);
}

/* The processor that this thread runs on, where that is known without a call of the system. */
static inline int this_processor(void) {
#if defined(__GLIBC__)
    return sched_getcpu();
#else
    return 0;
#endif
}

/*
 * The newest block of a class, of which there are some, that this processor took before, or else the newest:
 * memory that another one has written, and has in its cache, costs up to twice as much to write to.
 */
static inline uint8_t *pool_pick(int k, int processor) {
    int last = --pool->count[k], i = last;
    uint8_t *p;
    while (i >= 0 && pool->processor[k][i] != processor) i--;
    if (i < 0) i = last;
    p = pool->block[k][i];
    for (; i < last; i++) {
        pool->block[k][i] = pool->block[k][i + 1];
        pool->processor[k][i] = pool->processor[k][i + 1];
    }
    return p;
}

/* A block of this class, or the next larger one that there is, up to twice as large; and its room. */
static inline uint8_t *pool_pop(int k, int processor, size_t *room) {
    uint8_t *p = NULL;
    int i, end = k + 4 < POOL_CLASSES ? k + 5 : POOL_CLASSES;
    if (POOL_ON && k < POOL_CLASSES && pool_lock()) {
        pool->asked[k] = ++pool->clock;
        for (i = k; i < end && pool->count[i] == 0; i++) {
        }
        if (i < end) {
            p = pool_pick(i, processor);
            pool->asked[i] = pool->clock;
            *room = pool_room(i);
            pool->bytes -= *room;
        }
        atomic_drop_(&pool->lock);
    }
    return p;
}

/*
 * Large blocks are mapped in large pages: the kernel hands them out 512 times as fast as small ones, and
 * the processor finds them faster: in a virtual machine a page that it does not know costs up to 24 loads.
 */
#if POOL_ON && defined(__linux__) && defined(MADV_HUGEPAGE)
#define LARGE_PAGE ((size_t)2 << 20)

static uint8_t *block_new(size_t room) {
    uint8_t *p;
    size_t before;
    if (room < LARGE_PAGE) return (uint8_t *)malloc(room);
    if (room > SIZE_MAX - LARGE_PAGE) return NULL;
    p = (uint8_t *)mmap(NULL, room + LARGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return NULL;
    before = (LARGE_PAGE - 1) & -(uintptr_t)p;
    if (before) munmap(p, before);
    munmap(p + before + room, LARGE_PAGE - before);
    p += before;
    (void)madvise(p, room & ~(LARGE_PAGE - 1), MADV_HUGEPAGE);
    return p;
}

static void block_free(uint8_t *p, size_t room) {
    if (room < LARGE_PAGE)
        free(p);
    else
        munmap(p, room);
}
#else
#define LARGE_PAGE SIZE_MAX

static uint8_t *block_new(size_t room) { return (uint8_t *)malloc(room); }

static void block_free(uint8_t *p, size_t room) {
    (void)room;
    free(p);
}
#endif

AMQP_APART static void block_give(Block *b) {
    int k, kept = 0;
    size_t room;
    if (b->p == NULL) return;
    promise_end(&b->promised, b->p, b->p + b->room);
    k = pool_class(b->room, &room);
    if (POOL_ON && k < POOL_CLASSES && b->room >= POOL_FIRST && pool_lock()) {
        if (pool->count[k] < POOL_DEPTH && pool->bytes + room <= pool_limit()) {
            pool->processor[k][pool->count[k]] = b->processor;
            pool->block[k][pool->count[k]++] = b->p;
            pool->bytes += room;
            kept = 1;
        }
        atomic_drop_(&pool->lock);
    }
    if (!kept) block_free(b->p, b->room);
    b->p = NULL;
    b->room = 0;
}

/* Make room for n bytes; the first `used` are kept. 0, or -1 where there is no memory. */
AMQP_APART static int block_room(Block *b, size_t used, size_t n) {
    int k, processor;
    size_t room;
    uint8_t *p;
    if (n <= b->room) return 0;
#if !POOL_ON
    if (used > b->room) abort(); /* the sanitizer's build: those bytes are not here */
#endif
    k = pool_class(n, &room);
#if defined(AMQPCODEC_CHECKED_WRITES)
    room = n; /* not a byte more, so that a sanitizer sees the next one */
    if (b->p != NULL) promise_end(&b->promised, b->p, b->p + b->room);
    b->promised = NULL;
#endif
    processor = this_processor();
    p = pool_pop(k, processor, &room);
    if (p == NULL && used && room < LARGE_PAGE) {
        p = (uint8_t *)realloc(b->p, room);
        if (p == NULL) return -1;
    } else {
        if (p == NULL) p = block_new(room);
        if (p == NULL) return -1;
        if (used) memcpy(p, b->p, used);
        block_give(b);
    }
    b->p = p;
    b->room = room;
    b->processor = processor;
    return 0;
}

/* As block_room(), for what each of many holds: small blocks have no more than twice the bytes asked for. */
AMQP_APART static int block_room_tight(Block *b, size_t used, size_t n) {
    size_t room = 64;
    uint8_t *p;
    if (n <= b->room) return 0;
    if (n > POOL_FIRST / 2) return block_room(b, used, n);
#if !POOL_ON
    if (used > b->room) abort();
#else
    (void)used; /* all of it is kept */
#endif
    while (room < n) room *= 2;
#if defined(AMQPCODEC_CHECKED_WRITES)
    room = n;
    if (b->p != NULL) promise_end(&b->promised, b->p, b->p + b->room);
    b->promised = NULL;
#endif
    p = (uint8_t *)realloc(b->p, room);
    if (p == NULL) return -1;
    b->p = p;
    b->room = room;
    b->processor = this_processor();
    return 0;
}

/*
 * Bytes, or items of one size, from the beginning of a block, which its owner counts. A block that is too small gets
 * half as much again as it has, or what its owner expects to need, where that is more.
 */

AMQP_APART static int block_grow(Block *b, size_t used, size_t n, size_t expected) {
    size_t room = used + used / 2;
    if (n > SIZE_MAX - room) return -1; /* their sum is no size_t */
    room += n;
    return block_room_tight(b, used, room > expected ? room : expected);
}

/* Whether there is no room for n bytes after the first `used`. */
static inline int block_full(const Block *b, size_t used, size_t n) { return b->room - used < n; }

/* Reserve n > 0 bytes after the first `used`: their place, or NULL. The caller stores these at most, and counts them. */
static inline uint8_t *block_reserve(Block *b, size_t used, size_t n, size_t expected) {
    if (AMQP_UNLIKELY(block_full(b, used, n)) && block_grow(b, used, n, expected) < 0) return NULL;
    block_promise(b, b->p + used, n);
    return b->p + used;
}

/* Add n bytes to those that are there: 0, or -1. */
static inline int bytes_add(Block *b, size_t *used, const void *p, size_t n) {
    uint8_t *w;
    if (n == 0) return 0; /* p may be NULL */
    w = block_reserve(b, *used, n, 0);
    if (w == NULL) return -1;
    memcpy(w, p, n);
    *used += n;
    return 0;
}

/* Add an item to those that are there: its place, for the caller to fill, or NULL. */
static inline void *items_add(Block *b, size_t *n, size_t width) {
    void *w = block_reserve(b, *n * width, width, 0);
    if (w != NULL) *n += 1;
    return w;
}

static size_t pool_bytes(void) { return pool->bytes; }

/* Keep no more than so many bytes: sizes that nobody wanted for longest go first. */
static void pool_trim(size_t limit) {
    int k, oldest;
    size_t room;
    if (pool->bytes <= limit || !pool_lock()) return;
    while (pool->bytes > limit) {
        for (k = 0, oldest = -1; k < POOL_CLASSES; k++)
            if (pool->count[k] && (oldest < 0 || pool->asked[k] < pool->asked[oldest])) oldest = k;
        if (oldest < 0) break;
        room = pool_room(oldest);
        while (pool->count[oldest] && pool->bytes > limit) {
            block_free(pool->block[oldest][--pool->count[oldest]], room);
            pool->bytes -= room;
        }
    }
    atomic_drop_(&pool->lock);
}

/* The same, unless pool_set_limit() said what may be kept. */
static void pool_ease(size_t limit) {
    if (!pool->limited) pool_trim(limit);
}

/* From now on keep no more than so many bytes: the limit until now. */
static size_t pool_set_limit(size_t limit) {
    size_t before = pool_limit();
    pool->limit = limit;
    pool->limited = 1;
    pool_trim(limit);
    return before;
}

/* All of it, to the system: who asks for this wants the memory, not malloc's promise to use it again. */
static void pool_clear(void) {
    int k;
    if (!pool_lock()) return;
    for (k = 0; k < POOL_CLASSES; k++)
        while (pool->count[k]) block_free(pool->block[k][--pool->count[k]], pool_room(k));
    pool->bytes = 0;
    atomic_drop_(&pool->lock);
#if defined(__GLIBC__)
    malloc_trim(0);
#endif
}

#endif
