/* Compact values of AMQP 1.0 to objects: those whose content has a fixed width, or a length of one byte.
 * The fast path of v1/read.pxi. What it does not make (NULL, and no exception) the slow path reads.
 * Only _v1 includes this: its statics have one owner. */
#ifndef AMQPCODEC_V1_COMPACT_H
#define AMQPCODEC_V1_COMPACT_H

#include <Python.h>
#include "v1_constants.h"
#include "v1/make.h"

static PyObject *v1_small[256]; /* ints that take no call to get */
static PyObject *v1_symbol_class;

static int v1_compact_ready(PyObject *symbol) {
    v1_symbol_class = Py_NewRef(symbol);
    for (int i = 0; i < 256; i++)
        if (!(v1_small[i] = PyLong_FromLong(i))) return -1;
    return 0;
}

/* An int; NULL with an exception where there is no memory. */
AMQP_INLINE PyObject *v1_number(uint64_t u) {
    return u < 256 ? Py_NewRef(v1_small[u]) : PyLong_FromUnsignedLongLong(u);
}
AMQP_INLINE PyObject *v1_signed(int64_t i) {
    return (uint64_t)i < 256 ? Py_NewRef(v1_small[i]) : PyLong_FromLongLong(i);
}

/* Text of ASCII, from the cache if it is no longer than `longest`; NULL where it is none,
 * and no exception. */
static PyObject *v1_ascii(V1Cache *cache, const uint8_t *s, Py_ssize_t n, Py_ssize_t longest) {
    PyObject **entry = NULL;
    PyObject *o;
    if (AMQP_LIKELY(n <= longest && n && cache)) {
        uint64_t a, b;
        text_ends(s, n, &a, &b);
        entry = &cache->text->slot[text_cache_index(a, b, n)];
        o = *entry;
        if (AMQP_LIKELY(o != NULL) && PyUnicode_GET_LENGTH(o) == n &&
            text_same(s, TEXT_BYTES(o), n, a, b))
            return Py_NewRef(o);
    }
    if (AMQP_UNLIKELY(!is_ascii(s, (size_t)n))) return NULL;
    o = text_ascii(s, n);
    if (AMQP_UNLIKELY(!o)) PyErr_Clear();
    if (entry && o) {
        (void)PyObject_Hash(o); /* keys are looked up at once: have the hash ready */
        Py_XSETREF(*entry, Py_NewRef(o));
    }
    return o;
}

/* The datetime that was made last, if it is of the same milliseconds. */
AMQP_INLINE PyObject *v1_same_moment(V1Cache *cache, uint64_t ms) {
    if (!cache || cache->text->last_time.seconds != ms) return NULL;
    return Py_XNewRef(cache->text->last_time.datetime);
}

#include "v1_compact.h"

/* The same, not in place. */
static const uint8_t *v1_compact_value(V1Cache *cache, const uint8_t *p, const uint8_t *end,
                                       Py_ssize_t longest, PyObject **made) {
    return v1_compact(cache, p, end, longest, made);
}

/* Pairs of a map into an empty dict, as long as keys are text, each its own, and values are compact:
 * how many of them, and where the next one is. longest: of text that is a value. */
static uint32_t v1_compact_pairs(V1Cache *cache, const uint8_t **at, const uint8_t *end,
                                 uint32_t count, Py_ssize_t longest, PyObject *dict) {
    uint32_t i;
    for (i = 0; i < count; i++) {
        const uint8_t *p = *at;
        PyObject *key, *value, *kept;
        if (AMQP_UNLIKELY(p >= end || (*p != CTOR_STR8_UTF8 && *p != CTOR_SYM8))) break;
        if (!(p = v1_compact_value(cache, p, end, TEXT_CACHE_LONGEST, &key))) break;
        if (p >= end || !(p = v1_compact_value(cache, p, end, longest, &value))) {
            Py_DECREF(key);
            break;
        }
        kept = PyDict_SetDefault(dict, key, value);
        Py_DECREF(key);
        Py_DECREF(value);
        if (AMQP_UNLIKELY(!kept)) PyErr_Clear();
        if (AMQP_UNLIKELY(!kept || PyDict_GET_SIZE(dict) == (Py_ssize_t)i)) break;
        *at = p;
    }
    return i;
}

#endif
