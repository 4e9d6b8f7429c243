"""All peers, by name."""

from __future__ import annotations

from tests.differential import legacy, net_amqp, rabbitmq_c, tshark, v1
from tests.differential.compare import Peer


def peers() -> dict[str, Peer]:
    """Those of 0-9-1 first."""
    modules = (legacy, rabbitmq_c, net_amqp, tshark, v1)
    return {peer.name: peer for module in modules for peer in module.PEERS}
