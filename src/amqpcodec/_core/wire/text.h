/* Bytes to str, with a small cache for the short strings that come again and again. */
#ifndef AMQPCODEC_TEXT_H
#define AMQPCODEC_TEXT_H

#include <Python.h>
#include "wire/python.h"
#include "wire/wire.h"

/* Bytes that are not UTF-8 become surrogate escapes: nothing is lost, nothing raises. */
static PyObject *text_slow(const uint8_t *s, Py_ssize_t n) {
    return PyUnicode_DecodeUTF8((const char *)s, n, "surrogateescape");
}

/* The bytes of a compact ASCII str, which every str of ASCII is that was not made by a subclass. */
AMQP_INLINE uint8_t *text_bytes(PyObject *o) {
    AMQP_ASSUME(PyUnicode_IS_COMPACT(o));
    AMQP_ASSUME(PyUnicode_IS_ASCII(o));
    return PyUnicode_1BYTE_DATA(o);
}
#define TEXT_BYTES(o) text_bytes((PyObject *)(o))

/* Of bytes that are ASCII. */
static inline PyObject *text_ascii(const uint8_t *s, Py_ssize_t n) {
    if (AMQP_UNLIKELY(n < 2)) return text_slow(s, n); /* one that all share */
    PyObject *o = PyUnicode_New(n, 127);
    if (AMQP_LIKELY(o != NULL)) copy_bytes(TEXT_BYTES(o), s, (size_t)n);
    return o;
}

/* The characters of well-formed UTF-8, into a str whose characters take `kind` bytes each. */
AMQP_INLINE void text_fill(void *data, int kind, const uint8_t *s, const uint8_t *end) {
    for (Py_ssize_t i = 0; s != end; i++) {
        uint32_t c = *s++;
        if (c >= 0xF0) {
            c = (c & 7) << 18 | (uint32_t)(s[0] & 63) << 12 | (uint32_t)(s[1] & 63) << 6 | (s[2] & 63);
            s += 3;
        } else if (c >= 0xE0) {
            c = (c & 15) << 12 | (uint32_t)(s[0] & 63) << 6 | (s[1] & 63);
            s += 2;
        } else if (c >= 0x80) {
            c = (c & 31) << 6 | (*s++ & 63);
        }
        PyUnicode_WRITE(kind, data, i, c);
    }
}

/* Of bytes that are well-formed UTF-8; NULL without an exception where they are not. Their number of
 * characters and the largest are known from the test, so that memory is taken once. */
AMQP_APART static PyObject *text_utf8(const uint8_t *s, Py_ssize_t n) {
    size_t chars;
    uint8_t highest;
    if (!scan_utf8(s, (size_t)n, &chars, &highest)) return NULL;
    if (chars < 2 || highest == 0) return text_slow(s, n);
    /* First bytes: from C4 on for characters after U+00FF, from F0 on for those after U+FFFF. */
    Py_UCS4 limit = highest < 0xC4 ? 0xFF : highest < 0xF0 ? 0xFFFF : 0x10FFFF;
    PyObject *o = PyUnicode_New((Py_ssize_t)chars, limit);
    if (!o) return NULL;
    void *data = PyUnicode_DATA(o);
    if (highest < 0xC4) text_fill(data, PyUnicode_1BYTE_KIND, s, s + n);
    else if (highest < 0xF0) text_fill(data, PyUnicode_2BYTE_KIND, s, s + n);
    else text_fill(data, PyUnicode_4BYTE_KIND, s, s + n);
    return o;
}

AMQP_APART static PyObject *text_other(const uint8_t *s, Py_ssize_t n) {
    PyObject *o = text_utf8(s, n);
    return o || PyErr_Occurred() ? o : text_slow(s, n);
}

static inline PyObject *text_new(const uint8_t *s, Py_ssize_t n) {
    return AMQP_LIKELY(is_ascii(s, (size_t)n)) ? text_ascii(s, n) : text_other(s, n);
}

/* Direct-mapped: one probe, one compare. Its owner is a decoder or the module state. The last
 * timestamp lives here too: messages of one second share it (of AMQP 1.0: of one millisecond), and
 * those of one day its date. */
