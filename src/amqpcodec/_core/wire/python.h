/* What differs between the versions of CPython that CI builds: 3.11 to 3.14, with and without the GIL.
 *
 * The one file that asks for PY_VERSION_HEX or Py_GIL_DISABLED; tests/layers/test_public_interfaces.py
 * keeps it so. Each item says why it is here and for which versions. All of them use interfaces that
 * Python's C API manual documents. */
#ifndef AMQPCODEC_PYTHON_H
#define AMQPCODEC_PYTHON_H

#include <Python.h>
#include <stdint.h>
#include <string.h>

/* Free lists, reused tuples and caches that all one-shot calls share need no lock where the GIL holds
 * one thread at a time. 0: 3.13t and 3.14t, where none of them is built. */
#ifdef Py_GIL_DISABLED
#define PYTHON_HAS_GIL 0
#else
#define PYTHON_HAS_GIL 1
#endif

/* References to None that fields hold. From 3.12 on None is immortal, as the manual says (PEP 683), and
 * nobody counts them; in 3.11 they are counted as any other. */
#if PY_VERSION_HEX >= 0x030C0000
#define PYTHON_NEW_NONE() Py_None
#define PYTHON_DROP_NONE() (void)0
#else
#define PYTHON_NEW_NONE() Py_NewRef(Py_None)
#define PYTHON_DROP_NONE() Py_DECREF(Py_None)
#endif

/* A field that is filled in on first use, and its owner's lock. 3.13 brought critical sections (which
 * do nothing where there is a GIL); before it there was always a GIL. */
#if PY_VERSION_HEX >= 0x030D0000
#define PYTHON_LOCK(o) Py_BEGIN_CRITICAL_SECTION(o)
#define PYTHON_UNLOCK() Py_END_CRITICAL_SECTION()
#else
#define PYTHON_LOCK(o) {
#define PYTHON_UNLOCK() }
#endif

/* One for each thread: of C11, which MSVC spells otherwise. For every version. */
#ifdef _MSC_VER
#define PYTHON_THREAD_LOCAL __declspec(thread)
#else
#define PYTHON_THREAD_LOCAL _Thread_local
#endif

/* A level of C code that calls itself. 3.12 brought a limit of its own for those; in 3.11 they would be
 * taken from the frames that Python code may have. -1 with a RecursionError where there is no more. */
#if PY_VERSION_HEX >= 0x030C0000
#define PYTHON_ENTER_LEVEL(where) Py_EnterRecursiveCall(where)
#define PYTHON_LEAVE_LEVEL() Py_LeaveRecursiveCall()
#else
#define PYTHON_ENTER_LEVEL(where) 0
#define PYTHON_LEAVE_LEVEL() ((void)0)
#endif

/* The value of an exact int of about a machine word; 0 where it is larger. 3.12 brought a way to read a
 * small int in place; 3.11 has a function for it. No exception is set. */
static inline int python_word(PyObject *o, long long *out) {
#if PY_VERSION_HEX >= 0x030C0000
    if (!PyUnstable_Long_IsCompact((PyLongObject *)o)) return 0;
    *out = PyUnstable_Long_CompactValue((PyLongObject *)o);
    return 1;
#else
    int overflow;
    *out = PyLong_AsLongAndOverflow(o, &overflow);
    return !overflow;
#endif
}

/* An int of 16 bytes in network order. Functions for ints of any width are of 3.13; before it, two
 * halves are put together. */
static inline PyObject *python_int128(const uint8_t *p) {
#if PY_VERSION_HEX >= 0x030D0000
    return PyLong_FromUnsignedNativeBytes(p, 16, Py_ASNATIVEBYTES_BIG_ENDIAN);
#else
    unsigned long long half[2] = {0, 0};
    for (int i = 0; i < 16; i++) half[i / 8] = half[i / 8] << 8 | p[i];
    PyObject *high = PyLong_FromUnsignedLongLong(half[0]);
    PyObject *low = PyLong_FromUnsignedLongLong(half[1]);
    PyObject *width = PyLong_FromLong(64);
    PyObject *shifted = high && width ? PyNumber_Lshift(high, width) : NULL;
    PyObject *number = shifted && low ? PyNumber_Or(shifted, low) : NULL;
    Py_XDECREF(high);
    Py_XDECREF(low);
    Py_XDECREF(width);
    Py_XDECREF(shifted);
    return number;
#endif
}

/* Whether the interpreter calls back when a dict or a function changes (PyDict_AddWatcher,
 * PyFunction_AddWatcher), which drop-ins use to notice a patched client: 3.12 brought both. */
#if PY_VERSION_HEX >= 0x030C0000
#define PYTHON_CALLS_BACK 1
#else
#define PYTHON_CALLS_BACK 0
#endif

/* A class's own names, the dict itself, as a new reference. 3.12 brought a function for it; before it
 * the manual names the member. */
static inline PyObject *python_namespace(PyTypeObject *t) {
#if PY_VERSION_HEX >= 0x030C0000
    return PyType_GetDict(t);
#else
    return Py_NewRef(t->tp_dict);
#endif
}

/* The exception that is set, as a new reference and no longer set; and one set again, taken over, with
 * the context that it has. 3.12 brought one object for what were three before it. */
static inline PyObject *python_take_raised(void) {
#if PY_VERSION_HEX >= 0x030C0000
    return PyErr_GetRaisedException();
#else
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    PyErr_NormalizeException(&type, &error, &traceback);
    if (traceback) PyException_SetTraceback(error, traceback);
    Py_XDECREF(type);
    Py_XDECREF(traceback);
    return error;
#endif
}

static inline void python_put_raised(PyObject *error) {
#if PY_VERSION_HEX >= 0x030C0000
    PyErr_SetRaisedException(error);
#else
    PyErr_Restore(Py_NewRef((PyObject *)Py_TYPE(error)), error, PyException_GetTraceback(error));
#endif
}

/* Whether a list has the very items of a tuple, and no others. */
static inline int python_has_items(PyObject *list, PyObject *tuple) {
    Py_ssize_t n = PyTuple_GET_SIZE(tuple);
    int same;
    PYTHON_LOCK(list)
    same = PyList_GET_SIZE(list) == n && (n == 0 || memcmp(PySequence_Fast_ITEMS(list), PySequence_Fast_ITEMS(tuple),
                                                           (size_t)n * sizeof(PyObject *)) == 0);
    PYTHON_UNLOCK()
    return same;
}

/* Whether the caller's reference is the only one. 3.14 moved this test into a function, because a
 * local variable there need not count as a reference; without the GIL nothing is reused. */
static inline int python_is_only_ours(PyObject *o) {
#if !PYTHON_HAS_GIL
    (void)o;
    return 0;
#elif PY_VERSION_HEX >= 0x030E0000
    return PyUnstable_Object_IsUniquelyReferenced(o);
#else
    return Py_REFCNT(o) == 1;
#endif
}

#endif
