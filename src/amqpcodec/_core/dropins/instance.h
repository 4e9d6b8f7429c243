/* Instances of other people's classes, made and read without running their code. */
#ifndef AMQPCODEC_INSTANCE_H
#define AMQPCODEC_INSTANCE_H

#include <Python.h>
#include <string.h>
#include <structmember.h>
#include "wire/python.h"
#include "wire/text.h"
#include "wire/wire.h"

/* A new instance, as object.__new__ makes it: the classes that come here have no __new__ of their own.
 * CPython 3.11 has room ready in it then for attributes that are set one by one. */
static inline PyObject *instance_new(PyTypeObject *t) {
    static PyObject *empty = NULL;
    if (!empty && !(empty = PyTuple_New(0))) return NULL;
    return PyBaseObject_Type.tp_new(t, empty, NULL);
}

/* The same for attributes in slots or in a dict of its own. */
static inline PyObject *instance_alloc(PyTypeObject *t) { return t->tp_alloc(t, 0); }

/* A slot of an instance, by its class's descriptor: a new reference; NULL, and no error, where it is
 * empty. */
static inline PyObject *slot_get(PyObject *descriptor, PyObject *o) {
    PyObject *found = Py_TYPE(descriptor)->tp_descr_get(descriptor, o, (PyObject *)Py_TYPE(o));
    if (AMQP_UNLIKELY(!found)) PyErr_Clear();
    return found;
}

static inline int slot_set(PyObject *descriptor, PyObject *o, PyObject *value) {
    return Py_TYPE(descriptor)->tp_descr_set(descriptor, o, value);
}

/* Where a class's instances keep a slot, as tp_members of the class that defines it says; -1 where it
 * does not, or where the slot may be written by another thread meanwhile (builds without a GIL). */
static inline Py_ssize_t slot_offset(PyTypeObject *owner, const char *name) {
    const PyMemberDef *each = PYTHON_HAS_GIL ? owner->tp_members : NULL;
    for (; each && each->name; each++)
        if (strcmp(each->name, name) == 0) return each->type == T_OBJECT_EX && !each->flags ? each->offset : -1;
    return -1;
}

/* The value of a key, borrowed; NULL, and no error, where there is none. PyDict_GetItem would put an
 * exception aside that nobody has. */
static inline PyObject *dict_item(PyObject *d, PyObject *key) {
    PyObject *found = PyDict_GetItemWithError(d, key);
    if (!found && PyErr_Occurred()) PyErr_Clear();
    return found;
}

/* An instance's own dict, borrowed; NULL, and no error, where it has none. */
static inline PyObject *instance_dict(PyObject *o) {
    PyObject *d = PyObject_GenericGetDict(o, NULL);
    if (d)
        Py_DECREF(d);
    else
        PyErr_Clear();
    return d;
}

static inline PyObject *instance_get(PyObject *o, PyObject *name) { return PyObject_GetAttr(o, name); }

static inline void values_drop(PyObject **values, int n) {
    for (int i = 0; i < n; i++) Py_XDECREF(values[i]);
}

/* A new instance whose slots are at these offsets. All of these functions take over the values, also
 * where they fail. */
static inline PyObject *instance_of_offsets(PyTypeObject *t, const Py_ssize_t *offsets, PyObject **values, int n) {
    PyObject *o = instance_alloc(t);
    if (AMQP_UNLIKELY(!o)) {
        values_drop(values, n);
        return NULL;
    }
    for (int i = 0; i < n; i++) *(PyObject **)((char *)o + offsets[i]) = values[i]; /* empty until now */
    return o;
}

/* The same by the slots' descriptors. */
static inline PyObject *instance_of_slots(PyTypeObject *t, PyObject **slots, PyObject **values, int n) {
    PyObject *o = instance_alloc(t);
    int bad = o == NULL;
    for (int i = 0; i < n && !bad; i++) bad = slot_set(slots[i], o, values[i]) < 0;
    values_drop(values, n);
    if (bad) Py_CLEAR(o);
    return o;
}

