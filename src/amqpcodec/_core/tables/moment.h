/* An aware UTC datetime, in the memory of an earlier one that nobody else holds any more: what a
 * loop over messages has let go is filled again, as zip() does with its tuple. */
#ifndef AMQPCODEC_MOMENT_H
#define AMQPCODEC_MOMENT_H

#include <Python.h>
#include <datetime.h>
#include "wire/text.h"

/* Whether `before` could be filled with this time of the day in `last`; it is the newest then. */
static int moment_again(LastTime *last, int hour, int minute, int second, int microsecond) {
#ifdef Py_GIL_DISABLED
    (void)last, (void)hour, (void)minute, (void)second, (void)microsecond;
    return 0;
#else
    PyObject *o = last->before;
    if (!o || Py_REFCNT(o) != 1) return 0;
    PyDateTime_DateTime *d = (PyDateTime_DateTime *)o;
    d->hashcode = -1;
    d->data[0] = (unsigned char)(last->year >> 8);
    d->data[1] = (unsigned char)last->year;
    d->data[2] = (unsigned char)last->month;
    d->data[3] = (unsigned char)last->day;
    d->data[4] = (unsigned char)hour;
    d->data[5] = (unsigned char)minute;
    d->data[6] = (unsigned char)second;
    d->data[7] = (unsigned char)(microsecond >> 16);
    d->data[8] = (unsigned char)(microsecond >> 8);
    d->data[9] = (unsigned char)microsecond;
    last->before = last->datetime;
    last->datetime = o;
    return 1;
#endif
}

#endif
