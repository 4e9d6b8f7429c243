"""What versions of RabbitMQ do differently."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["DEFAULT_PROFILE", "PROFILES", "Profile", "profile_of"]


@dataclass(frozen=True)
class Profile:
    """A version of RabbitMQ.

    Attributes:
        name: such as "4.0".
        version: what connection.start says.
        transient_queues: whether queues may be neither durable nor exclusive.
        global_qos: whether basic.qos may be global.
        delivery_limit: deliveries of a quorum queue before a message is dead-lettered; None for no
            limit.
        nack_counts: whether basic.nack with requeue counts for that limit, as basic.reject does.
        late_consumers_cancelled: whether a late acknowledgement cancels the consumer, where the
            client announces consumer_cancel_notify, instead of closing the channel.
    """

    name: str
    version: str
    transient_queues: bool
    global_qos: bool
    delivery_limit: int | None
    nack_counts: bool
    late_consumers_cancelled: bool


PROFILES = {
    "3.13": Profile("3.13", "3.13.7", True, True, None, True, False),
    "4.0": Profile("4.0", "4.0.9", True, True, 20, True, False),
    "4.3": Profile("4.3", "4.3.0", False, False, 20, False, True),
}
DEFAULT_PROFILE: Final = "4.0"


def profile_of(name: str) -> Profile:
    """The profile of a name.

    Raises:
        ValueError: there is none of that name.
    """
    if name not in PROFILES:
        raise ValueError(f"no profile {name!r}; there are {', '.join(PROFILES)}")
    return PROFILES[name]
