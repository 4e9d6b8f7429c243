/* Frames of one kind, of a block of frames: what they hold goes column by column into rows that lie
 * apart from one another. */
#ifndef AMQPCODEC_KINDS_H
#define AMQPCODEC_KINDS_H

#include "columns/copy.h"
#include "columns/digits.h"

#define SPOT_AHEAD 16384 /* octets of the next block that are asked for meanwhile, a few at a time */
#define ENDS_AHEAD 4 /* rows whose ends are written at a time */

/* How far a frame was read. */
typedef struct {
    const uint8_t *p;
    const uint8_t *end; /* of its payload; COPY_SLACK octets more may be read */
    int row;            /* from the one on that `ends` and `out` below begin with */
} Spot;

/* The end of a row's octets, and the same of rows behind it, which stay empty if none writes to them.
 * before: the row written before it, or itself; from: where the octets begin. */
AMQP_INLINE void put_end(int32_t *ends, int before, int row, size_t from, size_t to) {
    int32_t end = (int32_t)to, fill[ENDS_AHEAD] = {end, end, end, end};
    for (int k = before + 1 + ENDS_AHEAD; AMQP_UNLIKELY(k <= row); k++) ends[k] = (int32_t)from;
    memcpy(ends + row + 1, fill, sizeof(fill));
}

/* Short strings, of which COPY_SLACK octets more are written; how many frames have one that is UTF-8. */
AMQP_APART static int spot_texts(Spot *at, int n, uint8_t *data, size_t used, int32_t *ends) {
    for (int i = 0, before = at->row; i < n; i++) {
        const uint8_t *p = at[i].p + 1;
        size_t size = p[-1];
        if (AMQP_UNLIKELY((ptrdiff_t)size > at[i].end - p)) return i;
        if (AMQP_UNLIKELY(!copy_ascii(data + used, p, size)) && !is_utf8(p, size)) return i;
        at[i].p = p + size;
        put_end(ends, before, at[i].row, used, used + size);
        before = at[i].row;
        used += size;
    }
    return n;
}

/* All that is left of the frames; COPY_SLACK octets more are written. */
AMQP_APART static void spot_rests(const Spot *at, int n, uint8_t *data, size_t used, int32_t *ends) {
    for (int i = 0, before = at->row; i < n; i++) {
        const uint8_t *p = at[i].p;
        size_t size = (size_t)(at[i].end - p);
        uint8_t *w = data + used;
        AMQP_PREFETCH(p + SPOT_AHEAD);
        AMQP_PREFETCH(p + SPOT_AHEAD + 64);
        put_end(ends, before, at[i].row, used, used + size);
        before = at[i].row;
        used += size;
        if (AMQP_UNLIKELY(size > 512)) {
            memcpy(w, p, size);
            continue;
        }
        for (; size > 32; size -= 32, p += 32, w += 32) {
            copy_16(w, p);
            copy_16(w + 16, p + 16);
        }
        copy_16(w, p);
        if (size > 16) copy_16(w + 16, p + 16);
    }
}

/* Octets as numbers; how many frames have one. */
AMQP_APART static int spot_octets(Spot *at, int n, int32_t *out) {
    for (int i = 0; i < n; i++) {
        if (AMQP_UNLIKELY(at[i].p >= at[i].end)) return i;
        out[at[i].row] = *at[i].p++;
    }
    return n;
}

/* Seconds as microseconds; how many frames have some that int64 holds. */
AMQP_APART static int spot_moments(Spot *at, int n, int64_t *out) {
    for (int i = 0; i < n; i++) {
        uint64_t v = load64(at[i].p);
        if (AMQP_UNLIKELY(at[i].end - at[i].p < 8 || v > UINT64_C(9223372036854))) return i;
        out[at[i].row] = (int64_t)(v * 1000000);
        at[i].p += 8;
    }
    return n;
}

/* The sizes of bodies, which stand before the flags of content headers. */
AMQP_APART static void spot_sizes(const Spot *at, int n, int64_t *out) {
    for (int i = 0; i < n; i++) {
        uint64_t v;
        memcpy(&v, at[i].p - 10, 8);
        out[at[i].row] = (int64_t)load64((const uint8_t *)&v);
    }
}

/* How many frames were read to their end. */
AMQP_APART static int spot_ended(const Spot *at, int n) {
    for (int i = 0; i < n; i++)
        if (AMQP_UNLIKELY(at[i].p != at[i].end)) return i;
    return n;
}

/* Bits of the rows. */
AMQP_INLINE void spot_bits(const Spot *at, int n, uint8_t *bits) {
    for (int i = 0; i < n; i++) bits[at[i].row >> 3] |= (uint8_t)(1 << (at[i].row & 7));
}

/* Add n octets of bits. */
AMQP_APART static void spot_mark(uint8_t *valid, const uint8_t *bits, int n) {
    for (; n >= 8; n -= 8, valid += 8, bits += 8) store_word(valid, load_word(valid) | load_word(bits));
    for (; n > 0; n--) *valid++ |= *bits++;
}

/*
 * Tables with the names and tags of one that was in order, as headers of message after message are:
 * one comparison finds each, and its name as JSON has it is known.
 */
