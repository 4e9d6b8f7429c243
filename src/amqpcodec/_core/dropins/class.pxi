# Drop-ins: which class of a client a method becomes, and what it rests on.

from cpython.mem cimport PyMem_Free, PyMem_Realloc
from sys import intern as _intern
from types import FunctionType as _Function, MemberDescriptorType as _MemberDescriptor

cdef enum:
    SHAPE_OFFSETS           # slots, filled in place
    SHAPE_SLOTS             # the same by the class's descriptors
    SHAPE_ATTRIBUTES        # set one after the other in the order of `__init__`
    SHAPE_DICT              # given a copy of a dict: many attributes, most of them None
    DICT_FROM = 8           # attributes from which on that is faster


@cython.final
cdef class Guard:
    """What a binding rests on, as it is now; `watch.h` says how a later change is noticed.

    cls: a class, whose slots and bases are compared, and the namespaces of it and of the classes
    above it: under `names` as far as the first that has one, under `every`, which may call each
    other, in all of them. None: no class.
    """

    def __cinit__(self, cls=None, names=(), every=()):
        self.kept = []
        self.functions = set()
        self.watch.called_back = watch_ready()
        self.watch_type(object if cls is None else cls)
        if cls is None:
            return
        left = [name for name in names if not self.add_attribute(cls, name)]
        for base in cls.__mro__:
            if base is object:
                continue
            members = python_namespace(<PyTypeObject*><PyObject*>base)
            self.add(members, [*left, *every])
            left = [name for name in left if name not in members]

    def __dealloc__(self):
        PyMem_Free(self.watch.names)
        PyMem_Free(self.watch.counted)
        PyMem_Free(self.watch.lists)
        PyMem_Free(self.watch.attributes)
        PyMem_Free(self.watch.functions)

    cdef int watch_type(self, object cls) except -1:
        watch_take_type(&self.watch.type, <PyTypeObject*><PyObject*>cls)
        self.kept += [cls, type(cls), cls.__mro__]
        return 0

    def add(self, dict names not None, keys, bint counted=False):
        """Take entries of a namespace as they are now, and the functions among them; an entry that
        is not there may not come. counted: the namespace is a module's that counts what is set."""
        keys = list(keys)
        if not keys:
            return
        if self.watch.called_back and not watch_dict(names):
            self.watch.called_back = False
        for key in keys:
            value = names.get(key, self)
            if type(key) is not str and value is not self:
                key = next(each for each in names if each == key)    # the very key
            self.kept += [names, key, value]
            self.add_name(names, key, NULL if value is self else <PyObject*>value,
                          counted and not self.watch.called_back)
            self.add_function(value)
        self.watch.seen = self.watch.listed_seen = self.watch.counted_seen = 0

    cdef int add_name(self, dict names, object key, PyObject* value, bint counted) except -1:
        cdef Py_ssize_t n = self.watch.counted_count if counted else self.watch.name_count
        cdef WatchedName* memory = self.watch.counted if counted else self.watch.names
        memory = <WatchedName*>PyMem_Realloc(memory, <size_t>(n + 1) * sizeof(WatchedName))
        if memory == NULL:
            raise MemoryError
        memory[n].names = <PyObject*>names
        memory[n].key = <PyObject*>key
        memory[n].value = value
        memory[n].place = -1
        if value != NULL and not self.watch.called_back:
            watch_take_place(&memory[n])
        if counted:
            self.watch.counted = memory
            self.watch.counted_count = n + 1
        else:
            self.watch.names = memory
            self.watch.name_count = n + 1
        return 0

    def add_list(self, list items not None):
        """Take the items of a list as they are now."""
        cdef Py_ssize_t n = self.watch.list_count
        cdef tuple copy = tuple(items)
        cdef WatchedList* memory = <WatchedList*>PyMem_Realloc(
            self.watch.lists, <size_t>(n + 1) * sizeof(WatchedList))
        if memory == NULL:
            raise MemoryError
        self.kept += [items, copy]
        memory[n].list = <PyObject*>items
        memory[n].items = <PyObject*>copy
        self.watch.lists = memory
        self.watch.list_count = n + 1
        self.watch.seen = 0

    cdef bint add_attribute(self, object cls, object name) except -1:
        """Take what a class inherits under a name, where it is a plain function or slot; False: it
        is not, or changes are called back."""
        cdef Py_ssize_t n = self.watch.attribute_count
        cdef WatchedAttribute* memory
        cdef dict members
        if self.watch.called_back or type(cls) is not type:
            return False
        for base in cls.__mro__:
            members = python_namespace(<PyTypeObject*><PyObject*>base)
            if name in members:
                break
        else:
            return False
        value = members[name]
        if base is cls or (type(value) is not _Function and type(value) is not _MemberDescriptor):
            return False
        memory = <WatchedAttribute*>PyMem_Realloc(self.watch.attributes,
                                                  <size_t>(n + 1) * sizeof(WatchedAttribute))
        if memory == NULL:
            raise MemoryError
        self.watch.attributes = memory
        self.kept += [members, name, value]
        memory[n].names = <PyObject*>members
        memory[n].key = <PyObject*>name
        memory[n].value = <PyObject*>value
        self.watch.attribute_count = n + 1
        self.add_function(value)
        return True

    def add_function(self, function):
        """Take a function's code and defaults as they are now; all else is left alone."""
        cdef Py_ssize_t n = self.watch.function_count
        cdef WatchedFunction* memory
        if isinstance(function, (staticmethod, classmethod)):
            function = function.__func__
        if type(function) is not _Function or id(function) in self.functions:
            return
        memory = <WatchedFunction*>PyMem_Realloc(self.watch.functions,
                                                 <size_t>(n + 1) * sizeof(WatchedFunction))
        if memory == NULL:
            raise MemoryError
        self.functions.add(id(function))
        self.kept += [function, function.__code__, function.__defaults__, function.__kwdefaults__]
        self.watch.functions = memory
        watch_take_function(&memory[n], <PyObject*>function)
        self.watch.function_count = n + 1
        self.watch.seen = self.watch.listed_seen = 0

    def expect(self, dict names not None, key, value):
        """What an entry that was taken is from now on."""
        cdef Py_ssize_t i
        self.expect_among(self.watch.names, self.watch.name_count, names, key, value)
        self.expect_among(self.watch.counted, self.watch.counted_count, names, key, value)
        self.watch.seen = self.watch.listed_seen = self.watch.counted_seen = 0
        for i in range(self.watch.attribute_count):
            if (self.watch.attributes[i].names == <PyObject*>names
                    and <object>self.watch.attributes[i].key == key):
                self.kept.append(value)
                self.watch.attributes[i].value = <PyObject*>value

    cdef int expect_among(self, WatchedName* watched, Py_ssize_t count, dict names, key, value) except -1:
        cdef Py_ssize_t i
        for i in range(count):
            if watched[i].names == <PyObject*>names and <object>watched[i].key == key:
                self.kept.append(value)
                watched[i].value = <PyObject*>value
        return 0

    cdef bint unchanged(self):
        """Whether nothing changed since."""
        return watch_same(&self.watch)


