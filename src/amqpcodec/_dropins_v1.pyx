# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, binding=False, embedsignature=True, embedsignature.format=clinic
# cython: freethreading_compatible=True, auto_pickle=False
"""Other clients' objects of AMQP 1.0: azure's pyamqp.

Root of the module: directives, what it uses of others, and its files in order; no logic.
"""

cimport cython
from amqpcodec._gen.v1_constants cimport (
    CTOR_ARRAY32, CTOR_ARRAY8, CTOR_BOOLEAN, CTOR_FALSE, CTOR_LIST0, CTOR_LIST32, CTOR_NULL, CTOR_TRUE, CTOR_UUID,
    CTOR_WIDTH, CTOR_WIRE_TYPE, DESC_AMQP_VALUE, DESC_DATA, SEC_FIRST_CODE, V1_ANY, V1_ARRAY, V1_BINARY, V1_BOOLEAN,
    V1_BYTE, V1_CHAR, V1_COMPOSITE, V1_DECIMAL128, V1_DECIMAL32, V1_DECIMAL64, V1_DESCRIBED, V1_DOUBLE, V1_FLOAT,
    V1_INT, V1_LIST, V1_LONG, V1_MAP, V1_NAMES, V1_NULL, V1_SHORT, V1_STRING, V1_SYMBOL, V1_TIMESTAMP, V1_UBYTE,
    V1_UINT, V1_ULONG, V1_UNKNOWN, V1_USHORT, V1_UUID, V1Type,
)
from amqpcodec._codec cimport (
    AMQP_LIKELY, AMQP_UNLIKELY, bits_to_double, Buffer, buffer_commit, buffer_free, buffer_init, buffer_reserve,
    buffer_size, Datetime, Decimal, double_to_bits, exact_small, load16, load32, load64, MAX_U32, Place, place_begin,
    put_byte, put_bytes, put_int, PyDateTime_DATE_GET_MICROSECOND, PyTypeObject, STACK_ROOM, store32, UTC, utf8_bytes,
)
from amqpcodec._v1 cimport (
    PyLong_FromLongLong, PyLong_FromUnsignedLongLong, UUID, V1_BARE, V1_EMPTY_LIMIT, v1_holds_int, v1_is_variable,
    v1_load_int, V1_NUMBER_BYTES, v1_open, v1_parse_int, v1_parse_moment, v1_put_number, v1_put_small_descriptor,
    v1_put_uuid_bytes, v1_read_uuid, V1_RUN_BYTES, V1_SMALLEST, v1_store_head, v1_store_number, v1_store_run, V1_WIDEST,
    V1Encoding,
)
from amqpcodec._dropins cimport (
    Fallbacks, Guard, not_ours, plain_u64, PyDict_GetItem, PyTuple_GET_ITEM,
)

from sys import intern as _intern

include "_core/dropins_v1/azure_read.pxi"
include "_core/dropins_v1/azure_scalar.pxi"
include "_core/dropins_v1/azure_write.pxi"
include "_core/dropins_v1/azure.pxi"
