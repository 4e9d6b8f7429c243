"""A program that uses 0-8 and 0-9, with the types of what it gets: the build writes their stubs.

It must pass mypy --strict and pyright with the installed wheel, and it must run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_type

from amqpcodec import v0_8, v0_9

deliver_8 = v0_8.Basic.Deliver(consumer_tag="c", delivery_tag=1, exchange="e", routing_key="k")
assert_type(deliver_8.delivery_tag, int)
assert_type(deliver_8.routing_key, str)
raw = v0_8.encode(1, deliver_8)
assert_type(raw, bytes)
assert v0_8.decode(raw) == (len(raw), 1, deliver_8)

deliver_9 = v0_9.Basic.Deliver(consumer_tag="c", delivery_tag=1, exchange="e", routing_key="k")
assert_type(deliver_9.consumer_tag, str)
assert v0_9.encode(1, deliver_9) == raw
for channel, frame in v0_9.Decoder().feed(raw):
    assert_type(channel, int)
    assert isinstance(frame, v0_9.Basic.Deliver)
    assert_type(frame, v0_9.Basic.Deliver)

if TYPE_CHECKING:  # a checker that sees no stub says that these comments are not needed
    v0_8.Basic.Deliver(no_such_argument=1)  # type: ignore[call-arg]
    mistake = v0_9.no_such_name  # type: ignore[attr-defined]
