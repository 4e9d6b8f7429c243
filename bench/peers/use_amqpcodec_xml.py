"""amqpcodec with 0-9-1 loaded from its XML at run time."""

from bench.peers.versions import loaded, peer
from bench.work import Absent

try:
    import amqpcodec  # noqa: F401
except ImportError as error:
    raise Absent(f"amqpcodec is not importable: {error}") from error

PEER = peer("amqpcodec-xml", loaded())
