"""All peers, by name."""

from __future__ import annotations

from tests.differential import legacy, net_amqp, rabbitmq_c, tshark, v1, v1_frames
from tests.differential.compare import Peer


def peers() -> dict[str, Peer]:
    """Those of 0-9-1 first."""
    modules = (legacy, rabbitmq_c, net_amqp, tshark, v1, v1_frames)
    return {peer.name: peer for module in modules for peer in module.PEERS}
