/* The one kind of class: heap types of one metatype, filled by offset.
 *
 * Every method, property list and frame class is an instance of MessageMeta. A MessageClass describes its
 * fields; instances keep them in one array after a fixed head, so that the sinks store by index
 * and no class needs C code of its own. Classes made at run time are the same as built-in ones.
 *
 * A field is "plain" (a member descriptor), a "table": read lazily from its bytes, which a second slot
 * leads to, so that what was not changed can be written back as it came; or a "time": its
 * seconds stay in a word after the slots, and the datetime is made when somebody reads it.
 *
 * Instances that die go to their class's free list, with their reference to the class, of which the class tells
 * the collector (not in builds without the GIL). Every class with fields has the collector's flag, and the
 * collector is told of an instance once it holds something that can be part of a cycle: an object given to the
 * constructor or assigned, a table that is read, properties in a header. Only what somebody gave to an instance
 * can make a long chain of them without a dict in between, so only an instance that holds such an object goes
 * through the interpreter's trashcan when it dies (CLASS_LINKED).
 */
#ifndef AMQPCODEC_MESSAGE_CLASS_H
#define AMQPCODEC_MESSAGE_CLASS_H

#include <Python.h>
#include <structmember.h>
#include <string.h>
#include "wire/python.h"
#include "wire/wire.h"

typedef struct {
    PyObject_HEAD
    PyObject *origin;  /* bytes of the payload where they are not the canonical form, or NULL */
    uint32_t mode;     /* how the bytes of tables are to be read: dialect and table kind */
    uint32_t tracked;  /* whether the collector knows of it: CLASS_TRACKED, with CLASS_LINKED or without */
    PyObject *field[1];
} MessageObject;

/* What the slot of a table's bytes holds (or NULL): memory of the instance, which it keeps while it is in
 * its class's free list, so that a stream of messages takes none for each. */
typedef struct {
    int64_t size; /* of the bytes that the table came in, without their length; -1: there are none */
    size_t room;
    uint8_t bytes[1];
} TableBytes;

#define CLASS_BYTES_LEAST 112    /* room that is made at least: most tables fit, as does what follows them */
#define CLASS_BYTES_KEPT 1024    /* room that an instance in the free list has at most */

#define CLASS_HEAD offsetof(MessageObject, field)
#define CLASS_FREELIST 64

/* MessageObject.tracked */
enum { CLASS_TRACKED = 1, CLASS_LINKED = 2 };

typedef struct {
    int what;             /* CLASS_METHOD, ... as the core numbers them */
    int fields;           /* fields, in wire order */
    int slots;            /* fields and what leads to the bytes of tables */
    int positional;       /* how many fields the constructor takes by position */
    int gc;               /* it has fields, so instances may be part of a cycle */
    int blank;            /* unset fields hold None from the start, not NULL: property lists */
    int *position;        /* positional argument -> field */
    int *bytes_slot;      /* field -> slot of its bytes, 0 for one that is no table */
    int *word;            /* field -> number of its word, from 1; 0 for one that is no time */
    PyObject **name;      /* interned */
    PyObject **fallback;  /* default of each field; NULL: a fresh table; a class of this kind: a
                             fresh instance, for None as well */
    PyObject *docs;       /* what the fields are, for help(): a tuple of str or None */
    PyObject *alias;      /* another keyword for one field, or NULL */
    int alias_field;
    PyMemberDef *members;
    PyGetSetDef *getsets;
    void *desc;           /* the core's descriptor of this class */
    PyObject *owner;      /* keeps desc alive */
#if PYTHON_HAS_GIL
    /* Released instances, each of which keeps its reference to the class. */
    int free_count;
    int free_most; /* 0 once the collector has cleared the class */
    PyObject *free_list[CLASS_FREELIST];
#endif
} MessageClass;

typedef struct {
    PyHeapTypeObject heap;
    MessageClass message_class;
} MessageType;

/* The metatype. It belongs to _codec (message_meta.h); other modules that include this ask it once. */
static PyTypeObject *class_metatype = NULL;
static inline void class_use(PyObject *metatype) { class_metatype = (PyTypeObject *)metatype; }

/* A field's new value, which is taken over. */
static inline void class_store(MessageObject *o, int i, PyObject *value) {
    PyObject *old = o->field[i];
    o->field[i] = value;
    Py_XDECREF(old);
}

