/* Rows of a block, each from front to back: pieces are copied whole, and what is after their bytes
 * is written over by what comes next. */
#ifndef AMQPCODEC_ROWS_H
#define AMQPCODEC_ROWS_H

#include "encode/block.h"
#include "tables/tags.h"

/* Bytes that may be read after values, and twice as many that may be written after a row. */
#define PUT_SLACK 32
#define PUT_FRAME_END 0xCE

enum {
    PUT_TEXT,   /* a column of values of 255 bytes at most: the front ends with their length */
    PUT_LONG,   /* of any size */
    PUT_EACH,   /* values anywhere, and some rows may not have one */
    PUT_FRONT,  /* only a front, of any size; others have 32 bytes at most */
    PUT_BODY,   /* a column of bodies: the front ends with the size of the frame */
    PUT_BODIES, /* bodies anywhere */
    PUT_END     /* no body */
};

/* What goes next into every row. */
typedef struct {
    const uint8_t *front; /* what all rows have before it; 32 bytes may be read */
    size_t front_n;
    const int32_t *ends; /* of values, with the data they count from */
    const uint8_t *data;
    size_t ahead; /* from there, what the next block has */
    uint8_t **at; /* where the front stands in each row, for what is filled in later; or NULL */
    uint8_t form;
    uint8_t wide;   /* bytes of the length: 0, 1 or 4 */
    uint8_t number; /* the tag of a long, or 1: of numbers, with no tag */
    uint8_t always; /* rows that do not have it have none of it */
    /* of PUT_EACH and PUT_BODIES */
    uint32_t prefix_n;
    const uint8_t *prefix;
    const uint64_t *value; /* numbers, or where bytes begin */
    const uint32_t *sizes;
    uint64_t mask; /* rows that have it */
} Put;

AMQP_INLINE void copy_32(uint8_t *w, const uint8_t *p) {
    Piece a = load_piece(p), b = load_piece(p + 16);
    store_piece(w, a);
    store_piece(w + 16, b);
}

/* What is rare, and nothing after values is read. */
AMQP_APART static uint8_t *store_slowly(uint8_t *w, const Put *t, size_t i) {
    const uint8_t *p;
    uint32_t size;
    for (size_t k = 0; k < t->front_n; k += 16) copy_16(w + k, t->front + k);
    if (t->at) t->at[i] = w;
    w += t->front_n;
    if (t->form >= PUT_FRONT) return w;
    if (t->form == PUT_EACH) {
        size = t->sizes[i];
        if (!(t->mask >> i & 1)) {
            if (!t->always) return w;
            size = 0;
        }
        copy_bytes(w, t->prefix, t->prefix_n);
        w += t->prefix_n;
        if (t->number) {
            if (t->number != 1) {
                size--;
                *w++ = size == 4 ? tag_of(FORM_int32, 0) : t->number;
            }
            store64(w, t->value[i] << (64 - 8 * size));
            return w + size;
        }
        w += t->wide;
        p = (const uint8_t *)(uintptr_t)t->value[i];
    } else {
        size = (uint32_t)(t->ends[i + 1] - t->ends[i]);
        p = t->data + t->ends[i];
    }
    if (t->wide == 4)
        store32(w - 4, size);
    else if (t->wide)
        w[-1] = (uint8_t)size;
    copy_bytes(w, p, size);
    return w + size;
}

/* Up to 32 bytes of front, then bytes of a column: their length is the last one of the front. It is
 * there more than once, and so each column of a row has jumps of its own to be foretold. */
#define PUT_NEXT                                                       \
    {                                                                  \
        const uint8_t *front = t->front;                               \
        const size_t front_n = t->front_n;                             \
        uint8_t **at = t->at;                                          \
        size_t from, size;                                             \
        if (AMQP_UNLIKELY(t->form != text)) break;                    \
        if (front_n > 1) {                                             \
            copy_16(w, front);                                         \
            if (front_n > 16) copy_16(w + 16, front + 16);             \
        }                                                              \
        if (at) at[i] = w;                                             \
        w += front_n;                                                  \
        from = (size_t)t->ends[i];                                     \
        size = (size_t)t->ends[i + 1] - from;                          \
        p = t->data + from;                                            \
        BLOCK_PREFETCH(p + t->ahead);                                  \
        w[-1] = (uint8_t)size;                                         \
        copy_32(w, p);                                                 \
        for (size_t k = 32; AMQP_UNLIKELY(k < size); k += 32)          \
            copy_32(w + k, p + k);                                     \
        w += size;                                                     \
        t++;                                                           \
    }

/* Rows from `i` up to n; ends: where the row before ends, then each. `tight`: nothing after values may
 * be read. Lines `ahead` are asked for, where the next block goes. Returns the end. */
AMQP_APART static uint8_t *store_rows(uint8_t *w, const Put *puts, int32_t *ends, size_t i, size_t n,
                                    int tight, size_t ahead) {
    const uint8_t *base = w - ends[i], *p;
    const uint8_t text = tight ? 0xFF : PUT_TEXT;
    for (; i < n; i++) {
        const Put *t = puts;
        BLOCK_PREFETCH(w + ahead);
        BLOCK_PREFETCH(w + ahead + 64);
        BLOCK_PREFETCH(w + ahead + 128);
        for (;; t++) {
            for (;;) {
                PUT_NEXT PUT_NEXT PUT_NEXT PUT_NEXT PUT_NEXT PUT_NEXT PUT_NEXT PUT_NEXT
            }
            if (AMQP_LIKELY(t->form == PUT_BODY && t->front_n <= 32)) {
                copy_32(w, t->front);
                t->at[i] = w;
                w += t->front_n;
                break;
            }
            w = store_slowly(w, t, i);
            if (t->form >= PUT_BODY) break;
        }
        if (t->form != PUT_END) {
            uint32_t size;
            if (t->form == PUT_BODY) {
                size = (uint32_t)(t->ends[i + 1] - t->ends[i]);
                p = t->data + t->ends[i];
                BLOCK_PREFETCH(p + t->ahead);
                BLOCK_PREFETCH(p + t->ahead + 64);
            } else {
                size = t->sizes[i];
                p = (const uint8_t *)(uintptr_t)t->value[i];
            }
            if (size == 0)
                w -= 7; /* after the end of the header frame */
            else {
                store32(w - 4, size);
                if (t->form != PUT_BODY || tight || size > 512)
                    copy_bytes(w, p, size);
                else
                    for (size_t k = 0; k < size; k += 32) copy_32(w + k, p + k);
                w[size] = PUT_FRAME_END;
                w += size + 1;
            }
        }
        ends[i + 1] = (int32_t)(w - base);
    }
    return w;
}
#undef PUT_NEXT

/* Numbers in network order: `width` bytes of 64 bits each, or bytes as they are. */
AMQP_APART static void store_numbers(uint8_t *const *at, size_t on, int n, const uint8_t *value, int width) {
    if (width == 8)
        for (int i = 0; i < n; i++) store64(at[i] + on, load_word(value + 8 * i));
    else if (width == 1)
        for (int i = 0; i < n; i++) at[i][on] = value[i];
    else
        for (int i = 0; i < n; i++) {
            uint64_t v = load_word(value + 8 * i);
            if (width == 4)
                store32(at[i] + on, (uint32_t)v);
            else
                store16(at[i] + on, (uint16_t)v);
        }
}

#endif
