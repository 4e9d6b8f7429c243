# What every room uses of C and of CPython.

cimport cython
from cpython.buffer cimport (PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer)
from cpython.bytearray cimport PyByteArray_AS_STRING
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_Next, PyDict_SetItem
from cpython.ref cimport PyObject
from cpython.unicode cimport PyUnicode_AsEncodedString
from libc.stdint cimport (int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t,
                          uintptr_t)
from libc.stdio cimport snprintf
from libc.stdlib cimport calloc, free, getenv, malloc, realloc
from libc.string cimport memchr, memcmp, memcpy, memmove, memset, strchr, strlen

cdef extern from "Python.h":
    PyObject* Py_True
    PyObject* Py_False
    PyObject* Py_None
    PyObject* Py_NewRef(PyObject* o)
    void Py_DecRef "Py_DECREF"(PyObject* o)
    void Py_XDecRef "Py_XDECREF"(PyObject* o)
    PyObject* PyLong_FromU64 "PyLong_FromUnsignedLongLong"(unsigned long long v)
    PyObject* PyLong_FromI64 "PyLong_FromLongLong"(long long v)
    PyObject* PyFloat_FromDouble_ "PyFloat_FromDouble"(double v)
    PyObject* PyBytes_FromPointer "PyBytes_FromStringAndSize"(const char* p, Py_ssize_t n)
    void PyErr_Clear()
    void PyErr_SetObject(PyObject* kind, PyObject* value)
    Py_ssize_t PyDict_GET_SIZE(object o)
    object PyUnicode_FromStringAndSize(const char* s, Py_ssize_t n)
    double PyFloat_AS_DOUBLE(object o)
    long long PyLong_AsLongLongAndOverflow(object o, int* overflow) except? -1
