# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, binding=False, embedsignature=True, embedsignature.format=clinic
# cython: freethreading_compatible=True, auto_pickle=False
"""Arrow columns to frames, of both families.

Root of the module: directives, what it uses of others, and its files in order; no logic.
"""

cimport cython
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_IsValid
from amqpcodec._gen.v1_constants cimport (
    CTOR_DECIMAL128, CTOR_DOUBLE, CTOR_FLOAT, CTOR_NULL, CTOR_TRUE, CTOR_UINT0, CTOR_UUID, CTOR_WIRE_TYPE,
    DESC_TRANSFER, SEC_AMQP_SEQUENCE, SEC_AMQP_VALUE, SEC_APPLICATION_PROPERTIES, SEC_COUNT, SEC_DATA,
    SEC_DELIVERY_ANNOTATIONS, SEC_FIRST_CODE, SEC_FOOTER, SEC_HEADER, SEC_MESSAGE_ANNOTATIONS, SEC_PROPERTIES,
    TRANSFER_DELIVERY_ID, TRANSFER_HANDLE, TRANSFER_MESSAGE_FORMAT, TRANSFER_MORE, V1_ANY, V1_ARRAY, V1_BINARY,
    V1_BOOLEAN, V1_BYTE, V1_CHAR, V1_COMPOSITE, V1_DESCRIBED, V1_INT, V1_LIST, V1_LONG, V1_MAP, V1_MIN_MAX_FRAME,
    V1_NAMES, V1_NULL, V1_SHORT, V1_STRING, V1_SYMBOL, V1_TIMESTAMP, V1_UBYTE, V1_UINT, V1_ULONG, V1_USHORT,
)
from amqpcodec._codec cimport (
    AMQP_LIKELY, AMQP_UNLIKELY, AmqpValue, atomic_add_, BAD_VALUE, begin_cursor, Block, block_give, block_room, Buffer,
    buffer_bytes, buffer_commit, buffer_ensure, buffer_in_block, buffer_leave, buffer_put_byte, buffer_put_int,
    buffer_put_tagged, buffer_size, buffer_truncate, bytes_form, coarser_time, copy_bytes, Cursor, DEPTH_LIMIT, Desc,
    double_to_bits, EncodeError, Fault, fault_text, FAULT_TEXT_SIZE, float_to_bits, Form, FORM_boolean, FORM_decimal,
    FORM_double, FORM_float, FORM_int32, FORM_int64, form_of, form_read, FORM_text32, FORM_timestamp, FORM_uint64,
    FORM_void, FORMS, FRAME_BODY, FRAME_END, FRAME_HEADER, FRAME_METHOD, hash_name, HIGHEST_INT64, int_form, INT_LIMITS,
    is_old_tag, is_utf8, KIND_BID128, KIND_BID32, KIND_BID64, KIND_BOOLEAN, KIND_BYTES, KIND_CHAR, KIND_DECIMAL,
    KIND_DOUBLE, KIND_FLOAT, KIND_LONGSTR, KIND_MILLISECONDS, KIND_SECONDS, KIND_SHORTSTR, KIND_SIGNED, KIND_STRING,
    KIND_SYMBOL, KIND_UNSIGNED, KIND_UUID, KIND_VOID, load16, MAX_FIELDS, MAX_U32, MODE_0_8, MODE_LETTER, mode_of,
    MODE_OLD, NO_MEMORY, parse_frame_max, place_begin, place_name, pool_use, PROPERTY_ALIASES, Protocol, put_bytes,
    Scalar, ScalarKind, SHAPES, store16, store32, store64, store_envelope, store_utf8, TAG_ARRAY, tag_of, TAG_TABLE,
    tagged_bytes, values_room, W_BIT, W_CONTENT, W_LONG, W_LONGLONG, W_LONGSTR, W_OCTET, W_SHORT, W_SHORTSTR, W_TABLE,
    W_TIMESTAMP, WIRE_NAMES, WireType, write_arguments, write_properties,
)
from amqpcodec._v1 cimport (
    v1_can_hold, v1_check, V1_DESCRIPTOR_BYTES, V1_EMPTY_LIMIT, V1_FRAME_AMQP, V1_FRAME_SASL, V1_HEAD_BYTES,
    v1_is_unsigned, v1_join_items, v1_known, V1_MAX_FIELDS, V1_NO_FRAME, V1_NUMBER_BYTES, V1_SMALLEST,
    v1_store_frame_head, v1_read, V1_RUN_BYTES, V1_SASL_FRAME, v1_store_head, v1_store_number, v1_store_run,
    v1_store_size, v1_store_small_descriptor, v1_takes_number, v1_takes_symbol, V1Check, V1Core, V1Desc, V1Op, V1Types,
    V1Value,
)
from amqpcodec._columns cimport (
    any_twice, append_bytes, array_capsule, ArrowArray, ArrowArrayStream, ArrowSchema, AS_TEXT, BAD_OFFSETS,
    begin_stream, bind_source, bytes_at, Column, column_fill, COLUMN_FULL, column_grow, COPY_SLACK, data_grow,
    data_promise, export_column, FAILED, FALLS_BACK, find_value, has_twice, HAS_VALUE, IGNORED_COLUMNS, IN_BOOL,
    IN_BYTES, IN_DECIMAL, IN_DICTIONARY, IN_DOUBLE, IN_FIXED_BYTES, IN_FIXED_LIST, IN_FLOAT, IN_HALF, IN_INT16,
    IN_INT32, IN_INT64, IN_INT8, IN_LARGE_BYTES, IN_LARGE_LIST, IN_LARGE_LIST_VIEW, IN_LIST, IN_LIST_VIEW, IN_MAP,
    IN_NULL, IN_OTHER, IN_STRUCT, IN_TIME, IN_UINT16, IN_UINT32, IN_UINT64, IN_UINT8, IN_VIEW, index_at, InputType,
    is_bytes, is_integer, is_valid, items_at, KEYS_ON_STACK, mark_rows, next_array, NO_BYTES, NO_VALUE, now_present,
    read_once_32, schema_capsule, shared_pool, signed_at, Source, SOURCE_DEPTH, SourceTree, stream_capsule, Table,
    table_drop, table_finish, table_new, v1_key, v1_key_order, wanted_type,
)

pool_use(shared_pool())

include "_core/encode/input.pxi"
include "_core/encode/text.pxi"
include "_core/encode/plan.pxi"
include "_core/encode/encoder.pxi"
include "_core/encode/v1_value.pxi"
include "_core/encode/v1_array.pxi"
include "_core/encode/v1_text.pxi"
include "_core/encode/values.pxi"
include "_core/encode/json.pxi"
include "_core/encode/arrow.pxi"
include "_core/encode/fields.pxi"
include "_core/encode/rows.pxi"
include "_core/encode/steps.pxi"
include "_core/encode/survey.pxi"
include "_core/encode/numbers.pxi"
include "_core/encode/write.pxi"
include "_core/encode/fast.pxi"
include "_core/encode/v1_fields.pxi"
include "_core/encode/v1_message.pxi"
include "_core/encode/v1_rows.pxi"
include "_core/encode/v1_plan.pxi"
include "_core/encode/encode.pxi"
