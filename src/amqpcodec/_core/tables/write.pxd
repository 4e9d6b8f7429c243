# What other files use of write.pxi.

# A level of the path to a value: the name of its entry, or its index where there is none.
cdef struct Step:
    const Step* outer
    PyObject* name          # borrowed, or NULL
    Py_ssize_t index        # -1: of no item, but of all that hold them

# Where an EncodeError is: the argument, and the path of names and indexes inside its value.
cdef struct Place:
    PyObject* method
    PyObject* field
    const Step* step        # the innermost, or NULL; it lives as long as what it is of is written

cdef inline void place_begin(Place* at, PyObject* method, PyObject* field) noexcept:
    at.method = method
    at.field = field
    at.step = NULL

cdef int table_error(Place* at, str text) except -1
