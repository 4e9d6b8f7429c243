/* Field tables with the names and types of the one before, as headers of message after message are. */
#ifndef AMQPCODEC_TEMPLATE_H
#define AMQPCODEC_TEMPLATE_H

#include "columns/copy.h"
#include "columns/digits.h"

#define TEMPLATE_MOST 12  /* entries */
#define TEMPLATE_NAME 27  /* bytes of a name, so that two copies of sixteen do for it */
#define TEMPLATE_ROOM 192 /* bytes that JSON takes more than the table at most, and copies after it */

typedef struct {
    uint8_t same[32]; /* length, name and tag */
    uint8_t any[32];  /* 0xFF for bytes that are not compared */
    uint8_t json[32]; /* `,"name":`, and the quote of a text */
    uint8_t n, json_n, tag;
} TemplateEntry;

typedef struct {
    int n;           /* 0: there is none */
    uint32_t misses; /* since a table was like it */
    TemplateEntry entry[TEMPLATE_MOST];
} TableTemplate;

/* A table that is valid, and whose names JSON holds as they are, was not like the template: now and
 * then take another. */
AMQP_COLD static void template_learn(TableTemplate *known, const uint8_t *p, const uint8_t *end) {
    int k = 0;
    known->misses++;
    if (known->misses & (known->misses - 1)) return; /* but for 1, 2, 4, 8 ... */
    known->n = 0;
    for (; p < end; k++) {
        TemplateEntry *e = &known->entry[k];
        size_t n = p[0];
        uint8_t tag = p[n + 1];
        if (k == TEMPLATE_MOST || n > TEMPLATE_NAME || (tag != 'S' && tag != 'I' && tag != 't')) return;
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
    known->n = k;
}

/* Whether an entry of a template is at p, its first bytes at least. Reads COPY_SLACK bytes more. */
AMQP_INLINE int template_here(const TemplateEntry *e, const uint8_t *p) {
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

/* The entries from p to stop as JSON, where they are like the template, for which there is room for
 * TEMPLATE_ROOM bytes more: after it, or NULL. */
AMQP_INLINE uint8_t *template_write(const TableTemplate *known, const uint8_t *p, const uint8_t *stop,
                                    uint8_t *w) {
    const TemplateEntry *e = known->entry, *last = e + known->n;
    uint8_t *start = w;
    if (AMQP_UNLIKELY(e == last)) return NULL;
    for (; e < last; e++) {
        if (AMQP_UNLIKELY(stop - p < e->n || !template_here(e, p))) return NULL;
        copy_16(w, e->json);
        copy_16(w + 16, e->json + 16);
        w += e->json_n;
        p += e->n;
        if (AMQP_LIKELY(e->tag == 'S')) {
            ptrdiff_t size;
            if (AMQP_UNLIKELY(stop - p < 4)) return NULL;
            size = load32(p);
            p += 4;
            if (AMQP_UNLIKELY(size > stop - p)) return NULL;
            if (AMQP_UNLIKELY(!copy_plain(w, p, (size_t)size)) && !is_plain_utf8(p, (size_t)size)) return NULL;
            p += size;
            w += size;
            *w++ = '"';
        } else if (AMQP_LIKELY(e->tag == 'I')) {
            if (AMQP_UNLIKELY(stop - p < 4)) return NULL;
            w = put_i64(w, (int32_t)load32(p));
            p += 4;
        } else {
            if (AMQP_UNLIKELY(stop == p)) return NULL;
            memcpy(w, *p ? "true " : "false", 5);
            w += 5 - (*p++ != 0);
        }
    }
    if (AMQP_UNLIKELY(p != stop)) return NULL;
    *start = '{'; /* for the first comma */
    *w++ = '}';
    return w;
}

#endif
