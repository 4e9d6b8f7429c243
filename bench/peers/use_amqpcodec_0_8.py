"""amqpcodec.v0_8."""

from bench.peers.versions import peer
from bench.work import Absent

try:
    from amqpcodec import v0_8
except ImportError as error:
    raise Absent(f"amqpcodec is not importable: {error}") from error

PEER = peer("amqpcodec-0-8", v0_8)
