/* Classes of objects/message_class.h: their metatype, and how one is made. */
#ifndef AMQPCODEC_MESSAGE_META_H
#define AMQPCODEC_MESSAGE_META_H

#include "objects/message_class.h"

static PyTypeObject MessageMeta;

static void class_meta_dealloc(PyObject *self) {
    MessageClass *k = CLASS_OF(self);
    for (int i = 0; i < k->fields; i++) {
        Py_CLEAR(k->name[i]);
        Py_CLEAR(k->fallback[i]);
    }
    Py_CLEAR(k->owner);
    Py_CLEAR(k->alias);
    Py_CLEAR(k->docs);
    void *blocks[] = {k->position, k->bytes_slot, k->word, k->name, k->fallback, k->members, k->getsets};
    for (size_t i = 0; i < sizeof(blocks) / sizeof(*blocks); i++) PyMem_Free(blocks[i]);
    memset(k, 0, sizeof(*k));
    PyType_Type.tp_dealloc(self);
}

static int class_meta_traverse(PyObject *self, visitproc visit, void *arg) {
    MessageClass *k = CLASS_OF(self);
    Py_VISIT(k->owner);
#if PYTHON_HAS_GIL
    for (int i = 0; i < k->free_count; i++) Py_VISIT(self); /* by the instances in its free list */
#endif
    return PyType_Type.tp_traverse(self, visit, arg);
}

static int class_meta_clear(PyObject *self) {
    /* owner stays: instances that die later still read their descriptor. */
#if PYTHON_HAS_GIL
    MessageClass *k = CLASS_OF(self);
    k->free_most = 0;
    while (k->free_count) class_free((PyTypeObject *)self, k->free_list[--k->free_count]);
#endif
    return PyType_Type.tp_clear(self);
}

static PyObject *class_meta_new(PyTypeObject *meta, PyObject *args, PyObject *kwargs) {
    (void)meta;
    (void)args;
    (void)kwargs;
    PyErr_SetString(PyExc_TypeError, "classes of this kind are made from a protocol's table only");
    return NULL;
}

/* Set by the core: class -> inspect.Signature, made when somebody asks. */
static PyObject *(*class_signature)(PyObject *cls) = NULL;

static PyObject *class_meta_signature(PyObject *cls, void *closure) {
    (void)closure;
    return class_signature(cls);
}

static PyGetSetDef class_meta_getset[] = {
    {"__signature__", class_meta_signature, NULL, "The constructor's signature.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static int class_ready(void) {
    MessageMeta.tp_base = &PyType_Type;
    class_use((PyObject *)&MessageMeta);
    return PyType_Ready(&MessageMeta);
}

static PyTypeObject MessageMeta = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "amqpcodec._codec.MessageMeta",
    .tp_basicsize = sizeof(MessageType),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_TYPE_SUBCLASS |
                Py_TPFLAGS_HAVE_VECTORCALL,
    /* type's own tp_call would pass the constructor by, for callers that know no vectorcall. */
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(PyTypeObject, tp_vectorcall),
    .tp_doc = "Type of the generated classes.",
    .tp_new = class_meta_new,
    .tp_dealloc = class_meta_dealloc,
    .tp_traverse = class_meta_traverse,
    .tp_clear = class_meta_clear,
    .tp_getset = class_meta_getset,
};

static PyObject *class_meta_object(void) { return Py_NewRef((PyObject *)&MessageMeta); }

/* How a field is kept. */
enum { FORM_PLAIN, FORM_TABLE, FORM_TIME };

static int class_allocate(MessageClass *k, size_t n) {
    k->position = PyMem_Calloc(n, sizeof(int));
    k->bytes_slot = PyMem_Calloc(n, sizeof(int));
    k->word = PyMem_Calloc(n, sizeof(int));
    k->name = PyMem_Calloc(n, sizeof(PyObject *));
    k->fallback = PyMem_Calloc(n, sizeof(PyObject *));
    k->members = PyMem_Calloc(n + 1, sizeof(PyMemberDef));
    k->getsets = PyMem_Calloc(n * 2 + 1, sizeof(PyGetSetDef));
    if (!k->position || !k->bytes_slot || !k->word || !k->name || !k->fallback || !k->members ||
        !k->getsets) {
        PyErr_NoMemory();
        return -1;
    }
    k->docs = PyTuple_New((Py_ssize_t)n);
    return k->docs ? 0 : -1;
}

/* The property of field i whose value is the bytes of its table. */
static int class_add_bytes(PyObject *cls, int i) {
    MessageClass *k = CLASS_OF(cls);
    PyGetSetDef *g = &k->getsets[2 * i + 1];
    PyObject *name = PyUnicode_FromFormat("raw_%U", k->name[i]);
    if (!name) return -1;
    PyUnicode_InternInPlace(&name); /* lives as long as the type's dict */
    *g = (PyGetSetDef){PyUnicode_AsUTF8(name), class_bytes_get, NULL,
                       "bytes of the table as they came, or None where it did not come",
                       (void *)(intptr_t)i};
    PyObject *raw = PyDescr_NewGetSet((PyTypeObject *)cls, g);
    int status = raw ? PyObject_SetAttr(cls, name, raw) : -1;
    Py_XDECREF(raw);
    Py_DECREF(name);
    return status;
}

