"""The clients' own suites: what is run, against which drop-ins, and how long it may take."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from scripts.compat import environment
from tests.dropins.versions import PACKAGES


@dataclass(frozen=True)
class Suite:
    """One suite of one version of a client, "" for the pinned one.

    Args:
        client: whose tests these are.
        broker: "", "node" or "docker".
        options: of pytest, for a run of single tests as well; {NAME} is a variable of the broker.
        plugins: of pytest; no others are loaded, some change logging.
        expected: what the pinned version usually gives without a drop-in, with this RabbitMQ.
    """

    name: str
    client: str
    dropins: tuple[str, ...]
    tests: tuple[str, ...]
    seconds: int
    broker: str = ""
    options: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()
    expected: str = ""
    version: str = ""

    @property
    def package(self) -> str:
        """The package that the client's name stands for."""
        return PACKAGES.get(self.client, self.client.replace("-", "_"))

    @property
    def label(self) -> str:
        """The name, and the version if there is one."""
        return f"{self.name} {self.version}".strip()

    def folder(self) -> Path:
        """The working directory."""
        if self.client == "amqpstorm":  # its tests are inside of the package
            return environment.installed("amqpstorm").parent
        return environment.sources(self.client, self.version)

    def present_tests(self) -> tuple[str, ...]:
        """The tests, without files that this version does not have yet."""
        folder = self.folder()
        return tuple(
            test for test in self.tests if not test.endswith(".py") or (folder / test).exists()
        )

    def of_version(self, version: str) -> Suite:
        """The same of another version of the client."""
        return replace(self, version=version, expected="")


#: Without the configuration that a suite brings: its options are for other plugins of pytest.
NO_SETTINGS = ("-c", "/dev/null", "--rootdir", ".")
# Azure's conftest needs test tools that are not published.
AZURE = (*NO_SETTINGS, "--noconftest", "-W", "ignore")
AZURE_PLUGINS = ("pytest_asyncio.plugin", "amqpcodec_compat_azure")
RERUN = ("pytest_rerunfailures",)

SUITES: tuple[Suite, ...] = (
    Suite("amqp", "amqp", ("amqp",), ("t/unit",), 300, plugins=RERUN, expected="354 passed"),
    Suite(
        "amqp-broker",
        "amqp",
        ("amqp",),
        ("t/integration", "-k", "not tls"),
        300,
        broker="node",
        plugins=RERUN,
        expected="48 passed",
    ),
    Suite(
        "kombu",
        "kombu",
        ("amqp",),
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
        "kombu",
        ("amqp",),
        ("t/integration/test_py_amqp.py",),
        300,
        broker="node",
        plugins=RERUN,
    ),
    Suite(
        "amqpstorm",
        "amqpstorm",
        ("pamqp",),
        ("amqpstorm/tests/unit",),
        300,
        expected="429 passed",
    ),
    Suite(
        "aiormq",
        "aiormq",
        ("pamqp",),
        ("tests",),
        2400,
        broker="docker",
        plugins=("aiomisc_pytest", "amqpcodec_compat_aiormq"),
        expected="1042 passed, 1 skipped",
    ),
    Suite(
        "aio-pika",
        "aio-pika",
        ("pamqp",),
        ("tests",),
        3600,
        broker="docker",
        plugins=("aiomisc_pytest",),
        expected="1076 passed, 3 failed, 28 skipped",
    ),
    Suite(
        "azure-eventhub",
        "azure-eventhub",
        ("azure",),
        ("tests/pyamqp_tests/unittest", "tests/unittest"),
        600,
        options=AZURE,
        plugins=AZURE_PLUGINS,
        expected="131 passed",
    ),
    Suite(
        "azure-servicebus",
        "azure-servicebus",
        ("azure",),
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
    Suite("pamqp", "pamqp", ("pamqp",), ("tests",), 300, options=NO_SETTINGS),
    Suite(
        "pika",
        "pika",
        ("pika",),
        ("tests/unit",),
        600,
        options=(*NO_SETTINGS, "-o", "python_files=*_test.py *_tests.py test_*.py"),
    ),
    Suite(
        "rstream",
        "rstream",
        ("azure",),
        ("tests/test_amqp.py", "tests/test_encoding.py", "tests/test_client.py"),
        300,
        broker="node",
        options=(*NO_SETTINGS, "--rmq-host=127.0.0.1", "--rmq-port={STREAM_PORT}"),
        plugins=("pytest_asyncio.plugin",),
    ),
)


def _old(name: str, version: str, **changes: Any) -> Suite:
    [suite] = (one for one in SUITES if one.name == name)
    return replace(suite.of_version(version), **changes)


#: The oldest versions of what stands on other clients: `STACKS` in tests/dropins/versions.py.
STACK_SUITES: tuple[Suite, ...] = (
    # Its tests know one broker, without TLS, and the plugin of 2022.
    _old(
        "aiormq",
        "6.7.0",
        broker="node",
        tests=("tests", "-k", "not amqps and not ssl"),
        options=NO_SETTINGS,
        plugins=("aiomisc_pytest.pytest_plugin",),
    ),
    _old("kombu", "5.2.0"),
    _old("kombu-broker", "5.2.0"),
)
