# The one kind of class (objects/kind.h, objects/kind_class.h), as Cython sees it.

cdef extern from "objects/kind.h":
    ctypedef struct KindObject:
        PyObject* origin
        uint32_t mode
        PyObject** field
    ctypedef struct Kind:
        int what
        int fields
        int slots
        int positional
        int* position
        int gc
        int* octets_slot
        PyObject** name
        PyObject** fallback
        void* desc
        PyObject* owner
    ctypedef struct PyTypeObject:
        pass
    PyTypeObject* Py_TYPE(PyObject* o)
    Kind* KIND_OF(PyTypeObject* t)
    bint kind_check_type(PyTypeObject* t)
    KindObject* kind_new(PyTypeObject* t)
    object kind_get(object o, int field)
    PyObject* kind_table(KindObject* o, int field) except NULL
    void kind_track(PyObject* o)
    void kind_store(KindObject* o, int i, PyObject* value)
    void kind_fill(KindObject* o, int i, PyObject* value)
    object (*kind_read_table)(PyObject* octets, uint32_t mode)

cdef extern from "objects/kind_class.h":
    int kind_ready() except -1
    object kind_meta_object()
    object kind_make(object name, object bases, object dict, object names, object defaults,
                     object tables, object positions, int what, int gc, int blank, object owner)
    void kind_set_desc(object cls, void* desc)
    void kind_set_alias(object cls, object name, int field)
    object (*kind_signature)(PyObject* cls)

# Kind.what
cdef enum:
    KIND_ABSTRACT = -1
    KIND_METHOD = 0
    KIND_PROPERTIES
    KIND_HEADER
    KIND_BODY
    KIND_HEARTBEAT
    KIND_PROTOCOL_HEADER
    KIND_MESSAGE
    KIND_BAD_FRAME


cdef inline Kind* kind_of(object o) noexcept:
    """The Kind of an instance of a generated class, NULL for anything else."""
    cdef PyTypeObject* t = Py_TYPE(<PyObject*>o)
    return KIND_OF(t) if kind_check_type(t) else NULL
