# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, binding=False, embedsignature=True, embedsignature.format=clinic
# cython: freethreading_compatible=True, auto_pickle=False
"""Other clients' objects of AMQP 0-9-1: pamqp, pika, py-amqp.

Root of the module: directives, what it uses of others, and its files in order; no logic.
"""

cimport cython
from cpython.datetime cimport datetime_tzinfo, datetime_year, import_datetime
from amqpcodec._codec cimport (
    AMQP_LIKELY, AMQP_UNLIKELY, ascii_bytes, begin_cursor, Buffer, buffer_bytes, buffer_extend, buffer_free,
    buffer_init, buffer_size, check_items, check_pairs, check_value, content_awaits, CONTENT_BODY, CONTENT_COMPLETE,
    CONTENT_EMPTY_HEADER, CONTENT_HEADER, CONTENT_LAST_BODY, CONTENT_OPENING, content_step, ContentEvent,
    ContentMachine, copy_bytes, Cursor, Datetime, Decimal, DEPTH_LIMIT, Desc, DescTable, double_to_bits, EPOCH,
    exact_small, exact_u64, Fault, FIELD_CACHED, find_content, float_to_bits, Form, FORM_boolean, FORM_bytes32,
    FORM_decimal, FORM_double, FORM_float, FORM_int16, FORM_int32, FORM_int64, FORM_int8, form_of, form_read,
    FORM_text32, FORM_text8, FORM_timestamp, FORM_uint16, FORM_uint32, FORM_uint64, FORM_uint8, FORM_void, FORMS,
    FRAME_BODY, FRAME_END, FRAME_HEADER, FRAME_HEARTBEAT, FRAME_METHOD, INT_LIMITS, is_known_type, is_utf8,
    KIND_UNSIGNED, LAST_SECOND, load16, load32, load64, make_timestamp, MAX_FIELDS, MAX_U32, ONE_SHOT_CACHE, Op, owned,
    put_byte, put_bytes, put_int, put_tagged, Py_TYPE, Scalar, scalar_object, SECOND, seconds_of_datetime, set_frame,
    SHAPE_ARRAY, SHAPE_SHORT, SHAPE_TABLE, SHAPE_UNKNOWN, SHAPES, SHORT_VALUE, slot_index, STACK_ROOM, store16, store32,
    store64, store_envelope, store_uint, TAG_ARRAY, tag_of, TAG_TABLE, text_new, text_of_utf8, TextCache, UTC,
    utf8_bytes, value_bytes, W_BIT, W_LONG, W_LONGLONG, W_LONGSTR, W_OCTET, W_SHORT, W_SHORTSTR, W_TABLE, W_TIMESTAMP,
    WireFrame,
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
