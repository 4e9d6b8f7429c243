"""What the suites of azure-eventhub and azure-servicebus take from outside of their sdists.

Their own conftest needs Microsoft's test tools, which are not published; nothing of these is used
by the unit tests but the names that are imported.
"""

import os
import sys
import types
from unittest.mock import MagicMock

import pytest

sys.path.insert(0, os.path.join(os.getcwd(), "tests"))


class _Tools(types.ModuleType):
    """Any name that is asked for."""

    __path__ = ()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {}) if name.endswith("TestCase") else MagicMock()


for _name in (
    "devtools_testutils",
    "devtools_testutils.sanitizers",
    "dotenv",
    "servicebus_preparer",
):
    sys.modules[_name] = _Tools(_name)


@pytest.fixture
def uamqp_transport():
    """The tests of the client's own implementation, not of uamqp."""
    return False
