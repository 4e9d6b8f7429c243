"""Coverage-guided fuzzing of the core: python -m tests.fuzz [TARGET...] [--seconds N]

For each target a line: executions, edges of the core that were reached, seconds since the last new
one, findings. An input that broke a promise is kept in `.cache/fuzz/findings`, and shown again by
`python -m tests.fuzz TARGET --again FILE`. Exit status: 1 for findings, 2 for
missing tools, 130 where it was interrupted.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.fuzz import corpus
from tests.fuzz.instrumented import (
    CACHE,
    ROOT,
    MissingError,
    build,
    environment,
    install,
    mutator,
    runtime,
)
from tests.fuzz.target import Target
from tests.fuzz.targets import NAMES, PLAIN, find

FINDINGS = CACHE / "findings"
#: One input, in seconds (by default) and MB: what is linear in some kilobytes is far below.
TIMEOUT, MEMORY = 20, 3000
#: One allocation, in MB: clients make room for what bytes only claim.
LARGEST = 500
#: What a shell and atheris end with after Ctrl-C, and libFuzzer where it alone was told to end.
INTERRUPTED, ENDED = 130, 72


@dataclass
class Result:
    """What a run of one target gave."""

    name: str
    executions: int = 0
    edges: int = 0
    changed: float = 0.0  # when the last new edge was found
    quiet: float = 0.0  # seconds since then
    seconds: float = 0.0
    finding: Path | None = None
    interrupted: bool = False
    inited: bool = False  # the inputs that were kept are read
    mutated: bool = False  # libFuzzer found the target's mutator
    modules: int = 0  # whose edges it counts
    output: str = ""

    def line(self) -> str:
        """One line of the table."""
        finding_count = 0 if not self.failed else 1
        return (
            f"{self.name:<16}{self.executions:>14,}{self.edges:>9,}{self.quiet:>9.0f}"
            f"{self.seconds:>9.0f}{finding_count:>10}"
        )

    @property
    def failed(self) -> bool:
        """Whether a promise was broken, or the run itself went wrong."""
        return self.finding is not None or not (
            self.interrupted or (self.executions and self.mutated)
        )


HEADING = f"{'target':<16}{'executions':>14}{'edges':>9}{'quiet s':>9}{'time s':>9}{'findings':>10}"


def preloaded() -> str:
    """What is loaded before Python: the mutator, then libFuzzer with the sanitizers."""
    return f"{mutator()}:{runtime()}"


def variables_of(target: Target) -> dict[str, str]:
    """The environment of a process that runs a target."""
    if not target.core:
        return {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT)))}
    variables = environment(preloaded(), LARGEST)
    variables["ASAN_OPTIONS"] += ":verify_asan_link_order=0"
    if target.module is not None:
        variables["AMQPCODEC_FUZZ_MODULE"] = f"/{target.module}."
    return variables


def watch(result: Result, quiet: int, stop: Path, finished: threading.Event) -> None:
    """Each second: is it time to end libFuzzer, which it does where the file `stop` is written?

    quiet: seconds after the last new edge; 0 for never. On a terminal a line a minute.
    """
    begin = shown = time.monotonic()
    while not finished.wait(1):
        now = time.monotonic()
        if not result.inited:
            continue
        result.quiet, result.seconds = now - result.changed, now - begin
        if quiet and result.quiet >= quiet:
            stop.write_text("quiet")
        if sys.stderr.isatty() and now - shown >= 60:
            shown = now
            print(f"{result.line()[:-10]}  so far", file=sys.stderr)


def fuzz(
    name: str,
    seconds: int,
    runs: int,
    seed: int,
    pools: bool,
    quiet: int,
    timeout: int = TIMEOUT,
    uniform: bool = False,
) -> Result:
    """Run one target; its inputs are kept between runs in the cache."""
    work = CACHE / "inputs" / name
    target = find(name)
    corpus.unpack([*target.seeds(), *corpus.load(name)], work)
    FINDINGS.mkdir(parents=True, exist_ok=True)
    options = [
        f"-max_len={target.largest}",
        f"-timeout={timeout}",
        f"-report_slow_units={timeout}",  # a busy machine is no finding
        f"-rss_limit_mb={MEMORY}",
        f"-artifact_prefix={FINDINGS / name}-",
        f"-seed={seed}",
        "-print_final_stats=1",
        "-detect_leaks=0",
        f"-max_total_time={seconds}",
        *([f"-runs={runs}"] if runs else []),
        *(["-entropic=0"] if uniform else []),
    ]
    command = [sys.executable, "-m", "tests.fuzz.child", name, *options, str(work)]
    variables = variables_of(target)
    # Where an object was allocated is not noted: --again says it. A few MB of what was freed hold
    # more than one execution, and stay in the processor's cache.
    if target.core:
        variables["ASAN_OPTIONS"] += ":malloc_context_size=0:quarantine_size_mb=4"
    if pools:
        variables["PYTHONMALLOC"] = "pymalloc"
    begin = time.monotonic()
    result = Result(name, changed=begin)
    tail: list[str] = []
    finished = threading.Event()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(1) as watching:
        stop = Path(folder) / "stop"
        command.insert(-1, f"-stop_file={stop}")
        watching.submit(watch, result, quiet, stop, finished)
        try:
            status = follow(command, variables, result, tail)
        finally:
            finished.set()
    result.seconds = time.monotonic() - begin
    result.quiet = time.monotonic() - result.changed
    result.interrupted = status in (INTERRUPTED, ENDED)
    if status and not result.interrupted and result.finding is None:
        result.executions = 0
    if target.module is not None and result.modules > 1:
        result.mutated = False  # what is loaded first was not asked
    if result.failed:
        result.output = "".join(tail)
    return result


def follow(command: list[str], variables: dict[str, str], result: Result, tail: list[str]) -> int:
    """Run libFuzzer and note what it tells; the end of what it printed goes to tail."""
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            tail[:] = [*tail[-400:], line]
            if match := re.match(r"#(\d+)\t.*? cov: (\d+) ", line):
                result.executions = max(result.executions, int(match[1]))
                if int(match[2]) > result.edges:
                    result.edges, result.changed = int(match[2]), time.monotonic()
                if "\tINITED " in line:
                    result.inited, result.changed = True, time.monotonic()
            elif "found LLVMFuzzerCustomMutator" in line:
                result.mutated = True
            elif match := re.search(r"INFO: Loaded (\d+) modules", line):
                result.modules = int(match[1])
            elif match := re.search(r"number_of_executed_units: (\d+)", line):
                result.executions = int(match[1])
            elif match := re.search(r"Test unit written to (\S+)", line):
                result.finding = Path(match[1])
    return process.returncode


def show(result: Result) -> bool:
    """Print what a run gave; whether it failed."""
    print(result.line(), flush=True)
    if result.failed:
        print(result.output, file=sys.stderr)
        if result.finding:
            where = f"python -m tests.fuzz {result.name} --again {result.finding}"
            print(f"again: {where}", file=sys.stderr)
    return result.failed


def again(name: str, path: Path) -> int:
    """One input once more, with all that the sanitizers say."""
    command = [sys.executable, "-m", "tests.fuzz.child", name, "--whole", str(path)]
    return subprocess.run(command, cwd=ROOT, env=variables_of(find(name))).returncode


def keep(names: list[str]) -> None:
    """Minimise what was found of each target, and write it to the repository.

    A target without a run on this machine keeps what it has there.
    """
    for name in names:
        inputs = CACHE / "inputs" / name
        if not inputs.is_dir():
            print(f"{name}: left as it is, there was no run of it here", flush=True)
            continue
        smaller = CACHE / "smaller" / name
        smaller.mkdir(parents=True, exist_ok=True)
        for old in smaller.iterdir():
            old.unlink()
        # One input for each edge, however often it is taken.
        command = [sys.executable, "-m", "tests.fuzz.child", name, "-merge=1", "-use_counters=0"]
        options = [f"-max_len={find(name).largest}", str(smaller), str(inputs)]
        subprocess.run(
            [*command, *options],
            cwd=ROOT,
            env=variables_of(find(name)),
            check=True,
            capture_output=True,
        )
        input_count = corpus.keep(name, smaller)
        if not input_count:
            raise RuntimeError(f"{name}: libFuzzer merged no input of {inputs}")
        print(f"{name}: {input_count} inputs kept", flush=True)


def main() -> int:
    """Fuzz, or show one finding again, or keep what was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="TARGET", help="by default all")
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument(
        "--quiet", type=int, default=0, help="end a target this many seconds after a new edge"
    )
    parser.add_argument("--runs", type=int, default=0, help="executions of each, at most")
    parser.add_argument("--seed", type=int, default=0, help="0: another one each time")
    parser.add_argument(
        "--timeout", type=int, default=TIMEOUT, help="seconds for one input: more on a busy machine"
    )
    parser.add_argument("--jobs", type=int, default=1, help="targets at once")
    parser.add_argument(
        "--pools", action="store_true", help="small objects without red zones: twice as fast"
    )
    parser.add_argument(
        "--uniform",
        action="store_true",
        help="change inputs of rare edges no more often than others: up to twice as fast",
    )
    parser.add_argument("--again", type=Path, metavar="FILE", help="run one input")
    parser.add_argument(
        "--install", action="store_true", help="what is missing of clang, by apt-get"
    )
    parser.add_argument("--keep", action="store_true", help="write the corpora to the repository")
    options = parser.parse_args()
    names = options.names or NAMES
    if unknown := set(names) - set(NAMES):
        parser.error(f"no target {sorted(unknown)[0]}; there are {', '.join(NAMES)}")
    try:
        if options.install:
            install()
        if set(names) - set(PLAIN):
            build()
            preloaded()
        runtime()
    except MissingError as missing:
        print(f"fuzz: {missing}", file=sys.stderr)
        return 2
    if options.again:
        return again(names[0], options.again)
    if options.keep:
        keep(names)
        return 0
    print(HEADING, flush=True)
    bad = ended = False
    with ThreadPoolExecutor(options.jobs) as pool:
        started = [
            pool.submit(
                fuzz,
                name,
                options.seconds,
                options.runs,
                options.seed,
                options.pools,
                options.quiet,
                options.timeout,
                options.uniform,
            )
            for name in names
        ]
        try:
            while started:
                result = started[0].result()
                bad |= show(result)
                ended |= result.interrupted
                del started[0]
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)  # those that run were interrupted as well
            for future in started:
                if not future.cancelled():
                    show(future.result())
            return INTERRUPTED
    return 1 if bad else INTERRUPTED if ended else 0


if __name__ == "__main__":
    sys.exit(main())