/* The same where the field holds None still, as all do in a new instance of a blank kind. */
AMQP_INLINE void class_fill(MessageObject *o, int i, PyObject *value) {
    o->field[i] = value;
    PYTHON_DROP_NONE();
}

/* The bytes of a table, whose slot this is; NULL where it did not come from the wire or was assigned. */
AMQP_INLINE TableBytes *class_bytes(MessageObject *o, int slot) {
    TableBytes *b = (TableBytes *)o->field[slot];
    return b && b->size >= 0 ? b : NULL;
}

/* New ones, copied; -1 where no memory is left, without an exception. */
AMQP_INLINE int class_put_bytes(MessageObject *o, int slot, const uint8_t *p, size_t n) {
    TableBytes *b = (TableBytes *)o->field[slot];
    if (AMQP_UNLIKELY(!b || b->room < n)) {
        size_t room = n < CLASS_BYTES_LEAST ? CLASS_BYTES_LEAST : n;
        PyMem_Free(b);
        b = PyMem_Malloc(offsetof(TableBytes, bytes) + room);
        o->field[slot] = (PyObject *)b;
        if (!b) return -1;
        b->room = room;
    }
    copy_bytes(b->bytes, p, n);
    b->size = (int64_t)n;
    return 0;
}

/* Their memory stays: somebody may be reading it. */
static inline void class_drop_bytes(MessageObject *o, int slot) {
    TableBytes *b = (TableBytes *)o->field[slot];
    if (b) b->size = -1;
}

/* Where the words of an instance with so many slots are: what its time fields are made from. */
#define CLASS_WORDS_AT(slots) ((CLASS_HEAD + sizeof(PyObject *) * (size_t)(slots) + 7) & ~(size_t)7)
AMQP_INLINE uint64_t *class_words(MessageObject *o, int slots) {
    return (uint64_t *)((char *)o + CLASS_WORDS_AT(slots));
}

/* Set by the core: bytes of a table and mode -> dict; seconds since 1970 -> datetime. */
static PyObject *(*class_read_table)(const uint8_t *p, uint32_t n, uint32_t mode) = NULL;
static PyObject *(*class_read_time)(uint64_t seconds) = NULL;

#define CLASS_OF(type) (&((MessageType *)(type))->message_class)
static inline int class_check_type(PyTypeObject *type) { return Py_TYPE(type) == class_metatype; }

/* The word of a time field, which is meant as long as the field is NULL. */
static inline uint64_t *class_word(MessageObject *o, int field) {
    MessageClass *k = CLASS_OF(Py_TYPE(o));
    return class_words(o, k->slots) + k->word[field] - 1;
}

/* ---- life of an instance ---- */

static PyObject *class_alloc_new(PyTypeObject *type) {
    MessageClass *k = CLASS_OF(type);
    PyObject *o = k->gc ? (PyObject *)PyObject_GC_New(MessageObject, type)
              : (PyObject *)PyObject_New(MessageObject, type);
    if (!o) return NULL;
    memset((char *)o + sizeof(PyObject), 0, (size_t)type->tp_basicsize - sizeof(PyObject));
    if (k->blank) {
        for (int i = 0; i < k->fields; i++) ((MessageObject *)o)->field[i] = PYTHON_NEW_NONE();
    }
    return o;
}

/* Memory of an instance whose fields were cleared: where they are blank, None is in each. */
static void class_free(PyTypeObject *type, PyObject *o) {
    MessageClass *k = CLASS_OF(type);
    for (int i = 0; k->blank && i < k->fields; i++) PYTHON_DROP_NONE();
    for (int i = k->fields; i < k->slots; i++) PyMem_Free(((MessageObject *)o)->field[i]);
    if (k->gc) PyObject_GC_Del(o);
    else PyObject_Free(o);
    Py_DECREF(type);
}

AMQP_INLINE MessageObject *class_new(PyTypeObject *type) {
#if PYTHON_HAS_GIL
    MessageClass *k = CLASS_OF(type);
    if (AMQP_LIKELY(k->free_count)) { /* fields and head were cleared when it was put there */
        PyObject *o = k->free_list[--k->free_count];
        Py_SET_REFCNT(o, 1);
        return (MessageObject *)o;
    }
#endif
    return (MessageObject *)class_alloc_new(type);
}

/* The same for callers that take a PyObject: every field is unset. */
#define CLASS_INSTANCE(type) ((PyObject *)class_new(type))

