"""What the broker refuses, in RabbitMQ's codes and words."""

from __future__ import annotations

__all__ = ["CHANNEL_CODES", "Refusal", "not_modelled"]

#: Reply codes that close the channel; all others close the connection.
CHANNEL_CODES = frozenset({311, 312, 313, 403, 404, 405, 406})


class Refusal(Exception):
    """A request that is refused.

    Attributes:
        reply_code: of the close that says so.
        text: why, without the name of the code.
    """

    def __init__(self, reply_code: int, text: str) -> None:
        super().__init__(text)
        self.reply_code = reply_code
        self.text = text


def not_modelled(subject: str, reply_code: int = 540) -> Refusal:
    """What RabbitMQ may know and this broker does not: refused rather than ignored.

    reply_code: 540, or 406 for an argument out of a table.
    """
    return Refusal(reply_code, f"amqpcodec.testing does not model {subject}")
