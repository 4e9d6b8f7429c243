# What other files use of message_class.pxi.

cdef extern from "objects/message_class.h":
    ctypedef struct MessageObject:
        PyObject* origin
        uint32_t mode
        PyObject** field
    ctypedef struct TableBytes:
        int64_t size
        uint8_t* bytes
    ctypedef struct MessageClass:
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
    MessageClass* CLASS_OF(PyTypeObject* t)
    bint class_check_type(PyTypeObject* t)
    void class_use(object metatype)
    MessageObject* class_new(PyTypeObject* t)
    object class_instance "CLASS_INSTANCE"(PyTypeObject* t)
    void class_track(PyObject* o)
    void class_track_new(MessageObject* o)
    void class_track_for(PyObject* o, PyObject* value)
    void class_store(MessageObject* o, int i, PyObject* value)
    void class_fill(MessageObject* o, int i, PyObject* value)
    TableBytes* class_bytes(MessageObject* o, int slot)
    int class_put_bytes(MessageObject* o, int slot, const uint8_t* p, size_t n)
    uint64_t* class_words(MessageObject* o, int slots)
    uint64_t* class_word(MessageObject* o, int field)

# The metatype of all message classes.
cdef object class_metatype_object()

# A class with these fields: (name, default, FORM_*, what it is or None) each, as class_fields makes them; a default of
# Ellipsis stands for a fresh table. positions: numbers of the fields that the constructor takes by position;
# what < 0: abstract.
cdef object new_class(object name, tuple bases, dict dict_, tuple fields, tuple positions, int what, int blank,
                      object owner)
cdef tuple class_fields(tuple names, tuple defaults, dict docs, tuple forms=*)
cdef int class_describe(object cls, void* desc) except -1

# MessageClass.what
cdef enum:
    CLASS_ABSTRACT = -1
    CLASS_METHOD = 0
    CLASS_PROPERTIES
    CLASS_HEADER
    CLASS_BODY
    CLASS_HEARTBEAT
    CLASS_PROTOCOL_HEADER
    CLASS_MESSAGE
    CLASS_BAD_FRAME

cdef inline MessageClass* class_of(object o) noexcept:
    """The MessageClass of an instance of a generated class, NULL for anything else."""
    cdef PyTypeObject* t = Py_TYPE(<PyObject*>o)
    return CLASS_OF(t) if class_check_type(t) else NULL
