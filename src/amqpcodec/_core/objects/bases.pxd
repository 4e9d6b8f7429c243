# What other files use of bases.pxi.

cdef object ValidationError
cdef str short_repr(object v)
cdef int repr_begin(object o) except -1
cdef int repr_end(object o) except -1

cdef inline object kind_instance(PyTypeObject* cls):
    """A new instance with every field unset."""
    cdef PyObject* made = <PyObject*>kind_new(cls)
    if AMQP_UNLIKELY(made == NULL):
        raise MemoryError
    return owned(made)
