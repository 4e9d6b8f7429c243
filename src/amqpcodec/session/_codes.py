"""The reply code of each fault that a session finds in what its peer sent. They stand here only.

Where the specification has a rule about the fault, the rule's on-failure decides:
`Model.reply_code` looks it up. The numbers here count where a version has no such rule.
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "ACCESS_REFUSED",
    "CHANNEL_NOT_OPEN",
    "CONSUMER_TAG_IN_USE",
    "ILLEGAL_VALUE",
    "LIMIT_REFUSED",
    "MODE_CONFLICT",
    "NOT_AMQP",
    "NO_TRANSACTION",
    "OUT_OF_TURN",
    "TAG_USED_BEFORE",
    "TOO_MANY_REQUESTS",
    "UNKNOWN_CONSUMER",
    "UNKNOWN_DELIVERY_TAG",
    "ReplyCode",
]


class ReplyCode(int):
    """A number that a specification's own rule may overrule.

    Attributes:
        rule: (method, argument or "" for the method itself, name of the rule), or None.
    """

    rule: tuple[str, str, str] | None

    def __new__(cls, number: int, rule: tuple[str, str, str] | None = None) -> ReplyCode:
        """number: what counts without the rule."""
        code = super().__new__(cls, number)
        code.rule = rule
        return code


#: The login is refused, or ended by the server without a word.
ACCESS_REFUSED: Final = ReplyCode(403)
#: An acknowledgement or confirm of a number that does not wait.
UNKNOWN_DELIVERY_TAG: Final = ReplyCode(406, ("basic.ack", "multiple", "exists"))
#: tx.commit or tx.rollback without tx.select.
NO_TRANSACTION: Final = ReplyCode(406, ("tx.commit", "", "transacted"))
#: What a channel with transactions or with confirms does not take.
MODE_CONFLICT: Final = ReplyCode(406)
#: Bytes that are no frame, or a frame where none may be.
NOT_AMQP: Final = ReplyCode(501)
#: A value that the asserts of the specification exclude.
ILLEGAL_VALUE: Final = ReplyCode(502)
#: A method of the other role, one that answers nothing, or one that may not come now.
OUT_OF_TURN: Final = ReplyCode(503)
#: A delivery for no consumer of the channel.
UNKNOWN_CONSUMER: Final = ReplyCode(503)
#: A delivery tag that is not above the one before.
TAG_USED_BEFORE: Final = ReplyCode(503)
#: A channel that is not open, that is open already, or whose number is too high.
CHANNEL_NOT_OPEN: Final = ReplyCode(504, ("channel.open", "", "state"))
#: More requests wait for replies than max_requests.
TOO_MANY_REQUESTS: Final = ReplyCode(506)
#: channel_max or frame_max other than what was offered.
LIMIT_REFUSED: Final = ReplyCode(530)
#: A consumer by the name of another one of the same channel.
CONSUMER_TAG_IN_USE: Final = ReplyCode(530, ("basic.consume", "consumer_tag", "01"))