def namespace_of(cls not None):
    """A class's own names: the dict itself."""
    if not isinstance(cls, type):
        raise TypeError(f"{cls!r} is not a class")
    return python_namespace(<PyTypeObject*><PyObject*>cls)


def guards_call_back():
    """Whether changes are called back, so that a guard costs nothing while there are none."""
    return watch_ready()


def count_change():
    """A module that guards rest on was changed, says its class."""
    watch_changed()


def compare_at_every_call(bint wanted):
    """For tests: compare at every call, as CPython 3.11 has to. True: so it was."""
    global watch_plainly
    before = watch_plainly != 0
    watch_plainly = wanted
    return before


@cython.final
cdef class BoundClass:
    """A class of a client: what its instances are made of, in the order their parts are set.

    cls: the class. names: its attributes, in the order in which `__init__` sets them.
    making, taking: what making instances and reading them rest on; None: the class is not as its
        client shipped it, and all that concerns it is left to the client's code.
    """

    cdef readonly object cls
    cdef readonly tuple names
    cdef Guard making, taking
    cdef PyTypeObject* type
    cdef int n
    cdef int shape
    cdef bint has_dict          # whose entries are its attributes: the guards say so
    cdef dict template
    cdef list members
    cdef PyObject* slot[MAX_FIELDS]
    cdef Py_ssize_t offset[MAX_FIELDS]
    cdef PyObject* name[MAX_FIELDS]

    def __cinit__(self, object cls not None, tuple names not None, Guard making, Guard taking):
        cdef int i
        if len(names) > MAX_FIELDS:
            raise ValueError(f"{cls}: {len(names)} attributes, at most {MAX_FIELDS} can be bound")
        self.cls = cls
        self.names = tuple([_intern(name) for name in names])
        # What stands in for a class (a mock) is nothing that instances can be of.
        self.type = <PyTypeObject*><PyObject*>(cls if isinstance(cls, type) else object)
        self.making = making
        self.taking = taking
        self.n = <int>len(names)
        self.members = members = [getattr(cls, name, None) for name in names]
        self.has_dict = watch_ready()
        self.shape = SHAPE_DICT if self.has_dict and self.n >= DICT_FROM else SHAPE_ATTRIBUTES
        self.template = dict.fromkeys(self.names)
        if names and all([type(member) is _MemberDescriptor for member in members]):
            self.shape = SHAPE_OFFSETS
        for i in range(self.n):
            self.name[i] = <PyObject*>self.names[i]
            if self.shape <= SHAPE_SLOTS:
                self.slot[i] = <PyObject*>members[i]
                self.offset[i] = _offset_of(members[i])
                if self.offset[i] < 0:
                    self.shape = SHAPE_SLOTS

    cdef inline bint may_make(self):
        """Whether the class is as it was shipped, in all that making an instance asks of it."""
        return self.making is not None and watch_same(&self.making.watch)

    cdef inline bint may_take(self):
        """The same of reading one."""
        return self.taking is not None and watch_same(&self.taking.watch)

    cdef object make(self, PyObject** values):
        """A new instance; takes over the values, also where it fails."""
        if self.shape == SHAPE_OFFSETS:
            return instance_of_offsets(self.type, self.offset, values, self.n)
        if self.shape == SHAPE_SLOTS:
            return instance_of_slots(self.type, self.slot, values, self.n)
        if self.shape == SHAPE_DICT:
            return instance_of_dict(self.type, self.template, self.name, values, self.n)
        return instance_of_names(self.type, self.name, values, self.n)

    cdef inline object make_of_new(self, PyObject** values):
        """The same of values that were just made, so that NULL is a lack of memory."""
        cdef int i
        for i in range(self.n):
            if AMQP_UNLIKELY(values[i] == NULL):
                values_drop(values, self.n)
                raise_current()
        if AMQP_UNLIKELY(not self.may_make()):
            values_drop(values, self.n)
            not_ours("client changed")
        return self.make(values)

    cdef int adopt(self, PyObject* o, PyObject** values) except -1:
        """The values of an instance's attributes, as new references; falls back where one is missing."""
        cdef int i
        if self.shape == SHAPE_OFFSETS:
            if not slots_values(o, self.offset, self.n, values):
                not_ours("unusual value")
            return 0
        if self.shape == SHAPE_SLOTS:
            for i in range(self.n):
                values[i] = slot_get(self.slot[i], o)
                if values[i] == NULL:
                    values_drop(values, i)
                    not_ours("unusual value")
            return 0
        if self.has_dict and instance_values(o, self.name, self.n, values):
            return 0
        for i in range(self.n):
            try:
                values[i] = instance_get(o, self.name[i])
            except AttributeError:
                values_drop(values, i)
                not_ours("unusual value")
        return 0


