/* Ints that nearly every frame holds (channels, sizes, priorities), made once: CPython has them ready as
 * well, but after a call. */
#ifndef AMQPCODEC_INTS_H
#define AMQPCODEC_INTS_H

#include <Python.h>
#include "wire/wire.h"

#define SMALL_INTS 256
static PyObject *small_int[SMALL_INTS];

/* Before the first call of int_new; -1 with an exception. */
static int ints_ready(void) {
    for (int i = 0; i < SMALL_INTS; i++)
        if (!small_int[i] && !(small_int[i] = PyLong_FromLong(i))) return -1;
    return 0;
}

AMQP_INLINE PyObject *int_new(uint64_t v) {
    return v < SMALL_INTS ? Py_NewRef(small_int[v]) : PyLong_FromUnsignedLongLong(v);
}

#endif
