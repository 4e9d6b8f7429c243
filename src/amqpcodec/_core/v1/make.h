/* Objects of AMQP 1.0 values that CPython makes slowly: UUIDs, subclasses of int and str, symbols. */
#ifndef AMQPCODEC_V1_MAKE_H
#define AMQPCODEC_V1_MAKE_H

#include <Python.h>
#include "wire/python.h"
#include "wire/wire.h"
#include "wire/text.h"

/* ---- symbols that come again and again ---- */

#define SYMBOL_CACHE_SLOTS 256
typedef struct {
    TextCache *text;
    PyObject *slot[SYMBOL_CACHE_SLOTS];
} V1Cache;

/* An instance of a subclass of str, int or float by its base's constructor, past its own checks. */
static PyObject *v1_subclass(PyTypeObject *base, PyObject *cls, PyObject *value) {
    PyObject *args = PyTuple_Pack(1, value);
    if (!args) return NULL;
    PyObject *o = base->tp_new((PyTypeObject *)cls, args, NULL);
    Py_DECREF(args);
    return o;
}

static PyObject *v1_str_subclass(PyObject *cls, PyObject *value) {
    return v1_subclass(&PyUnicode_Type, cls, value);
}
static PyObject *v1_int_subclass(PyObject *cls, PyObject *value) {
    return v1_subclass(&PyLong_Type, cls, value);
}
static PyObject *v1_float_subclass(PyObject *cls, PyObject *value) {
    return v1_subclass(&PyFloat_Type, cls, value);
}

static PyObject *v1_symbol_new(PyObject *cls, const uint8_t *s, Py_ssize_t n) {
    PyObject *text = PyUnicode_DecodeASCII((const char *)s, n, NULL);
    if (!text) return NULL;
    PyObject *o = v1_str_subclass(cls, text);
    Py_DECREF(text);
    return o;
}

/* A new reference; NULL without an exception where the bytes are not ASCII. cache may be NULL. */
static PyObject *v1_symbol(V1Cache *cache, PyObject *cls, const uint8_t *s, Py_ssize_t n) {
    uint64_t a, b;
    if (n < 1 || n > TEXT_CACHE_LONGEST || !cache)
        return is_ascii(s, (size_t)n) ? v1_symbol_new(cls, s, n) : NULL;
    text_ends(s, n, &a, &b);
    PyObject **entry = &cache->slot[text_cache_index(a, b, n) & (SYMBOL_CACHE_SLOTS - 1)];
    PyObject *o = *entry;
    if (AMQP_LIKELY(o != NULL) && PyUnicode_GET_LENGTH(o) == n &&
        text_same(s, (const uint8_t *)PyUnicode_DATA(o), n, a, b)) {
        Py_INCREF(o);
        return o;
    }
    if (!is_ascii(s, (size_t)n)) return NULL;
    o = v1_symbol_new(cls, s, n);
    if (o) {
        (void)PyObject_Hash(o);
        Py_INCREF(o);
        Py_XSETREF(*entry, o);
    }
    return o;
}

static V1Cache *v1_cache_new(void) {
    V1Cache *cache = (V1Cache *)PyMem_Calloc(1, sizeof(V1Cache));
    if (cache && !(cache->text = text_cache_new())) {
        PyMem_Free(cache);
        return NULL;
    }
    return cache;
}

static void v1_cache_free(V1Cache *cache) {
    if (!cache) return;
    for (int i = 0; i < SYMBOL_CACHE_SLOTS; i++) Py_XDECREF(cache->slot[i]);
    text_cache_free(cache->text);
    PyMem_Free(cache);
}

/* ---- UUID: what its constructor would set, past its parsing ---- */

/* Descriptors of the class, which set an attribute where UUID.__setattr__ refuses it; NULL where the
 * class is another than the standard library's: then its constructor is called. */
static PyObject *v1_uuid_int = NULL, *v1_uuid_safe = NULL;
static PyObject *v1_uuid_unknown = NULL;

static int v1_uuid_set(PyObject *descriptor, PyObject *o, PyObject *value) {
    return Py_TYPE(descriptor)->tp_descr_set(descriptor, o, value);
}

/* A member descriptor of the class (one of its __slots__), or NULL. */
static PyObject *v1_uuid_slot(PyObject *cls, const char *name) {
    PyObject *d = PyObject_GetAttrString(cls, name);
    if (!d) PyErr_Clear();
    else if (!Py_IS_TYPE(d, &PyMemberDescr_Type)) Py_CLEAR(d);
    return d;
}

static int v1_uuid_ready(PyObject *cls, PyObject *unknown) {
    v1_uuid_int = v1_uuid_slot(cls, "int");
    v1_uuid_safe = v1_uuid_slot(cls, "is_safe");
    v1_uuid_unknown = Py_NewRef(unknown);
    return 0;
}

static PyObject *v1_uuid_new(PyObject *cls, const uint8_t *p) {
    PyTypeObject *type = (PyTypeObject *)cls;
    PyObject *o;
    if (!v1_uuid_int || !v1_uuid_safe) {
        PyObject *raw = PyBytes_FromStringAndSize((const char *)p, 16);
        if (!raw) return NULL;
        o = PyObject_CallFunctionObjArgs(cls, Py_None, raw, NULL);
        Py_DECREF(raw);
        return o;
    }
    PyObject *number = python_int128(p);
    if (!number) return NULL;
    o = type->tp_alloc(type, 0);
    if (o && (v1_uuid_set(v1_uuid_int, o, number) < 0 ||
              v1_uuid_set(v1_uuid_safe, o, v1_uuid_unknown) < 0))
        Py_CLEAR(o);
    Py_DECREF(number);
    return o;
}

/* The 128 bits of a UUID; -1 with an exception. */
static int v1_uuid_bytes(PyObject *o, uint8_t *w) {
    PyObject *number = PyObject_GetAttrString(o, "int");
    if (!number) return -1;
    int bad = !PyLong_Check(number);
    if (!bad) {
        PyObject *raw = PyObject_CallMethod(number, "to_bytes", "is", 16, "big");
        bad = !raw || PyBytes_GET_SIZE(raw) != 16;
        if (!bad) memcpy(w, PyBytes_AS_STRING(raw), 16);
        Py_XDECREF(raw);
    } else {
        PyErr_SetString(PyExc_TypeError, "a UUID's int is no int");
    }
    Py_DECREF(number);
    return bad ? -1 : 0;
}

#endif
