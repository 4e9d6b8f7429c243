"""What the peer did wrong, on its way from where it is found to where it is answered."""

from __future__ import annotations

from typing import Any

__all__ = ["HardFault", "SoftFault"]


class HardFault(Exception):
    """Ends the connection. method: the method at fault, an instance or class, or None."""

    def __init__(self, reply_code: int, text: str, method: Any = None, number: int = 0) -> None:
        super().__init__(text)
        self.reply_code = reply_code
        self.text = text
        self.method = method
        self.number = number


class SoftFault(HardFault):
    """Ends one channel."""
