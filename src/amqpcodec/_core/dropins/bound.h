/* Instances of other people's classes, made and read without running their code. */
#ifndef AMQPCODEC_BOUND_H
#define AMQPCODEC_BOUND_H

#include <Python.h>
#include <structmember.h>
#include <string.h>
#include "wire/text.h"
#include "wire/wire.h"

/* Changes whenever the class, or one above it, does; 0 while nobody asked for an attribute. */
static inline unsigned int bound_version(PyTypeObject *t) { return t->tp_version_tag; }

static inline PyObject *bound_alloc(PyTypeObject *t) { return t->tp_alloc(t, 0); }

/* As object.__new__ makes it; the classes that come here have no __new__ of their own. */
static PyObject *bound_new(PyTypeObject *t) {
    static PyObject *empty = NULL;
    if (!empty && !(empty = PyTuple_New(0))) return NULL;
    return PyBaseObject_Type.tp_new(t, empty, NULL);
}

static Py_ssize_t bound_slot_offset(PyObject *member) {
    if (!PyObject_TypeCheck(member, &PyMemberDescr_Type)) {
        PyErr_SetString(PyExc_TypeError, "not a slot");
        return -1;
    }
    PyMemberDef *d = ((PyMemberDescrObject *)member)->d_member;
    if (d->type != T_OBJECT_EX || d->offset < (Py_ssize_t)sizeof(PyObject)) {
        PyErr_SetString(PyExc_TypeError, "not a slot of a Python class");
        return -1;
    }
    return d->offset;
}

static inline PyObject **bound_slot(PyObject *o, Py_ssize_t offset) {
    return (PyObject **)((char *)o + offset);
}

/* The value of a key, borrowed; NULL, and no error, where there is none. PyDict_GetItem would put an
 * exception aside that nobody has. */
static PyObject *bound_item(PyObject *d, PyObject *key) {
    PyObject *found = PyDict_GetItemWithError(d, key);
    if (!found && PyErr_Occurred()) PyErr_Clear();
    return found;
}

/* What a class, or one above it, has under a name: as it stands there, borrowed; NULL: nothing. */
static inline PyObject *bound_member(PyTypeObject *t, PyObject *name) {
    return _PyType_Lookup(t, name);
}

/* Whether attributes of these names are those in an instance's own dict, as object reads and sets
 * them: no hook and no property of the class, or of one above it, comes before. */
static int bound_in_dict(PyTypeObject *t, PyObject *names) {
    if (t->tp_getattro != PyObject_GenericGetAttr || t->tp_setattro != PyObject_GenericSetAttr)
        return 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++) {
        PyObject *member = bound_member(t, PyTuple_GET_ITEM(names, i));
        if (member && Py_TYPE(member)->tp_descr_set) return 0;
    }
    return 1;
}

/* An instance's own dict, borrowed; NULL, and no error, where it has none. */
static inline PyObject *bound_dict(PyObject *o) {
#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030C0000 && !defined(PYPY_VERSION)
    /* It has one since it was asked for the first time, in a place that its class tells. */
    PyTypeObject *t = Py_TYPE(o);
    PyObject *there = NULL;
    if (PyType_HasFeature(t, Py_TPFLAGS_MANAGED_DICT))
        there = ((PyObject **)o)[-3];
    else if (t->tp_dictoffset > 0)
        there = *(PyObject **)((char *)o + t->tp_dictoffset);
    if (AMQP_LIKELY(there != NULL)) return there;
#endif
    PyObject *d = PyObject_GenericGetDict(o, NULL);
    if (d)
        Py_DECREF(d);
    else
        PyErr_Clear();
    return d;
}

/* What a function gives for a number; NULL with its exception set, which is then to be raised. */
static PyObject *bound_call(PyObject *function, Py_ssize_t n) {
    PyObject *number = PyLong_FromSsize_t(n);
    PyObject *found = number ? PyObject_CallOneArg(function, number) : NULL;
    Py_XDECREF(number);
    return found;
}

static inline int bound_raise(void) { return -1; }

/* What stands behind the first n octets, if anything does, takes the place of what is kept. Where that
 * fails, the octets are let go. */
static int bound_keep_rest(PyObject **kept, PyObject *octets, Py_ssize_t n) {
    Py_ssize_t more = PyBytes_GET_SIZE(octets) - n;
    if (more == 0) return 0;
    PyObject *rest = PyBytes_FromStringAndSize(PyBytes_AS_STRING(octets) + n, more);
    if (!rest) {
        Py_DECREF(octets);
        return -1;
    }
    Py_XSETREF(*kept, rest);
    return 0;
}

/* The first n of these octets, which are taken over. */
static PyObject *bound_shorter(PyObject *octets, Py_ssize_t n) {
    if (Py_REFCNT(octets) == 1) {
        _PyBytes_Resize(&octets, n);
        return octets;
    }
    PyObject *found = PyBytes_FromStringAndSize(PyBytes_AS_STRING(octets), n);
    Py_DECREF(octets);
    return found;
}

static inline int bound_set(PyObject *o, PyObject *name, PyObject *value) {
    return PyObject_GenericSetAttr(o, name, value);
}

static inline PyObject *bound_get(PyObject *o, PyObject *name) { return PyObject_GetAttr(o, name); }

