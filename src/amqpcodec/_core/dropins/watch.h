/* Whether anything changed that a binding rests on: a client's class, or one above it, names of its
 * modules, the code and the defaults of its functions, entries of its tables.
 *
 * CPython 3.12 and later call back when a dict or a function changes (PyDict_AddWatcher,
 * PyFunction_AddWatcher): a binding asks for the count of such calls, and compares what it rests on
 * only when the count moved. CPython 3.11 has nothing like it: there classes and functions are compared
 * at every call, as they are where all of an interpreter's watchers are taken. Names of modules are too
 * many for that: a module whose class counts what is set (compat/_classes.py) moves the same count.
 * Lists are compared at every call on all versions.
 *
 * The dicts of classes are watched and not the classes (PyType_AddWatcher): CPython 3.13 stops calling
 * a class's watchers when it has changed a thousand times. The counts are of one module, _dropins: others
 * ask its Guard. What a class's dict does not show, its bases
 * and its class, is compared at every call: two pointers. */
#ifndef AMQPCODEC_WATCH_H
#define AMQPCODEC_WATCH_H

#include <Python.h>
#include <stdint.h>
#include "wire/python.h"
#include "wire/wire.h"

/* An entry of a namespace. value: NULL where there is none. place: where PyDict_Next finds it, or -1. */
typedef struct {
    PyObject *names, *key, *value;
    Py_ssize_t place;
} WatchedName;

/* What a class gives for a name that a class above it has: one question for all classes below that.
 * names: the namespace where it is. */
typedef struct {
    PyObject *names, *key, *value;
} WatchedAttribute;

/* Defaults given to a function that had none change nothing: its callers pass all arguments. */
typedef struct {
    PyObject *function, *code, *defaults, *keyword_defaults;
    int has_defaults;
} WatchedFunction;

/* items: a tuple of what it has. */
typedef struct {
    PyObject *list, *items;
} WatchedList;

/* Its slots change with its special methods, whichever class above it has them. */
typedef struct {
    PyTypeObject *type, *metatype;
    PyObject *mro;
    newfunc create;
    initproc init;
    getattrofunc get;
    setattrofunc set;
    destructor finalize;
} WatchedType;

/* All references are its owner's. */
typedef struct {
    uint64_t seen;   /* count of changes at which nothing of it had changed; 0: compare */
    int called_back; /* all its dicts are watched */
    WatchedType type;
    WatchedName *names;
    WatchedName *counted; /* of modules that count what is set */
    WatchedAttribute *attributes;
    WatchedFunction *functions;
    WatchedList *lists;
    Py_ssize_t name_count, counted_count, attribute_count, function_count, list_count;
    uint64_t listed_seen;  /* as `seen`, which stays 0 where there are lists */
    uint64_t counted_seen; /* the same of `counted` */
} Watch;

static int watch_plainly; /* compare at every call: for tests, and where there is no watcher */

#if !PYTHON_HAS_GIL && defined(_MSC_VER)
#include <intrin.h>
static volatile __int64 watch_changes = 1;
static inline uint64_t watch_count(void) { return (uint64_t)watch_changes; }
static inline void watch_changed(void) { _InterlockedIncrement64(&watch_changes); }
#elif !PYTHON_HAS_GIL
#include <stdatomic.h>
static _Atomic uint64_t watch_changes = 1;
static inline uint64_t watch_count(void) { return atomic_load(&watch_changes); }
static inline void watch_changed(void) { atomic_fetch_add(&watch_changes, 1); }
#else
static uint64_t watch_changes = 1;
static inline uint64_t watch_count(void) { return watch_changes; }
static inline void watch_changed(void) { watch_changes++; }
#endif

#if PYTHON_CALLS_BACK

static int watch_dict_id = -1, watch_function_id = -1;

static inline int watch_dict_event(PyDict_WatchEvent event, PyObject *d, PyObject *key, PyObject *value) {
    (void)event, (void)d, (void)key, (void)value;
    watch_changed();
    return 0;
}

static inline int watch_function_event(PyFunction_WatchEvent event, PyFunctionObject *f, PyObject *value) {
    (void)f, (void)value;
    if (event != PyFunction_EVENT_CREATE && event != PyFunction_EVENT_DESTROY) watch_changed();
    return 0;
}

/* Whether changes are called back; asks for it the first time. No error is set. */
static inline int watch_ready(void) {
    if (watch_plainly) return 0;
    if (watch_dict_id < 0) watch_dict_id = PyDict_AddWatcher(watch_dict_event);
    if (watch_function_id < 0) watch_function_id = PyFunction_AddWatcher(watch_function_event);
    if (watch_dict_id >= 0 && watch_function_id >= 0) return 1;
    PyErr_Clear();
    return 0;
}

/* Have changes of this dict called back: 1, or 0 where that cannot be, -1 with an exception. */
static inline int watch_dict(PyObject *d) {
    if (!watch_ready()) return 0;
    return PyDict_Watch(watch_dict_id, d) < 0 ? -1 : 1;
}

#else

static inline int watch_ready(void) { return 0; }
static inline int watch_dict(PyObject *d) { return (void)d, 0; }

#endif

