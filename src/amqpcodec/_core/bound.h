/* Instances of other people's classes, made and read without running their code. */
#ifndef AMQPCODEC_BOUND_H
#define AMQPCODEC_BOUND_H

#include <Python.h>
#include <structmember.h>
#include <string.h>
#include "wire.h"

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

static inline int bound_set(PyObject *o, PyObject *name, PyObject *value) {
    return PyObject_GenericSetAttr(o, name, value);
}

static inline PyObject *bound_get(PyObject *o, PyObject *name) { return PyObject_GetAttr(o, name); }

/* Where the attributes of an instance with a shared-key dict lie. count 0: not known, use bound_set. */
typedef struct {
    int count;
    int place[64];
} Layout;

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
