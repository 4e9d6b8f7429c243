/* The one kind of class: heap types of one metatype, filled by offset.
 *
 * Every method, property list and frame class is an instance of KindMeta. A Kind describes its
 * fields; instances keep them in one array after a fixed head, so that the sinks store by index
 * and no class needs C code of its own. Classes made at run time are the same as built-in ones.
 *
 * A field is "plain" (a member descriptor), a "table": read lazily from its bytes, which a second slot
 * leads to, so that what was not changed can be written back as it came; or a "time": its
 * seconds stay in a word after the slots, and the datetime is made when somebody reads it.
 */
#ifndef AMQPCODEC_KIND_H
#define AMQPCODEC_KIND_H

#include <Python.h>
#include <structmember.h>
#include <string.h>
#include "wire/python.h"
#include "wire/wire.h"

typedef struct {
    PyObject_HEAD
    PyObject *origin;  /* bytes of the payload where they are not the canonical form, or NULL */
    uint32_t mode;     /* how the bytes of tables are to be read: dialect and table kind */
    uint32_t tracked;  /* whether the collector knows of it: KIND_TRACKED, with KIND_LINKED or without */
    PyObject *field[1];
} KindObject;

/* What the slot of a table's bytes holds (or NULL): memory of the instance, which it keeps while it is in
 * its class's free list, so that a stream of messages takes none for each. */
typedef struct {
    int64_t size; /* of the bytes that the table came in, without their length; -1: there are none */
    size_t room;
    uint8_t bytes[1];
} KindBytes;

#define KIND_BYTES_LEAST 112    /* room that is made at least: most tables fit, as does what follows them */
#define KIND_BYTES_KEPT 1024    /* room that an instance in the free list has at most */

#define KIND_HEAD offsetof(KindObject, field)
#define KIND_FREELIST 64

/* KindObject.tracked */
enum { KIND_TRACKED = 1, KIND_LINKED = 2 };

typedef struct {
    int what;             /* KIND_METHOD, ... as the core numbers them */
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
    int free_count;
    PyObject *free_list[KIND_FREELIST];
#endif
} Kind;

typedef struct {
    PyHeapTypeObject heap;
    Kind kind;
} KindType;

/* The metatype. It belongs to _codec (kind_class.h); other modules that include this ask it once. */
static PyTypeObject *kind_metatype = NULL;
static inline void kind_use(PyObject *metatype) { kind_metatype = (PyTypeObject *)metatype; }

/* A field's new value, which is taken over. */
static inline void kind_store(KindObject *o, int i, PyObject *value) {
    PyObject *old = o->field[i];
    o->field[i] = value;
    Py_XDECREF(old);
}

/* The same where the field holds None still, as all do in a new instance of a blank kind. */
AMQP_INLINE void kind_fill(KindObject *o, int i, PyObject *value) {
    o->field[i] = value;
    PYTHON_DROP_NONE();
}

/* The bytes of a table, whose slot this is; NULL where it did not come from the wire or was assigned. */
AMQP_INLINE KindBytes *kind_bytes(KindObject *o, int slot) {
    KindBytes *b = (KindBytes *)o->field[slot];
    return b && b->size >= 0 ? b : NULL;
}

/* New ones, copied; -1 where no memory is left, without an exception. */
AMQP_INLINE int kind_put_bytes(KindObject *o, int slot, const uint8_t *p, size_t n) {
    KindBytes *b = (KindBytes *)o->field[slot];
    if (AMQP_UNLIKELY(!b || b->room < n)) {
        size_t room = n < KIND_BYTES_LEAST ? KIND_BYTES_LEAST : n;
        PyMem_Free(b);
        b = PyMem_Malloc(offsetof(KindBytes, bytes) + room);
        o->field[slot] = (PyObject *)b;
        if (!b) return -1;
        b->room = room;
    }
    copy_bytes(b->bytes, p, n);
    b->size = (int64_t)n;
    return 0;
}

/* Their memory stays: somebody may be reading it. */
static inline void kind_drop_bytes(KindObject *o, int slot) {
    KindBytes *b = (KindBytes *)o->field[slot];
    if (b) b->size = -1;
}

