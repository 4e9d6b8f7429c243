"""`python -m bench.install`: CPU time that a program pays once for a drop-in, in fresh processes.

A row a client: `install()` itself, and with it the import of the drop-in's module, in milliseconds,
medians. amqpcodec and the client are imported before; bytecode is cached, as in an installation.
Exit status 1: an install() takes more than `BAR` milliseconds.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from importlib.util import find_spec

#: Milliseconds of CPU for install() after all imports.
BAR = 15.0

#: Client, as install() names it -> the modules that a program imports.
CLIENTS = {
    "pika": ("pika",),
    "pamqp": ("pamqp.commands",),
    "amqp": ("amqp",),
    "azure": ("azure.eventhub", "azure.servicebus", "rstream"),
}

ONE = """
import json, time
import {packages}
import amqpcodec
begin = time.process_time()
import amqpcodec.compat.{client} as dropin
imported = time.process_time()
amqpcodec.install({client!r})
end = time.process_time()
print(json.dumps([(end - imported) * 1e3, (end - begin) * 1e3]))
"""


def measure(client: str, runs: int) -> tuple[float, float]:
    """Medians: install(), and import with install(), in milliseconds."""
    environment = {**os.environ}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    program = ONE.format(client=client, packages=", ".join(filter(is_there, CLIENTS[client])))
    values = []
    for _ in range(runs + 1):
        output = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, check=True
        ).stdout
        values.append(json.loads(output))
    installs, wholes = zip(*values[1:], strict=True)  # the first one writes bytecode
    return statistics.median(installs), statistics.median(wholes)


def is_there(package: str) -> bool:
    """Whether the client is installed."""
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:
        return False


def main() -> int:
    """Print a row a client."""
    parser = argparse.ArgumentParser(prog="bench.install", description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=11, help="processes a client (%(default)s)")
    runs = parser.parse_args().runs
    slow = 0
    print(f"{'milliseconds of CPU':20}  {'install()':>10}  {'with import':>12}")
    for client, packages in CLIENTS.items():
        if not any(map(is_there, packages)):
            print(f"{client:20}  {' and '.join(packages)}: not installed")
            continue
        install, whole = measure(client, runs)
        mark = "" if install <= BAR else f"  more than {BAR:g}"
        slow += install > BAR
        print(f"{client:20}  {install:10.1f}  {whole:12.1f}{mark}")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
