/* Field tables with the names and types of the one before, as headers of message after message are. */
#ifndef AMQPCODEC_TEMPLATE_H
#define AMQPCODEC_TEMPLATE_H

#include "columns/copy.h"

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

/* The entry that begins at p: its name is text that JSON holds as it is, of TEMPLATE_NAME bytes at most. */
AMQP_COLD static void template_entry(TemplateEntry *e, const uint8_t *p) {
    size_t n = p[0];
    uint8_t tag = p[n + 1];
    memset(e->any, 0, n + 2);
    memset(e->any + n + 2, 0xFF, 32 - (n + 2));
    memcpy(e->same, p, n + 2);
    memcpy(e->json, ",\"", 2);
    memcpy(e->json + 2, p + 1, n);
    memcpy(e->json + 2 + n, "\":\"", 3);
    e->n = (uint8_t)(n + 2);
    e->json_n = (uint8_t)(n + 4 + (tag == 'S'));
    e->tag = tag;
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

#endif
