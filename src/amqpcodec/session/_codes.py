"""The reply code of each fault that a session finds in what its peer sent. They stand here only."""

from __future__ import annotations

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
]

#: The login is refused, or ended by the server without a word.
ACCESS_REFUSED = 403
#: An acknowledgement or confirm of a number that does not wait.
UNKNOWN_DELIVERY_TAG = 406
#: tx.commit or tx.rollback without tx.select.
NO_TRANSACTION = 406
#: What a channel with transactions or with confirms does not take.
MODE_CONFLICT = 406
#: Bytes that are no frame, or a frame where none may be.
NOT_AMQP = 501
#: A value that the asserts of the specification exclude.
ILLEGAL_VALUE = 502
#: A method of the other role, one that answers nothing, or one that may not come now.
OUT_OF_TURN = 503
#: A delivery for no consumer of the channel.
UNKNOWN_CONSUMER = 503
#: A delivery tag that is not above the one before.
TAG_USED_BEFORE = 503
#: A channel that is not open, that is open already, or whose number is too high.
CHANNEL_NOT_OPEN = 504
#: More requests wait for replies than max_requests.
TOO_MANY_REQUESTS = 506
#: channel_max or frame_max other than what was offered.
LIMIT_REFUSED = 530
#: A consumer by the name of another one of the same channel.
CONSUMER_TAG_IN_USE = 530
