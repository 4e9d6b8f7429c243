"""What both ends of a handshake do with the limits, and once the connection is open."""

from __future__ import annotations

from ._channel import StateOfConnection
from .events import ConnectionOpened

__all__ = ["check_tune", "lowest", "opened", "tuned"]


def lowest(mine: int, theirs: int) -> int:
    """The lower of two limits, where 0 stands for none."""
    return min(mine, theirs) if mine and theirs else mine or theirs


def check_tune(connection: StateOfConnection, name: str) -> None:
    """Refuse limits that do not fit into connection.tune or tune-ok, which name says.

    Raises:
        EncodeError: names the method and the field.
    """
    limits = {"channel_max": connection.channel_max, "frame_max": connection.frame_max}
    method = connection.model.make(name, heartbeat=connection.wanted_heartbeat or 0, **limits)
    connection.encode(0, method)


def tuned(connection: StateOfConnection, channel_max: int, frame_max: int, heartbeat: int) -> None:
    """Take over what was agreed."""
    connection.channel_max = channel_max
    connection.frame_max = frame_max
    connection.heartbeat = heartbeat
    connection.decoder.frame_max = frame_max
    connection.beats.interval = heartbeat


def opened(connection: StateOfConnection, virtual_host: str) -> ConnectionOpened:
    """The handshake is over; the event that says so."""
    connection.virtual_host = virtual_host
    connection.stage = "opened"
    connection.is_open = True
    return ConnectionOpened(
        virtual_host=virtual_host,
        peer_properties=connection.peer_properties,
        channel_max=connection.channel_max,
        frame_max=connection.frame_max,
        heartbeat=connection.heartbeat,
    )
