"""A pytest plugin for the clients' own suites: installs drop-ins, writes down what each test did.

AMQPCODEC_COMPAT: the drop-ins to install, by commas; empty: none. They are installed when this
module is imported, so before any conftest and any test module.
AMQPCODEC_COMPAT_RECORD: the file to write, a line of JSON for each test and a last one with the
calls into the compiled codec. What was written stays if the process is killed.
AMQPCODEC_COMPAT_PACKAGE: the package whose file the last line names.
"""

import importlib
import json
import os
import time

NAMES = [name for name in os.environ.get("AMQPCODEC_COMPAT", "").split(",") if name]
RECORD = os.environ["AMQPCODEC_COMPAT_RECORD"]

if NAMES:
    import amqpcodec

    amqpcodec.install(*NAMES)


class Recorder:
    """Collects the reports of each test's phases."""

    def __init__(self):
        self.file = open(RECORD, "w", encoding="utf-8")  # noqa: SIM115 - closed at the end
        self.begin = time.monotonic()
        self.found = {}
        self.uncollected = []

    def write(self, line):
        """One line, at once."""
        self.file.write(json.dumps(line) + "\n")
        self.file.flush()

    def pytest_collectreport(self, report):
        """A module that cannot be imported is an outcome too."""
        if report.failed:
            self.write({"test": report.nodeid or "collection", "outcome": "error"})

    def pytest_runtest_logreport(self, report):
        """Take the worst of the three phases; of a repeated test the last run counts."""
        if report.when == "setup":
            self.found.pop(report.nodeid, None)
        outcome = report.outcome
        if hasattr(report, "wasxfail"):
            outcome = "xpassed" if report.passed else "xfailed"
        elif report.failed and report.when != "call":
            outcome = "error"
        if outcome == "rerun":
            return
        if report.when == "call" or outcome != "passed":
            before = self.found.get(report.nodeid)
            if before != "failed":  # a failed test may break its teardown as well
                self.found[report.nodeid] = outcome

    def pytest_runtest_logfinish(self, nodeid):
        """One test is over."""
        if nodeid in self.found:
            self.write({"test": nodeid, "outcome": self.found[nodeid]})

    def pytest_sessionfinish(self, exitstatus):
        """The counts."""
        calls = fallbacks = 0
        for name in NAMES:
            module = importlib.import_module(f"amqpcodec.compat.{name}")
            calls += module.calls()
            fallbacks += sum(module.fallbacks().values())
        seconds = time.monotonic() - self.begin
        location = importlib.import_module(os.environ["AMQPCODEC_COMPAT_PACKAGE"]).__file__
        self.write(
            {
                "calls": calls,
                "left": fallbacks,
                "status": int(exitstatus),
                "seconds": seconds,
                "location": location,
            }
        )
        self.file.close()


def pytest_configure(config):
    """Take part in the session."""
    config.pluginmanager.register(Recorder(), "amqpcodec-compat-recorder")
