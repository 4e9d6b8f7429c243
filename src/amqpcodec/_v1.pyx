# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, binding=False, embedsignature=True, embedsignature.format=clinic
# cython: freethreading_compatible=True, auto_pickle=False
"""AMQP 1.0: values, composites, messages and decoders.

Root of the module: directives, what it uses of others, and its files in order; no logic.
"""

cimport cython
from cpython.long cimport PyLong_Check
from cpython.number cimport PyIndex_Check
from amqpcodec._gen.v1_constants cimport (
    CTOR_BOOLEAN, CTOR_NULL, CTOR_SYM8, CTOR_UBYTE, CTOR_UUID, CTOR_VBIN32, DESC_CLOSE, DESC_DETACH, DESC_END,
    DESC_RECEIVED, DESC_TRANSFER, SEC_AMQP_SEQUENCE, SEC_AMQP_VALUE, SEC_APPLICATION_PROPERTIES, SEC_COUNT, SEC_DATA,
    SEC_DELIVERY_ANNOTATIONS, SEC_FIRST_CODE, SEC_FOOTER, SEC_HEADER, SEC_MESSAGE_ANNOTATIONS, SEC_PROPERTIES, V1_ANY,
    V1_ARRAY, V1_BINARY, V1_CHAR, V1_COMPOSITE, V1_DECIMAL128, V1_DECIMAL32, V1_DECIMAL64, V1_DOUBLE, V1_FIELD_CACHED,
    V1_FIELD_MANDATORY, V1_FIELD_MULTIPLE, V1_FIELD_SECRET, V1_FIELD_ULONG, V1_FLOAT, V1_MAP, V1_MIN_MAX_FRAME,
    V1_PLAIN, V1_STRING, V1_SYMBOL, V1_TIMESTAMP,
)
from amqpcodec._codec cimport (
    BAD_BODY_SIZE, BAD_DEPTH, BAD_FRAME_SIZE, BAD_OPEN, BAD_TRAILING, begin_cursor, bits_to_double, bits_to_float,
    buffer_bytes, buffer_ensure, buffer_free, buffer_init, bytes_of, ByteView, checked_limit, CLASS_ABSTRACT,
    class_check_type, class_describe, class_fields, class_fill, class_instance, class_metatype_object, class_new,
    class_of, CLASS_OF, class_store, class_track, class_track_for, class_use, Datetime, Decimal, DecodeError,
    DEPTH_LIMIT, double_to_bits, drop_bytes, encode_error, EncodeError, exact_small, exact_u64, fault_error,
    float_to_bits, FOREIGN_BYTES, FOREIGN_LEAST, foreign_protocol, head_size, INT_LIMITS, is_ascii, KIND_BID128,
    KIND_BID32, KIND_BID64, KIND_BOOLEAN, KIND_BYTES, KIND_CHAR, KIND_DECIMAL, KIND_DOUBLE, KIND_FLOAT, KIND_LONGSTR,
    KIND_MILLISECONDS, KIND_SECONDS, KIND_SHORTSTR, KIND_SIGNED, KIND_STRING, KIND_SYMBOL, KIND_UNSIGNED, KIND_UUID,
    KIND_VOID, make_datetime, MessageClass, MessageObject, MODE_TYPED, new_class, NO_MEMORY, OK, parse_bytes,
    parse_channel, parse_frame_max, parse_open_limit, place_begin, PLAIN, put_bytes, Py_TYPE,
    PyDateTime_DATE_GET_MICROSECOND, PyDateTime_DATE_GET_TZINFO, PyTypeObject, repr_begin, repr_end, SCAN_BAD,
    SCAN_FRAME, SCAN_MORE, SCOPE_CHANNEL, SCOPE_CONNECTION, SCOPE_FRAME, SECOND, seconds_of_datetime, short_repr,
    SHORT_VALUE, since_epoch, STACK_ROOM, store64, Stream, table_error, TextCache, told_open_limit, UTC, utf8_bytes,
    V1_BAD_COUNT, V1_BAD_DESCRIPTOR, V1_BAD_ENVELOPE, V1_BAD_FIELD, V1_BAD_FIELDS, V1_BAD_ORDER, V1_BAD_SECTION,
    V1_BAD_TEXT, V1_BAD_TYPE, V1_BAD_VALUE, ValidationError, view_of_copy,
)

from amqpcodec._codec import Frame, frame_replace
from types import MappingProxyType as _MappingProxyType
from operator import index as _index

include "_core/v1/value.pxi"
include "_core/v1/errors.pxi"
include "_core/v1/check.pxi"
include "_core/v1/desc.pxi"
include "_core/v1/scan.pxi"
include "_core/v1/verify.pxi"
include "_core/v1/sections.pxi"
include "_core/v1/scalar.pxi"
include "_core/v1/compact.pxi"
include "_core/v1/read.pxi"
include "_core/v1/write_scalar.pxi"
include "_core/v1/write.pxi"
include "_core/v1/validate.pxi"
include "_core/v1/classes.pxi"
include "_core/v1/core.pxi"
include "_core/v1/array.pxi"
include "_core/v1/frame.pxi"
include "_core/v1/stream.pxi"
include "_core/v1/message.pxi"
include "_core/v1/rules.pxi"
include "_core/v1/assemble.pxi"
include "_core/v1/api.pxi"