/* Field i: (name, default, form, what it is or None). k->slots and *words count what it takes. */
static int class_add_field(PyObject *cls, int i, PyObject *field, int *words) {
    MessageClass *k = CLASS_OF(cls);
    PyTypeObject *type = (PyTypeObject *)cls;
    PyObject *name = Py_NewRef(PyTuple_GET_ITEM(field, 0));
    PyUnicode_InternInPlace(&name);
    k->name[i] = name;
    k->fields = i + 1;
    PyObject *value = PyTuple_GET_ITEM(field, 1);
    k->fallback[i] = value == Py_Ellipsis ? NULL : Py_NewRef(value);
    long form = PyLong_AsLong(PyTuple_GET_ITEM(field, 2));
    PyObject *help = PyTuple_GET_ITEM(field, 3);
    PyTuple_SET_ITEM(k->docs, i, Py_NewRef(help));
    const char *text = PyUnicode_AsUTF8(name);
    const char *doc = help == Py_None ? NULL : PyUnicode_AsUTF8(help);
    if (!text || PyErr_Occurred()) return -1;
    PyGetSetDef *g = &k->getsets[2 * i];
    PyObject *descriptor;
    if (form == FORM_TABLE) {
        k->bytes_slot[i] = k->slots++;
        *g = (PyGetSetDef){text, class_table_get, class_table_set, doc, (void *)(intptr_t)i};
        descriptor = PyDescr_NewGetSet(type, g);
        if (descriptor && class_add_bytes(cls, i) < 0) Py_CLEAR(descriptor);
    } else if (form == FORM_TIME) {
        k->word[i] = ++*words;
        *g = (PyGetSetDef){text, class_time_get, class_time_set, doc, (void *)(intptr_t)i};
        descriptor = PyDescr_NewGetSet(type, g);
    } else {
        PyMemberDef *m = &k->members[i];
        m->name = text;
        m->doc = doc;
        m->type = T_OBJECT_EX;
        m->offset = (Py_ssize_t)(CLASS_HEAD + sizeof(PyObject *) * (size_t)i);
        descriptor = PyDescr_NewMember(type, m);
    }
    int status = descriptor ? PyObject_SetAttr(cls, name, descriptor) : -1;
    Py_XDECREF(descriptor);
    return status;
}

/* The type's own slots, once its fields are known. */
static void class_set_type(PyTypeObject *type, const MessageClass *k, int words) {
    type->tp_basicsize = (Py_ssize_t)(CLASS_HEAD + sizeof(PyObject *) * (size_t)k->slots);
    if (words) type->tp_basicsize = (Py_ssize_t)CLASS_WORDS_AT(k->slots) + 8 * words;
    type->tp_itemsize = 0;
    type->tp_dictoffset = 0;
    type->tp_weaklistoffset = 0;
    type->tp_vectorcall = class_vectorcall;
    type->tp_alloc = class_alloc;
    type->tp_dealloc = class_dealloc;
    type->tp_setattro = class_setattro;
    type->tp_richcompare = class_richcompare;
    type->tp_hash = PyObject_HashNotImplemented;
    if (k->gc) {
        type->tp_flags |= Py_TPFLAGS_HAVE_GC;
        type->tp_traverse = class_traverse;
        type->tp_clear = class_clear;
        type->tp_free = PyObject_GC_Del;
    } else {
        type->tp_flags &= ~(unsigned long)Py_TPFLAGS_HAVE_GC;
        type->tp_traverse = NULL;
        type->tp_clear = NULL;
        type->tp_free = PyObject_Free;
    }
    if (k->what >= 0) type->tp_flags &= ~(unsigned long)Py_TPFLAGS_BASETYPE; /* no subclasses */
}

/* A class with these fields: a tuple of (name, default, FORM_*, what it is or None); a default of Ellipsis
 * means a fresh table. positions: a tuple of field numbers. what < 0: abstract. */
static PyObject *class_make(PyObject *name, PyObject *bases, PyObject *dict, PyObject *fields,
                           PyObject *positions, int what, int blank, PyObject *owner) {
    PyObject *args = PyTuple_Pack(3, name, bases, dict);
    if (!args) return NULL;
    PyObject *cls = PyType_Type.tp_new(&MessageMeta, args, NULL);
    Py_DECREF(args);
    if (!cls) return NULL;
    MessageClass *k = CLASS_OF(cls);
    int n = (int)PyTuple_GET_SIZE(fields), words = 0;
    memset(k, 0, sizeof(*k));
    if (class_allocate(k, (size_t)n) < 0) goto fail;
    k->what = what;
    k->gc = n > 0;
    k->blank = blank;
    k->slots = n;
    k->positional = (int)PyTuple_GET_SIZE(positions);
    for (int i = 0; i < k->positional; i++)
        k->position[i] = (int)PyLong_AsLong(PyTuple_GET_ITEM(positions, i));
    for (int i = 0; i < n; i++)
        if (class_add_field(cls, i, PyTuple_GET_ITEM(fields, i), &words) < 0) goto fail;
#if PYTHON_HAS_GIL
    k->free_most = CLASS_FREELIST;
#endif
    k->owner = Py_XNewRef(owner);
    class_set_type((PyTypeObject *)cls, k, words);
    PyType_Modified((PyTypeObject *)cls);
    return cls;
fail:
    Py_DECREF(cls);
    return NULL;
}

static void class_set_alias(PyObject *cls, PyObject *name, int field) {
    CLASS_OF(cls)->alias = Py_NewRef(name);
    CLASS_OF(cls)->alias_field = field;
}

static void class_set_desc(PyObject *cls, void *desc) { CLASS_OF(cls)->desc = desc; }

#endif
