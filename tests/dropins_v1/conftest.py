"""The clients of AMQP 1.0 and their drop-in; the fixtures are those of tests/dropins."""

from tests.dropins.conftest import second_copies, v1_pair

__all__ = ["second_copies", "v1_pair"]
