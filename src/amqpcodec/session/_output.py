"""What a connection of 0-x has to send: frames in order, and how many bytes they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._state import AnyConnectionState

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["VIEW_BYTES", "drop_output", "frames_of", "queue", "queue_bytes", "queue_frames"]

#: A body of this many bytes and more is sent as it lies, others are copied into their frames.
VIEW_BYTES = 16384


def drop_output(connection: AnyConnectionState) -> None:
    """Forget what waits: nobody would read it."""
    connection.out.clear()
    connection.out_bytes = 0


def queue_bytes(connection: AnyConnectionState, raw: bytes) -> None:
    """Queue bytes as they are."""
    connection.out.append(raw)
    connection.out_bytes += len(raw)


def frames_of(
    connection: AnyConnectionState, number: int, method: Any, properties: Any, body: Buffer
) -> list[bytes | memoryview]:
    """The frames of a method, with its content if it carries one."""
    if not getattr(method, "HAS_CONTENT", False):
        return [connection.encode(number, method)]
    frame_max = connection.frame_max
    if type(body) is bytes and len(body) >= VIEW_BYTES:
        return connection.encode_parts(number, method, properties, body, frame_max)
    return [connection.encode_message(number, method, properties, body, frame_max)]


def queue_frames(connection: AnyConnectionState, frames: list[bytes | memoryview]) -> None:
    """Queue frames as they are."""
    connection.out += frames
    connection.out_bytes += sum(map(len, frames))


def queue(connection: AnyConnectionState, number: int, method: Any) -> None:
    """Queue a method that carries no content."""
    raw = connection.encode(number, method)
    connection.out.append(raw)
    connection.out_bytes += len(raw)
