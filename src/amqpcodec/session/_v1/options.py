"""The options that calls pass on to a frame: what type checkers know of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from ... import v1_0 as amqp

__all__ = [
    "AcceptOptions",
    "BeginOptions",
    "FlowOptions",
    "LinkOptions",
    "OpenOptions",
    "ReceiverOptions",
    "SenderOptions",
    "TransferOptions",
]


class _Capabilities(TypedDict, total=False):
    offered_capabilities: Sequence[str] | None
    desired_capabilities: Sequence[str] | None
    properties: Mapping[Any, Any] | None


class OpenOptions(_Capabilities, total=False):
    """Of this end's open, in place of those that the constructor was given."""

    container_id: str
    hostname: str | None
    outgoing_locales: Sequence[str] | None
    incoming_locales: Sequence[str] | None


class BeginOptions(_Capabilities, total=False):
    """Of this end's begin."""


class LinkOptions(_Capabilities, total=False):
    """Of this end's attach; `Link` says what they are."""

    snd_settle_mode: amqp.SenderSettleMode | int
    rcv_settle_mode: amqp.ReceiverSettleMode | int
    max_message_size: int | None
    initial_delivery_count: int
    unsettled: Any
    incomplete_unsettled: bool


class SenderOptions(LinkOptions, total=False):
    """Of a link that sends, or to a coordinator."""

    source: Any


class ReceiverOptions(LinkOptions, total=False):
    """Of a link that receives."""

    target: Any


class AcceptOptions(SenderOptions, ReceiverOptions, total=False):
    """Of the answer to a link of the peer: its source and target by default."""


class TransferOptions(TypedDict, total=False):
    """Of the transfers of a delivery; `Sender.send` says what they are."""

    message_format: int
    rcv_settle_mode: amqp.ReceiverSettleMode | int | None
    batchable: bool
    resume: bool


class FlowOptions(TypedDict, total=False):
    """Of a flow."""

    properties: Mapping[Any, Any] | None