/* Where the words of an instance with so many slots are: what its time fields are made from. */
#define KIND_WORDS_AT(slots) ((KIND_HEAD + sizeof(PyObject *) * (size_t)(slots) + 7) & ~(size_t)7)
AMQP_INLINE uint64_t *kind_words(KindObject *o, int slots) {
    return (uint64_t *)((char *)o + KIND_WORDS_AT(slots));
}

/* Set by the core: bytes of a table and mode -> dict; seconds since 1970 -> datetime. */
static PyObject *(*kind_read_table)(const uint8_t *p, uint32_t n, uint32_t mode) = NULL;
static PyObject *(*kind_read_time)(uint64_t seconds) = NULL;

#define KIND_OF(type) (&((KindType *)(type))->kind)
static inline int kind_check_type(PyTypeObject *type) { return Py_TYPE(type) == kind_metatype; }

/* The word of a time field, which is meant as long as the field is NULL. */
static inline uint64_t *kind_word(KindObject *o, int field) {
    Kind *k = KIND_OF(Py_TYPE(o));
    return kind_words(o, k->slots) + k->word[field] - 1;
}

/* ---- life of an instance ---- */

static PyObject *kind_alloc_new(PyTypeObject *type) {
    Kind *k = KIND_OF(type);
    PyObject *o = k->gc ? (PyObject *)PyObject_GC_New(KindObject, type)
              : (PyObject *)PyObject_New(KindObject, type);
    if (!o) return NULL;
    memset((char *)o + sizeof(PyObject), 0, (size_t)type->tp_basicsize - sizeof(PyObject));
    if (k->blank) {
        for (int i = 0; i < k->fields; i++) ((KindObject *)o)->field[i] = PYTHON_NEW_NONE();
    }
    return o;
}

/* Memory of an instance whose fields were cleared: where they are blank, None is in each. */
static void kind_free(Kind *k, PyObject *o) {
    for (int i = 0; k->blank && i < k->fields; i++) PYTHON_DROP_NONE();
    for (int i = k->fields; i < k->slots; i++) PyMem_Free(((KindObject *)o)->field[i]);
    if (k->gc) PyObject_GC_Del(o);
    else PyObject_Free(o);
}

AMQP_INLINE KindObject *kind_new(PyTypeObject *type) {
#if PYTHON_HAS_GIL
    Kind *k = KIND_OF(type);
    if (AMQP_LIKELY(k->free_count)) { /* fields and head were cleared when it was put there */
        PyObject *o = k->free_list[--k->free_count];
        Py_SET_REFCNT(o, 1);
        Py_INCREF(type);
        return (KindObject *)o;
    }
#endif
    return (KindObject *)kind_alloc_new(type);
}

/* The same for callers that take a PyObject: every field is unset. */
#define KIND_INSTANCE(type) ((PyObject *)kind_new(type))

static PyObject *kind_alloc(PyTypeObject *type, Py_ssize_t ignored) {
    (void)ignored;
    return (PyObject *)kind_new(type);
}

/* Told to the collector only once something that can be part of a cycle is stored: most frames hold
 * numbers and text alone, and never are. */
static inline void kind_track_as(PyObject *o, uint32_t how) {
    uint32_t before = ((KindObject *)o)->tracked;
    if (!KIND_OF(Py_TYPE(o))->gc) return;
    ((KindObject *)o)->tracked = before | KIND_TRACKED | how;
    if (!before) PyObject_GC_Track(o);
}

/* Of an object that holds what somebody gave it: it may be a link of a chain of any length. */
static inline void kind_track(PyObject *o) { kind_track_as(o, KIND_LINKED); }

/* Of one that holds what a reader of 0-x made: properties, a method, a dict. Only a dict, which bounds
 * deallocation itself, can hold another such object. */
static inline void kind_track_read(PyObject *o) { kind_track_as(o, 0); }

static inline void kind_track_for(PyObject *o, PyObject *value) {
    if (PyType_IS_GC(Py_TYPE(value))) kind_track(o);
}

static int kind_setattro(PyObject *self, PyObject *name, PyObject *value) {
    int status = PyObject_GenericSetAttr(self, name, value);
    if (status == 0 && value) kind_track_for(self, value);
    return status;
}

static int kind_clear(PyObject *self) {
    KindObject *o = (KindObject *)self;
    int n = KIND_OF(Py_TYPE(self))->fields;
    Py_CLEAR(o->origin);
    for (int i = 0; i < n; i++) Py_CLEAR(o->field[i]);
    return 0;
}