static inline void watch_take_type(WatchedType *w, PyTypeObject *t) {
    w->type = t;
    w->metatype = Py_TYPE(t);
    w->mro = t->tp_mro;
    w->create = t->tp_new;
    w->init = t->tp_init;
    w->get = t->tp_getattro;
    w->set = t->tp_setattro;
    w->finalize = t->tp_finalize;
}

static inline void watch_take_function(WatchedFunction *w, PyObject *f) {
    w->function = f;
    w->code = PyFunction_GET_CODE(f);
    w->defaults = PyFunction_GET_DEFAULTS(f);
    w->keyword_defaults = PyFunction_GET_KW_DEFAULTS(f);
    w->has_defaults = w->defaults || w->keyword_defaults;
}

static inline int watch_type_same(const WatchedType *w) {
    return w->type->tp_mro == w->mro && Py_TYPE(w->type) == w->metatype;
}

/* Find an entry's place again. Without a GIL another thread may change the dict meanwhile. */
static inline void watch_take_place(WatchedName *w) {
    PyObject *key, *value;
    Py_ssize_t at = 0;
    w->place = -1;
    if (!PYTHON_HAS_GIL) return;
    for (w->place = 0; PyDict_Next(w->names, &at, &key, &value); w->place = at)
        if (key == w->key) return;
    w->place = -1;
}

/* Whether an entry is as it was. Its place answers in a third of the time that its key takes. Where
 * keys came or went since, PyDict_Next gives another entry there, or none, and the key is asked. */
static inline int watch_name_same(WatchedName *w) {
    PyObject *key, *value;
    Py_ssize_t at = w->place;
    if (AMQP_LIKELY(at >= 0 && PyDict_Next(w->names, &at, &key, &value) && key == w->key && value == w->value))
        return 1;
    value = PyDict_GetItemWithError(w->names, w->key);
    if (value != w->value || (!value && PyErr_Occurred())) {
        PyErr_Clear();
        return 0;
    }
    if (value) watch_take_place(w);
    return 1;
}

static inline int watch_attribute_same(const WatchedAttribute *w, const PyTypeObject *t) {
    PyObject *found = PyObject_GetAttr((PyObject *)t, w->key);
    if (AMQP_UNLIKELY(!found)) PyErr_Clear();
    Py_XDECREF(found); /* compared alone */
    return found == w->value;
}

/* What is rare stands in no function that asks watch_same. */
#ifdef __GNUC__
#define WATCH_RARE __attribute__((noinline))
#else
#define WATCH_RARE
#endif

WATCH_RARE static int watch_counted_again(Watch *w) {
    uint64_t count = watch_count(); /* before: what changes meanwhile is seen the next time */
    for (Py_ssize_t i = 0; i < w->counted_count; i++)
        if (!watch_name_same(&w->counted[i])) return 0;
    w->counted_seen = count;
    return 1;
}

WATCH_RARE static int watch_lists_same(const Watch *w) {
    for (Py_ssize_t i = 0; i < w->list_count; i++)
        if (!python_has_items(w->lists[i].list, w->lists[i].items)) return 0;
    return 1;
}

/* Compare all of it but lists. No error is set. */
static inline int watch_compare(Watch *w) {
    const PyTypeObject *t = w->type.type;
    if (!watch_type_same(&w->type) || t->tp_new != w->type.create || t->tp_init != w->type.init ||
        t->tp_getattro != w->type.get || t->tp_setattro != w->type.set ||
        t->tp_finalize != w->type.finalize)
        return 0;
    for (Py_ssize_t i = 0; i < w->name_count; i++)
        if (!watch_name_same(&w->names[i])) return 0;
    for (Py_ssize_t i = 0; i < w->attribute_count; i++)
        if (!watch_attribute_same(&w->attributes[i], t)) return 0;
    for (Py_ssize_t i = 0; i < w->function_count; i++) {
        const WatchedFunction *each = &w->functions[i];
        if (PyFunction_GET_CODE(each->function) != each->code) return 0;
        if (each->has_defaults && (PyFunction_GET_DEFAULTS(each->function) != each->defaults ||
                                   PyFunction_GET_KW_DEFAULTS(each->function) != each->keyword_defaults))
            return 0;
    }
    return AMQP_LIKELY(w->counted_seen == watch_count()) || watch_counted_again(w);
}

WATCH_RARE static int watch_compare_again(Watch *w) {
    uint64_t count = watch_count(); /* before: what changes meanwhile is seen the next time */
    int same;
    if (w->list_count && !watch_lists_same(w)) return 0;
    if (w->list_count && w->listed_seen == count && watch_type_same(&w->type)) return 1;
    same = watch_compare(w);
    *(w->list_count ? &w->listed_seen : &w->seen) = same && w->called_back ? count : 0;
    return same;
}

/* Whether nothing changed since it was taken. */
static inline int watch_same(Watch *w) {
#if PYTHON_CALLS_BACK
    if (AMQP_LIKELY(w->seen == watch_count() && watch_type_same(&w->type))) return 1;
    return watch_compare_again(w);
#else
    return watch_compare(w) && (AMQP_LIKELY(w->list_count == 0) || watch_lists_same(w));
#endif
}

#endif
