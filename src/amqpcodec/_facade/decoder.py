"""Decoders without I/O: bytes in, in any chunking; frames or messages out.

The classes here are the compiled ones, bound to a protocol.
"""

from __future__ import annotations

from functools import partial
from types import GenericAlias
from typing import Any, Literal, TypeAlias

from .interpreter import _codec

__all__ = ["FRAME_MAX", "MAX_OPEN", "bound_decoder", "decoder_classes"]

#: Defaults of decoders: bytes of a frame; contents or deliveries that are open at once.
FRAME_MAX, MAX_OPEN = 131_072, 65_536

Errors: TypeAlias = Literal["strict", "frame"]
Dialect: TypeAlias = Literal["rabbitmq", "0-9-1", "0-9", "0-8"]
Tables: TypeAlias = Literal["plain", "typed"]
Trailing: TypeAlias = Literal["error", "keep"]

_DECODER_DOC = """Bytes of one stream in, frames out.

    Args:
        frame_max: bytes a frame may take, its envelope of 8 included; 0 for no limit.
            Can be set again after tune.
        max_header_frame: bytes a method or content header frame may take, likewise; 0 for no
            limit, None for 16 times frame_max. RabbitMQ sends content headers above frame_max:
            it splits bodies only. Never less than frame_max.
        errors: "strict" raises DecodeError at its place; "frame" yields
            BadFrame(error, raw) instead and goes on while the framing is intact.
        dialect: "rabbitmq" or "0-9-1", what the tags of field tables mean.
        tables: "plain" or "typed" values (amqpcodec.types).
        copy: False gives bodies as memoryviews of an immutable chunk.
        trailing: "error", or "keep" bytes after the last field of a frame.

    ``for channel, frame in decoder.feed(chunk)``: frame is a method, Header, Body,
    Heartbeat or ProtocolHeader. Spec: 0-9-1 §4.2.3.
    """

_MESSAGE_DECODER_DOC = """Bytes of one stream in, methods and whole messages out.

    Args:
        frame_max: bytes a frame may take, its envelope of 8 included; 0 for no limit.
        max_body_size: bytes a body may have, None for no limit. Memory grows with the
            bytes that came, never with those that a header announces.
        max_open: contents that may be open at once, on as many channels, None for no limit.
        max_header_frame, errors, dialect, tables, copy, trailing: as for Decoder.

    ``for channel, event in decoder.feed(chunk)``: event is a method without content,
    Message(method, properties, body), Heartbeat or ProtocolHeader.
    Frames out of order give UnexpectedFrameError (505), a body over max_body_size
    ContentTooLargeError (311), a content over max_open ResourceLimitError (506); the decoder
    skips the rest of that content. Spec: 0-9-1 §4.2.6.
    """


def decoder_classes(protocol: _codec.Protocol) -> dict[str, type]:
    """Decoder and MessageDecoder of a protocol."""

    def decoder_init(
        self: Any,
        frame_max: int = FRAME_MAX,
        *,
        errors: Errors = "strict",
        dialect: Dialect = "rabbitmq",
        tables: Tables = "plain",
        copy: bool = True,
        trailing: Trailing = "error",
        max_header_frame: int | None = None,
    ) -> None:
        _codec.Decoder.__init__(
            self,
            protocol,
            frame_max,
            errors=errors,
            dialect=dialect,
            tables=tables,
            copy=copy,
            trailing=trailing,
            max_header_frame=max_header_frame,
        )

    def message_decoder_init(
        self: Any,
        frame_max: int = FRAME_MAX,
        max_body_size: int | None = None,
        *,
        max_open: int | None = MAX_OPEN,
        errors: Errors = "strict",
        dialect: Dialect = "rabbitmq",
        tables: Tables = "plain",
        copy: bool = True,
        trailing: Trailing = "error",
        max_header_frame: int | None = None,
    ) -> None:
        _codec.MessageDecoder.__init__(
            self,
            protocol,
            frame_max,
            max_body_size,
            max_open=max_open,
            errors=errors,
            dialect=dialect,
            tables=tables,
            copy=copy,
            trailing=trailing,
            max_header_frame=max_header_frame,
        )

    bound = partial(bound_decoder, protocol.module)
    return {
        "Decoder": bound("Decoder", _codec.Decoder, decoder_init, _DECODER_DOC),
        "MessageDecoder": bound(
            "MessageDecoder", _codec.MessageDecoder, message_decoder_init, _MESSAGE_DECODER_DOC
        ),
    }


def bound_decoder(module: str, name: str, base: type, init: Any, doc: str) -> type:
    """A compiled decoder's class under the name that a protocol module gives it."""
    members = {
        "__init__": init,
        "__doc__": doc,
        "__module__": module,
        "__slots__": (),
        "__class_getitem__": classmethod(GenericAlias),
    }
    return type(name, (base,), members)
