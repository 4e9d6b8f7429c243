"""One module a codec; `ALL` names them in the order of the table."""

from functools import cache
from importlib import import_module

from bench.work import Absent, Peer

OURS = "amqpcodec"
ALL = (OURS, "pamqp", "pika", "py-amqp", "msgspec", "rabbitmq-c", "memcpy")


@cache
def _load(name: str) -> Peer | Absent:
    try:
        module = import_module(f"bench.peers.use_{name.replace('-', '_')}")
        peer: Peer = module.PEER()
    except (Absent, ImportError) as error:
        return Absent(str(error))
    return peer


def get(name: str) -> Peer:
    """The peer of this name; Absent with the reason if it cannot be used here."""
    peer = _load(name)
    if isinstance(peer, Absent):
        raise Absent(str(peer))
    return peer
