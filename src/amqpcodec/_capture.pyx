# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, binding=False, embedsignature=True, embedsignature.format=clinic
# cython: freethreading_compatible=True, auto_pickle=False
"""Capture files to Arrow columns: packets, TCP streams, frames, messages and events.

Root of the module: directives, what it uses of others, and its files in order; no logic.
"""

cimport cython
from amqpcodec._gen.v1_constants cimport (
    ATTACH_HANDLE, ATTACH_NAME, ATTACH_ROLE, ATTACH_SND_SETTLE_MODE, ATTACH_SOURCE, ATTACH_TARGET,
    BEGIN_REMOTE_CHANNEL, CATEGORY_FIXED0, CATEGORY_VARIABLE1, CATEGORY_VARIABLE4, CLOSE_ERROR, CTOR_DESCRIBED,
    CTOR_FALSE, CTOR_LIST0, CTOR_LIST32, CTOR_LIST8, CTOR_TRUE, CTOR_ULONG0, CTOR_WIRE_TYPE, DESC_ACCEPTED,
    DESC_ATTACH, DESC_BEGIN, DESC_CLOSE, DESC_COORDINATOR, DESC_DECLARE, DESC_DECLARED, DESC_DETACH,
    DESC_DISCHARGE, DESC_DISPOSITION, DESC_END, DESC_ERROR, DESC_FLOW, DESC_MODIFIED, DESC_OPEN, DESC_REJECTED,
    DESC_RELEASED, DESC_SASL_INIT, DESC_SASL_OUTCOME, DESC_SOURCE, DESC_TARGET, DESC_TRANSACTIONAL_STATE,
    DESC_TRANSFER, DETACH_ERROR, DETACH_HANDLE, DISPOSITION_FIRST, DISPOSITION_LAST, DISPOSITION_ROLE,
    DISPOSITION_SETTLED, DISPOSITION_STATE, END_ERROR, ERROR_CONDITION, ERROR_DESCRIPTION, HEADER_DELIVERY_COUNT,
    HEADER_FIRST_ACQUIRER, OPEN_CONTAINER_ID, OPEN_HOSTNAME, OPEN_IDLE_TIME_OUT, OPEN_PROPERTIES,
    PROPERTIES_CORRELATION_ID, PROPERTIES_MESSAGE_ID, PROPERTIES_SUBJECT, PROPERTIES_TO,
    SASL_INIT_INITIAL_RESPONSE, SASL_INIT_MECHANISM, SASL_OUTCOME_CODE, SEC_AMQP_VALUE, SEC_COUNT, SEC_DATA,
    SEC_FIRST_CODE, SEC_HEADER, SEC_PROPERTIES, SOURCE_ADDRESS, SOURCE_DYNAMIC, TRANSACTIONAL_STATE_OUTCOME,
    TRANSFER_ABORTED, TRANSFER_DELIVERY_ID, TRANSFER_HANDLE, TRANSFER_MESSAGE_FORMAT, TRANSFER_MORE,
    TRANSFER_RESUME, TRANSFER_SETTLED, V1_ARRAY, V1_BINARY, V1_DESCRIBED, V1_LIST, V1_MAP, V1_MIN_MAX_FRAME,
    V1_NULL, V1_STRING, V1_SYMBOL, V1_UBYTE, V1_ULONG, V1_UNKNOWN, V1_UUID,
)
from amqpcodec._codec cimport (
    AMQP_LIKELY, AMQP_UNLIKELY, AmqpValue, Atomic, begin_cursor, Block, block_full, block_give, block_promise,
    block_reserve, block_room, Buffer, buffer_free, buffer_init, buffer_put, buffer_size, bytes_add, coarser_time,
    CONNECTION_SECURE, CONNECTION_SECURE_OK, CONNECTION_START_OK, CONNECTION_TUNE_OK, CONNECTION_UPDATE_SECRET,
    CONTENT_AWAITS_BODY, CONTENT_AWAITS_HEADER, CONTENT_BEGUN, CONTENT_COMPLETE, content_fault, content_frame,
    content_is_open, ContentMachine, ContentOutcome, copy_bytes, Cursor, DEPTH_LIMIT, Desc, ERROR, Fault, find_content,
    FOREIGN_BYTES, FOREIGN_LEAST, foreign_protocol, form_of, form_read, FRAME_BODY, FRAME_END, FRAME_HEADER,
    FRAME_HEARTBEAT, FRAME_METHOD, is_known_type, is_utf8, items_add, KIND_SIGNED, KIND_UNSIGNED, load16, load32,
    load64, MAX_FIELDS, MAX_U32, NO_MEMORY, PLAIN, pool_use, Protocol, RABBITMQ, read_arguments, read_properties,
    reading_mode, Scalar, SHAPE_LONG, SHAPE_SHORT, SHAPE_TABLE, SHAPES, Slot, slot_index, store16, store64, use_begin,
    use_end, W_CONTENT,
)
from amqpcodec._v1 cimport (
    DELIVERY_ALONE, DELIVERY_COMPLETE, DELIVERY_DROPPED, delivery_event, delivery_fault, DELIVERY_IDLE, DELIVERY_OPEN,
    delivery_step, DeliveryOutcome, DeliveryState, V1_AMQP_FRAME, v1_check, v1_check_begin, v1_content, V1_FRAME_AMQP,
    V1_FRAME_SASL, v1_inside, v1_is_silent, v1_is_unidentified, v1_is_variable, v1_known, V1_MAX_FIELDS, v1_read,
    v1_same_delivery, V1_SASL_FRAME, v1_scan_sections, v1_true, v1_verify_begin, v1_verify_fields, V1Check, V1Core,
    V1Desc, V1Types, V1Value,
)
from amqpcodec._columns cimport (
    AMQP_PREFETCH, append_bytes, append_i64, array_capsule, ArrowArray, AS_BOOL, AS_INT32, AS_INT64, AS_TEXT,
    begin_array, COL_ERROR, COL_FRAME, Column, column_grow, COLUMN_KINDS, Columns, copy_16, copy_ascii, COPY_SLACK,
    data_grow, data_promise, DecodeJob, export_column, fill_columns, find_request, frame_plan, FRAME_TYPE_NAMES,
    FramePlan, LEVEL_FRAME, LEVEL_MESSAGE, mark_rows, MAX_PROTOCOLS, new_columns, PERMISSIVE, put_table_json,
    put_text_json, Request, Schema, schema_capsule, shared_pool, StructArray, Table, table_drop, table_finish,
    table_new, type_number, unknown_column, Values,
)

