"""The engine of AMQP 1.0: connection, sessions, links, deliveries, transactions.

After qpid-proton's engine in what it covers; see docs/session-1.0.md. Its public names are those of
``amqpcodec.session.v1``.
"""

from __future__ import annotations

from .connection import Connection

__all__ = ["Connection"]