/* Whether o is an int, or of a subclass that reads, compares and counts as int does (an IntEnum, a
 * bool), and fits; and its value. No error is set. */
static int like_u64_slow(PyObject *o, uint64_t *out) {
    if (!o || !PyLong_Check(o)) return 0;
    const PyTypeObject *t = Py_TYPE(o);
    const PyNumberMethods *its = t->tp_as_number, *ints = PyLong_Type.tp_as_number;
    if (t->tp_richcompare != PyLong_Type.tp_richcompare || its->nb_int != ints->nb_int ||
        its->nb_index != ints->nb_index)
        return 0;
    unsigned long long v = PyLong_AsUnsignedLongLong(o);
    if (v == (unsigned long long)-1 && PyErr_Occurred()) {
        PyErr_Clear();
        return 0;
    }
    *out = v;
    return 1;
}

static inline int like_u64(PyObject *o, uint64_t *out) {
    return exact_u64(o, out) || like_u64_slow(o, out);
}

/* The same for a subclass of str (a StrEnum) that encodes, compares and counts as str does. */
static int like_text(PyObject *o, const uint8_t **p, Py_ssize_t *n) {
    if (!o || !PyUnicode_Check(o)) return 0;
    PyTypeObject *t = Py_TYPE(o);
    if (t->tp_richcompare != PyUnicode_Type.tp_richcompare ||
        (t->tp_as_number && t->tp_as_number->nb_bool) ||
        t->tp_as_sequence->sq_length != PyUnicode_Type.tp_as_sequence->sq_length)
        return 0;
    PyObject *its = PyObject_GetAttrString((PyObject *)t, "encode");
    PyObject *strs = PyObject_GetAttrString((PyObject *)&PyUnicode_Type, "encode");
    int same = its != NULL && its == strs;
    Py_XDECREF(its);
    Py_XDECREF(strs);
    if (same) *p = (const uint8_t *)PyUnicode_AsUTF8AndSize(o, n);
    if (same && *p) return 1;
    PyErr_Clear();
    return 0;
}

/* Where the attributes of an instance lie that has no dict yet. count 0: not known, bound_set and
 * bound_get are used. CPython 3.11 keeps them in an array, a pointer to which stands before the
 * object; octets before the array say in which order they were set. Other versions have other
 * ways, and get along without this. What is found is tried out before it is used (BoundClass.learn). */
typedef struct {
    int count;
    uint8_t place[32];
} Layout;

#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030C0000 && !defined(PYPY_VERSION)

static inline PyObject **bound_values(PyObject *o) { return ((PyObject ***)o)[-4]; }

/* names: in the order in which they were set. */
static void bound_layout_probe(Layout *l, PyObject *o, PyObject *names) {
    Py_ssize_t n = PyTuple_GET_SIZE(names);
    l->count = 0;
    if (n == 0 || n > (Py_ssize_t)sizeof(l->place)) return;
    if (!PyType_HasFeature(Py_TYPE(o), Py_TPFLAGS_MANAGED_DICT)) return;
    PyObject **values = bound_values(o);
    if (values == NULL) return;
    const uint8_t *before = (const uint8_t *)values;
    if (before[-2] != n || before[-1] < n + 2) return;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *value = PyObject_GetAttr(o, PyTuple_GET_ITEM(names, i));
        if (value == NULL) {
            PyErr_Clear();
            return;
        }
        l->place[i] = before[-3 - i];
        int same = values[l->place[i]] == value;
        Py_DECREF(value);
        if (!same) return;
    }
    l->count = (int)n;
}

/* A new instance that takes over the values; NULL, and nothing taken, where it has no such array. */
static PyObject *bound_layout_new(Layout *l, PyTypeObject *t, PyObject **values) {
    PyObject *o = bound_new(t);
    if (o == NULL) {
        PyErr_Clear();
        return NULL;
    }
    PyObject **to = bound_values(o);
    if (to == NULL) {
        Py_DECREF(o);
        return NULL;
    }
    uint8_t *before = (uint8_t *)to;
    for (int i = 0; i < l->count; i++) {
        to[l->place[i]] = values[i];
        before[-3 - i] = l->place[i];
    }
    before[-2] = (uint8_t)l->count;
    return o;
}

/* New references to all of them; 0 and none where one is missing or the instance has a dict. */
static inline int bound_layout_get(Layout *l, PyObject *o, PyObject **values) {
    PyObject **from = bound_values(o);
    if (from == NULL) return 0;
    for (int i = 0; i < l->count; i++) {
        values[i] = from[l->place[i]];
        if (values[i] == NULL) {
            while (i-- > 0) Py_DECREF(values[i]);
            return 0;
        }
        Py_INCREF(values[i]);
    }
    return 1;
}

#else

static void bound_layout_probe(Layout *l, PyObject *o, PyObject *names) {
    (void)o;
    (void)names;
    l->count = 0;
}

static PyObject *bound_layout_new(Layout *l, PyTypeObject *t, PyObject **values) {
    (void)l;
    (void)t;
    (void)values;
    return NULL;
}

static int bound_layout_get(Layout *l, PyObject *o, PyObject **values) {
    (void)l;
    (void)o;
    (void)values;
    return 0;
}

#endif

#endif
