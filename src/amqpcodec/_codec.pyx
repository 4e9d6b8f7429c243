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

include "_core/wire.pxi"
include "_core/value.pxi"
include "_gen/constants.pxi"
include "_core/errors.pxi"
include "_core/frame.pxi"
include "_core/table_check.pxi"
include "_core/table_read.pxi"
include "_core/table_write.pxi"
include "_core/table_walk.pxi"
include "_core/objects_kind.pxi"
include "_core/legacy.pxi"
include "_core/objects.pxi"
include "_core/bases.pxi"
include "_core/hot.pxi"
include "_gen/hot.pxi"
include "_core/options.pxi"
include "_core/descs.pxi"
include "_core/protocol_core.pxi"
include "_core/frame_write.pxi"
include "_core/frame_read.pxi"
include "_core/protocol.pxi"
include "_core/stream.pxi"
include "_core/messages.pxi"
include "_core/bind_profile.pxi"
include "_core/bind_class.pxi"
include "_core/bind_read.pxi"
include "_core/bind_write.pxi"
include "_core/bind_method.pxi"
include "_core/bind_codec.pxi"
include "_core/bind_pika.pxi"
include "_core/bind_pamqp.pxi"
include "_core/bind_pyamqp.pxi"
include "_core/bind_pyamqp_odd.pxi"
include "_core/bind_pyamqp_frames.pxi"
include "_core/bind_pyamqp_writer.pxi"
include "_core/bind_pyamqp_transport.pxi"
include "_core/v1_value.pxi"
include "_core/v1_errors.pxi"
include "_core/v1_check.pxi"
include "_core/v1_desc.pxi"
include "_core/v1_scan.pxi"
include "_core/v1_verify.pxi"
include "_core/v1_sections.pxi"
include "_core/v1_scalar.pxi"
include "_core/v1_usual.pxi"
include "_core/v1_read.pxi"
include "_core/v1_write_scalar.pxi"
include "_core/v1_write.pxi"
include "_core/v1_validate.pxi"
include "_core/v1_classes.pxi"
include "_core/v1_core.pxi"
include "_core/v1_frame.pxi"
include "_core/v1_stream.pxi"
include "_core/v1_message.pxi"
include "_core/v1_rules.pxi"
include "_core/v1_assemble.pxi"
include "_core/v1_api.pxi"
include "_core/bind_azure_read.pxi"
include "_core/bind_azure_scalar.pxi"
include "_core/bind_azure_write.pxi"
include "_core/bind_azure.pxi"
include "_core/json.pxi"
include "_core/arrow_stream.pxi"
include "_core/arrow.pxi"
include "_core/arrow_in.pxi"
include "_core/arrow_out.pxi"
include "_core/variant_keys.pxi"
include "_core/variant.pxi"
include "_core/columns_tables.pxi"
include "_core/columns_plan.pxi"
include "_core/columns_v1_plan.pxi"
include "_core/columns_request.pxi"
include "_core/columns_wanted.pxi"
include "_core/columns_rows.pxi"
include "_core/columns_hot_tables.pxi"
include "_core/columns_hot.pxi"
include "_core/columns_kinds.pxi"
include "_core/columns_write.pxi"
include "_core/columns_v1_json.pxi"
include "_core/columns_v1_rows.pxi"
include "_core/variant_v1.pxi"
include "_core/columns_v1_sections.pxi"
include "_core/columns_v1_hot.pxi"
include "_core/columns_v1_performative.pxi"
include "_core/columns_v1_frames.pxi"
include "_core/columns_v1_links.pxi"
include "_core/columns.pxi"
include "_core/columns_shape.pxi"
include "_core/columns_run.pxi"
include "_core/columns_v1_deliveries.pxi"
include "_core/columns_v1_messages.pxi"
include "_core/columns_messages.pxi"
include "_core/columns_decode.pxi"
include "_core/encode_input.pxi"
include "_core/encode_text.pxi"
include "_core/encode_json.pxi"
include "_core/encode_table.pxi"
include "_core/encode_plan.pxi"
include "_core/encode_fields.pxi"
include "_core/encode_rows.pxi"
include "_core/encode_steps.pxi"
include "_core/encode_look.pxi"
include "_core/encode_numbers.pxi"
include "_core/encode_write.pxi"
include "_core/encode_even.pxi"
include "_core/encode_hot.pxi"
include "_core/encode_v1_value.pxi"
include "_core/encode_v1_array.pxi"
include "_core/encode_v1_text.pxi"
include "_core/encode_v1_json.pxi"
include "_core/encode_v1_arrow.pxi"
include "_core/encode_v1_fields.pxi"
include "_core/encode_v1_message.pxi"
include "_core/encode_v1_rows.pxi"
include "_core/encode_v1_plan.pxi"
include "_core/encode.pxi"
include "_core/capture_file.pxi"
include "_core/capture_packet.pxi"
include "_core/capture_rows.pxi"
include "_core/capture_v1_look.pxi"
include "_core/capture_secrets.pxi"
include "_core/capture_stream.pxi"
include "_core/capture_versions.pxi"
include "_core/capture_messages.pxi"
include "_core/capture_v1.pxi"
include "_core/capture_frames.pxi"
include "_core/capture_tcp.pxi"
include "_core/capture_names.pxi"
include "_core/capture_state.pxi"
include "_core/capture_batch.pxi"
include "_core/capture_reader.pxi"
