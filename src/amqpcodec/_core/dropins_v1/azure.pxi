# The drop-in for azure-eventhub's and azure-servicebus's _pyamqp, and rstream's copy of it.

cdef extern from "Python.h":
    int PyByteArray_Resize(object o, Py_ssize_t n) except -1
    object PyByteArray_FromStringAndSize(const char* p, Py_ssize_t n)


@cython.final
cdef class AzureCodec(Fallbacks):
    """What `_pyamqp._encode` and `_pyamqp._decode` of one client do.

    stock: name -> the client's own function. transfer: its TransferFrame. decode, encode: guards of
    what the two rest on.
    """

    cdef AzureReading reading
    cdef AzureWriting writing
    cdef Guard decode, encode
    cdef dict stock
    cdef type transfer
    cdef public bint lenient            # as other drop-ins have it; there is nothing to be lenient with

    def __cinit__(self, AzureReading reading not None, AzureWriting writing not None,
                  dict stock not None, type transfer not None, Guard decode not None,
                  Guard encode not None):
        self.reading = reading
        self.writing = writing
        self.stock = stock
        self.transfer = transfer
        self.decode = decode
        self.encode = encode

    cdef object own(self, str name):
        """The client's own function, because the fast path fell back."""
        self.fell_back()
        return self.stock[name]

    # ---- bytes to objects ----

    def decode_frame(self, data):
        """As _decode.decode_frame: (code, fields) of a performative."""
        return self.read_buffer("decode_frame", data, data)

    def decode_payload(self, buffer):
        """As _decode.decode_payload: the Message."""
        return self.read_buffer("decode_payload", buffer, None)

    cdef object read_buffer(self, str name, object buffer, object data):
        cdef Py_buffer view
        cdef object made, refusal = None
        self.calls += 1
        if self.decode.unchanged() and azure_view(buffer, &view):
            try:
                made = self.read(&view, data)
            finally:
                PyBuffer_Release(&view)
            if not isinstance(made, Exception):
                return made
            refusal = made
        try:
            return self.own(name)(buffer)
        except RecursionError:
            # The client's own code runs within this call, so it has a frame less than without it.
            if refusal is None or isinstance(refusal, RecursionError):
                raise
            raise refusal from None

    cdef object read(self, Py_buffer* view, object data):
        """A frame (of data) or a message. An exception that is returned: the client's own code
        decides, and most likely raises the same. Where counts claim more than the bytes can hold
        the error is raised here: the client makes room first."""
        cdef AzureReader r
        r.p = <const uint8_t*>view.buf
        r.end = r.p + view.len
        r.claimed = 0
        r.empty = 0
        try:
            if data is not None:
                return azure_read_frame(self.reading, &r, data)
            return azure_read_message(self.reading, &r)
        except Exception as error:
            if r.claimed > <uint64_t>view.len:
                raise
            # Those are the client's own errors for such bytes, decimal's among them.
            if isinstance(error, (ArithmeticError, IndexError, TypeError, ValueError, _struct_error)):
                self.reason = "unusual bytes"
            else:
                self.remember(error)
            return error

    def decode_empty_frame(self, header):
        """As _decode.decode_empty_frame: (0, bytes) of a protocol header, (1, b"EMPTY")."""
        cdef Py_buffer view
        cdef const uint8_t* p
        cdef object made = None
        self.calls += 1
        if self.decode.unchanged() and azure_view(header, &view):
            p = <const uint8_t*>view.buf
            try:
                if view.len >= 4 and memcmp(p, <const char*>b"AMQP", 4) == 0:
                    made = 0, PyBytes_FromStringAndSize(<const char*>p, view.len)
                elif view.len >= 6 and p[5] == 0:
                    made = 1, b"EMPTY"
            finally:
                PyBuffer_Release(&view)
            if made is not None:
                return made
        return self.own("decode_empty_frame")(header)

    # ---- objects to bytes ----

    def encode_frame(self, frame, frame_type=b"\x00"):
        """As _encode.encode_frame: (the first six bytes, the rest without the channel)."""
        cdef Buffer b
        cdef uint8_t memory[STACK_ROOM]
        cdef uint8_t size[4]
        self.calls += 1
        if type(frame_type) is bytes and self.encode.unchanged():
            buffer_init(&b, memory, STACK_ROOM)
            try:
                if frame is not None:
                    self.put_frame(&b, frame)
                if <uint64_t>buffer_size(&b) + 8 <= MAX_U32:
                    store32(size, <uint32_t>buffer_size(&b) + 8)
                    head = PyBytes_FromStringAndSize(<const char*>size, 4) + b"\x02" + frame_type
                    if frame is None:
                        return head, None
                    return head, PyByteArray_FromStringAndSize(<const char*>b.start,
                                                               <Py_ssize_t>buffer_size(&b))
            except Exception as error:
                self.remember(error)
            finally:
                buffer_free(&b)
        return self.own("encode_frame")(frame, frame_type)

    cdef int put_frame(self, Buffer* b, object frame) except -1:
        cdef Py_buffer view
        azure_put_described(self.writing, b, frame)
        if isinstance(frame, self.transfer):
            azure_bytes(frame.payload, &view)
            try:
                put_bytes(b, view.buf, <size_t>view.len)
            finally:
                PyBuffer_Release(&view)
        return 0

    def encode_payload(self, output, payload):
        """As _encode.encode_payload: output, with the message's sections at its end."""
        cdef Buffer b
        cdef uint8_t memory[STACK_ROOM]
        cdef Py_ssize_t at, n
        self.calls += 1
        if type(output) is bytearray and self.encode.unchanged():
            buffer_init(&b, memory, STACK_ROOM)
            try:
                azure_put_message(self.writing, &b, payload)
                at = len(<bytearray>output)
                n = <Py_ssize_t>buffer_size(&b)
                PyByteArray_Resize(output, at + n)
                memcpy(PyByteArray_AS_STRING(output) + at, b.start, <size_t>n)
                return output
            except Exception as error:
                self.remember(error)
            finally:
                buffer_free(&b)
        return self.own("encode_payload")(output, payload)
