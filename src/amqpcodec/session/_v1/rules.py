"""What the objects of users ask of the modules above them: `objects.Rules`, by this module."""

from __future__ import annotations

from .attaching import accept_link, attach
from .sending import begin_delivery, check_resumed, may_send, next_frame, resume, send
from .settling import settle
from .transactions import report_lost

__all__ = [
    "accept_link",
    "attach",
    "begin_delivery",
    "check_resumed",
    "may_send",
    "next_frame",
    "report_lost",
    "resume",
    "send",
    "settle",
]
