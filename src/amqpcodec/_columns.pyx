# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, binding=False, embedsignature=True, embedsignature.format=clinic
# cython: freethreading_compatible=True, auto_pickle=False
"""Bytes to Arrow columns, of both families: frames and messages as rows.

Root of the module: directives, what it uses of others, and its files in order; no logic.
"""

cimport cython
from amqpcodec._gen.v1_constants cimport (
    CATEGORY_COMPOUND1, CATEGORY_COMPOUND4, CTOR_DESCRIBED_SMALLULONG, CTOR_FALSE, CTOR_LAYOUT, CTOR_LIST8, CTOR_NARROW,
    CTOR_NULL, CTOR_STR8_UTF8, CTOR_SYM8, CTOR_TRUE, CTOR_VBIN8, CTOR_WIDTH, CTOR_WIRE_TYPE, DESC_CLOSE, DESC_DETACH,
    DESC_END, DESC_HEADER, DESC_PROPERTIES, DESC_RECEIVED, DESC_TRANSFER, DETACH_HANDLE, HEADER_FIELDS, LAYOUT_TEXT,
    LAYOUT_WIDEST, PROPERTIES_FIELDS, SEC_AMQP_SEQUENCE, SEC_AMQP_VALUE, SEC_APPLICATION_PROPERTIES, SEC_COUNT,
    SEC_DATA, SEC_DELIVERY_ANNOTATIONS, SEC_FIRST_CODE, SEC_FOOTER, SEC_HEADER, SEC_MESSAGE_ANNOTATIONS, SEC_PROPERTIES,
    TRANSFER_ABORTED, TRANSFER_HANDLE, TRANSFER_MESSAGE_FORMAT, TRANSFER_MORE, TRANSFER_RESUME, TRANSFER_SETTLED,
    TRANSFER_STATE, V1_ANY, V1_ARRAY, V1_BINARY, V1_BYTE, V1_CHAR, V1_COMPOSITE, V1_DECIMAL128, V1_DECIMAL32,
    V1_DECIMAL64, V1_DESCRIBED, V1_DOUBLE, V1_FLOAT, V1_INT, V1_LIST, V1_LONG, V1_MAP, V1_NAMES, V1_SHORT, V1_STRING,
    V1_SYMBOL, V1_TIMESTAMP, V1_UBYTE, V1_UINT, V1_ULONG, V1_UNKNOWN, V1_USHORT, V1_UUID,
)
from amqpcodec._codec cimport (
    atomic_add_, atomic_get_, atomic_set_, BAD_CAPTURE, BAD_CHANNEL, BAD_COLUMN, BAD_DIGITS, BAD_HEADER_CLASS,
    BAD_HEARTBEAT, BAD_INCOMPLETE, BAD_METHOD, BAD_ORDER, BAD_RANGE, BAD_TEXT, BAD_TRAILING, BAD_TRUNCATED,
    begin_cursor, bits_to_double, bits_to_float, block_check, block_give, block_reserve, block_room, buffer_commit,
    buffer_ensure, buffer_in_block, buffer_put, buffer_put_byte, buffer_size, buffer_truncate, bytes_add, check_pairs,
    check_value, CONTENT_ALONE, CONTENT_BEGUN, CONTENT_COMPLETE, content_fault, content_frame, ContentOutcome,
    copy_bytes, DescTable, double_to_bits, ERROR, fail, fault_error, FAULT_KINDS, fault_text, FAULT_TEXT_SIZE,
    FIELD_RESERVED, Form, form_of, form_read, FRAME_BODY, FRAME_END, FRAME_HEADER, FRAME_HEARTBEAT, FRAME_METHOD,
    HIGHEST_INT64, is_ascii, is_known_type, is_utf8, items_add, KIND_BID128, KIND_BID32, KIND_BID64, KIND_BOOLEAN,
    KIND_BYTES, KIND_CHAR, KIND_DECIMAL, KIND_DOUBLE, KIND_FLOAT, KIND_LONGSTR, KIND_MILLISECONDS, KIND_SECONDS,
    KIND_SHORTSTR, KIND_SIGNED, KIND_STRING, KIND_SYMBOL, KIND_UNSIGNED, KIND_UUID, KIND_VOID, load16, load64, MAX_U32,
    MODE_LETTER, numbered_free, numbered_new, OK, Op, place_begin, place_fault, PLAIN, pool_bytes, pool_clear,
    pool_place, pool_set_limit, PROPERTY_ALIASES, Protocol, read_arguments, read_one, read_properties, reading_mode,
    Scalar, ScalarKind, SCAN_BAD, SCAN_FRAME, scan_frame, SCAN_MORE, SCOPE_CHANNEL, SCOPE_CONNECTION, SCOPE_FRAME,
    SHAPE_ARRAY, SHAPE_SHORT, SHAPE_TABLE, SHAPE_UNKNOWN, SHAPES, SIGNED_RANGE, slot_index, sort_items, store32,
    store64, store_utf8, us_from_ms, us_from_seconds, V1_BAD_FIELD, V1_BAD_ORDER, value_bytes, W_BIT, W_CONTENT, W_LONG,
    W_LONGLONG, W_LONGSTR, W_OCTET, W_SHORT, W_SHORTSTR, W_TABLE, W_TIMESTAMP, WIRE_NAMES, WireFrame,
)
from amqpcodec._facade.scalars import as_text
from amqpcodec._v1 cimport (
    DELIVERY_ALONE, DELIVERY_BEGUN, DELIVERY_COMPLETE, DELIVERY_CUT, DELIVERY_DROPPED, delivery_event, delivery_fault,
    DELIVERY_IDLE, DELIVERY_IGNORED, DELIVERY_ON_DISCARD, DELIVERY_ON_ENDED, DELIVERY_OPEN, DELIVERY_SKIPS,
    delivery_step, DeliveryOutcome, DeliveryState, V1_AMQP_FRAME, v1_as_scalar, v1_bad_descriptor, v1_can_hold,
    v1_check, v1_check_begin, v1_check_restricted, v1_content, V1_FRAME_AMQP, V1_FRAME_HEADER, V1_FRAME_SASL, v1_inside,
    v1_is_empty_composite, v1_is_number, v1_is_short, v1_is_silent, v1_is_unidentified, v1_is_unsigned, v1_is_variable,
    v1_known, V1_NO_FRAME, v1_read, v1_same_delivery, V1_SASL_FRAME, v1_scan, v1_scan_sections, v1_skip_described,
    v1_true, v1_verify_begin, v1_verify_field, v1_verify_fields, V1Check, V1Core, V1Desc, V1Op,
)

