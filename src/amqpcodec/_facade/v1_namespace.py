"""The public names of AMQP 1.0, from its lowered table."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal, TypeAlias

# First: it leads to the core, and says why where an interpreter has none.
from amqpcodec._facade.namespace import finished

from .. import _v1, v1_types
from .decoder import FRAME_MAX, MAX_OPEN, bound_decoder

__all__ = ["namespace"]

Errors: TypeAlias = Literal["strict", "frame"]
Types: TypeAlias = Literal["plain", "typed"]

#: What the core's V1Protocol offers as it is.
_FROM_PROTOCOL = (
    "BadFrame",
    "Delivery",
    "Heartbeat",
    "ProtocolHeader",
    "TYPES",
    "decode_value",
    "encode",
    "encode_into",
    "encode_message",
    "encode_value",
)

_DECODER_DOC = """Bytes of one stream in, frames out.

    Args:
        frame_max: bytes a frame may take, its head of 8 included, 0 for no limit: the
            max-frame-size that was sent to the peer. Before the first frame of type AMQP the
            limit is 512, as for everybody.
        errors: "strict" raises DecodeError at its place; "frame" yields
            BadFrame(error, raw) instead and goes on while the framing is intact.
        types: "plain" or "typed" values, as for decode_value.
        copy: False gives payloads as memoryviews of an immutable chunk.
        opened: True where the stream is joined after its open.

    ``for channel, frame in decoder.feed(chunk)``: frame is a performative with its payload, a
    SASL performative, Heartbeat or ProtocolHeader. Spec: 1.0 Part 2 §2.3.
    """

_MESSAGE_DECODER_DOC = """Bytes of one stream in, whole deliveries and all other performatives out.

    Args:
        max_message_size: bytes a delivery may have, None for no limit. Memory grows with the
            bytes that came.
        max_open: deliveries that may be open at once, on as many links, None for no limit; one
            more is a ResourceLimitError, and the decoder skips it.
        eager: read all sections of a message at once; else each on first use.
        frame_max, errors, types, copy, opened: as for Decoder.

    ``for channel, event in decoder.feed(chunk)``: event is a Delivery (its transfers joined by
    link), or any performative that is no transfer, Heartbeat or ProtocolHeader. What was aborted,
    or cut off by detach, end or close, gives no event. Spec: 1.0 Part 2 §2.6.14.
    """


def namespace(table: dict[str, Any]) -> dict[str, Any]:
    """Every public name of ``amqpcodec.v1_0``."""
    protocol = _v1.V1Protocol(table)
    headers = {name: b"AMQP" + bytes(code) for name, code in table["headers"].items()}
    names: dict[str, Any] = {
        "VERSION": table["version"],
        "PROTOCOL": protocol,
        "decode": _v1.decode_function(protocol),
        "PROTOCOL_HEADER": headers["AMQP"],
        "SASL_HEADER": headers["SASL"],
        "TLS_HEADER": headers["TLS"],
        "Composite": _v1.Composite,
        "Message": _v1.Message,
        "required_annotations": _v1.required_annotations,
    }
    names.update({name: getattr(v1_types, name) for name in v1_types.__all__})
    names.update(_decoder_classes(protocol))
    names.update(protocol.classes)
    return finished(names, protocol, _FROM_PROTOCOL, table)


def _decoder_classes(protocol: _v1.V1Protocol) -> dict[str, type]:
    """Decoder and MessageDecoder, bound to the protocol."""

    def decoder_init(
        self: Any,
        frame_max: int = FRAME_MAX,
        *,
        errors: Errors = "strict",
        types: Types = "plain",
        copy: bool = True,
        opened: bool = False,
    ) -> None:
        _v1.V1Decoder.__init__(
            self, protocol, frame_max, errors=errors, types=types, copy=copy, opened=opened
        )

    def message_decoder_init(
        self: Any,
        frame_max: int = FRAME_MAX,
        max_message_size: int | None = None,
        *,
        max_open: int | None = MAX_OPEN,
        errors: Errors = "strict",
        types: Types = "plain",
        copy: bool = True,
        opened: bool = False,
        eager: bool = False,
    ) -> None:
        _v1.V1MessageDecoder.__init__(
            self,
            protocol,
            frame_max,
            max_message_size,
            max_open=max_open,
            errors=errors,
            types=types,
            copy=copy,
            opened=opened,
            eager=eager,
        )

    bound = partial(bound_decoder, protocol.module)
    return {
        "Decoder": bound("Decoder", _v1.V1Decoder, decoder_init, _DECODER_DOC),
        "MessageDecoder": bound(
            "MessageDecoder", _v1.V1MessageDecoder, message_decoder_init, _MESSAGE_DECODER_DOC
        ),
    }
