/* Values of AMQP 1.0 in the encoding that nearly all have, octets to objects. Everything here gives
 * new references; or NULL, and no exception, where it takes more than this to make one or to fail. */
#ifndef AMQPCODEC_V1_USUAL_H
#define AMQPCODEC_V1_USUAL_H

#include <Python.h>
#include "v1/make.h"

static PyObject *v1_small[256];
static PyObject *v1_symbol_class;

static int v1_usual_ready(PyObject *symbol) {
    v1_symbol_class = Py_NewRef(symbol);
    for (int i = 0; i < 256; i++)
        if (!(v1_small[i] = PyLong_FromLong(i))) return -1;
    return 0;
}

/* An int; where there is no memory, with its exception. */
AMQP_INLINE PyObject *v1_number(uint64_t u) {
    return u < 256 ? Py_NewRef(v1_small[u]) : PyLong_FromUnsignedLongLong(u);
}

AMQP_INLINE PyObject *v1_made(PyObject *o) {
    if (AMQP_UNLIKELY(!o)) PyErr_Clear();
    return o;
}

/* Text of ASCII, from the cache if it is no longer than `longest`. */
static PyObject *v1_ascii(V1Cache *cache, const uint8_t *s, Py_ssize_t n, Py_ssize_t longest) {
    PyObject **entry = NULL;
    PyObject *o;
    if (AMQP_LIKELY(n <= longest && n && cache)) {
        uint64_t a, b;
        text_ends(s, n, &a, &b);
        entry = &cache->text->slot[text_cache_index(a, b, n)];
        o = *entry;
        if (AMQP_LIKELY(o != NULL) && PyUnicode_GET_LENGTH(o) == n &&
            text_same(s, TEXT_OCTETS(o), n, a, b))
            return Py_NewRef(o);
    }
    if (AMQP_UNLIKELY(!is_ascii(s, (size_t)n))) return NULL;
    o = v1_made(text_ascii(s, n));
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

/* A value before `end` that is the same object in plain mode as in a field of its type, and behind
 * its octets. A field's is what encode writes: V1Op.usual says of which types. longest: as above. */
AMQP_INLINE const uint8_t *v1_usual(V1Cache *cache, const uint8_t *p, const uint8_t *end,
                                    Py_ssize_t longest, PyObject **made) {
#define V1_NEED(n) \
    if (AMQP_UNLIKELY(end - p < (n))) return NULL
    uint64_t u;
    PyObject *o;
    switch (*p) {
    case CTOR_NULL: o = Py_NewRef(Py_None); p++; break;
    case CTOR_TRUE: o = Py_NewRef(Py_True); p++; break;
    case CTOR_FALSE: o = Py_NewRef(Py_False); p++; break;
    case CTOR_UINT0:
    case CTOR_ULONG0: o = Py_NewRef(v1_small[0]); p++; break;
    case CTOR_UBYTE:
        V1_NEED(2);
        o = Py_NewRef(v1_small[p[1]]);
        p += 2;
        break;
    case CTOR_SMALLUINT:
    case CTOR_SMALLULONG:
        V1_NEED(2);
        if (AMQP_UNLIKELY(!p[1])) return NULL;
        o = Py_NewRef(v1_small[p[1]]);
        p += 2;
        break;
    case CTOR_SMALLINT:
    case CTOR_SMALLLONG:
        V1_NEED(2);
        o = p[1] < 128 ? Py_NewRef(v1_small[p[1]]) : v1_made(PyLong_FromLong((int8_t)p[1]));
        p += 2;
        break;
    case CTOR_USHORT:
        V1_NEED(3);
        o = v1_made(v1_number(load16(p + 1)));
        p += 3;
        break;
    case CTOR_UINT:
        V1_NEED(5);
        if (AMQP_UNLIKELY((u = load32(p + 1)) < 256)) return NULL;
        o = v1_made(PyLong_FromUnsignedLongLong(u));
        p += 5;
        break;
    case CTOR_ULONG:
        V1_NEED(9);
        if (AMQP_UNLIKELY((u = load64(p + 1)) < 256)) return NULL;
        o = v1_made(PyLong_FromUnsignedLongLong(u));
        p += 9;
        break;
    case CTOR_LONG:
        V1_NEED(9);
        o = v1_made(PyLong_FromLongLong((int64_t)load64(p + 1)));
        p += 9;
        break;
    case CTOR_DOUBLE:
        V1_NEED(9);
        o = v1_made(PyFloat_FromDouble(bits_to_double(load64(p + 1))));
        p += 9;
        break;
    case CTOR_TIMESTAMP:
        V1_NEED(9);
        o = v1_same_moment(cache, load64(p + 1));
        p += 9;
        break;
    case CTOR_VBIN8:
        V1_NEED(2);
        V1_NEED(2 + p[1]);
        o = v1_made(PyBytes_FromStringAndSize((const char *)p + 2, p[1]));
        p += 2 + p[1];
        break;
    case CTOR_STR8_UTF8:
        V1_NEED(2);
        V1_NEED(2 + p[1]);
        o = v1_ascii(cache, p + 2, p[1], longest);
        p += 2 + p[1];
        break;
    case CTOR_SYM8:
        V1_NEED(2);
        V1_NEED(2 + p[1]);
        o = v1_made(v1_symbol(cache, v1_symbol_class, p + 2, p[1]));
        p += 2 + p[1];
        break;
    default: return NULL;
    }
#undef V1_NEED
    *made = o;
    return AMQP_LIKELY(o != NULL) ? p : NULL;
}

/* The same, not in place. */
static const uint8_t *v1_usual_value(V1Cache *cache, const uint8_t *p, const uint8_t *end,
                                     Py_ssize_t longest, PyObject **made) {
    return v1_usual(cache, p, end, longest, made);
}

/* Pairs of a map into an empty dict, as long as keys are text, each its own, and values as above:
 * how many of them, and where the next one is. longest: of text that is a value. */
static uint32_t v1_usual_pairs(V1Cache *cache, const uint8_t **at, const uint8_t *end, uint32_t count,
                               Py_ssize_t longest, PyObject *dict) {
    uint32_t i;
    for (i = 0; i < count; i++) {
        const uint8_t *p = *at;
        PyObject *key, *value, *kept;
        if (AMQP_UNLIKELY(p >= end || (*p != CTOR_STR8_UTF8 && *p != CTOR_SYM8))) break;
        if (!(p = v1_usual_value(cache, p, end, TEXT_CACHE_LONGEST, &key))) break;
        if (p >= end || !(p = v1_usual_value(cache, p, end, longest, &value))) {
            Py_DECREF(key);
            break;
        }
        kept = v1_made(PyDict_SetDefault(dict, key, value));
        Py_DECREF(key);
        Py_DECREF(value);
        if (AMQP_UNLIKELY(!kept || PyDict_GET_SIZE(dict) == (Py_ssize_t)i)) break;
        *at = p;
    }
    return i;
}

#endif
