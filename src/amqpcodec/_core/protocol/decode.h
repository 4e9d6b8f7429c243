/* decode(data, offset) as nearly everybody calls it: bytes, a small offset, no options.
 *
 * Cython's function lists the names of all options and counts a reference to each argument, whatever
 * was given: 140 instructions, of 2,000 that a frame takes. This function stands before it with the same name
 * and signature, and hands on to it whatever is called in another way. */
#ifndef AMQPCODEC_DECODE_H
#define AMQPCODEC_DECODE_H

#include <Python.h>
#include "wire/python.h"
#include "wire/wire.h"

/* Set by the core: what does it. */
static PyObject *(*decode_plain)(PyObject *protocol, PyObject *data, Py_ssize_t offset) = NULL;

/* The method of Protocol, which takes every argument. */
typedef PyObject *(*FastMethod)(PyObject *, PyObject *const *, Py_ssize_t, PyObject *);
static FastMethod decode_method = NULL;

static PyObject *decode_call(PyObject *protocol, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    long long offset = 0;
    if (AMQP_LIKELY(!names && n > 0 && n <= 2 && PyBytes_CheckExact(args[0])) &&
        (n == 1 || (PyLong_CheckExact(args[1]) && python_word(args[1], &offset) &&
                    offset == (Py_ssize_t)offset)))
        return decode_plain(protocol, args[0], (Py_ssize_t)offset);
    return decode_method(protocol, args, n, names);
}

static PyMethodDef decode_def = {
    "decode", (PyCFunction)(void (*)(void))decode_call, METH_FASTCALL | METH_KEYWORDS, NULL,
};

/* The function for a protocol's bound method, which it stands before; the method itself where Cython
 * made it another kind of function. */
static PyObject *decode_function(PyObject *method) {
    if (!PyCFunction_CheckExact(method) || PyCFunction_GetFlags(method) != decode_def.ml_flags)
        return Py_NewRef(method);
    if (!decode_def.ml_doc) { /* signature and docstring, as CPython keeps them in one text */
        PyObject *signature = PyObject_GetAttrString(method, "__text_signature__");
        PyObject *doc = signature ? PyObject_GetAttrString(method, "__doc__") : NULL;
        PyObject *text = doc ? PyUnicode_FromFormat("decode%S\n--\n\n%S", signature, doc) : NULL;
        const char *utf8 = text ? PyUnicode_AsUTF8(text) : NULL;
        char *kept = utf8 ? PyMem_RawMalloc(strlen(utf8) + 1) : NULL;
        if (kept) decode_def.ml_doc = strcpy(kept, utf8);
        else if (utf8) PyErr_NoMemory();
        Py_XDECREF(signature);
        Py_XDECREF(doc);
        Py_XDECREF(text);
        if (!kept) return NULL;
    }
    decode_method = (FastMethod)(void (*)(void))PyCFunction_GetFunction(method);
    return PyCFunction_New(&decode_def, PyCFunction_GetSelf(method));
}

#endif
