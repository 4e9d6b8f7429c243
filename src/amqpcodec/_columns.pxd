# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, binding=False, embedsignature=True, embedsignature.format=clinic
# cython: freethreading_compatible=True, auto_pickle=False
# What other modules, and the files of this one, use of _columns: declarations alone, in the order of its files.

include "_core/wire/python.pxd"

cimport cython
from amqpcodec._gen.v1_constants cimport (
    CTOR_VBIN32, TRANSFER_DELIVERY_ID, TRANSFER_DELIVERY_TAG, V1_BOOLEAN, V1_NULL,
)
from amqpcodec._codec cimport (
    AMQP_LIKELY, AMQP_UNLIKELY, AmqpValue, Atomic, Block, block_promise, Buffer, ContentMachine, Cursor, Desc, Fault,
    load32, MAX_FIELDS, NO_MEMORY, Numbered, Pool, Slot,
)
from amqpcodec._v1 cimport V1_MAX_FIELDS, V1Types, V1Value

include "_core/columns/arrow_stream.pxd"
include "_core/columns/arrow.pxd"
include "_core/columns/arrow_in.pxd"
include "_core/columns/source.pxd"
include "_core/columns/arrow_out.pxd"
include "_core/columns/json.pxd"
include "_core/columns/variant_keys.pxd"
include "_gen/named_columns.pxd"
include "_core/columns/plan.pxd"
include "_core/columns/append.pxd"
include "_core/columns/json_tables.pxd"
include "_core/columns/rows.pxd"
include "_core/columns/v1_json.pxd"
include "_core/columns/request.pxd"
include "_core/columns/decode.pxd"
