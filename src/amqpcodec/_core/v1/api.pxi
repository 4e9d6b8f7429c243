# AMQP 1.0: the one-shot functions that amqpcodec.v1_0 offers.

cdef extern from "protocol/decode.h":
    object (*decode_plain)(object protocol, object data, Py_ssize_t offset)
    object function_of_method "decode_function"(object method)


cdef object v1_decode_bytes(object protocol, object data, Py_ssize_t offset):
    """V1Protocol.decode with all options left as they are."""
    return v1_decode_at(<V1Protocol>protocol, <const uint8_t*>PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data),
                        offset, 0, None)

decode_plain = v1_decode_bytes


def decode_function(V1Protocol protocol not None):
    """V1Protocol.decode as amqpcodec.v1_0 offers it: the same, with the shortest way to a plain call."""
    return function_of_method(protocol.decode)


@cython.final
cdef class V1Protocol(V1Core):
    """AMQP 1.0, ready to encode and decode. Made from a lowered table."""

    def __init__(self, dict table not None):
        global V1_FAMILY
        if V1_FAMILY is None:
            V1_FAMILY = self

    def encode_value(self, value, *, bint incomplete=False):
        """Encode one value as the type that its Python type stands for.

        An int is a long always, a float a double, a str a string, bytes a binary, a Decimal a
        decimal128, a datetime a timestamp in ms, a list or tuple a list, a dict a map. Other types
        by amqpcodec's own classes (Symbol, ULong, Array, ...). The encoding is the smallest.

        Args:
            incomplete: True writes composites without their mandatory fields, too.

        Raises:
            EncodeError: the value, or one inside of it, has no encoding; or a mandatory field is
                not set.

        Spec: 1.0 Part 1 §1.6.
        """
        cdef Buffer b
        cdef Place at
        cdef uint8_t memory[STACK_ROOM]
        place_begin(&at, NULL, NULL)
        buffer_init(&b, memory, STACK_ROOM)
        try:
            v1_put(&b, value, V1_INCOMPLETE if incomplete else 0, 0, &at)
            return buffer_bytes(&b)
        finally:
            buffer_free(&b)

    def decode_value(self, data, Py_ssize_t offset=0, *, types="plain"):
        """Decode the value at offset of any C-contiguous buffer.

        Args:
            types: "plain" gives Python's own types where there are any, "typed" keeps the type of
                each number (UByte ... Long, Float, Double, Decimal32/64/128, Timestamp).

        Returns:
            (value, consumed), consumed counted from offset.

        Raises:
            DecodeError: with its place, counted from the start of data.

        Spec: 1.0 Part 1.
        """
        cdef ByteView raw
        cdef uintptr_t mode = 0 if types is PLAIN else v1_reading_mode(types)
        if type(data) is bytes:
            return v1_value_at(self, <const uint8_t*>PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data),
                               offset, mode)
        PyObject_GetBuffer(data, &raw.view, PyBUF_SIMPLE)
        try:
            return v1_value_at(self, <const uint8_t*>raw.view.buf, raw.view.len, offset, mode)
        finally:
            PyBuffer_Release(&raw.view)

    def encode(self, channel, performative, payload=b"", *, bint validate=False, bint incomplete=False):
        """Encode one frame: a performative, a SASL performative, Heartbeat or ProtocolHeader.

        Args:
            payload: what a transfer carries; if there is none, the performative's own payload.
            validate: check the rules of the specification first, as performative.validate() does.
            incomplete: True writes it without its mandatory fields, too.

        Returns:
            bytes. What was decoded and not changed gives the bytes it came as.

        Raises:
            EncodeError: names the performative and field that cannot be encoded, or is mandatory
                and not set.

        Spec: 1.0 Part 2 §2.3.
        """
        cdef Buffer b
        cdef uint8_t memory[STACK_ROOM]
        buffer_init(&b, memory, STACK_ROOM)
        try:
            v1_put_frame(self, &b, parse_channel(channel), performative, payload, validate,
                         V1_INCOMPLETE if incomplete else 0)
            return buffer_bytes(&b)
        finally:
            buffer_free(&b)

    def encode_into(self, buffer, Py_ssize_t offset, channel, performative,
                    payload=b"", *, bint validate=False, bint incomplete=False):
        """Encode one frame into a writable buffer at offset; the number of bytes written.

        Raises:
            EncodeError: as encode, or the buffer is too small (it is then untouched).
        """
        cdef Py_buffer view
        cdef bytes raw = self.encode(channel, performative, payload, validate=validate,
                                     incomplete=incomplete)
        cdef Py_ssize_t n = PyBytes_GET_SIZE(raw)
        PyObject_GetBuffer(buffer, &view, PyBUF_WRITABLE | PyBUF_SIMPLE)
        try:
            if offset < 0 or offset > view.len or n > view.len - offset:
                raise EncodeError(f"the frame takes {n} bytes, the buffer has "
                                  f"{max(view.len - max(offset, 0), 0)} after offset {offset}")
            memcpy(<uint8_t*>view.buf + offset, PyBytes_AS_STRING(raw), <size_t>n)
            return n
        finally:
            PyBuffer_Release(&view)

    def encode_message(self, channel, transfer, message=None, frame_max=131072, *, bint validate=False,
                       bint incomplete=False):
        """Encode a delivery as one transfer, or as several where it does not fit one frame.

        Args:
            transfer: what the first transfer says: handle, delivery_id, delivery_tag, settled, ...;
                `more` is set as needed. Or a Delivery, as MessageDecoder gives it, and no message.
            message: a Message, the payload as any C-contiguous buffer, or None for the
                transfer's own payload.
            frame_max: bytes a frame may take, its head of 8 included (the peer's
                max-frame-size, 512 at least); 0 for no limit.
            validate, incomplete: as for encode.

        Returns:
            bytes, one frame after another.

        Raises:
            EncodeError: as encode; or frame_max is too small.

        Spec: 1.0 Part 2 §2.6.14, §2.7.5.
        """
        return v1_split(self, parse_channel(channel), transfer, message, parse_frame_max(frame_max), validate,
                        V1_INCOMPLETE if incomplete else 0)

    def decode(self, data, Py_ssize_t offset=0, *, types="plain", bint copy=True):
        """Decode the frame at offset of any C-contiguous buffer.

        Args:
            types: "plain" or "typed" values, as for decode_value.
            copy: False gives payloads as memoryviews that borrow data where it is bytes.

        Returns:
            (consumed, channel, frame), consumed counted from offset; or None while the frame is
            incomplete. frame: a performative with its payload, a SASL performative, Heartbeat or
            ProtocolHeader. An extended header goes with it, and back by encode while nothing else
            changes.

        Raises:
            DecodeError: with its place, counted from the start of data.

        Spec: 1.0 Part 2 §2.3.
        """
        cdef Py_buffer view
        cdef uintptr_t mode = 0 if types is PLAIN else v1_reading_mode(types)
        if type(data) is bytes:
            return v1_decode_at(self, <const uint8_t*>PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data),
                                offset, mode, None if copy else data)
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            return v1_decode_at(self, <const uint8_t*>view.buf, view.len, offset, mode,
                                None if copy else view_of_copy)
        finally:
            PyBuffer_Release(&view)
