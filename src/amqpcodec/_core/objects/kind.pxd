# What other files use of kind.pxi.

cdef extern from "objects/kind.h":
    ctypedef struct KindObject:
        PyObject* origin
        uint32_t mode
        PyObject** field
    ctypedef struct KindBytes:
        int64_t size
        uint8_t* bytes
    ctypedef struct Kind:
        int what
        int fields
        int slots
        int positional
        int* position
        int gc
        int* bytes_slot
        int* word
        PyObject** name
        PyObject** fallback
        void* desc
        PyObject* owner
        PyObject* alias
        int alias_field
    ctypedef struct PyTypeObject:
        pass
    PyTypeObject* Py_TYPE(PyObject* o)
    Kind* KIND_OF(PyTypeObject* t)
    bint kind_check_type(PyTypeObject* t)
    void kind_use(object metatype)
    KindObject* kind_new(PyTypeObject* t)
    object kind_instance "KIND_INSTANCE"(PyTypeObject* t)
    void kind_track(PyObject* o)
    void kind_track_read(PyObject* o)
    void kind_track_for(PyObject* o, PyObject* value)
    void kind_store(KindObject* o, int i, PyObject* value)
    void kind_fill(KindObject* o, int i, PyObject* value)
    KindBytes* kind_bytes(KindObject* o, int slot)
    int kind_put_bytes(KindObject* o, int slot, const uint8_t* p, size_t n)
    uint64_t* kind_words(KindObject* o, int slots)
    uint64_t* kind_word(KindObject* o, int field)

# The metatype of all message classes.
cdef object kind_metatype_object()

# A class with these fields. defaults: Ellipsis stands for a fresh table; forms: how fields
# are kept, as FORM_*; positions: numbers of the fields that the constructor takes by position; what < 0: abstract;
# docs: what fields are, by name.
cdef object new_kind(object name, object bases, object dict_, object names, object defaults,
                     object forms, object positions, int what, int blank, object owner, dict docs)
cdef int kind_describe(object cls, void* desc) except -1

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
