"""amqpcodec.v0_9."""

from bench.peers.versions import peer
from bench.work import Absent

try:
    from amqpcodec import v0_9
except ImportError as error:
    raise Absent(f"amqpcodec is not importable: {error}") from error

PEER = peer("amqpcodec-0-9", v0_9)
