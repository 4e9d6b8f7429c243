# One protocol version: its one-shot functions.

cdef extern from "protocol/decode.h":
    object (*decode_plain)(object protocol, object data, Py_ssize_t offset)
    object function_of_method "decode_function"(object method)


cdef object decode_bytes(object protocol, object data, Py_ssize_t offset):
    """Protocol.decode with all options left as they are."""
    return decode_at(<Protocol>protocol, <const uint8_t*>PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data),
                     offset, 0, None)

decode_plain = decode_bytes


def decode_function(Protocol protocol not None):
    """Protocol.decode as the protocol modules offer it: the same, with the shortest way to a plain call."""
    return function_of_method(protocol.decode)


@cython.final
cdef class Protocol(ProtocolCore):
    """A protocol version, ready to encode and decode. Made from a lowered table."""

    def encode(self, channel, frame, *, dialect=None, bint validate=False):
        """Encode one frame: a method, Header, Body, Heartbeat or ProtocolHeader.

        A frame that was decoded and not changed gives the bytes it came from.

        Args:
            channel: 0 to 65535; of a Heartbeat 0. A ProtocolHeader has none.
            dialect: types of field tables, "rabbitmq", "0-9-1" (the letter), "0-9" or "0-8";
                None: the protocol's own, "rabbitmq" for 0-9-1.

        Returns:
            bytes, the envelope (8 bytes) included.

        Raises:
            EncodeError: names the method and field that cannot be encoded; with
                validate=True also a ValidationError where an assert is broken.

        Spec: 0-9-1 §4.2.3.
        """
        cdef Buffer b
        cdef uint8_t memory[STACK_ROOM]
        cdef MessageClass* k = class_of(frame)
        cdef uintptr_t mode = mode_of(self, dialect)
        if k != NULL and k.what == CLASS_BODY and k.owner == <PyObject*>self:
            return encode_body(parse_channel(channel), <MessageObject*><PyObject*>frame)
        buffer_init(&b, memory, sizeof(memory))
        try:
            put_frame(self, &b, parse_channel(channel), frame, mode, validate)
            return buffer_bytes(&b)
        finally:
            buffer_free(&b)

    def encode_into(self, buffer, Py_ssize_t offset, channel, frame, *, dialect=None,
                    bint validate=False):
        """Encode one frame into a writable buffer at offset; the number of bytes written.

        Raises:
            EncodeError: as encode, or the buffer is too small (it is then untouched).
        """
        cdef Buffer b
        cdef uint8_t memory[STACK_ROOM]
        cdef Py_buffer view
        cdef Py_ssize_t n
        PyObject_GetBuffer(buffer, &view, PyBUF_WRITABLE | PyBUF_SIMPLE)
        buffer_init(&b, memory, sizeof(memory))
        try:
            put_frame(self, &b, parse_channel(channel), frame, mode_of(self, dialect), validate)
            n = <Py_ssize_t>buffer_size(&b)
            if offset < 0 or offset > view.len or n > view.len - offset:
                raise EncodeError(f"the frame takes {n} bytes, the buffer has "
                                  f"{max(view.len - max(offset, 0), 0)} after offset {offset}")
            memcpy(<uint8_t*>view.buf + offset, b.start, <size_t>n)
            return n
        finally:
            PyBuffer_Release(&view)
            buffer_free(&b)

    def encode_message(self, channel, method, properties=None, body=b"", frame_max=131072, *,
                       dialect=None, bint validate=False):
        """Encode a method with content: its method, header and body frames as one bytes.

        Args:
            method: one that carries content; or a Message, as MessageDecoder gives it, without
                properties and body.
            properties: None for none.
            body: bytes or any C-contiguous buffer.
            frame_max: bytes a frame may take, its envelope of 8 included; 0 for no limit.

        Raises:
            EncodeError: as encode; or the method carries no content, or frame_max is too
                small for the method or header frame, which cannot be split.

        Spec: 0-9-1 §4.2.6.
        """
        # The most frequent arguments are taken here, all others by the functions that name what is wrong.
        cdef int32_t number = 0, limit = 0
        if not exact_small(<PyObject*>channel, &number) or number < 0 or number > 0xFFFF:
            number = parse_channel(channel)
        if exact_small(<PyObject*>frame_max, &limit) and limit >= 0:
            return encode_content(self, number, method, properties, body, limit,
                                  mode_of(self, dialect), validate, False)
        return encode_content(self, number, method, properties, body, parse_frame_max(frame_max),
                              mode_of(self, dialect), validate, False)

    def encode_parts(self, channel, method, properties=None, body=b"", frame_max=131072, *,
                     dialect=None, bint validate=False):
        """As encode_message, but a list of buffers for writelines or sendmsg.

        The body is not copied: its pieces are memoryviews that borrow the given buffer.
        """
        return encode_content(self, parse_channel(channel), method, properties, body,
                              parse_frame_max(frame_max), mode_of(self, dialect), validate, True)

    def decode(self, data, Py_ssize_t offset=0, *, dialect="rabbitmq", tables="plain",
               bint copy=True, trailing="error"):
        """Decode the frame at offset of any C-contiguous buffer.

        Args:
            dialect: "rabbitmq" or "0-9-1", what the tags of field tables mean; all types of
                "rabbitmq" are read for "0-9" and "0-8" as well.
            tables: "plain" or "typed" values (amqpcodec.types).
            copy: False gives bodies as memoryviews that borrow data where it is bytes.
            trailing: "error", or "keep" bytes after the last field (they encode again).

        Returns:
            (consumed, channel, frame), consumed counted from offset; or None while the
            frame is incomplete.

        Raises:
            DecodeError: with its place, counted from the start of data.
        """
        cdef uintptr_t mode = 0
        cdef Py_buffer view
        if not (dialect is RABBITMQ and tables is PLAIN and trailing is ERROR):
            mode = reading_mode(dialect, tables, trailing)
        if type(data) is bytes:
            return decode_at(self, <const uint8_t*>PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data),
                             offset, mode, None if copy else data)
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            return decode_at(self, <const uint8_t*>view.buf, view.len, offset, mode,
                             None if copy else view_of_copy)
        finally:
            PyBuffer_Release(&view)

def fast_signatures(Protocol protocol not None):
    """Names of the methods and property lists that fast functions are bound to, with their class."""
    cdef int i
    cdef Desc* d
    found = {}
    for i in range(protocol.descs.count):
        d = &protocol.descs.desc[i]
        if d.read_fast != NULL:
            found[d.name.decode()] = <object>d.cls
    return found