/* The same with attributes that are set one by one, and meet whatever the class has for them. */
static inline PyObject *instance_of_names(PyTypeObject *t, PyObject **names, PyObject **values, int n) {
    PyObject *o = instance_new(t);
    int bad = o == NULL;
    for (int i = 0; i < n && !bad; i++) bad = PyObject_GenericSetAttr(o, names[i], values[i]) < 0;
    values_drop(values, n);
    if (bad) Py_CLEAR(o);
    return o;
}

/* The same with a dict: a copy of a template of n names, with the values that are others. It is given by
 * `__dict__` as Python code does it: PyObject_GenericSetDict leaves the attributes of a 3.13.0 unset. */
static inline PyObject *instance_of_dict(PyTypeObject *t, PyObject *template, PyObject **names,
                                         PyObject **values, int n) {
    static PyObject *dict_name = NULL;
    PyObject *o = instance_alloc(t);
    PyObject *d = o ? PyDict_Copy(template) : NULL;
    int bad = d == NULL || (!dict_name && !(dict_name = PyUnicode_InternFromString("__dict__")));
    for (int i = 0; i < n && !bad; i++)
        if (values[i] != Py_None) bad = PyDict_SetItem(d, names[i], values[i]) < 0;
    if (!bad) bad = PyObject_GenericSetAttr(o, dict_name, d) < 0;
    Py_XDECREF(d);
    values_drop(values, n);
    if (bad) Py_CLEAR(o);
    return o;
}

/* New references to the values of n slots at these offsets; 0, and none, where one is empty. */
static inline int slots_values(PyObject *o, const Py_ssize_t *offsets, int n, PyObject **values) {
    for (int i = 0; i < n; i++) {
        PyObject *value = *(PyObject **)((char *)o + offsets[i]);
        if (AMQP_UNLIKELY(!value)) {
            values_drop(values, i);
            return 0;
        }
        values[i] = Py_NewRef(value);
    }
    return 1;
}

/* New references to the first n entries of an instance's dict, if they have these names; else 0, and
 * none. They are its attributes while its class has no descriptor of these names. */
static inline int instance_values(PyObject *o, PyObject **names, int n, PyObject **values) {
    PyObject *name, *value, *d = PyObject_GenericGetDict(o, NULL);
    Py_ssize_t at = 0;
    int i = 0;
    if (!d) {
        PyErr_Clear();
        return 0;
    }
    PYTHON_LOCK(d);
    while (i < n && PyDict_Next(d, &at, &name, &value) && name == names[i]) values[i++] = Py_NewRef(value);
    PYTHON_UNLOCK();
    Py_DECREF(d);
    if (AMQP_LIKELY(i == n)) return 1;
    values_drop(values, i);
    return 0;
}

/* o.name += 1 where that is an entry of o's own dict; 0 where it is anything else, -1 with an exception.
 * Its class has no descriptor of that name, and gets and sets attributes as object does. */
static inline int instance_count(PyObject *o, PyObject *name) {
    PyObject *d = PYTHON_HAS_GIL ? instance_dict(o) : NULL;
    PyObject *before = d ? dict_item(d, name) : NULL;
    long long n;
    if (!before || !PyLong_CheckExact(before) || !python_word(before, &n) || n == INT64_MAX) return 0;
    PyObject *after = PyLong_FromLongLong(n + 1);
    int bad = !after || PyDict_SetItem(d, name, after) < 0;
    Py_XDECREF(after);
    return bad ? -1 : 1;
}

/* Whether a class gets and sets attributes of its instances as object does. */
static inline int has_plain_attributes(PyTypeObject *t) {
    return t->tp_getattro == PyObject_GenericGetAttr && t->tp_setattro == PyObject_GenericSetAttr;
}

/* One slot, at its offset where that is known: a new reference; NULL, and no error, where it is empty. */
static inline PyObject *slot_read(PyObject *descriptor, Py_ssize_t offset, PyObject *o) {
    return offset < 0 ? slot_get(descriptor, o) : Py_XNewRef(*(PyObject **)((char *)o + offset));
}