static PyObject *class_alloc(PyTypeObject *type, Py_ssize_t ignored) {
    (void)ignored;
    return (PyObject *)class_new(type);
}

/* Told to the collector only once something that can be part of a cycle is stored: most frames hold
 * numbers and text alone, and never are. */
static inline void class_track_as(PyObject *o, uint32_t how) {
    uint32_t before = ((MessageObject *)o)->tracked;
    if (!CLASS_OF(Py_TYPE(o))->gc) return;
    ((MessageObject *)o)->tracked = before | CLASS_TRACKED | how;
    if (!before) PyObject_GC_Track(o);
}

/* Of an object that holds what somebody gave it: it may be a link of a chain of any length. */
static inline void class_track(PyObject *o) { class_track_as(o, CLASS_LINKED); }

/* Of one that holds what a reader of 0-x made: properties, a method, a dict. Only a dict, which bounds
 * deallocation itself, can hold another such object. */
static inline void class_track_read(PyObject *o) { class_track_as(o, 0); }

/* The same of a new one, whose class has fields. */
AMQP_INLINE void class_track_new(MessageObject *o) {
    o->tracked = CLASS_TRACKED;
    PyObject_GC_Track(o);
}

static inline void class_track_for(PyObject *o, PyObject *value) {
    if (PyType_IS_GC(Py_TYPE(value))) class_track(o);
}

static int class_setattro(PyObject *self, PyObject *name, PyObject *value) {
    int status = PyObject_GenericSetAttr(self, name, value);
    if (status == 0 && value) class_track_for(self, value);
    return status;
}

static int class_clear(PyObject *self) {
    MessageObject *o = (MessageObject *)self;
    int n = CLASS_OF(Py_TYPE(self))->fields;
    Py_CLEAR(o->origin);
    for (int i = 0; i < n; i++) Py_CLEAR(o->field[i]);
    return 0;
}

static int class_traverse(PyObject *self, visitproc visit, void *arg) {
    MessageObject *o = (MessageObject *)self;
    int n = CLASS_OF(Py_TYPE(self))->fields;
    for (int i = 0; i < n; i++) Py_VISIT(o->field[i]);
    Py_VISIT(Py_TYPE(self));
    return 0;
}

AMQP_INLINE void class_release(PyObject *self) {
    MessageClass *k = CLASS_OF(Py_TYPE(self));
    MessageObject *o = (MessageObject *)self;
    PyObject **end = o->field + k->fields; /* counted up to from below: one instruction less a field */
    if (AMQP_UNLIKELY(o->origin != NULL)) Py_CLEAR(o->origin);
    if (k->blank) {
        for (Py_ssize_t i = -(Py_ssize_t)k->fields; i; i++) {
            PyObject *v = end[i];
            if (v == Py_None) continue;
            end[i] = PYTHON_NEW_NONE();
            Py_XDECREF(v);
        }
    } else {
        for (Py_ssize_t i = -(Py_ssize_t)k->fields; i; i++) {
            PyObject *v = end[i];
            if (v) {
                end[i] = NULL;
                Py_DECREF(v);
            }
        }
    }
    k = CLASS_OF(Py_TYPE(self)); /* read again: it takes no register that the loops would have to save */
#if PYTHON_HAS_GIL
    if (k->free_count < k->free_most) {
        for (int i = k->fields; i < k->slots; i++) {
            TableBytes *b = (TableBytes *)o->field[i];
            if (!b) continue;
            b->size = -1;
            if (AMQP_UNLIKELY(b->room > CLASS_BYTES_KEPT)) {
                PyMem_Free(b);
                o->field[i] = NULL;
            }
        }
        k->free_list[k->free_count++] = self;
        return;
    }
#endif
    class_free(Py_TYPE(self), self);
}

static void class_dealloc(PyObject *self);

/* Of a link in what may be a long chain: the interpreter bounds how deep this goes. */
AMQP_APART static void class_dealloc_linked(PyObject *self) {
    PyObject_GC_UnTrack(self);
    Py_TRASHCAN_BEGIN(self, class_dealloc)
    ((MessageObject *)self)->tracked = 0;
    class_release(self);
    Py_TRASHCAN_END
}

static void class_dealloc(PyObject *self) {
    uint32_t tracked = ((MessageObject *)self)->tracked;
    if (tracked & CLASS_LINKED) {
        class_dealloc_linked(self);
        return;
    }
    if (tracked) {
        PyObject_GC_UnTrack(self);
        ((MessageObject *)self)->tracked = 0;
    }
    class_release(self);
}

