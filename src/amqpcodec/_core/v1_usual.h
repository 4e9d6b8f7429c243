/* Values of AMQP 1.0 in the encoding that nearly all have, octets to objects. Everything here gives
 * new references; or NULL, and no exception, where it takes more than this to make one or to fail. */
#ifndef AMQPCODEC_V1_USUAL_H
#define AMQPCODEC_V1_USUAL_H

#include <Python.h>
#include "v1_make.h"

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
static PyObject *v1_ascii(TextCache *cache, const uint8_t *s, Py_ssize_t n, Py_ssize_t longest) {
    PyObject **entry = NULL;
    PyObject *o;
    if (AMQP_LIKELY(n <= longest && n && cache)) {
        uint64_t a, b;
        text_ends(s, n, &a, &b);
        entry = &cache->slot[text_cache_index(a, b, n)];
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
    uint8_t code = *p++;
    size_t left = (size_t)(end - p);
    uint64_t u;
    PyObject *o;
    switch (code) {
    case 0x40: o = Py_NewRef(Py_None); break;
    case 0x41: o = Py_NewRef(Py_True); break;
    case 0x42: o = Py_NewRef(Py_False); break;
    case 0x43:
    case 0x44: o = Py_NewRef(v1_small[0]); break;
    case 0x50:
    case 0x52:
    case 0x53:
        if (AMQP_UNLIKELY(left < 1 || (!*p && code != 0x50))) return NULL;
        o = Py_NewRef(v1_small[*p++]);
        break;
    case 0x54:
    case 0x55:
        if (AMQP_UNLIKELY(left < 1)) return NULL;
        o = *p < 128 ? Py_NewRef(v1_small[*p]) : v1_made(PyLong_FromLong((int8_t)*p));
        p++;
        break;
    case 0x60:
        if (AMQP_UNLIKELY(left < 2)) return NULL;
        o = v1_made(v1_number(load16(p)));
        p += 2;
        break;
    case 0x70:
        if (AMQP_UNLIKELY(left < 4 || (u = load32(p)) < 256)) return NULL;
        o = v1_made(PyLong_FromUnsignedLongLong(u));
        p += 4;
        break;
    case 0x80:
        if (AMQP_UNLIKELY(left < 8 || (u = load64(p)) < 256)) return NULL;
        o = v1_made(PyLong_FromUnsignedLongLong(u));
        p += 8;
        break;
    case 0x81:
        if (AMQP_UNLIKELY(left < 8)) return NULL;
        o = v1_made(PyLong_FromLongLong((int64_t)load64(p)));
        p += 8;
        break;
    case 0x82:
        if (AMQP_UNLIKELY(left < 8)) return NULL;
        o = v1_made(PyFloat_FromDouble(bits_to_double(load64(p))));
        p += 8;
        break;
    case 0x83:
        if (AMQP_UNLIKELY(left < 8)) return NULL;
        o = v1_same_moment(cache, load64(p));
        p += 8;
        break;
    case 0xA0:
        if (AMQP_UNLIKELY(left < 1 || left - 1 < *p)) return NULL;
        o = v1_made(PyBytes_FromStringAndSize((const char *)p + 1, *p));
        p += 1 + *p;
        break;
    case 0xA1:
        if (AMQP_UNLIKELY(left < 1 || left - 1 < *p)) return NULL;
        o = v1_ascii(cache ? cache->text : NULL, p + 1, *p, longest);
        p += 1 + *p;
        break;
    case 0xA3:
        if (AMQP_UNLIKELY(left < 1 || left - 1 < *p)) return NULL;
        o = v1_made(v1_symbol(cache, v1_symbol_class, p + 1, *p));
        p += 1 + *p;
        break;
    default: return NULL;
    }
    *made = o;
    return AMQP_LIKELY(o != NULL) ? p : NULL;
}

/* The same, not in place. */
static const uint8_t *v1_usual_value(V1Cache *cache, const uint8_t *p, const uint8_t *end,
                                     Py_ssize_t longest, PyObject **made) {
    return v1_usual(cache, p, end, longest, made);
}

#endif