#define TEXT_CACHE_SLOTS 1024 /* ten bits of the hash */
#define TEXT_CACHE_LONGEST 40
typedef struct {
    uint64_t seconds;    /* of AMQP 1.0: milliseconds */
    PyObject *datetime;  /* of these seconds, or NULL */
    uint32_t day_number; /* days since 1970 (of AMQP 1.0: since 0001); its date is below, year 0
                            while there is none */
    int year, month, day;
} LastTime;

typedef struct {
    LastTime last_time;
    PyObject *slot[TEXT_CACHE_SLOTS]; /* at first the empty str, which is not looked for */
} TextCache;

/* Two overlapping words stand for up to 16 bytes whole; longer text adds its middle on comparison. */
AMQP_INLINE void text_ends(const uint8_t *s, Py_ssize_t n, uint64_t *a, uint64_t *b) {
    if (n >= 8) {
        memcpy(a, s, 8);
        memcpy(b, s + n - 8, 8);
    } else if (n >= 4) {
        uint32_t x, y;
        memcpy(&x, s, 4);
        memcpy(&y, s + n - 4, 4);
        *a = x;
        *b = y;
    } else {
        *a = s[0] | (uint64_t)s[n / 2] << 8 | (uint64_t)s[n - 1] << 16;
        *b = 0;
    }
}

AMQP_INLINE uint32_t text_cache_index(uint64_t a, uint64_t b, Py_ssize_t n) {
    /* The last characters, where names differ most, are the top bytes of b: turned down, so that
     * the product carries them into its top bits, which are used. */
    uint64_t h = ((a ^ (b << 23 | b >> 41)) + (uint64_t)n) * 0x9E3779B97F4A7C15ull;
    return (uint32_t)(h >> 54);
}

AMQP_INLINE int text_same(const uint8_t *s, const uint8_t *t, Py_ssize_t n, uint64_t a, uint64_t b) {
    uint64_t c, d;
    text_ends(t, n, &c, &d);
    if (((a ^ c) | (b ^ d)) != 0) return 0;
    for (Py_ssize_t i = 8; i < n - 8; i += 8) { /* the last word may overlap: it was compared */
        memcpy(&c, s + i, 8);
        memcpy(&d, t + i, 8);
        if (c != d) return 0;
    }
    return 1;
}

/* Text values up to this length tend to come again; ids are longer. */
enum { SHORT_VALUE = 16 };

/* Text that the cache has, borrowed until something else is put there. Else NULL, and *entry is where it
 * should be; NULL where it is too short or too long to be kept. cache may be NULL (free-threaded
 * one-shot calls). */
AMQP_INLINE PyObject *text_find(TextCache *cache, const uint8_t *s, Py_ssize_t n, PyObject ***entry) {
    uint64_t a, b;
    *entry = NULL;
    if ((size_t)(n - 2) > TEXT_CACHE_LONGEST - 2 || cache == NULL) return NULL;
    text_ends(s, n, &a, &b);
    *entry = &cache->slot[text_cache_index(a, b, n)];
    PyObject *o = **entry;
    if (PyUnicode_GET_LENGTH(o) != n) return NULL;
    return text_same(s, TEXT_BYTES(o), n, a, b) ? o : NULL;
}

/* A new str of ASCII bytes that the cache does not have; kept there where it has an entry. */
static inline PyObject *text_keep_ascii(PyObject **entry, const uint8_t *s, Py_ssize_t n) {
    PyObject *o = text_ascii(s, n);
    if (entry && o) Py_SETREF(*entry, Py_NewRef(o));
    return o;
}

/* The same of any bytes; what is not ASCII is not kept. */
AMQP_APART static PyObject *text_keep(PyObject **entry, const uint8_t *s, Py_ssize_t n) {
    return AMQP_LIKELY(is_ascii(s, (size_t)n)) ? text_keep_ascii(entry, s, n) : text_other(s, n);
}