cdef Py_ssize_t _offset_of(object member) except? -1:
    """Where instances keep a slot; -1 where that is not known."""
    owner = member.__objclass__
    return slot_offset(<PyTypeObject*><PyObject*>owner, member.__name__.encode())


@cython.final
@cython.internal
cdef class Count:
    """An attribute of an object that counts up: `instance.name += 1`."""

    cdef object instance, name
    cdef Guard guard            # its class has nothing of this name; None: it does

    cdef int add(self) except -1:
        """Count one."""
        if (self.guard is not None
                and Py_TYPE(<PyObject*>self.instance) == self.guard.watch.type.type
                and watch_same(&self.guard.watch)
                and instance_count(<PyObject*>self.instance, <PyObject*>self.name)):
            return 0
        setattr(self.instance, self.name, getattr(self.instance, self.name) + 1)
        return 0


cdef object class_member(object cls, str name):
    """What a class or one above it has under a name, descriptors as they are; else None."""
    for base in cls.__mro__:
        members = python_namespace(<PyTypeObject*><PyObject*>base)
        if name in members:
            return members[name]
    return None


cdef Count new_count(object instance, str name):
    cdef Count made = Count()
    cdef object cls = type(instance)
    made.instance = instance
    made.name = name
    if (has_plain_attributes(<PyTypeObject*><PyObject*>cls)
            and not hasattr(type(class_member(cls, name)), "__set__")):
        made.guard = Guard(cls, (name,))
    return made
