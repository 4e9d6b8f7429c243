# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, binding=False, embedsignature=True, embedsignature.format=clinic
# cython: freethreading_compatible=True, auto_pickle=False
# What other modules, and the files of this one, use of _v1: declarations alone, in the order of its files.

include "_core/wire/python.pxd"

from amqpcodec._gen.v1_constants cimport (
    CATEGORY_ARRAY1, CATEGORY_ARRAY4, CATEGORY_COMPOUND1, CATEGORY_COMPOUND4, CATEGORY_FIXED0, CATEGORY_FIXED1,
    CATEGORY_FIXED16, CATEGORY_FIXED2, CATEGORY_FIXED4, CATEGORY_FIXED8, CATEGORY_VARIABLE1, CATEGORY_VARIABLE4,
    CTOR_DESCRIBED, CTOR_DESCRIBED_SMALLULONG, CTOR_FALSE, CTOR_INT, CTOR_LIST0, CTOR_LIST8, CTOR_MAP8, CTOR_NARROW,
    CTOR_SHORT, CTOR_SMALLULONG, CTOR_TRUE, CTOR_UINT0, CTOR_ULONG0, CTOR_VBIN8, CTOR_WIDE, CTOR_WIDTH, CTOR_WIRE_TYPE,
    TRANSFER_DELIVERY_ID, TRANSFER_DELIVERY_TAG, TRANSFER_MESSAGE_FORMAT, TRANSFER_SETTLED, V1_BINARY, V1_BOOLEAN,
    V1_BYTE, V1_DESCRIBED, V1_INT, V1_KIND, V1_LIST, V1_LONG, V1_MAP, V1_NAMES, V1_NULL, V1_STRING, V1_SYMBOL,
    V1_TIMESTAMP, V1_UBYTE, V1_UINT, V1_ULONG, V1_UNKNOWN, V1Category,
)
from amqpcodec._codec cimport (
    AMQP_LIKELY, AMQP_UNLIKELY, BAD_TRUNCATED, Buffer, buffer_commit, buffer_extend, buffer_reserve, buffer_size,
    buffer_truncate, copy_bytes, Cursor, fail, Fault, is_ascii, is_utf8, load16, load32, load64, MAX_U32, Place,
    put_byte, Scalar, ScalarKind, Step, store16, store32, store_uint, V1_BAD_CONSTRUCTOR, V1_BAD_SIZE, WireFrame,
)

include "_core/v1/value.pxd"
include "_core/v1/check.pxd"
include "_core/v1/desc.pxd"
include "_core/v1/scan.pxd"
include "_core/v1/verify.pxd"
include "_core/v1/sections.pxd"
include "_core/v1/scalar.pxd"
include "_core/v1/write_scalar.pxd"
include "_core/v1/write.pxd"
include "_core/v1/core.pxd"
include "_core/v1/delivery.pxd"