/* ---- table fields ---- */

/* Borrowed: the dict of a table field, made now if it is still bytes. */
static PyObject *class_table(MessageObject *o, int field) {
    PyObject *v;
    PYTHON_LOCK(o);
    v = o->field[field];
    if (!v) {
        TableBytes *b = class_bytes(o, CLASS_OF(Py_TYPE(o))->bytes_slot[field]);
        v = b ? class_read_table(b->bytes, (uint32_t)b->size, o->mode) : PyDict_New();
        if (v) {
            o->field[field] = v;
            class_track_read((PyObject *)o);
        }
    }
    PYTHON_UNLOCK();
    return v;
}

static PyObject *class_table_get(PyObject *self, void *closure) {
    return Py_XNewRef(class_table((MessageObject *)self, (int)(intptr_t)closure));
}

static int class_table_set(PyObject *self, PyObject *value, void *closure) {
    MessageObject *o = (MessageObject *)self;
    int field = (int)(intptr_t)closure;
    if (!value) {
        PyErr_SetString(PyExc_AttributeError, "fields cannot be deleted; assign None or {}");
        return -1;
    }
    PYTHON_LOCK(o);
    Py_INCREF(value);
    Py_XSETREF(o->field[field], value);
    /* A table that was assigned is encoded by value, whatever came before. */
    class_drop_bytes(o, CLASS_OF(Py_TYPE(self))->bytes_slot[field]);
    class_track(self);
    PYTHON_UNLOCK();
    return 0;
}

/* The bytes of a table as they came, without its length; None if it did not come from the wire. */
static PyObject *class_bytes_get(PyObject *self, void *closure) {
    PyObject *found;
    PYTHON_LOCK(self);
    TableBytes *b = class_bytes((MessageObject *)self, CLASS_OF(Py_TYPE(self))->bytes_slot[(int)(intptr_t)closure]);
    found = b ? PyBytes_FromStringAndSize((const char *)b->bytes, (Py_ssize_t)b->size) : Py_NewRef(Py_None);
    PYTHON_UNLOCK();
    return found;
}

/* ---- time fields ---- */

static PyObject *class_time_get(PyObject *self, void *closure) {
    MessageObject *o = (MessageObject *)self;
    int field = (int)(intptr_t)closure;
    PyObject *v;
    PYTHON_LOCK(o);
    v = o->field[field];
    if (!v) o->field[field] = v = class_read_time(*class_word(o, field));
    Py_XINCREF(v);
    PYTHON_UNLOCK();
    return v;
}

static int class_time_set(PyObject *self, PyObject *value, void *closure) {
    MessageObject *o = (MessageObject *)self;
    if (!value) {
        PyErr_SetString(PyExc_AttributeError, "fields cannot be deleted; assign None");
        return -1;
    }
    PYTHON_LOCK(o);
    Py_INCREF(value);
    Py_XSETREF(o->field[(int)(intptr_t)closure], value);
    class_track_for(self, value);
    PYTHON_UNLOCK();
    return 0;
}

/* New reference to any field; NULL with AttributeError where it is unset. */
static PyObject *class_get(PyObject *self, int field) {
    MessageClass *k = CLASS_OF(Py_TYPE(self));
    if (k->bytes_slot[field]) return class_table_get(self, (void *)(intptr_t)field);
    if (k->word[field]) return class_time_get(self, (void *)(intptr_t)field);
    PyObject *v = ((MessageObject *)self)->field[field];
    if (!v) PyErr_SetObject(PyExc_AttributeError, k->name[field]);
    return Py_XNewRef(v);
}

/* ---- constructor ---- */

static int class_field_index(MessageClass *k, PyObject *name, int hint) {
    for (int i = 0; i < k->fields; i++) {
        int j = hint + i;
        if (j >= k->fields) j -= k->fields;
        if (k->name[j] == name) return j;
    }
    for (int i = 0; i < k->fields; i++) {
        int same = PyUnicode_Compare(k->name[i], name);
        if (same == 0) return i;
        if (same == -1 && PyErr_Occurred()) return -1;
    }
    if (k->alias && PyUnicode_Compare(k->alias, name) == 0) return k->alias_field;
    return -1;
}

