# What other files use of scalar.pxi.

cdef object UUID

cdef extern from "Python.h":
    object PyLong_FromLongLong(long long v)
    object PyLong_FromUnsignedLongLong(unsigned long long v)
    PyObject* PyDict_SetDefault(object d, object key, object value) except NULL
    object PyUnicode_DecodeUTF8(const char* s, Py_ssize_t n, const char* errors)
    object v1_owned "(PyObject *)"(PyObject* o)     # takes the reference over; NULL: an exception is set

cdef object v1_read_uuid(const uint8_t* p)
