"""Settings of hypothesis as for the other property tests."""

import tests.properties.conftest  # noqa: F401
