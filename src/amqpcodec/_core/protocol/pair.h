/* (channel, event) for a loop that unpacks it: the last tuple again, if nobody else holds it, as
 * zip() and enumerate() do. */
#ifndef AMQPCODEC_PAIR_H
#define AMQPCODEC_PAIR_H

#include <Python.h>

static PyObject *pair_make(PyObject **kept, long channel, PyObject *event) {
    PyObject *number = PyLong_FromLong(channel);
    PyObject *pair = *kept;
    if (!number) return NULL;
    Py_INCREF(event);
#ifndef Py_GIL_DISABLED
    if (pair && Py_REFCNT(pair) == 1) {
        PyObject *old_number = PyTuple_GET_ITEM(pair, 0), *old_event = PyTuple_GET_ITEM(pair, 1);
        Py_INCREF(pair); /* first of all: what goes away below may run code */
        PyTuple_SET_ITEM(pair, 0, number);
        PyTuple_SET_ITEM(pair, 1, event);
#if PY_VERSION_HEX >= 0x030E0000
        ((PyTupleObject *)pair)->ob_hash = -1;
#endif
        /* The collector drops tuples of atoms from its list, and this one may hold others now. */
        if (!PyObject_GC_IsTracked(pair)) PyObject_GC_Track(pair);
        Py_DECREF(old_number);
        Py_DECREF(old_event);
        return pair;
    }
#endif
    pair = PyTuple_New(2);
    if (!pair) {
        Py_DECREF(number);
        Py_DECREF(event);
        return NULL;
    }
    PyTuple_SET_ITEM(pair, 0, number);
    PyTuple_SET_ITEM(pair, 1, event);
    Py_XSETREF(*kept, Py_NewRef(pair));
    return pair;
}

#endif
