"""Memory that nobody wrote: python -m tests.fuzz.memcheck [TARGET...] [--changed N]

AddressSanitizer sees a read beyond an object, not one of a variable without a value. So valgrind's
memcheck runs the plain build on the seeds and kept inputs of the fuzz targets, and on inputs made
of them by the targets' mutators. Exit status: 1 for findings, 2 for missing tools.

Two reports are not ours. CPython looks at the digit of an integer before it looks whether there is
one, so that 0 may have one that nobody wrote; and the vector code of glibc that compares text
reads to the end of its vector.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from xml.etree.ElementTree import Element, iterparse

from tests.fuzz import corpus
from tests.fuzz.instrumented import ROOT, MissingError, apt
from tests.fuzz.target import Target
from tests.fuzz.targets import NAMES, PLAIN, find

#: Frames of a stack that are looked at, and findings that are shown.
DEEP, SHOWN = 16, 10
OURS = "/amqpcodec/_"
#: A run of one target, in seconds.
LIMIT = 3600


def inputs(target: Target, changed: int, seed: int) -> Iterator[bytes]:
    """Its seeds and kept inputs, then so many inputs made of them."""
    sources = [b"", *target.seeds(), *corpus.load(target.name)]
    yield from sources
    if target.mutate is not None:
        rng = Random(seed)
        for _ in range(changed):
            yield target.mutate(rng.choice(sources), rng)[: target.largest]


def ask(name: str, changed: int, seed: int) -> None:
    """In valgrind's process: every input is asked all that its target promises."""
    target, count = find(name), 0
    with target.around():
        for data in inputs(target, changed, seed):
            count += 1
            try:
                target.check_all(data)
            except Exception as error:
                raise AssertionError(f"{name}: {error!r}\n{data.hex()}") from error
    print(count)


def frames(stack: Element | None) -> list[dict[str, str]]:
    """The frames of a stack, the innermost first."""
    elements = [] if stack is None else stack.findall("frame")
    return [{part.tag: part.text or "" for part in frame} for frame in elements]


def is_ours(error: Element) -> bool:
    """Whether the core has part in it, and it is none of the two that are known."""
    kind = error.findtext("kind", "")
    if kind.startswith("Leak_"):
        return False  # of Python's modules, whatever --leak-check says
    where, *origin = [frames(stack) for stack in error.findall("stack")] or [[]]
    if not any(OURS in frame.get("obj", "") for frame in where):
        return False
    if where[0].get("fn", "").startswith("__wmemcmp"):
        return False
    if not origin and kind.startswith("Uninit"):
        return OURS in where[0].get("obj", "")  # of CPython's integers valgrind loses the origin
    return not any(frame.get("fn") == "_PyLong_New" for stack in origin for frame in stack)


def text(error: Element) -> str:
    """What valgrind says, and where."""
    lines = []
    for part in error:
        if part.tag in ("what", "auxwhat"):
            lines.append(part.text or "")
        elif part.tag == "xwhat":
            lines.append(part.findtext("text", ""))
        elif part.tag == "stack":
            for frame in frames(part)[:8]:
                place = frame.get("file", frame.get("obj", "?"))
                lines.append(f"    {frame.get('fn', '?')} ({place}:{frame.get('line', '?')})")
    return "\n".join(lines)


def findings(report: Path) -> list[str]:
    """What of valgrind's report is ours."""
    return [
        text(error)
        for _, error in iterparse(report)
        if error.tag == "error" and error.find("kind") is not None and is_ours(error)
    ]


def check(name: str, changed: int, seed: int) -> bool:
    """Run one target and print a line; whether something was found."""
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = ["valgrind", "--leak-check=no", "--error-limit=no", f"--num-callers={DEEP}"]
        command += ["--track-origins=yes", "--xml=yes", f"--xml-file={report}"]
        command += [sys.executable, "-m", "tests.fuzz.memcheck", name]
        command += ["--changed", str(changed), "--seed", str(seed), "--ask"]
        variables = {
            **os.environ,
            "PYTHONMALLOC": "malloc",
            "ARROW_DEFAULT_MEMORY_POOL": "system",
            "AMQPCODEC_DROPINS_RAISE": "1",
        }
        process = subprocess.run(
            command, cwd=ROOT, env=variables, capture_output=True, text=True, timeout=LIMIT
        )
        finding_texts = findings(report) if process.returncode == 0 else [process.stderr]
    seconds = time.monotonic() - begin
    count = int(process.stdout.split()[-1]) if process.returncode == 0 else 0
    print(f"{name:<16}{count:>10,}{seconds:>9.0f}{len(finding_texts):>10}", flush=True)
    for finding in finding_texts[:SHOWN]:
        print(finding, file=sys.stderr)
    return bool(finding_texts)


def install() -> None:
    """Install Debian's valgrind where there is none, and where that can be done: as root."""
    if shutil.which("valgrind"):
        return
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        raise MissingError("valgrind is missing: install your system's package of that name")
    apt("update")
    apt("install", "valgrind")


def main() -> int:
    """Ask every target."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.memcheck", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="TARGET", help="by default all")
    parser.add_argument("--changed", type=int, default=300, help="inputs made anew, a target")
    parser.add_argument("--seed", type=int, default=1, help="of these")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="targets at once")
    parser.add_argument("--ask", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    names = options.names or [name for name in NAMES if name not in PLAIN]
    if unknown := set(names) - set(NAMES):
        parser.error(f"no target {sorted(unknown)[0]}; there are {', '.join(NAMES)}")
    if options.ask:
        ask(names[0], options.changed, options.seed)
        return 0
    try:
        install()
    except MissingError as missing:
        print(f"memcheck: {missing}", file=sys.stderr)
        return 2
    print(f"{'target':<16}{'inputs':>10}{'time s':>9}{'findings':>10}", flush=True)
    with ThreadPoolExecutor(options.jobs) as pool:
        started = [pool.submit(check, name, options.changed, options.seed) for name in names]
        return max(future.result() for future in started)


if __name__ == "__main__":
    sys.exit(main())