static int kind_traverse(PyObject *self, visitproc visit, void *arg) {
    KindObject *o = (KindObject *)self;
    int n = KIND_OF(Py_TYPE(self))->fields;
    for (int i = 0; i < n; i++) Py_VISIT(o->field[i]);
    Py_VISIT(Py_TYPE(self));
    return 0;
}

AMQP_INLINE void kind_release(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    Kind *k = KIND_OF(type);
    KindObject *o = (KindObject *)self;
    PyObject **at = o->field, **end = at + k->fields;
    if (AMQP_UNLIKELY(o->origin != NULL)) Py_CLEAR(o->origin);
    if (k->blank) {
        for (; at != end; at++) {
            PyObject *v = *at;
            if (v == Py_None) continue;
            *at = PYTHON_NEW_NONE();
            Py_XDECREF(v);
        }
    } else {
        for (; at != end; at++) {
            PyObject *v = *at;
            if (v) {
                *at = NULL;
                Py_DECREF(v);
            }
        }
    }
#if PYTHON_HAS_GIL
    if (k->free_count < KIND_FREELIST) {
        for (end = o->field + k->slots; at != end; at++) {
            KindBytes *b = (KindBytes *)*at;
            if (!b) continue;
            b->size = -1;
            if (AMQP_UNLIKELY(b->room > KIND_BYTES_KEPT)) {
                PyMem_Free(b);
                *at = NULL;
            }
        }
        k->free_list[k->free_count++] = self;
        Py_DECREF(type);
        return;
    }
#endif
    kind_free(k, self);
    Py_DECREF(type);
}

static void kind_dealloc(PyObject *self);

/* Of a link in what may be a long chain: the interpreter bounds how deep this goes. */
AMQP_APART static void kind_dealloc_linked(PyObject *self) {
    PyObject_GC_UnTrack(self);
    Py_TRASHCAN_BEGIN(self, kind_dealloc)
    ((KindObject *)self)->tracked = 0;
    kind_release(self);
    Py_TRASHCAN_END
}

static void kind_dealloc(PyObject *self) {
    uint32_t tracked = ((KindObject *)self)->tracked;
    if (tracked & KIND_LINKED) {
        kind_dealloc_linked(self);
        return;
    }
    if (tracked) {
        PyObject_GC_UnTrack(self);
        ((KindObject *)self)->tracked = 0;
    }
    kind_release(self);
}

/* ---- table fields ---- */

/* Borrowed: the dict of a table field, made now if it is still bytes. */
static PyObject *kind_table(KindObject *o, int field) {
    PyObject *v;
    PYTHON_LOCK(o);
    v = o->field[field];
    if (!v) {
        KindBytes *b = kind_bytes(o, KIND_OF(Py_TYPE(o))->bytes_slot[field]);
        v = b ? kind_read_table(b->bytes, (uint32_t)b->size, o->mode) : PyDict_New();
        if (v) {
            o->field[field] = v;
            kind_track_read((PyObject *)o);
        }
    }
    PYTHON_UNLOCK();
    return v;
}

static PyObject *kind_table_get(PyObject *self, void *closure) {
    return Py_XNewRef(kind_table((KindObject *)self, (int)(intptr_t)closure));
}

static int kind_table_set(PyObject *self, PyObject *value, void *closure) {
    KindObject *o = (KindObject *)self;
    int field = (int)(intptr_t)closure;
    if (!value) {
        PyErr_SetString(PyExc_AttributeError, "fields cannot be deleted; assign None or {}");
        return -1;
    }
    PYTHON_LOCK(o);
    Py_INCREF(value);
    Py_XSETREF(o->field[field], value);
    /* A table that was assigned is encoded by value, whatever came before. */
    kind_drop_bytes(o, KIND_OF(Py_TYPE(self))->bytes_slot[field]);
    kind_track(self);
    PYTHON_UNLOCK();
    return 0;
}

/* The bytes of a table as they came, without its length; None if it did not come from the wire. */
static PyObject *kind_bytes_get(PyObject *self, void *closure) {
    PyObject *found;
    PYTHON_LOCK(self);
    KindBytes *b = kind_bytes((KindObject *)self, KIND_OF(Py_TYPE(self))->bytes_slot[(int)(intptr_t)closure]);
    found = b ? PyBytes_FromStringAndSize((const char *)b->bytes, (Py_ssize_t)b->size) : Py_NewRef(Py_None);
    PYTHON_UNLOCK();
    return found;
}

