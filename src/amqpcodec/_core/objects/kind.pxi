# The one kind of class (objects/kind.h, objects/kind_class.h), as Cython sees it.

cdef extern from "objects/kind.h":
    object kind_get(object o, int field)
    PyObject* kind_table(KindObject* o, int field) except NULL
    object (*kind_read_table)(const uint8_t* p, uint32_t n, uint32_t mode)
    object (*kind_read_time)(uint64_t seconds)

cdef extern from "objects/kind_class.h":
    enum: FORM_PLAIN, FORM_TABLE, FORM_TIME
    int kind_ready() except -1
    object kind_meta_object()
    object kind_make(object name, object bases, object dict, object names, object defaults,
                     object forms, object positions, int what, int blank, object owner, object docs)
    void kind_set_desc(object cls, void* desc)
    void kind_set_alias(object cls, object name, int field)
    object (*kind_signature)(PyObject* cls)


cdef object kind_metatype_object():
    return kind_meta_object()


cdef object new_kind(object name, object bases, object dict_, object names, object defaults,
                     object forms, object positions, int what, int blank, object owner, dict docs):
    return kind_make(name, bases, dict_, names, defaults, forms, positions, what, blank, owner, docs)


cdef int kind_describe(object cls, void* desc) except -1:
    kind_set_desc(cls, desc)
    return 0
