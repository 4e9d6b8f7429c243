"""The fixtures of the plugin, whether it is installed as one or not."""

from __future__ import annotations

from amqpcodec._pytest import amqp_broker, amqp_broker_session

__all__ = ["amqp_broker", "amqp_broker_session"]
