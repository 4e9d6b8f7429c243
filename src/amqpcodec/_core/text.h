/* Octets to str, with a small cache for the short strings that come again and again. */
#ifndef AMQPCODEC_TEXT_H
#define AMQPCODEC_TEXT_H

#include <Python.h>
#include "wire.h"

/* Octets that are not UTF-8 become surrogate escapes: nothing is lost, nothing raises. */
static PyObject *text_slow(const uint8_t *s, Py_ssize_t n) {
    return PyUnicode_DecodeUTF8((const char *)s, n, "surrogateescape");
}

static inline PyObject *text_new(const uint8_t *s, Py_ssize_t n) {
    if (AMQP_LIKELY(n > 1 && is_ascii(s, (size_t)n))) {
        PyObject *o = PyUnicode_New(n, 127);
        if (AMQP_LIKELY(o != NULL)) memcpy(PyUnicode_1BYTE_DATA(o), s, (size_t)n);
        return o;
    }
    return text_slow(s, n);
}

/* Direct-mapped: one probe, one compare. Its owner is a decoder or the module state. */
#define TEXT_CACHE_SLOTS 1024
#define TEXT_CACHE_LONGEST 40
typedef struct {
    PyObject *slot[TEXT_CACHE_SLOTS];
} TextCache;

static inline uint32_t text_cache_index(const uint8_t *s, Py_ssize_t n) {
    uint64_t a, b = 0;
    if (n >= 8) {
        memcpy(&a, s, 8);
        memcpy(&b, s + n - 8, 8);
    } else if (n >= 4) {
        uint32_t x;
        memcpy(&x, s, 4);
        a = x;
        memcpy(&x, s + n - 4, 4);
        b = x;
    } else {
        a = s[0] | (uint64_t)s[n / 2] << 8 | (uint64_t)s[n - 1] << 16;
    }
    uint64_t h = (a * 0x9E3779B97F4A7C15ull) ^ ((b + (uint64_t)n) * 0xC2B2AE3D27D4EB4Full);
    h ^= h >> 32;
    return (uint32_t)(h >> 8) & (TEXT_CACHE_SLOTS - 1);
}

/* A new reference. cache may be NULL (free-threaded one-shot calls). */
static inline PyObject *text_cached(TextCache *cache, const uint8_t *s, Py_ssize_t n) {
    if (n < 2 || n > TEXT_CACHE_LONGEST || cache == NULL) return text_new(s, n);
    PyObject **entry = &cache->slot[text_cache_index(s, n)];
    PyObject *o = *entry;
    if (o && PyUnicode_GET_LENGTH(o) == n && memcmp(PyUnicode_1BYTE_DATA(o), s, (size_t)n) == 0) {
        Py_INCREF(o);
        return o;
    }
    o = text_new(s, n);
    if (o && PyUnicode_IS_COMPACT_ASCII(o)) {
        (void)PyObject_Hash(o); /* keys are looked up at once: have the hash ready */
        Py_INCREF(o);
        Py_XSETREF(*entry, o);
    }
    return o;
}

static TextCache *text_cache_new(void) { return (TextCache *)PyMem_Calloc(1, sizeof(TextCache)); }

static void text_cache_free(TextCache *cache) {
    if (!cache) return;
    for (int i = 0; i < TEXT_CACHE_SLOTS; i++) Py_XDECREF(cache->slot[i]);
    PyMem_Free(cache);
}

/* Whether o is a compact ASCII str, and then its octets, borrowed. No error is set; o may be NULL. */
static inline int ascii_octets(PyObject *o, const uint8_t **p, Py_ssize_t *n) {
    if (!o || !PyUnicode_CheckExact(o) || !PyUnicode_IS_COMPACT_ASCII(o)) return 0;
    *n = PyUnicode_GET_LENGTH(o);
    *p = (const uint8_t *)PyUnicode_1BYTE_DATA(o);
    return 1;
}

/* Whether o is an exact int that fits uint64, and then its value. No error is set; o may be NULL. */
static inline int exact_u64(PyObject *o, uint64_t *out) {
    if (!o || !PyLong_CheckExact(o)) return 0;
#if PY_VERSION_HEX < 0x030C0000
    Py_ssize_t size = Py_SIZE(o);
    if (size == 1) {
        *out = ((PyLongObject *)o)->ob_digit[0];
        return 1;
    }
    if (size == 0) {
        *out = 0;
        return 1;
    }
    if (size < 0) return 0;
#else
    if (PyUnstable_Long_IsCompact((PyLongObject *)o)) {
        Py_ssize_t v = PyUnstable_Long_CompactValue((PyLongObject *)o);
        if (v < 0) return 0;
        *out = (uint64_t)v;
        return 1;
    }
#endif
    unsigned long long v = PyLong_AsUnsignedLongLong(o);
    if (v == (unsigned long long)-1 && PyErr_Occurred()) {
        PyErr_Clear();
        return 0;
    }
    *out = v;
    return 1;
}

#endif
