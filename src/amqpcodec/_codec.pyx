# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, binding=False, embedsignature=True, embedsignature.format=clinic
# cython: freethreading_compatible=True, auto_pickle=False
"""The compiled core. Root of the one extension module: directives and includes, in order, no logic.

Each file includes nothing and uses only what stands above it: wire, value, frame, tables, legacy,
objects, protocol, decoders, columns. What users call is re-exported by amqpcodec's modules.
"""

cimport cython
from cpython.buffer cimport (PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer)
from cpython.bytearray cimport PyByteArray_AS_STRING
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_Next, PyDict_SetItem
from cpython.ref cimport PyObject
from cpython.unicode cimport PyUnicode_AsEncodedString
from amqpcodec._gen.v1_constants cimport *

cdef extern from "Python.h":
    PyObject* Py_True
    PyObject* Py_False
    PyObject* Py_None
    PyObject* Py_NewRef(PyObject* o)
    void Py_DecRef "Py_DECREF"(PyObject* o)
    void Py_XDecRef "Py_XDECREF"(PyObject* o)
    PyObject* PyLong_FromU64 "PyLong_FromUnsignedLongLong"(unsigned long long v)
    PyObject* PyBytes_FromOctets "PyBytes_FromStringAndSize"(const char* p, Py_ssize_t n)
    void PyErr_Clear()
    void PyErr_SetObject(PyObject* kind, PyObject* value)
    Py_ssize_t PyDict_GET_SIZE(object o)
    object PyUnicode_FromStringAndSize(const char* s, Py_ssize_t n)
    double PyFloat_AS_DOUBLE(object o)
    long long PyLong_AsLongLongAndOverflow(object o, int* overflow) except? -1

include "_core/wire/wire.pxi"
include "_core/wire/value.pxi"
include "_gen/constants.pxi"
include "_core/wire/errors.pxi"
include "_core/wire/frame.pxi"
include "_core/tables/check.pxi"
include "_core/tables/read.pxi"
include "_core/tables/write.pxi"
include "_core/tables/walk.pxi"
include "_core/objects/kind.pxi"
include "_core/objects/legacy.pxi"
include "_core/objects/objects.pxi"
include "_core/objects/bases.pxi"
include "_core/objects/hot.pxi"
include "_gen/hot.pxi"
include "_core/protocol/options.pxi"
include "_core/protocol/descs.pxi"
include "_core/protocol/core.pxi"
include "_core/protocol/frame_write.pxi"
include "_core/protocol/frame_read.pxi"
include "_core/protocol/protocol.pxi"
include "_core/protocol/stream.pxi"
include "_core/protocol/messages.pxi"
include "_core/dropins/profile.pxi"
include "_core/dropins/class.pxi"
include "_core/dropins/read.pxi"
include "_core/dropins/write.pxi"
include "_core/dropins/method.pxi"
include "_core/dropins/codec.pxi"
include "_core/dropins/pika.pxi"
include "_core/dropins/pamqp.pxi"
include "_core/dropins/pyamqp.pxi"
include "_core/dropins/pyamqp_odd.pxi"
include "_core/dropins/pyamqp_frames.pxi"
include "_core/dropins/pyamqp_writer.pxi"
include "_core/dropins/pyamqp_transport.pxi"
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
include "_core/v1/frame.pxi"
include "_core/v1/stream.pxi"
include "_core/v1/message.pxi"
include "_core/v1/rules.pxi"
include "_core/v1/assemble.pxi"
include "_core/v1/api.pxi"
include "_core/dropins_v1/azure_read.pxi"
include "_core/dropins_v1/azure_scalar.pxi"
include "_core/dropins_v1/azure_write.pxi"
include "_core/dropins_v1/azure.pxi"
include "_core/columns/arrow_stream.pxi"
include "_core/columns/arrow.pxi"
include "_core/columns/arrow_in.pxi"
include "_core/columns/arrow_out.pxi"
include "_core/columns/json.pxi"
include "_core/columns/variant_keys.pxi"
include "_core/columns/variant.pxi"
include "_core/columns/plan.pxi"
include "_core/columns/append.pxi"
include "_core/columns/write.pxi"
include "_core/columns/legacy_plan.pxi"
include "_core/columns/json_tables.pxi"
include "_core/columns/variant_tables.pxi"
include "_core/columns/tables.pxi"
include "_core/columns/wanted.pxi"
include "_core/columns/rows.pxi"
include "_core/columns/hot_tables.pxi"
include "_core/columns/hot.pxi"
include "_core/columns/frames.pxi"
include "_core/columns/run.pxi"
include "_core/columns/messages.pxi"
include "_core/columns/v1_plan.pxi"
include "_core/columns/v1_json.pxi"
include "_core/columns/v1_rows.pxi"
include "_core/columns/variant_v1.pxi"
include "_core/columns/v1_sections.pxi"
include "_core/columns/v1_hot.pxi"
include "_core/columns/v1_performative.pxi"
include "_core/columns/v1_frames.pxi"
include "_core/columns/v1_links.pxi"
include "_core/columns/v1_deliveries.pxi"
include "_core/columns/v1_messages.pxi"
include "_core/columns/request.pxi"
include "_core/columns/driver.pxi"
include "_core/columns/decode.pxi"
include "_core/encode/input.pxi"
include "_core/encode/text.pxi"
include "_core/encode/json.pxi"
include "_core/encode/table.pxi"
include "_core/encode/plan.pxi"
include "_core/encode/encoder.pxi"
include "_core/encode/fields.pxi"
include "_core/encode/rows.pxi"
include "_core/encode/steps.pxi"
include "_core/encode/look.pxi"
include "_core/encode/numbers.pxi"
include "_core/encode/write.pxi"
include "_core/encode/hot.pxi"
include "_core/encode/v1_value.pxi"
include "_core/encode/v1_array.pxi"
include "_core/encode/v1_text.pxi"
include "_core/encode/v1_json.pxi"
include "_core/encode/v1_arrow.pxi"
include "_core/encode/v1_fields.pxi"
include "_core/encode/v1_message.pxi"
include "_core/encode/v1_rows.pxi"
include "_core/encode/v1_plan.pxi"
include "_core/encode/encode.pxi"
include "_core/capture/file.pxi"
include "_core/capture/packet.pxi"
include "_core/capture/rows.pxi"
include "_core/capture/v1_look.pxi"
include "_core/capture/secrets.pxi"
include "_core/capture/stream.pxi"
include "_core/capture/versions.pxi"
include "_core/capture/messages.pxi"
include "_core/capture/v1.pxi"
include "_core/capture/frames.pxi"
include "_core/capture/tcp.pxi"
include "_core/capture/names.pxi"
include "_core/capture/state.pxi"
include "_core/capture/batch.pxi"
include "_core/capture/reader.pxi"
