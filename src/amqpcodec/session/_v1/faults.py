"""How a frame's handler says that the peer was wrong; caught where the frame came in."""

from __future__ import annotations

from .objects import Link

__all__ = ["LinkFault", "SessionFault"]


class SessionFault(Exception):
    """The session has to end."""

    def __init__(self, condition: str, text: str) -> None:
        super().__init__(text)
        self.condition = condition
        self.text = text


class LinkFault(Exception):
    """The link has to be detached."""

    def __init__(self, link: Link, condition: str, text: str) -> None:
        super().__init__(text)
        self.link = link
        self.condition = condition
        self.text = text
