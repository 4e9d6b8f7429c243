# What other files use of class.pxi.

cdef extern from "dropins/watch.h":
    int watch_plainly
    ctypedef struct WatchedName:
        PyObject* names
        PyObject* key
        PyObject* value
        Py_ssize_t place
    ctypedef struct WatchedAttribute:
        PyObject* names
        PyObject* key
        PyObject* value
    ctypedef struct WatchedFunction:
        PyObject* function
    ctypedef struct WatchedList:
        PyObject* list
        PyObject* items
    ctypedef struct WatchedType:
        PyTypeObject* type
        PyObject* mro
    ctypedef struct Watch:
        uint64_t seen
        uint64_t listed_seen
        uint64_t counted_seen
        bint called_back
        WatchedType type
        WatchedName* names
        WatchedName* counted
        WatchedAttribute* attributes
        WatchedFunction* functions
        WatchedList* lists
        Py_ssize_t name_count
        Py_ssize_t counted_count
        Py_ssize_t attribute_count
        Py_ssize_t function_count
        Py_ssize_t list_count
    void watch_take_type(WatchedType* w, PyTypeObject* t)
    void watch_take_place(WatchedName* w)
    void watch_take_function(WatchedFunction* w, PyObject* f)
    bint watch_same(Watch* w)
    bint watch_ready()
    void watch_changed()
    int watch_dict(object d) except -1

cdef extern from "wire/python.h":
    object python_namespace(PyTypeObject* t)

cdef extern from "dropins/instance.h":
    bint plain_u64(PyObject* o, uint64_t* out)
    bint plain_text(PyObject* o, const uint8_t** p, Py_ssize_t* n)
    PyObject* slot_get(PyObject* descriptor, PyObject* o)
    int slot_set(PyObject* descriptor, PyObject* o, PyObject* value) except -1
    PyObject* slot_read(PyObject* descriptor, Py_ssize_t offset, PyObject* o)
    int slot_put(PyObject* descriptor, Py_ssize_t offset, PyObject* o, PyObject* value) except -1
    Py_ssize_t slot_offset(PyTypeObject* owner, const char* name)
    PyObject* instance_get(PyObject* o, PyObject* name) except NULL
    int raise_current() except -1
    object instance_of_offsets(PyTypeObject* t, const Py_ssize_t* offsets, PyObject** values, int n)
    object instance_of_slots(PyTypeObject* t, PyObject** slots, PyObject** values, int n)
    object instance_of_names(PyTypeObject* t, PyObject** names, PyObject** values, int n)
    object instance_of_dict(PyTypeObject* t, object template, PyObject** names, PyObject** values, int n)
    int instance_count(PyObject* o, PyObject* name) except -1
    bint has_plain_attributes(PyTypeObject* t)
    bint slots_values(PyObject* o, const Py_ssize_t* offsets, int n, PyObject** values)
    void values_drop(PyObject** values, int n)
    bint instance_values(PyObject* o, PyObject** names, int n, PyObject** values)
    PyObject* dict_item(object d, object key)
    PyObject* instance_dict(object o)


@cython.final
cdef class Guard:
    cdef Watch watch
    cdef list kept              # a reference to all that `watch` points to
    cdef set functions
    cdef int watch_type(self, object cls) except -1
    cdef int add_name(self, dict names, object key, PyObject* value, bint counted) except -1
    cdef bint add_attribute(self, object cls, object name) except -1
    cdef int expect_among(self, WatchedName* watched, Py_ssize_t count, dict names, key, value) except -1
    cdef bint unchanged(self)