#define PATTERN_MOST 12 /* entries */
#define PATTERN_NAME 27 /* octets of a name, so that two copies of sixteen do for it */
#define PATTERN_ROOM 160 /* octets that JSON takes more than the table at most, and copies behind it */

typedef struct {
    uint8_t same[32]; /* length, name and tag */
    uint8_t any[32];  /* 0xFF for octets that are not compared */
    uint8_t json[32]; /* `,"name":`, and the quote of a text */
    uint8_t n, json_n, tag;
} PatternEntry;

typedef struct {
    int n;           /* 0: there is none */
    uint32_t misses; /* since a table was like it */
    PatternEntry entry[PATTERN_MOST];
} Pattern;

/* A table that was in order, and its names such as JSON holds as they are, was not like the pattern:
 * now and then take another. */
AMQP_COLD static void pattern_learn(Pattern *like, const uint8_t *p, const uint8_t *end) {
    int k = 0;
    like->misses++;
    if (like->misses & (like->misses - 1)) return; /* but for 1, 2, 4, 8 ... */
    like->n = 0;
    for (; p < end; k++) {
        PatternEntry *e = &like->entry[k];
        size_t n = p[0];
        uint8_t tag = p[n + 1];
        if (k == PATTERN_MOST || n > PATTERN_NAME || (tag != 'S' && tag != 'I' && tag != 't')) return;
        memset(e->any, 0, n + 2);
        memset(e->any + n + 2, 0xFF, 32 - (n + 2));
        memcpy(e->same, p, n + 2);
        memcpy(e->json, ",\"", 2);
        memcpy(e->json + 2, p + 1, n);
        memcpy(e->json + 2 + n, "\":\"", 3);
        e->n = (uint8_t)(n + 2);
        e->json_n = (uint8_t)(n + 4 + (tag == 'S'));
        e->tag = tag;
        p += n + 2 + (tag == 'S' ? 4 + (size_t)load32(p + n + 2) : tag == 'I' ? 4 : 1);
    }
    like->n = k;
}

/* Whether an entry of a pattern stands at p, its first octets at least. Reads COPY_SLACK octets more. */
AMQP_INLINE int pattern_here(const PatternEntry *e, const uint8_t *p) {
#ifdef COPY_SSE2
    const __m128i *same = (const __m128i *)e->same, *any = (const __m128i *)e->any;
    __m128i x = _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)p), _mm_loadu_si128(same));
    if (AMQP_UNLIKELY(_mm_movemask_epi8(_mm_or_si128(x, _mm_loadu_si128(any))) != 0xFFFF)) return 0;
    if (e->n <= 16) return 1;
    x = _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(p + 16)), _mm_loadu_si128(same + 1));
    return _mm_movemask_epi8(_mm_or_si128(x, _mm_loadu_si128(any + 1))) == 0xFFFF;
#else
    return memcmp(p, e->same, e->n) == 0;
#endif
}

/* Tables like the pattern, as JSON, for which there is PATTERN_ROOM octets more for each; how many
 * frames have one. before: the row written before the first, or its own. */
AMQP_APART static int spot_tables(Spot *at, int n, int before, const Pattern *like, uint8_t *data,
                                  size_t used, int32_t *ends) {
    const PatternEntry *last = like->entry + like->n;
    for (int i = 0; i < n; i++) {
        const uint8_t *p = at[i].p + 4, *stop;
        const PatternEntry *e = like->entry;
        uint8_t *w = data + used;
        ptrdiff_t size = load32(p - 4);
        AMQP_PREFETCH(p + SPOT_AHEAD);
        AMQP_PREFETCH(p + SPOT_AHEAD + 64);
        AMQP_PREFETCH(p + SPOT_AHEAD + 128);
        if (AMQP_UNLIKELY(size > at[i].end - p)) return i;
        stop = p + size;
        for (; e < last; e++) {
            if (AMQP_UNLIKELY(stop - p < e->n || !pattern_here(e, p))) return i;
            copy_16(w, e->json);
            copy_16(w + 16, e->json + 16);
            w += e->json_n;
            p += e->n;
            if (AMQP_LIKELY(e->tag == 'S')) {
                size = load32(p);
                p += 4;
                if (AMQP_UNLIKELY(size > stop - p)) return i;
                if (AMQP_UNLIKELY(!copy_plain(w, p, (size_t)size)) && !is_plain_utf8(p, (size_t)size)) return i;
                p += size;
                w += size;
                *w++ = '"';
            } else if (AMQP_LIKELY(e->tag == 'I')) {
                if (AMQP_UNLIKELY(stop - p < 4)) return i;
                w = put_i64(w, (int32_t)load32(p));
                p += 4;
            } else {
                if (AMQP_UNLIKELY(stop == p)) return i;
                memcpy(w, *p ? "true " : "false", 5);
                w += 5 - (*p++ != 0);
            }
        }
        if (AMQP_UNLIKELY(p != stop)) return i;
        at[i].p = p;
        data[used] = '{';
        *w++ = '}';
        size = w - data;
        put_end(ends, before, at[i].row, used, (size_t)size);
        before = at[i].row;
        used = (size_t)size;
    }
    return n;
}

#endif