include "_core/columns/arrow_stream.pxi"
include "_core/columns/arrow.pxi"
include "_core/columns/arrow_in.pxi"
include "_core/columns/source.pxi"
include "_core/columns/gather.pxi"
include "_core/columns/arrow_out.pxi"
include "_core/columns/json.pxi"
include "_core/columns/variant_keys.pxi"
include "_core/columns/variant.pxi"
include "_gen/named_columns.pxi"
include "_core/columns/plan.pxi"
include "_core/columns/append.pxi"
include "_core/columns/write.pxi"
include "_core/columns/find.pxi"
include "_core/columns/scalars.pxi"
include "_core/columns/legacy_plan.pxi"
include "_core/columns/json_tables.pxi"
include "_core/columns/variant_tables.pxi"
include "_core/columns/tables.pxi"
include "_core/columns/wanted.pxi"
include "_core/columns/rows.pxi"
include "_core/columns/fast_tables.pxi"
include "_core/columns/fast.pxi"
include "_core/columns/frames.pxi"
include "_core/columns/run_fields.pxi"
include "_gen/columns.pxi"
include "_core/columns/run.pxi"
include "_core/columns/messages.pxi"
include "_core/columns/v1_plan.pxi"
include "_core/columns/v1_json.pxi"
include "_core/columns/v1_rows.pxi"
include "_core/columns/variant_v1.pxi"
include "_core/columns/v1_sections.pxi"
include "_core/columns/v1_fast.pxi"
include "_core/columns/v1_performative.pxi"
include "_core/columns/v1_frames.pxi"
include "_core/columns/v1_links.pxi"
include "_core/columns/v1_deliveries.pxi"
include "_core/columns/v1_messages.pxi"
include "_core/columns/conversations.pxi"
include "_core/columns/request.pxi"
include "_core/columns/driver.pxi"
include "_core/columns/decode.pxi"
include "_gen/column_samples.pxi"
include "_core/columns/samples.pxi"
