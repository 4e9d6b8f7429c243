# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, binding=False, embedsignature=True, embedsignature.format=clinic
# cython: freethreading_compatible=True, auto_pickle=False
"""Other clients' objects of AMQP 0-9-1: pamqp, pika, py-amqp.

Root of the module: directives, what it uses of others, and its files in order; no logic.
"""

cimport cython
from cpython.datetime cimport datetime_new, datetime_tzinfo, datetime_year, import_datetime
from amqpcodec._codec cimport (
    AMQP_LIKELY, AMQP_UNLIKELY, ascii_bytes, begin_cursor, bits_to_double, bits_to_float, Buffer, buffer_bytes,
    buffer_extend, buffer_free, buffer_init, buffer_size, check_pairs, check_value, content_awaits, CONTENT_BODY,
    CONTENT_COMPLETE, CONTENT_EMPTY_HEADER, CONTENT_HEADER, CONTENT_LAST_BODY, CONTENT_OPENING, content_step,
    ContentEvent, ContentMachine, copy_bytes, Cursor, date_from_day, Datetime, Decimal, DEPTH_LIMIT, Desc, DescTable,
    double_to_bits, EPOCH_DAY, exact_small, exact_u64, Fault, FIELD_CACHED, find_content, float_to_bits, FRAME_BODY,
    FRAME_END, FRAME_HEADER, FRAME_HEARTBEAT, FRAME_METHOD, INT_LIMITS, is_known_type, is_utf8, LAST_SECOND, load16,
    load32, load64, make_timestamp, MAX_FIELDS, MAX_U32, ONE_SHOT_CACHE, Op, owned, put_byte, put_bytes, store_envelope,
    put_int, Py_TYPE, seconds_of_datetime, set_frame, SHAPE_ARRAY, SHAPE_LONG, SHAPE_SHORT, SHAPE_TABLE, SHAPE_UNKNOWN,
    SHORT_VALUE, slot_index, STACK_ROOM, store16, store32, store64, store_uint, text_new, text_of_utf8, TextCache, UTC,
    utf8_bytes, W_BIT, W_LONG, W_LONGLONG, W_LONGSTR, W_OCTET, W_SHORT, W_SHORTSTR, W_TABLE, W_TIMESTAMP, WireFrame,
)

import datetime as _datetime
from amqpcodec import types as _types

import_datetime()

include "_core/dropins/profile.pxi"
include "_core/dropins/class.pxi"
include "_core/dropins/read.pxi"
include "_core/dropins/write.pxi"
include "_core/dropins/method.pxi"
include "_core/dropins/codec.pxi"
include "_core/dropins/pika.pxi"
include "_core/dropins/pamqp.pxi"
include "_core/dropins/pyamqp.pxi"
include "_core/dropins/pyamqp_fallback.pxi"
include "_core/dropins/pyamqp_frames.pxi"
include "_core/dropins/pyamqp_writer.pxi"
include "_core/dropins/pyamqp_transport.pxi"
