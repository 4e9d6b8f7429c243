"""One run of one suite, in a process of its own, and what came of every test."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scripts.broker import HOST
from scripts.compat import containers, environment
from scripts.compat.suites import Suite

TEST_SECONDS = 180


@dataclass
class Run:
    """What a run gave: an outcome a test, and the calls into the compiled codec."""

    outcomes: dict[str, str] = field(default_factory=dict)
    calls: int = 0
    fallbacks: int = 0  # of these to the client's own code: unusual input, patched classes
    seconds: float = 0.0
    trouble: str = ""  # why there is less than a whole run
    output: str = ""
    location: str = ""  # of the client's package that was tested

    @property
    def counts(self) -> str:
        """Counts as pytest words them."""
        outcome_counts = Counter(self.outcomes.values())
        order = ["passed", "failed", "error", "skipped", "xfailed", "xpassed"]
        return (
            ", ".join(f"{outcome_counts[kind]} {kind}" for kind in order if outcome_counts[kind])
            or "no test"
        )


def command(suite: Suite, tests: Sequence[str], variables: dict[str, str]) -> list[str]:
    """The command line of pytest for it; {NAME} in an option is one of the broker's variables."""
    plugins = ["amqpcodec_compat", "pytest_timeout", "no:cacheprovider", *suite.plugins]
    loads = [word for plugin in plugins for word in ("-p", plugin)]
    words = ["-q", "--no-header", "--tb=short", "-o", "log_cli=false", f"--timeout={TEST_SECONDS}"]
    options = [option.format_map(variables) for option in suite.options]
    return [str(environment.python()), "-m", "pytest", *loads, *words, *options, *tests]


def read(record: Path, run: Run) -> None:
    """Take what the plugin wrote."""
    is_complete = False
    for line in record.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        if "test" in entry:
            run.outcomes[entry["test"]] = entry["outcome"]
        else:
            is_complete = True
            run.calls, run.fallbacks = entry["calls"], entry["left"]
            run.seconds = entry["seconds"]
            run.location = entry["location"]
    if not is_complete:
        run.trouble = run.trouble or "the run ended before its last test"


def once(
    suite: Suite, dropins: Sequence[str], variables: dict[str, str], tests: Sequence[str] = ()
) -> Run:
    """Run the suite, or some of its tests, with these drop-ins."""
    run = Run()
    first = environment.version_folder(suite.client, suite.version) if suite.version else None
    with tempfile.TemporaryDirectory(prefix="amqpcodec-compat-") as folder:
        record = Path(folder) / "record.jsonl"
        record.touch()
        own = {
            **environment.variables(first),
            **variables,
            "AMQPCODEC_COMPAT": ",".join(dropins),
            "AMQPCODEC_COMPAT_PACKAGE": suite.package,
            "AMQPCODEC_COMPAT_RECORD": str(record),
        }
        process = subprocess.Popen(
            command(suite, tests or suite.present_tests(), variables),
            cwd=suite.folder(),
            env=own,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        try:
            run.output, _ = process.communicate(timeout=suite.seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)  # pytest then writes its tracebacks
            try:
                run.output, _ = process.communicate(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                run.output, _ = process.communicate()
            run.trouble = f"stopped after {suite.seconds} s"
        read(record, run)
    if first and run.location and not Path(run.location).is_relative_to(first):
        run.trouble = f"{run.location} was tested, not {first}"
    return run


@contextlib.contextmanager
def broker(kind: str) -> Iterator[dict[str, str]]:
    """The broker that a suite asks for; gives the variables by which it finds it."""
    certs = environment.sources("aiormq") / "tests" / "certs" if kind == "docker" else None
    if certs is not None:
        with containers.docker(certs) as address:
            yield {"DOCKER_HOST": address}
    elif kind:
        with containers.node() as one:
            yield {
                "RABBITMQ_HOST": HOST,
                "RABBITMQ_5672_TCP": str(one.amqp_port),
                "STREAM_PORT": str(one.state["stream_port"]),
                "AMQP_URL": f"amqp://guest:guest@{HOST}:{one.amqp_port}/",
            }
    else:
        yield {}
