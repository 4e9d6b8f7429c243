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
    object class_make(object name, object bases, object dict, object names, object defaults,
                      object forms, object positions, int what, int blank, object owner, object docs)
    void class_set_desc(object cls, void* desc)
    void class_set_alias(object cls, object name, int field)
    object (*class_signature)(PyObject* cls)


cdef object class_metatype_object():
    return class_meta_object()


cdef object new_class(object name, object bases, object dict_, object names, object defaults,
                      object forms, object positions, int what, int blank, object owner, dict docs):
    return class_make(name, bases, dict_, names, defaults, forms, positions, what, blank, owner, docs)


cdef int class_describe(object cls, void* desc) except -1:
    class_set_desc(cls, desc)
    return 0
