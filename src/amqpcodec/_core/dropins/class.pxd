# What other files use of class.pxi.

cdef extern from "dropins/bound.h":
    ctypedef struct Layout:
        int count
    unsigned int bound_version(PyTypeObject* t)
    PyObject* bound_alloc(PyTypeObject* t)
    PyObject* bound_new(PyTypeObject* t)
    bint like_u64(PyObject* o, uint64_t* out)
    bint like_text(PyObject* o, const uint8_t** p, Py_ssize_t* n)
    Py_ssize_t bound_slot_offset(object member) except -1
    PyObject** bound_slot(PyObject* o, Py_ssize_t offset)
    int bound_set(PyObject* o, PyObject* name, PyObject* value) except -1
    PyObject* bound_get(PyObject* o, PyObject* name) except NULL
    PyObject* bound_item(object d, object key)
    PyObject* bound_member(PyTypeObject* t, object name)
    PyObject* bound_dict(object o)
    bint bound_in_dict(PyTypeObject* t, object names)
    void bound_layout_probe(Layout* l, PyObject* o, PyObject* names)
    PyObject* bound_layout_new(Layout* l, PyTypeObject* t, PyObject** values)
    bint bound_layout_get(Layout* l, PyObject* o, PyObject** values)
