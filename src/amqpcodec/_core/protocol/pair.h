/* (channel, event) for a loop that unpacks it: the last tuple again, if nobody else holds it, as
 * zip() and enumerate() do. A tuple that kept its hash, as 3.14's do, must not be used again: none can,
 * since frames, methods and messages have no hash (tests/objects/test_constructors_unit.py). */
#ifndef AMQPCODEC_PAIR_H
#define AMQPCODEC_PAIR_H

#include <Python.h>
#include "wire/ints.h"
#include "wire/python.h"

static PyObject *pair_make(PyObject **kept, uint16_t channel, PyObject *event) { /* takes event over */
    PyObject *number = int_new(channel);
    PyObject *pair = *kept;
    if (!number) {
        Py_DECREF(event);
        return NULL;
    }
    if (pair && python_is_only_ours(pair)) {
        PyObject *old_number = PyTuple_GET_ITEM(pair, 0), *old_event = PyTuple_GET_ITEM(pair, 1);
        Py_INCREF(pair); /* first of all: what goes away below may run code */
        PyTuple_SET_ITEM(pair, 0, number);
        PyTuple_SET_ITEM(pair, 1, event);
        /* The collector drops tuples of atoms from its list, and this one may hold others now. */
        if (!PyObject_GC_IsTracked(pair)) PyObject_GC_Track(pair);
        Py_DECREF(old_number);
        Py_DECREF(old_event);
        return pair;
    }
    pair = PyTuple_New(2);
    if (!pair) {
        Py_DECREF(number);
        Py_DECREF(event);
        return NULL;
    }
    PyTuple_SET_ITEM(pair, 0, number);
    PyTuple_SET_ITEM(pair, 1, event);
    if (PYTHON_HAS_GIL) Py_XSETREF(*kept, Py_NewRef(pair));
    return pair;
}

#endif
