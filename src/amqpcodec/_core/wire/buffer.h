/* A run of bytes that grows while it is written to: the one type of every writer, with the GIL or without.
 *
 * No store without its own reservation. A writer reserves, stores within what it reserved, and says how far it
 * came, all in one function: buffer_ensure() or buffer_reserve(), and buffer_commit(); or buffer_extend(), where
 * the number of bytes is known before. What lies before `p` may be filled in later. Memory moves when it grows:
 * what is needed after the next reservation is an offset from `start`, not a pointer. */
#ifndef AMQPCODEC_BUFFER_H
#define AMQPCODEC_BUFFER_H

#include <Python.h>
#include "wire/block.h"

/* Where the memory comes from. */
enum {
    BUFFER_STACK, /* the caller's stack; it goes on in the heap when that is full */
    BUFFER_HEAP,
    BUFFER_BLOCK /* a block, which whoever owns it gives back */
};

typedef struct {
    uint8_t *start; /* NULL: a block without memory yet */
    uint8_t *p;     /* the end of what was stored */
    uint8_t *end;
    Block *block; /* of BUFFER_BLOCK */
    int source;
#if defined(AMQPCODEC_CHECKED_WRITES)
    uint8_t *promised; /* of the others; see wire/promise.h */
#endif
} Buffer;

/* Where the newest reservation of a buffer ends; whoever writes to its block by another way shares it. */
#define buffer_promised(b) ((b)->source == BUFFER_BLOCK ? &(b)->block->promised : &(b)->promised)

/* Begin in n bytes of the caller's stack. Every buffer_init() needs a buffer_free(). */
static inline void buffer_init(Buffer *b, uint8_t *memory, size_t n) {
    b->start = b->p = memory;
    b->end = memory + n;
    b->source = BUFFER_STACK;
    promise_begin(&b->promised, b->p, b->end);
}

/* Begin in a block, after the bytes of it that are in use. The block is its owner's to give back. */
static inline void buffer_in_block(Buffer *b, Block *block, size_t used) {
    b->start = block->p;
    b->p = block->p + used;
    b->end = block->p + block->room;
    b->block = block;
    b->source = BUFFER_BLOCK;
    if (block->p != NULL) block_promise(block, b->p, 0); /* nothing, before buffer_ensure() */
}

/* Give back what the buffer owns, also where its writer failed. */
static inline void buffer_free(Buffer *b) {
    promise_end(&b->promised, b->p, b->end);
    if (b->source == BUFFER_HEAP) free(b->start);
}

/* Bytes that were stored. */
static inline size_t buffer_size(const Buffer *b) { return (size_t)(b->p - b->start); }

/* Move to memory with room for n bytes after `p`: 0, or -1 where there is none. */
AMQP_APART static int buffer_grow(Buffer *b, size_t n) {
    size_t used = buffer_size(b), room = (size_t)(b->end - b->start);
    uint8_t *memory;
    if (n > SIZE_MAX - used) return -1; /* their sum is no size_t */
    room = room <= SIZE_MAX / 2 ? 2 * room : SIZE_MAX;
    if (room - used < n) room = used + n;
    if (b->source == BUFFER_BLOCK) {
        if (block_room(b->block, used, room) < 0) return -1;
        memory = b->block->p;
        room = b->block->room;
    } else {
        promise_end(&b->promised, b->p, b->end);
        memory = (uint8_t *)(b->source == BUFFER_HEAP ? realloc(b->start, room) : malloc(room));
        if (memory == NULL) {
            promise_begin(&b->promised, b->p, b->end);
            return -1;
        }
        if (b->source == BUFFER_STACK && used) memcpy(memory, b->start, used);
        b->source = BUFFER_HEAP;
        promise_begin(&b->promised, memory + used, memory + room);
    }
    b->start = memory;
    b->p = memory + used;
    b->end = memory + room;
    return 0;
}

/* Reserve `most` bytes at `p`: 0, or -1 (NO_MEMORY). The caller stores these at most, and commits. */
static inline int buffer_ensure(Buffer *b, size_t most) {
    if (AMQP_UNLIKELY((size_t)(b->end - b->p) < most) && buffer_grow(b, most) < 0) return -1;
    promise_make(buffer_promised(b), b->p, most, b->end);
    return 0;
}

/* The same for a writer that holds the GIL: the place, or NULL with MemoryError. */
static inline uint8_t *buffer_reserve(Buffer *b, size_t most) {
    if (AMQP_UNLIKELY(buffer_ensure(b, most) < 0)) return (uint8_t *)PyErr_NoMemory();
    AMQP_ASSUME(b->p != NULL);
    return b->p;
}

/* What was reserved was stored up to w. */
static inline void buffer_commit(Buffer *b, uint8_t *w) {
    b->p = w;
    promise_check(*buffer_promised(b), b->p, b->end);
}

/* The place for exactly n bytes, which count as stored: the caller, which holds the GIL, stores all of them.
 * NULL with MemoryError. */
static inline uint8_t *buffer_extend(Buffer *b, size_t n) {
    uint8_t *w = buffer_reserve(b, n);
    if (AMQP_LIKELY(w != NULL)) b->p = w + n;
    return w;
}

/* Forget what was stored after `size` bytes. */
static inline void buffer_truncate(Buffer *b, size_t size) { b->p = b->start + size; }

/* A copy of what was stored, with the GIL. */
static inline PyObject *buffer_bytes(Buffer *b) {
    promise_check(*buffer_promised(b), b->p, b->end);
    return PyBytes_FromStringAndSize((const char *)b->start, b->p - b->start);
}

/* Bytes, without the GIL: 0, or -1. */
static inline int buffer_put(Buffer *b, const void *p, size_t n) {
    if (buffer_ensure(b, n) < 0) return -1;
    memcpy(b->p, p, n);
    buffer_commit(b, b->p + n);
    return 0;
}

/* n bytes that are filled in later, without the GIL: 0, or -1. */
static inline int buffer_leave(Buffer *b, size_t n) {
    if (buffer_ensure(b, n) < 0) return -1;
    buffer_commit(b, b->p + n);
    return 0;
}

/* A tag and an int of `width` bytes after it, without the GIL: 0, or -1. */
AMQP_INLINE int buffer_put_int(Buffer *b, uint8_t tag, uint64_t v, int width) {
    if (buffer_ensure(b, 1 + (size_t)width) < 0) return -1;
    b->p[0] = tag;
    store_uint(b->p + 1, v, width);
    buffer_commit(b, b->p + 1 + width);
    return 0;
}

/* A byte, without the GIL: 0, or -1. */
static inline int buffer_put_byte(Buffer *b, uint8_t byte) {
    if (buffer_ensure(b, 1) < 0) return -1;
    b->p[0] = byte;
    buffer_commit(b, b->p + 1);
    return 0;
}

#endif
