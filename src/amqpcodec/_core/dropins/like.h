/* Dicts with the names of one that was made before: a copy of that, into which the values are put one
 * after the other. It saves the search for each name's place. Only where CPython 3.11 lays out dicts as
 * `like_at` takes it, which is tried out on each that is to be copied; else there is none to copy. */
#ifndef AMQPCODEC_LIKE_H
#define AMQPCODEC_LIKE_H

#include <Python.h>
#include "wire/text.h"
#include "wire/wire.h"

#define LIKE_MOST 10    /* names */
#define LIKE_TRIES 8    /* that failed in a row, after which none is tried for a while, */
#define LIKE_WAIT 64    /* until another is learnt */

typedef struct {
    PyObject *names; /* a dict, all of its values None; or NULL */
    uint32_t key;    /* for whoever looks for it */
    uint8_t misses;  /* in a row */
} Like;

#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030C0000 && !defined(PYPY_VERSION)

/* Name, value, name, value ... in the order in which they were put in: behind a head of 32 octets and
 * the indices, of which there are as many as the power of two says that is the head's tenth octet. */
static inline PyObject **like_at(PyObject *d) {
    char *keys = (char *)((PyDictObject *)d)->ma_keys;
    return (PyObject **)(keys + 32 + ((size_t)1 << ((uint8_t *)keys)[9]));
}

/* Whether a dict, whose values are all None, lies as `like_at` says. */
static int like_tried(PyObject *d) {
    Py_ssize_t at = 0, i = 0;
    PyObject *name, *value;
    const char *keys = (const char *)((PyDictObject *)d)->ma_keys;
    if (((PyDictObject *)d)->ma_values || keys[10] != 1 || keys[9] > 4) return 0; /* 1: names are str */
    for (; PyDict_Next(d, &at, &name, &value); i++)
        if (like_at(d)[2 * i] != name || like_at(d)[2 * i + 1] != value) return 0;
    return 1;
}

/* Makes dicts like this one from now on, if that which is copied now had its chance. No error is set. */
AMQP_COLD static void like_learn(Like *like, uint32_t key, PyObject *d) {
    Py_ssize_t at = 0, n = PyDict_GET_SIZE(d);
    PyObject *name, *value;
    if ((like->names && ++like->misses < LIKE_WAIT) || n == 0 || n > LIKE_MOST) return;
    PyObject *names = PyDict_New(), *copy = NULL;
    int fit = names != NULL;
    while (fit && PyDict_Next(d, &at, &name, &value))
        fit = PyUnicode_CheckExact(name) && PyUnicode_IS_COMPACT_ASCII(name) &&
              PyDict_SetItem(names, name, Py_None) == 0;
    if (fit) copy = PyDict_Copy(names);
    fit = copy && like_tried(names) && like_tried(copy);
    Py_XDECREF(copy);
    PyErr_Clear();
    like->misses = 0;
    if (!fit) {
        Py_XDECREF(names);
        return;
    }
    like->key = key;
    Py_XSETREF(like->names, names);
}

/* A dict with these names, all None: nobody else may see it until it was finished. */
static inline PyObject *like_new(Like *like) { return PyDict_Copy(like->names); }

/* Its i-th name and value, borrowed; the name is compact ASCII. */
static inline PyObject *like_name(PyObject *d, Py_ssize_t i) { return like_at(d)[2 * i]; }
static inline PyObject *like_value(PyObject *d, Py_ssize_t i) { return like_at(d)[2 * i + 1]; }

/* Another i-th value; whether it may hold others, so that the collector has to know the dict. */
static inline int like_put(PyObject *d, Py_ssize_t i, PyObject *value) {
    PyObject **at = like_at(d) + 2 * i + 1;
    Py_INCREF(value);
    Py_DECREF(*at); /* None */
    *at = value;
    return PyType_IS_GC(Py_TYPE(value));
}

/* All values are there. */
static inline void like_finish(Like *like, PyObject *d, int holds) {
    like->misses = 0;
    if (holds && !PyObject_GC_IsTracked(d)) PyObject_GC_Track(d);
}

#else

static inline void like_learn(Like *like, uint32_t key, PyObject *d) { (void)like, (void)key, (void)d; }
static inline PyObject *like_new(Like *like) { return (void)like, PyDict_New(); }
static inline PyObject *like_name(PyObject *d, Py_ssize_t i) { return (void)d, (void)i, NULL; }
static inline PyObject *like_value(PyObject *d, Py_ssize_t i) { return (void)d, (void)i, NULL; }
static inline int like_put(PyObject *d, Py_ssize_t i, PyObject *v) { return (void)d, (void)i, (void)v, 0; }
static inline void like_finish(Like *like, PyObject *d, int holds) { (void)like, (void)d, (void)holds; }

#endif

/* Whether the i-th name is these octets. */
static inline int like_named(PyObject *d, Py_ssize_t i, const uint8_t *s, Py_ssize_t n) {
    PyObject *name = like_name(d, i);
    return name && PyUnicode_GET_LENGTH(name) == n && memcmp(TEXT_OCTETS(name), s, (size_t)n) == 0;
}

/* A dict with the first n pairs of one that turned out to be another. */
AMQP_COLD static PyObject *like_first(PyObject *d, Py_ssize_t n) {
    PyObject *made = PyDict_New();
    for (Py_ssize_t i = 0; made && i < n; i++)
        if (PyDict_SetItem(made, like_name(d, i), like_value(d, i)) < 0) Py_CLEAR(made);
    return made;
}

static void like_forget(Like *likes, int n) {
    while (n-- > 0) Py_XDECREF(likes[n].names);
}

#endif