static inline int slot_put(PyObject *descriptor, Py_ssize_t offset, PyObject *o, PyObject *value) {
    if (offset < 0) return slot_set(descriptor, o, value);
    PyObject **place = (PyObject **)((char *)o + offset), *before = *place;
    *place = Py_NewRef(value);
    Py_XDECREF(before);
    return 0;
}

/* What follows the first n of these bytes, into a slot: 0, or -1 with an exception. */
static inline int slot_put_rest(PyObject *descriptor, Py_ssize_t offset, PyObject *o, PyObject *bytes,
                                Py_ssize_t n) {
    PyObject *rest = PyBytes_FromStringAndSize(PyBytes_AS_STRING(bytes) + n, PyBytes_GET_SIZE(bytes) - n);
    int bad = !rest || slot_put(descriptor, offset, o, rest) < 0;
    Py_XDECREF(rest);
    return bad ? -1 : 0;
}

/* What a function gives for a number; NULL with its exception set, which is then to be raised. */
static inline PyObject *call_with_size(PyObject *function, Py_ssize_t n) {
    PyObject *number = PyLong_FromSsize_t(n);
    PyObject *found = number ? PyObject_CallOneArg(function, number) : NULL;
    Py_XDECREF(number);
    return found;
}

static inline int raise_current(void) { return -1; }

/* Sets an exception whose context is another one, as `raise` does where that one is handled. A function
 * of Cython would add lines to its traceback, which cost more than all else. */
static inline PyObject *raise_after(PyObject *type, PyObject *before) {
    PyObject *error = PyObject_CallNoArgs(type);
    if (!error) return NULL;
    PyException_SetContext(error, Py_NewRef(before));
    python_put_raised(error);
    return NULL;
}

/* The first n of these bytes, which are taken over. _PyBytes_Resize is public: the C API documents it. */
static inline PyObject *shortened(PyObject *bytes, Py_ssize_t n) {
    if (python_is_only_ours(bytes)) {
        _PyBytes_Resize(&bytes, n);
        return bytes;
    }
    PyObject *found = PyBytes_FromStringAndSize(PyBytes_AS_STRING(bytes), n);
    Py_DECREF(bytes);
    return found;
}

/* Whether o is an int, or of a subclass that reads, compares and counts as int does (an IntEnum, a
 * bool), and fits; and its value. No error is set. */
static inline int subclass_u64(PyObject *o, uint64_t *out) {
    if (!o || !PyLong_Check(o)) return 0;
    const PyTypeObject *t = Py_TYPE(o);
    const PyNumberMethods *its = t->tp_as_number, *ints = PyLong_Type.tp_as_number;
    if (t->tp_richcompare != PyLong_Type.tp_richcompare || its->nb_int != ints->nb_int ||
        its->nb_index != ints->nb_index)
        return 0;
    unsigned long long v = PyLong_AsUnsignedLongLong(o);
    if (v == (unsigned long long)-1 && PyErr_Occurred()) {
        PyErr_Clear();
        return 0;
    }
    *out = v;
    return 1;
}

static inline int plain_u64(PyObject *o, uint64_t *out) {
    return exact_u64(o, out) || subclass_u64(o, out);
}

/* The same for a subclass of str (a StrEnum) that encodes, compares and counts as str does. */
static inline int plain_text(PyObject *o, const uint8_t **p, Py_ssize_t *n) {
    if (!o || !PyUnicode_Check(o)) return 0;
    PyTypeObject *t = Py_TYPE(o);
    if (t->tp_richcompare != PyUnicode_Type.tp_richcompare ||
        (t->tp_as_number && t->tp_as_number->nb_bool) ||
        t->tp_as_sequence->sq_length != PyUnicode_Type.tp_as_sequence->sq_length)
        return 0;
    PyObject *its = PyObject_GetAttrString((PyObject *)t, "encode");
    PyObject *strs = PyObject_GetAttrString((PyObject *)&PyUnicode_Type, "encode");
    int same = its != NULL && its == strs;
    Py_XDECREF(its);
    Py_XDECREF(strs);
    if (same) *p = (const uint8_t *)PyUnicode_AsUTF8AndSize(o, n);
    if (same && *p) return 1;
    PyErr_Clear();
    return 0;
}

#endif