from amqpcodec._facade.scalars import as_ints, as_text

pool_use(shared_pool())

include "_core/events/keyed.pxi"
include "_core/events/record.pxi"
include "_core/events/methods.pxi"
include "_core/events/entries.pxi"
include "_core/events/open.pxi"
include "_core/events/standstill.pxi"
include "_core/events/v1_open.pxi"
include "_core/events/broker.pxi"
include "_core/events/routes.pxi"
include "_core/events/tracker.pxi"
include "_core/events/channel.pxi"
include "_core/events/content.pxi"
include "_core/events/connection.pxi"
include "_core/events/v1_read.pxi"
include "_core/events/v1_session.pxi"
include "_core/events/v1_content.pxi"
include "_core/events/v1_connection.pxi"
include "_core/capture/file.pxi"
include "_core/capture/tunnel.pxi"
include "_core/capture/link.pxi"
include "_core/capture/packet.pxi"
include "_core/capture/ports.pxi"
include "_core/capture/rows.pxi"
include "_core/capture/v1_look.pxi"
include "_core/capture/secrets.pxi"
include "_core/capture/tokens.pxi"
include "_core/capture/stream.pxi"
include "_core/capture/reorder.pxi"
include "_core/capture/leaps.pxi"
include "_core/capture/versions.pxi"
include "_core/capture/open.pxi"
include "_core/capture/events.pxi"
include "_core/capture/messages.pxi"
include "_core/capture/v1.pxi"
include "_core/capture/proxy.pxi"
include "_core/capture/frames.pxi"
include "_core/capture/layers.pxi"
include "_core/capture/translated.pxi"
include "_core/capture/tcp.pxi"
include "_core/capture/fragments.pxi"
include "_core/capture/ends.pxi"
include "_core/capture/order.pxi"
include "_core/capture/names.pxi"
include "_core/capture/state_io.pxi"
include "_core/capture/event_state.pxi"
include "_core/capture/state.pxi"
include "_gen/capture_columns.pxi"
include "_gen/event_columns.pxi"
include "_core/capture/event_batch.pxi"
include "_core/capture/batch.pxi"
include "_core/capture/packets.pxi"
include "_core/capture/values.pxi"
include "_core/capture/protocols.pxi"
include "_core/capture/reader.pxi"
include "_core/capture/follow.pxi"
include "_core/capture/outline.pxi"
