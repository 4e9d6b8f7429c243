/* Classes of objects/kind.h: their metatype, and how one is made. */
#ifndef AMQPCODEC_KIND_CLASS_H
#define AMQPCODEC_KIND_CLASS_H

#include "objects/kind.h"

static PyTypeObject KindMeta;

static void kind_meta_dealloc(PyObject *self) {
    Kind *k = KIND_OF(self);
#if PYTHON_HAS_GIL
    while (k->free_count) {
        kind_free(k, k->free_list[--k->free_count]);
    }
#endif
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

static int kind_meta_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(KIND_OF(self)->owner);
    return PyType_Type.tp_traverse(self, visit, arg);
}

static int kind_meta_clear(PyObject *self) {
    /* owner stays: instances that die later still read their descriptor. */
    return PyType_Type.tp_clear(self);
}

static PyObject *kind_meta_new(PyTypeObject *meta, PyObject *args, PyObject *kwargs) {
    (void)meta;
    (void)args;
    (void)kwargs;
    PyErr_SetString(PyExc_TypeError, "classes of this kind are made from a protocol's table only");
    return NULL;
}

/* Set by the core: class -> inspect.Signature, made when somebody asks. */
static PyObject *(*kind_signature)(PyObject *cls) = NULL;

static PyObject *kind_meta_signature(PyObject *cls, void *closure) {
    (void)closure;
    return kind_signature(cls);
}

static PyGetSetDef kind_meta_getset[] = {
    {"__signature__", kind_meta_signature, NULL, "The constructor's signature.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static int kind_ready(void) {
    KindMeta.tp_base = &PyType_Type;
    kind_use((PyObject *)&KindMeta);
    return PyType_Ready(&KindMeta);
}

static PyTypeObject KindMeta = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "amqpcodec._codec.KindMeta",
    .tp_basicsize = sizeof(KindType),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_TYPE_SUBCLASS |
                Py_TPFLAGS_HAVE_VECTORCALL,
    /* type's own tp_call would pass the constructor by, for callers that know no vectorcall. */
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(PyTypeObject, tp_vectorcall),
    .tp_doc = "Type of the generated classes.",
    .tp_new = kind_meta_new,
    .tp_dealloc = kind_meta_dealloc,
    .tp_traverse = kind_meta_traverse,
    .tp_clear = kind_meta_clear,
    .tp_getset = kind_meta_getset,
};

static PyObject *kind_meta_object(void) { return Py_NewRef((PyObject *)&KindMeta); }

/* How a field is kept. */
enum { FORM_PLAIN, FORM_TABLE, FORM_TIME };

/* A class with these fields. defaults: a tuple, with Ellipsis where a fresh table is meant.
 * forms: a tuple of FORM_*. positions: a tuple of field numbers. what < 0: abstract. docs: a dict of
 * what the fields are. */
