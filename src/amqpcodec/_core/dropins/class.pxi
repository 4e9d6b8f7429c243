# Drop-ins: which class of a client a method becomes, and the shape its instances have.

cdef enum:
    SHAPE_SLOTS             # filled by offset
    SHAPE_ATTRIBUTES        # set one after the other in the order of `__init__`


@cython.final
cdef class BoundClass:
    """A class of a client: what its instances are made of, in the order their parts are set.

    cls: the class. names: its attributes, in the order in which `__init__` sets them.
    guard: called with the class when it, or a class above it, was changed since; True while it is
        still as the client shipped it.
    """

    cdef readonly object cls
    cdef readonly tuple names
    cdef object guard
    cdef PyTypeObject* type
    cdef int n
    cdef int shape
    cdef bint plain                 # else all that concerns it is left to the client's code
    cdef unsigned int version
    cdef Py_ssize_t offset[MAX_FIELDS]
    cdef PyObject* name[MAX_FIELDS]
    cdef Layout layout

    def __init__(self, object cls not None, tuple names not None, object guard not None):
        cdef int i
        if len(names) > MAX_FIELDS:
            raise ValueError(f"{cls}: {len(names)} attributes, at most {MAX_FIELDS} can be bound")
        self.cls = cls
        self.names = tuple([_intern(name) for name in names])
        # What stands in for a class (a mock) is nothing that instances can be of.
        self.type = <PyTypeObject*><PyObject*>(cls if isinstance(cls, type) else object)
        self.guard = guard
        self.n = <int>len(names)
        members = [getattr(cls, name, None) for name in names]
        self.shape = SHAPE_ATTRIBUTES
        if names and all([type(member) is _MemberDescriptor for member in members]):
            self.shape = SHAPE_SLOTS
        for i in range(self.n):
            self.name[i] = <PyObject*>self.names[i]
            if self.shape == SHAPE_SLOTS:
                self.offset[i] = bound_slot_offset(members[i])
        self.look_again()

    cdef bint look_again(self) except -1:
        """Whether the class is as it was shipped; asked again whenever it changes."""
        self.plain = isinstance(self.cls, type) and bool(self.guard(self.cls))
        self.version = bound_version(self.type)
        return self.plain

    cdef inline bint usable(self) except -1:
        if AMQP_LIKELY(bound_version(self.type) == self.version):
            return self.plain
        return self.look_again()

    def learn(self, object instance):
        """Find out where instances keep their attributes, from a new one that the client made.

        Nobody may have asked for its `__dict__`. What is found is used if it stands a trial.
        """
        cdef PyObject* values[MAX_FIELDS]
        cdef int i
        if self.shape != SHAPE_ATTRIBUTES or self.n == 0:
            return
        bound_layout_probe(&self.layout, <PyObject*>instance, <PyObject*>self.names)
        if self.layout.count == 0:
            return
        for i in range(self.n):
            values[i] = Py_NewRef(self.name[i])
        made = self.make(values)
        found = [getattr(made, name, None) for name in self.names]
        if found != list(self.names) or list(made.__dict__.items()) != list(zip(found, found)):
            self.layout.count = 0

    cdef object make(self, PyObject** values):
        """A new instance; takes over the values, also where it fails."""
        cdef PyObject* o
        cdef object made
        cdef int i
        if self.shape == SHAPE_SLOTS:
            o = bound_alloc(self.type)
            if o == NULL:
                drop_values(values, self.n)
                raise MemoryError
            for i in range(self.n):
                bound_slot(o, self.offset[i])[0] = values[i]
            made = <object>o
            Py_DecRef(o)
            return made
        if self.layout.count:
            o = bound_layout_new(&self.layout, self.type, values)
            if o != NULL:
                made = <object>o
                Py_DecRef(o)
                return made
        o = bound_new(self.type)
        if o == NULL:
            drop_values(values, self.n)
            raise MemoryError
        made = <object>o
        Py_DecRef(o)
        try:
            for i in range(self.n):
                bound_set(o, self.name[i], values[i])
        finally:
            drop_values(values, self.n)
        return made

    cdef int take(self, PyObject* o, PyObject** values) except -1:
        """The values of an instance's attributes, as new references; gives up where one is missing."""
        cdef int i, k
        if self.shape == SHAPE_SLOTS:
            for i in range(self.n):
                values[i] = bound_slot(o, self.offset[i])[0]
                if values[i] == NULL:
                    drop_values(values, i)
                    leave_it()
                Py_NewRef(values[i])
            return 0
        if self.layout.count and bound_layout_get(&self.layout, o, values):
            return 0
        for i in range(self.n):
            try:
                values[i] = bound_get(o, self.name[i])
            except AttributeError:
                drop_values(values, i)
                leave_it()
        return 0

from sys import intern as _intern
from types import MemberDescriptorType as _MemberDescriptor


cdef void drop_values(PyObject** values, int n) noexcept:
    cdef int i
    for i in range(n):
        Py_XDecRef(values[i])
