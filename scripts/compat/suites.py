"""The clients' own suites: what is run, against which drop-ins, and how long it may take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from scripts.compat import environment


@dataclass(frozen=True)
class Suite:
    """One suite. `folder` gives its working directory; `broker` is "", "node" or "docker"."""

    name: str
    dropins: tuple[str, ...]
    folder: Callable[[], Path]
    tests: tuple[str, ...]
    seconds: int
    broker: str = ""
    options: tuple[str, ...] = ()  # of pytest, for a run of single tests as well
    plugins: tuple[str, ...] = ()  # of pytest; no others are loaded, some change logging
    expected: str = ""  # what it usually gives without a drop-in, with this RabbitMQ


def _sdist(name: str) -> Callable[[], Path]:
    return lambda: environment.sdist(name)


# Their conftest needs test tools that are not published, and they have no settings of their own.
AZURE = ("-c", "/dev/null", "--rootdir", ".", "--noconftest", "-W", "ignore")
AZURE_PLUGINS = ("pytest_asyncio.plugin", "amqpcodec_compat_azure")
RERUN = ("pytest_rerunfailures",)

SUITES: tuple[Suite, ...] = (
    Suite(
        "amqp", ("amqp",), _sdist("amqp"), ("t/unit",), 300, plugins=RERUN, expected="354 passed"
    ),
    Suite(
        "amqp-broker",
        ("amqp",),
        _sdist("amqp"),
        ("t/integration", "-k", "not tls"),
        300,
        broker="node",
        plugins=RERUN,
        expected="48 passed",
    ),
    Suite(
        "kombu",
        ("amqp",),
        _sdist("kombu"),
        (
            "t/unit/transport/test_pyamqp.py",
            "t/unit/test_message.py",
            "t/unit/test_messaging.py",
            "t/unit/test_entity.py",
            "t/unit/test_connection.py",
        ),
        300,
        plugins=(*RERUN, "pytest_freezer"),
        expected="352 passed, 6 skipped",
    ),
    Suite(
        "kombu-broker",
        ("amqp",),
        _sdist("kombu"),
        ("t/integration/test_py_amqp.py",),
        300,
        broker="node",
        plugins=RERUN,
    ),
    Suite(
        "amqpstorm",
        ("pamqp",),
        lambda: environment.installed("amqpstorm").parent,
        ("amqpstorm/tests/unit",),
        300,
        expected="429 passed",
    ),
    Suite(
        "aiormq",
        ("pamqp",),
        _sdist("aiormq"),
        ("tests",),
        2400,
        broker="docker",
        plugins=("aiomisc_pytest", "amqpcodec_compat_aiormq"),
        expected="1042 passed, 1 skipped",
    ),
    Suite(
        "aio-pika",
        ("pamqp",),
        _sdist("aio-pika"),
        ("tests",),
        3600,
        broker="docker",
        plugins=("aiomisc_pytest",),
        expected="1076 passed, 3 failed, 28 skipped",
    ),
    Suite(
        "azure-eventhub",
        ("azure",),
        _sdist("azure-eventhub"),
        ("tests/pyamqp_tests/unittest", "tests/unittest"),
        600,
        options=AZURE,
        plugins=AZURE_PLUGINS,
        expected="131 passed",
    ),
    Suite(
        "azure-servicebus",
        ("azure",),
        _sdist("azure-servicebus"),
        (
            "tests/unittests",
            "tests/test_message.py",
            "tests/test_dictmixin_amqp.py",
            "tests/test_batch_sizing.py",
        ),
        600,
        options=AZURE,
        plugins=AZURE_PLUGINS,
    ),
)