static PyObject *kind_make(PyObject *name, PyObject *bases, PyObject *dict, PyObject *names,
                           PyObject *defaults, PyObject *forms, PyObject *positions, int what,
                           int blank, PyObject *owner, PyObject *docs) {
    PyObject *args = PyTuple_Pack(3, name, bases, dict);
    if (!args) return NULL;
    PyObject *cls = PyType_Type.tp_new(&KindMeta, args, NULL);
    Py_DECREF(args);
    if (!cls) return NULL;
    PyTypeObject *type = (PyTypeObject *)cls;
    Kind *k = KIND_OF(cls);
    int n = (int)PyTuple_GET_SIZE(names), ntables = 0, nwords = 0;
    memset(k, 0, sizeof(*k));
    k->position = PyMem_Calloc((size_t)n + 1, sizeof(int));
    k->bytes_slot = PyMem_Calloc((size_t)n + 1, sizeof(int));
    k->word = PyMem_Calloc((size_t)n + 1, sizeof(int));
    k->name = PyMem_Calloc((size_t)n + 1, sizeof(PyObject *));
    k->fallback = PyMem_Calloc((size_t)n + 1, sizeof(PyObject *));
    k->members = PyMem_Calloc((size_t)n + 1, sizeof(PyMemberDef));
    k->getsets = PyMem_Calloc((size_t)n * 2 + 1, sizeof(PyGetSetDef));
    if (!k->position || !k->bytes_slot || !k->word || !k->name || !k->fallback || !k->members ||
        !k->getsets) {
        PyErr_NoMemory();
        goto fail;
    }
    if (!(k->docs = PyTuple_New(n))) goto fail;
    k->what = what;
    k->gc = n > 0;
    k->blank = blank;
    k->positional = (int)PyTuple_GET_SIZE(positions);
    for (int i = 0; i < k->positional; i++)
        k->position[i] = (int)PyLong_AsLong(PyTuple_GET_ITEM(positions, i));
    for (int i = 0; i < n; i++) {
        PyObject *field = Py_NewRef(PyTuple_GET_ITEM(names, i));
        PyUnicode_InternInPlace(&field);
        k->name[i] = field;
        k->fields = i + 1;
        PyObject *value = PyTuple_GET_ITEM(defaults, i);
        k->fallback[i] = value == Py_Ellipsis ? NULL : Py_NewRef(value);
        const char *text = PyUnicode_AsUTF8(field);
        PyObject *descriptor;
        PyGetSetDef *g = &k->getsets[2 * i];
        long form = PyLong_AsLong(PyTuple_GET_ITEM(forms, i));
        PyObject *said = PyDict_GetItemWithError(docs, field);
        const char *doc = said ? PyUnicode_AsUTF8(said) : NULL;
        PyTuple_SET_ITEM(k->docs, i, Py_NewRef(said ? said : Py_None));
        if (!text || PyErr_Occurred()) goto fail;
        if (form == FORM_TABLE) {
            k->bytes_slot[i] = n + ntables++;
            g[0] = (PyGetSetDef){text, kind_table_get, kind_table_set, doc, (void *)(intptr_t)i};
            descriptor = PyDescr_NewGetSet(type, &g[0]);
            PyObject *raw_name = PyUnicode_FromFormat("raw_%U", field);
            if (!raw_name || !descriptor) goto fail;
            PyUnicode_InternInPlace(&raw_name); /* lives as long as the type's dict */
            g[1] = (PyGetSetDef){PyUnicode_AsUTF8(raw_name), kind_bytes_get, NULL,
                                 "bytes of the table as they came, or None where it did not come",
                                 (void *)(intptr_t)i};
            PyObject *raw = PyDescr_NewGetSet(type, &g[1]);
            int bad = !raw || PyDict_SetItem(type->tp_dict, raw_name, raw) < 0;
            Py_XDECREF(raw);
            Py_DECREF(raw_name);
            if (bad) goto fail;
        } else if (form == FORM_TIME) {
            k->word[i] = ++nwords;
            g[0] = (PyGetSetDef){text, kind_time_get, kind_time_set, doc, (void *)(intptr_t)i};
            descriptor = PyDescr_NewGetSet(type, &g[0]);
        } else {
            PyMemberDef *m = &k->members[i];
            m->name = text;
            m->doc = doc;
            m->type = T_OBJECT_EX;
            m->offset = (Py_ssize_t)(KIND_HEAD + sizeof(PyObject *) * (size_t)i);
            descriptor = PyDescr_NewMember(type, m);
        }
        if (!descriptor || PyDict_SetItem(type->tp_dict, field, descriptor) < 0) {
            Py_XDECREF(descriptor);
            goto fail;
        }
        Py_DECREF(descriptor);
    }
    k->slots = n + ntables;
    k->owner = Py_XNewRef(owner);
    type->tp_basicsize = (Py_ssize_t)(KIND_HEAD + sizeof(PyObject *) * (size_t)k->slots);
    if (nwords) type->tp_basicsize = (Py_ssize_t)KIND_WORDS_AT(k->slots) + 8 * nwords;
    type->tp_itemsize = 0;
    type->tp_dictoffset = 0;
    type->tp_weaklistoffset = 0;
    type->tp_vectorcall = kind_vectorcall;
    type->tp_alloc = kind_alloc;
    type->tp_dealloc = kind_dealloc;
    type->tp_setattro = kind_setattro;
    type->tp_richcompare = kind_richcompare;
    type->tp_hash = PyObject_HashNotImplemented;
    if (k->gc) {
        type->tp_flags |= Py_TPFLAGS_HAVE_GC;
        type->tp_traverse = kind_traverse;
        type->tp_clear = kind_clear;
        type->tp_free = PyObject_GC_Del;
    } else {
        type->tp_flags &= ~(unsigned long)Py_TPFLAGS_HAVE_GC;
        type->tp_traverse = NULL;
        type->tp_clear = NULL;
        type->tp_free = PyObject_Free;
    }
    if (what >= 0) type->tp_flags &= ~(unsigned long)Py_TPFLAGS_BASETYPE; /* no subclasses */
    PyType_Modified(type);
    return cls;
fail:
    Py_DECREF(cls);
    return NULL;
}

static void kind_set_alias(PyObject *cls, PyObject *name, int field) {
    KIND_OF(cls)->alias = Py_NewRef(name);
    KIND_OF(cls)->alias_field = field;
}

static void kind_set_desc(PyObject *cls, void *desc) { KIND_OF(cls)->desc = desc; }

#endif
