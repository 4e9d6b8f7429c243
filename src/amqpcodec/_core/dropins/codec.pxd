# What other files use of codec.pxi.

cdef extern from "Python.h":
    PyObject* PyDict_GetItem(object d, object key)


# ---- pieces of frames ----