/* ---- time fields ---- */

static PyObject *kind_time_get(PyObject *self, void *closure) {
    KindObject *o = (KindObject *)self;
    int field = (int)(intptr_t)closure;
    PyObject *v;
    PYTHON_LOCK(o);
    v = o->field[field];
    if (!v) o->field[field] = v = kind_read_time(*kind_word(o, field));
    Py_XINCREF(v);
    PYTHON_UNLOCK();
    return v;
}

static int kind_time_set(PyObject *self, PyObject *value, void *closure) {
    KindObject *o = (KindObject *)self;
    if (!value) {
        PyErr_SetString(PyExc_AttributeError, "fields cannot be deleted; assign None");
        return -1;
    }
    PYTHON_LOCK(o);
    Py_INCREF(value);
    Py_XSETREF(o->field[(int)(intptr_t)closure], value);
    kind_track_for(self, value);
    PYTHON_UNLOCK();
    return 0;
}

/* New reference to any field; NULL with AttributeError where it is unset. */
static PyObject *kind_get(PyObject *self, int field) {
    Kind *k = KIND_OF(Py_TYPE(self));
    if (k->bytes_slot[field]) return kind_table_get(self, (void *)(intptr_t)field);
    if (k->word[field]) return kind_time_get(self, (void *)(intptr_t)field);
    PyObject *v = ((KindObject *)self)->field[field];
    if (!v) PyErr_SetObject(PyExc_AttributeError, k->name[field]);
    return Py_XNewRef(v);
}

/* ---- constructor ---- */

static int kind_field_index(Kind *k, PyObject *name, int hint) {
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

static PyObject *kind_vectorcall(PyObject *cls, PyObject *const *args, size_t nargsf, PyObject *kwnames) {
    PyTypeObject *type = (PyTypeObject *)cls;
    Kind *k = KIND_OF(type);
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
    KindObject *o = kind_new(type);
    if (!o) return NULL;
    for (Py_ssize_t i = 0; i < n; i++) kind_store(o, k->position[i], Py_NewRef(args[i]));
    int hint = (int)n, aliases = 0;
    for (Py_ssize_t i = 0; i < keywords; i++) {
        PyObject *name = PyTuple_GET_ITEM(kwnames, i);
        int j = kind_field_index(k, name, hint < k->fields ? hint : 0);
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
        kind_store(o, j, Py_NewRef(args[n + i]));
        hint = j + 1;
    }
    for (int i = 0; i < k->fields; i++) {
        PyObject *value = k->fallback[i];
        if (!value) continue;
        if (Py_TYPE(value) == kind_metatype) {
            if (o->field[i] && o->field[i] != Py_None) continue;
            value = kind_vectorcall(value, NULL, 0, NULL);
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
        if (o->field[i]) kind_track_for((PyObject *)o, o->field[i]);
    }
    return (PyObject *)o;
}

/* ---- comparison: by value, and only with the same class ---- */

static PyObject *kind_richcompare(PyObject *x, PyObject *y, int op) {
    if ((op != Py_EQ && op != Py_NE) || Py_TYPE(x) != Py_TYPE(y)) Py_RETURN_NOTIMPLEMENTED;
    Kind *k = KIND_OF(Py_TYPE(x));
    int equal = 1;
    for (int i = 0; equal == 1 && i < k->fields; i++) {
        KindObject *a = (KindObject *)x, *b = (KindObject *)y;
        if (k->bytes_slot[i]) {
            KindBytes *p = kind_bytes(a, k->bytes_slot[i]), *q = kind_bytes(b, k->bytes_slot[i]);
            if (!a->field[i] && !b->field[i] && p && q && a->mode == b->mode && p->size == q->size &&
                memcmp(p->bytes, q->bytes, (size_t)p->size) == 0)
                continue; /* the same bytes; else compare what they say */
        } else if (k->word[i] && !a->field[i] && !b->field[i]) {
            equal = *kind_word(a, i) == *kind_word(b, i);
            continue;
        }
        PyObject *v = kind_get(x, i), *w = v ? kind_get(y, i) : NULL;
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