static PyObject *class_vectorcall(PyObject *cls, PyObject *const *args, size_t nargsf, PyObject *kwnames) {
    PyTypeObject *type = (PyTypeObject *)cls;
    MessageClass *k = CLASS_OF(type);
    Py_ssize_t n = PyVectorcall_NARGS(nargsf);
    Py_ssize_t keywords = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    if (k->what < 0) {
        PyErr_Format(PyExc_TypeError, "%s is abstract", type->tp_name);
        return NULL;
    }
    if (n > k->positional) {
        PyErr_Format(PyExc_TypeError, "%s() takes at most %d positional arguments (%zd given)",
                     type->tp_name, k->positional, n);
        return NULL;
    }
    MessageObject *o = class_new(type);
    if (!o) return NULL;
    for (Py_ssize_t i = 0; i < n; i++) class_store(o, k->position[i], Py_NewRef(args[i]));
    int hint = (int)n, aliases = 0;
    for (Py_ssize_t i = 0; i < keywords; i++) {
        PyObject *name = PyTuple_GET_ITEM(kwnames, i);
        int j = class_field_index(k, name, hint < k->fields ? hint : 0);
        if (j < 0) {
            if (!PyErr_Occurred())
                PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'",
                             type->tp_name, name);
            Py_DECREF(o);
            return NULL;
        }
        int again = !k->blank && o->field[j];
        /* No keyword comes twice, but a field by both of its names may. */
        again |= k->alias && j == k->alias_field && aliases++;
        for (Py_ssize_t p = 0; k->blank && p < n; p++) again |= k->position[p] == j;
        if (again) {
            PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument '%U'",
                         type->tp_name, name);
            Py_DECREF(o);
            return NULL;
        }
        class_store(o, j, Py_NewRef(args[n + i]));
        hint = j + 1;
    }
    for (int i = 0; i < k->fields; i++) {
        PyObject *value = k->fallback[i];
        if (!value) continue;
        if (Py_TYPE(value) == class_metatype) {
            if (o->field[i] && o->field[i] != Py_None) continue;
            value = class_vectorcall(value, NULL, 0, NULL);
            if (!value) {
                Py_DECREF(o);
                return NULL;
            }
            Py_XSETREF(o->field[i], value);
        } else if (!o->field[i]) {
            o->field[i] = Py_NewRef(value);
        }
    }
    for (int i = 0; i < k->fields; i++) {
        if (o->field[i]) class_track_for((PyObject *)o, o->field[i]);
    }
    return (PyObject *)o;
}

/* ---- comparison: by value, and only with the same class ---- */

static PyObject *class_richcompare(PyObject *x, PyObject *y, int op) {
    if ((op != Py_EQ && op != Py_NE) || Py_TYPE(x) != Py_TYPE(y)) Py_RETURN_NOTIMPLEMENTED;
    MessageClass *k = CLASS_OF(Py_TYPE(x));
    int equal = 1;
    for (int i = 0; equal == 1 && i < k->fields; i++) {
        MessageObject *a = (MessageObject *)x, *b = (MessageObject *)y;
        if (k->bytes_slot[i]) {
            TableBytes *p = class_bytes(a, k->bytes_slot[i]), *q = class_bytes(b, k->bytes_slot[i]);
            if (!a->field[i] && !b->field[i] && p && q && a->mode == b->mode && p->size == q->size &&
                memcmp(p->bytes, q->bytes, (size_t)p->size) == 0)
                continue; /* the same bytes; else compare what they say */
        } else if (k->word[i] && !a->field[i] && !b->field[i]) {
            equal = *class_word(a, i) == *class_word(b, i);
            continue;
        }
        PyObject *v = class_get(x, i), *w = v ? class_get(y, i) : NULL;
        if (!w && PyErr_ExceptionMatches(PyExc_AttributeError)) {
            /* an unset field equals an unset field */
            PyErr_Clear();
            equal = !a->field[i] && !b->field[i];
        } else {
            equal = w ? PyObject_RichCompareBool(v, w, Py_EQ) : -1;
            if (equal < 0 && PyErr_ExceptionMatches(PyExc_ArithmeticError)) {
                PyErr_Clear(); /* a signaling NaN refuses to be compared; it equals nothing */
                equal = 0;
            }
        }
        Py_XDECREF(v);
        Py_XDECREF(w);
    }
    if (equal < 0) return NULL;
    return PyBool_FromLong(op == Py_EQ ? equal : !equal);
}

#endif
