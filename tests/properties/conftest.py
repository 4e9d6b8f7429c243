"""Hypothesis settings of the property tests: repeatable, and modest in time."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

_QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
settings.register_profile(
    "amqpcodec", max_examples=60, deadline=None, derandomize=True, suppress_health_check=_QUIET
)
settings.register_profile("amqpcodec-long", parent=settings.get_profile("amqpcodec"),
                          max_examples=3000, derandomize=False)  # fmt: skip
settings.load_profile(os.environ.get("AMQPCODEC_HYPOTHESIS", "amqpcodec"))
