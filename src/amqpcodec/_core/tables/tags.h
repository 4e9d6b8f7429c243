/* The type tags of field tables. A new tag is one line in TABLE_TAGS, with a class in amqpcodec/types.py; what no form
 * reads yet is a form as well: a line in TABLE_NUMBERS or TABLE_TEXTS, and its functions below. See "a type tag of
 * field tables" in docs/design.md. */
#ifndef AMQPCODEC_TAGS_H
#define AMQPCODEC_TAGS_H

#include "wire/scalar.h"
#include "wire/wire.h"
#include "wire/buffer.h"

/* What follows a tag: bytes of a scalar, or one of these. */
enum {
    SHAPE_UNKNOWN = -1,
    SHAPE_LONG = -2,  /* u32 length, bytes */
    SHAPE_TABLE = -3, /* u32 length, pairs */
    SHAPE_ARRAY = -4, /* u32 length, items */
    SHAPE_SHORT = -5  /* u8 length, bytes */
};

/* RabbitMQ's column of the errata, and the letter of 0-9-1 §4.2.1 (`x` is read in both); what 0-8 and 0-9 may write. */
enum {
    DIALECT_RABBIT = 1,
    DIALECT_LETTER = 2,
    DIALECT_BOTH = 3,
    DIALECT_0_8 = 4,
    DIALECT_0_9 = 8,
    DIALECT_NOT_0_8 = 11,
    DIALECT_ALL = 15
};

/* Tables and arrays are no scalars: whoever goes over tables goes into them. */
enum { TAG_TABLE = 'F', TAG_ARRAY = 'A' };

/* dialects, tag, form; of a form, the first tag of a dialect is the one that is written */
#define TABLE_TAGS(TAG)       \
    TAG(NOT_0_8, 'V', void)   \
    TAG(BOTH, 't', boolean)   \
    TAG(BOTH, 'b', int8)      \
    TAG(BOTH, 'B', uint8)     \
    TAG(RABBIT, 's', int16)   \
    TAG(LETTER, 's', text8)   \
    TAG(BOTH, 'U', int16)     \
    TAG(BOTH, 'u', uint16)    \
    TAG(ALL, 'I', int32)      \
    TAG(BOTH, 'i', uint32)    \
    TAG(RABBIT, 'l', int64)   \
    TAG(LETTER, 'l', uint64)  \
    TAG(BOTH, 'L', int64)     \
    TAG(BOTH, 'f', float)     \
    TAG(BOTH, 'd', double)    \
    TAG(ALL, 'D', decimal)    \
    TAG(ALL, 'T', timestamp)  \
    TAG(ALL, 'S', text32)     \
    TAG(BOTH, 'x', bytes32)

/* form, shape, kind, name in errors */
#define TABLE_NUMBERS(FORM)                           \
    FORM(void, 0, VOID, "field table value")          \
    FORM(boolean, 1, BOOLEAN, "field table value")    \
    FORM(int8, 1, SIGNED, "field table value")        \
    FORM(uint8, 1, UNSIGNED, "field table value")     \
    FORM(int16, 2, SIGNED, "field table value")       \
    FORM(uint16, 2, UNSIGNED, "field table value")    \
    FORM(int32, 4, SIGNED, "field table value")       \
    FORM(uint32, 4, UNSIGNED, "field table value")    \
    FORM(int64, 8, SIGNED, "field table value")       \
    FORM(uint64, 8, UNSIGNED, "field table value")    \
    FORM(float, 4, FLOAT, "field table value")        \
    FORM(double, 8, DOUBLE, "field table value")      \
    FORM(decimal, 5, DECIMAL, "field table decimal")  \
    FORM(timestamp, 8, SECONDS, "field table timestamp")

#define TABLE_TEXTS(FORM)                                     \
    FORM(text8, SHAPE_SHORT, SHORTSTR, "field table shortstr") \
    FORM(text32, SHAPE_LONG, LONGSTR, "field table longstr")   \
    FORM(bytes32, SHAPE_LONG, BYTES, "field table byte array")

/* From the bytes after a tag to a value, and back (of texts put_typed writes length and bytes). */
#define TABLE_INTEGER(form, type, load, store)                            \
    AMQP_INLINE void read_##form(Scalar *v, const uint8_t *p) {           \
        v->u = (uint64_t)(type)load;                                      \
    }                                                                     \
    AMQP_INLINE void store_##form(uint8_t *w, const Scalar *v) {          \
        store;                                                            \
    }

TABLE_INTEGER(void, uint64_t, (0 * (uintptr_t)p), ((void)w, (void)v))
TABLE_INTEGER(boolean, uint64_t, p[0], w[0] = v->u != 0)
TABLE_INTEGER(int8, int8_t, p[0], w[0] = (uint8_t)v->u)
TABLE_INTEGER(uint8, uint8_t, p[0], w[0] = (uint8_t)v->u)
TABLE_INTEGER(int16, int16_t, load16(p), store16(w, (uint16_t)v->u))
TABLE_INTEGER(uint16, uint16_t, load16(p), store16(w, (uint16_t)v->u))
TABLE_INTEGER(int32, int32_t, load32(p), store32(w, (uint32_t)v->u))
TABLE_INTEGER(uint32, uint32_t, load32(p), store32(w, (uint32_t)v->u))
TABLE_INTEGER(int64, int64_t, load64(p), store64(w, v->u))
TABLE_INTEGER(uint64, uint64_t, load64(p), store64(w, v->u))
TABLE_INTEGER(float, uint32_t, load32(p), store32(w, (uint32_t)v->u))
TABLE_INTEGER(double, uint64_t, load64(p), store64(w, v->u))
TABLE_INTEGER(timestamp, uint64_t, load64(p), store64(w, v->u))

