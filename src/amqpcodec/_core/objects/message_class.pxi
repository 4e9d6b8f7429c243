# The one kind of class (objects/message_class.h, objects/message_meta.h), as Cython sees it.

cdef extern from "objects/message_class.h":
    object class_get(object o, int field)
    PyObject* class_table(MessageObject* o, int field) except NULL
    object (*class_read_table)(const uint8_t* p, uint32_t n, uint32_t mode)
    object (*class_read_time)(uint64_t seconds)

cdef extern from "objects/message_meta.h":
    enum: FORM_PLAIN, FORM_TABLE, FORM_TIME
    int class_ready() except -1
    object class_meta_object()
    object class_make(object name, object bases, object dict, object fields, object positions, int what,
                      int blank, object owner)
    void class_set_desc(object cls, void* desc)
    void class_set_alias(object cls, object name, int field)
    object (*class_signature)(PyObject* cls)


cdef object class_metatype_object():
    return class_meta_object()


cdef tuple class_fields(tuple names, tuple defaults, dict docs, tuple forms=None):
    """What new_class takes. docs: what fields are, by name. forms: FORM_* of each, else all are plain."""
    cdef int i
    return tuple([(name, defaults[i], FORM_PLAIN if forms is None else forms[i], docs.get(name))
                  for i, name in enumerate(names)])


cdef object new_class(object name, tuple bases, dict dict_, tuple fields, tuple positions, int what, int blank,
                      object owner):
    return class_make(name, bases, dict_, fields, positions, what, blank, owner)


cdef int class_describe(object cls, void* desc) except -1:
    class_set_desc(cls, desc)
    return 0
