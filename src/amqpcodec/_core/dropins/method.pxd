# What other files use of method.pxi.

cdef extern from "Python.h":
    PyObject* PyTuple_GET_ITEM(object o, Py_ssize_t i)