AMQP_INLINE void read_decimal(Scalar *v, const uint8_t *p) {
    v->u = (uint64_t)(int32_t)load32(p + 1);
    v->n = p[0];
}
AMQP_INLINE void store_decimal(uint8_t *w, const Scalar *v) {
    w[0] = (uint8_t)v->n;
    store32(w + 1, (uint32_t)v->u);
}
AMQP_INLINE void read_text8(Scalar *v, const uint8_t *p) {
    v->p = p + 1;
    v->n = p[0];
}
AMQP_INLINE void read_text32(Scalar *v, const uint8_t *p) {
    v->p = p + 4;
    v->n = load32(p);
}
AMQP_INLINE void read_bytes32(Scalar *v, const uint8_t *p) {
    read_text32(v, p);
}

/* ---- made of the tables above ---- */

#define FORM_NAME(form, shape, kind, name) FORM_##form,
typedef enum { TABLE_NUMBERS(FORM_NAME) TABLE_TEXTS(FORM_NAME) } Form;
#undef FORM_NAME

#define FORM_COUNT(form, shape, kind, name) + 1
enum { NUMBER_FORMS = TABLE_NUMBERS(FORM_COUNT) };
#undef FORM_COUNT

typedef struct {
    ScalarKind kind;
    int8_t shape;
    const char *name;
} FormLine;

#define FORM_LINE(form, shape, kind, name) {KIND_##kind, shape, name},
static const FormLine FORMS[] = {TABLE_NUMBERS(FORM_LINE) TABLE_TEXTS(FORM_LINE)};
#undef FORM_LINE

typedef struct {
    uint8_t dialects, tag;
    Form form;
} TagLine;

#define TAG_LINE(dialects, tag, form) {DIALECT_##dialects, tag, FORM_##form},
static const TagLine TAGS[] = {TABLE_TAGS(TAG_LINE)};
#undef TAG_LINE
enum { TAG_LINES = sizeof(TAGS) / sizeof(TAGS[0]) };

/* The value at p, after a tag of this form; its bytes were checked. */
AMQP_INLINE void form_read(Form form, const uint8_t *p, Scalar *v) {
    switch (form) {
#define FORM_READ(form, shape, kind_, name) \
    case FORM_##form:                       \
        v->kind = KIND_##kind_;             \
        read_##form(v, p);                  \
        break;
        TABLE_NUMBERS(FORM_READ)
        TABLE_TEXTS(FORM_READ)
#undef FORM_READ
    }
}

/* The tag that is written for a form; 0: the dialect has none. letter: MODE_LETTER may be set in it. */
AMQP_INLINE uint8_t tag_of(Form form, uintptr_t letter) {
    int dialect = letter & 1 ? DIALECT_LETTER : DIALECT_RABBIT;
#define TAG_OF(dialects, tag, of) \
    if (form == FORM_##of && DIALECT_##dialects & dialect) return tag;
    TABLE_TAGS(TAG_OF)
#undef TAG_OF
    return 0;
}

/* Whether DIALECT_0_8 or DIALECT_0_9 has a tag. */
AMQP_INLINE int old_has_tag(int dialect, uint8_t tag) {
    for (int i = 0; i < TAG_LINES; i++)
        if (TAGS[i].tag == tag && TAGS[i].dialects & dialect) return 1;
    return tag == TAG_TABLE;
}

/* How an int is written that has no form of its own. */
AMQP_INLINE Form int_form(int64_t v) { return v == (int32_t)v ? FORM_int32 : FORM_int64; }

/* Bytes of a tag and its value of fixed width. */
AMQP_INLINE size_t tagged_bytes(Form form) { return 1 + (size_t)FORMS[form].shape; }

/* A value of fixed width: as many bytes as the form's shape says. */
AMQP_INLINE void form_store(Form form, uint8_t *w, const Scalar *v) {
    switch (form) {
#define FORM_STORE(form, shape, kind, name) \
    case FORM_##form:                       \
        store_##form(w, v);                 \
        break;
        TABLE_NUMBERS(FORM_STORE)
#undef FORM_STORE
#define FORM_NONE(form, shape, kind, name) case FORM_##form:
        TABLE_TEXTS(FORM_NONE)
#undef FORM_NONE
        break;
    }
}

/* A tag and its value of fixed width, in tagged_bytes. n: digits after a decimal's point. */
AMQP_INLINE void store_tagged(uint8_t *w, Form form, uintptr_t letter, uint64_t u, uint32_t n) {
    Scalar v = {.u = u, .n = n};
    w[0] = tag_of(form, letter);
    form_store(form, w + 1, &v);
}

/* The same at the end of a buffer, without the GIL: 0, or -1. */
AMQP_INLINE int buffer_put_tagged(Buffer *b, Form form, uintptr_t letter, uint64_t u, uint32_t n) {
    if (buffer_ensure(b, tagged_bytes(form)) < 0) return -1;
    store_tagged(b->p, form, letter, u, n);
    buffer_commit(b, b->p + tagged_bytes(form));
    return 0;
}

#endif