/* A new reference, from the cache where it can be. */
static inline PyObject *text_cached(TextCache *cache, const uint8_t *s, Py_ssize_t n) {
    PyObject **entry;
    PyObject *o = text_find(cache, s, n, &entry);
    return AMQP_LIKELY(o != NULL) ? Py_NewRef(o) : text_keep(entry, s, n);
}

/* Text of bytes that are UTF-8, a new reference, from the cache where it can be (NULL: it is not looked
 * for); NULL without an exception where they are not UTF-8. */
AMQP_INLINE PyObject *text_of_utf8(TextCache *cache, const uint8_t *s, Py_ssize_t n) {
    PyObject **entry;
    PyObject *o = text_find(cache, s, n, &entry);
    if (o) return Py_NewRef(o);
    return AMQP_LIKELY(is_ascii(s, (size_t)n)) ? text_keep_ascii(entry, s, n) : text_utf8(s, n);
}

static TextCache *text_cache_new(void) {
    PyObject *empty = PyUnicode_New(0, 0);
    TextCache *cache = empty ? PyMem_Calloc(1, sizeof(TextCache)) : NULL;
    for (int i = 0; cache && i < TEXT_CACHE_SLOTS; i++) cache->slot[i] = Py_NewRef(empty);
    Py_XDECREF(empty);
    return cache;
}

static void text_cache_free(TextCache *cache) {
    if (!cache) return;
    for (int i = 0; i < TEXT_CACHE_SLOTS; i++) Py_DECREF(cache->slot[i]);
    Py_XDECREF(cache->last_time.datetime);
    PyMem_Free(cache);
}

/* Whether o is a compact ASCII str, and then its bytes, borrowed. No error is set; o may be NULL. */
AMQP_INLINE int ascii_bytes(PyObject *o, const uint8_t **p, Py_ssize_t *n) {
    if (!o || !PyUnicode_CheckExact(o) || !PyUnicode_IS_COMPACT_ASCII(o)) return 0;
    *n = PyUnicode_GET_LENGTH(o);
    *p = TEXT_BYTES(o);
    return 1;
}

/* The same for any exact str but one with lone surrogates, which has no UTF-8 of its own. The str
 * keeps its UTF-8, so that text which is sent again is not translated again. */
AMQP_COLD static int utf8_bytes_slow(PyObject *o, const uint8_t **p, Py_ssize_t *n) {
    if (!o || !PyUnicode_CheckExact(o)) return 0;
    *p = (const uint8_t *)PyUnicode_AsUTF8AndSize(o, n);
    if (*p) return 1;
    PyErr_Clear();
    return 0;
}

AMQP_INLINE int utf8_bytes(PyObject *o, const uint8_t **p, Py_ssize_t *n) {
    if (AMQP_LIKELY(ascii_bytes(o, p, n))) return 1;
    /* Variables of its own: the caller's stay in registers. */
    const uint8_t *raw = NULL;
    Py_ssize_t size = 0;
    int found = utf8_bytes_slow(o, &raw, &size);
    *p = raw;
    *n = size;
    return found;
}

/* Whether o is an exact int that fits uint64, and then its value. No error is set; o may be NULL. */
AMQP_INLINE int exact_u64(PyObject *o, uint64_t *out) {
    long long word;
    if (!o || !PyLong_CheckExact(o)) return 0;
    if (AMQP_LIKELY(python_word(o, &word))) {
        *out = (uint64_t)word;
        return word >= 0;
    }
    /* Of a long, CPython puts the digits together; of a long long, bytes. */
    unsigned long long v = sizeof(long) == 8 ? PyLong_AsUnsignedLong(o) : PyLong_AsUnsignedLongLong(o);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        return 0;
    }
    *out = v;
    return 1;
}

/* Whether o is an exact int that fits int32 (nearly all are), and then its value. */
AMQP_INLINE int exact_small(PyObject *o, int32_t *out) {
    long long word;
    if (!PyLong_CheckExact(o) || !python_word(o, &word)) return 0;
    *out = (int32_t)word;
    return word >= -INT32_MAX && word <= INT32_MAX;
}

#endif
