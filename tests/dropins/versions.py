"""`python -m tests.dropins.versions`: the versions of clients that drop-ins are compared with.

`fetch` installs each version into a folder of its own; `compare` runs the differential tests on
each and prints a table, which `--record` keeps in versions.json; `known` writes the table of known
sources from them; `guide` writes the guide's tables of versions from both. versions.toml lists the
versions.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.paths import REPO

_ENTRIES = tomllib.loads(Path(__file__).with_name("versions.toml").read_text(encoding="utf-8"))
_STACKS: dict[str, dict[str, Any]] = _ENTRIES.pop("stacks")
#: Client -> its versions, the oldest first.
MATRIX: dict[str, tuple[str, ...]] = {
    client: tuple(entry["versions"]) for client, entry in _ENTRIES.items()
}
#: Client that stands on one of these -> its version -> the versions below it.
STACKS: dict[str, dict[str, tuple[str, ...]]] = {
    client: {version: tuple(below) for version, below in entry["versions"].items()}
    for client, entry in _STACKS.items()
}
KNOWN = REPO / "src" / "amqpcodec" / "compat" / "_known.py"
GUIDE = REPO / "docs" / "guide" / "drop-ins.md"
#: What came of each version: the functions that are compiled, generated cases, its own tests.
RESULTS = Path(__file__).with_name("versions.json")

#: Client -> the clients that stand on it, as the guide has it.
CLIENTS_IN_GUIDE = {
    "pika": "",
    "pamqp": "aiormq 6.7, aio-pika 9, amqpstorm and later",
    "amqp": "kombu 5.2, Celery 5.2 and later",
    "azure-eventhub": "",
    "azure-servicebus": "",
    "rstream": "",
}
#: Client -> its package, where that has another name.
PACKAGES = {"azure-eventhub": "azure.eventhub", "azure-servicebus": "azure.servicebus"}
#: Clients of AMQP 1.0, which have one drop-in, and the package of their codec.
V1_CODECS = {
    name: f"{PACKAGES.get(name, name)}._pyamqp"
    for name in ("azure-eventhub", "azure-servicebus", "rstream")
}


def all_versions() -> list[tuple[str, str]]:
    """(client, version) of the matrix."""
    return [(client, version) for client, versions in MATRIX.items() for version in versions]


def ends() -> list[tuple[str, str]]:
    """The oldest and the newest version of each client."""
    return [(client, versions[i]) for client, versions in MATRIX.items() for i in (0, -1)]


def table() -> str:
    """The guide's table of versions."""
    from amqpcodec.compat._known import KNOWN

    lines = ["| client | versions | and so |", "|---|---|---|"]
    for client in CLIENTS_IN_GUIDE:
        versions = KNOWN[client].versions
        lines.append(f"| {client} | {', '.join(versions)} | {CLIENTS_IN_GUIDE[client]} |")
    return "\n".join(lines).replace("  |", " |")


def read_results() -> dict[str, dict[str, dict[str, Any]]]:
    """Client -> version -> what is recorded of it."""
    if not RESULTS.exists():
        return {}
    results: dict[str, dict[str, dict[str, Any]]] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return results


def write_results(results: dict[str, dict[str, dict[str, Any]]]) -> None:
    """Keep what is recorded of versions of the matrix, and write the guide's tables anew."""
    ordered: dict[str, dict[str, dict[str, Any]]] = {
        client: {
            version: results[client][version] for version in versions if version in results[client]
        }
        for client, versions in MATRIX.items()
        if client in results
    }
    for client in STACKS:
        if client in results:
            ordered[client] = dict(
                sorted(results[client].items(), key=lambda item: _order(item[0]))
            )
    RESULTS.write_text(json.dumps(ordered, indent=1, sort_keys=False) + "\n", encoding="utf-8")
    write_tables()


def _counts_of_suites(suites: dict[str, dict[str, str]]) -> str:
    """The same counts with and without the drop-in, or both."""
    texts = []
    for counts in suites.values():
        same = counts["without"] == counts["with"]
        texts.append(
            counts["with"]
            if same
            else f"{counts['with']} (without the drop-in {counts['without']})"
        )
    return "; ".join(texts) or "-"


def table_of_results() -> str:
    """The guide's table of what came of each version."""
    lines = [
        "| client | version | compiled functions | left | its own tests | cases that differ |",
        "|---|---|---|---|---|---|",
    ]
    results = read_results()
    for client in CLIENTS_IN_GUIDE:
        for version in MATRIX[client]:
            entry = results.get(client, {}).get(version, {})
            cases = f"{entry['differences']:,} of {entry['cases']:,}" if "cases" in entry else "-"
            cells = [client, version, str(entry.get("compiled", "-")), str(entry.get("left", "-"))]
            cells += [_counts_of_suites(entry.get("suites", {})), cases]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _order(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def table_of_stacks() -> str:
    """The guide's table of clients that stand on others."""
    lines = ["| client | version | on | its own tests |", "|---|---|---|---|"]
    results = read_results()
    for client in STACKS:
        for version, entry in results.get(client, {}).items():
            cells = [client, version, entry["on"], _counts_of_suites(entry["suites"])]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def write_tables() -> None:
    """Write them into the guide."""
    text = GUIDE.read_text(encoding="utf-8")
    for new in (table(), table_of_results(), table_of_stacks()):
        head = new.partition("\n")[0]
        if head not in text:
            raise ValueError(f"{GUIDE.name} has no table with the head {head}")
        before, _, after = text.partition(head)
        end = after.find("\n\n")
        text = before + new + (after[end:] if end >= 0 else "\n")
    GUIDE.write_text(text, encoding="utf-8")


def tag_of_tests(client: str, version: str) -> tuple[str, str] | None:
    """(repository, tag) of a version's own tests; None where its sdist has them."""
    entry = _ENTRIES.get(client) or _STACKS.get(client, {})
    tag = entry.get("tags", {}).get(version)
    return (entry["repository"], tag) if tag else None


def folder(client: str, version: str) -> Path:
    """Where a version is, or will be, installed."""
    base = os.environ.get("AMQPCODEC_CLIENTS") or str(REPO / ".cache" / "clients")
    return Path(base) / f"{client}-{version}"


def fetch(versions: Iterable[tuple[str, str]]) -> None:
    """Install those that are not there; each without what it depends on, which the tests have."""
    for client, version in versions:
        place = folder(client, version)
        if place.is_dir():
            continue
        partial = place.with_name(f".{place.name}.{os.getpid()}")
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile"]
        subprocess.run(
            [*command, "--target", str(partial), f"{client}=={version}"], check=True, timeout=300
        )
        partial.rename(place)


def python(client: str, version: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python with this version of a client."""
    path = os.pathsep.join([str(folder(client, version)), str(REPO / "src"), str(REPO)])
    return subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=7200,
        check=False,
    )


# --- the table of known sources -----------------------------------------------------------------


def _entries(kind: str, digests: dict[str, list[str]]) -> Iterator[str]:
    yield f"        {kind}{{"
    for key, hashes in digests.items():
        texts = [f'"{one}"' for one in dict.fromkeys(hashes)]
        line = f'            "{key}": ({", ".join(texts)}{"," * (len(texts) == 1)}),'
        if len(line) <= 100:
            yield line
            continue
        yield f'            "{key}": ('
        yield from (f"                {text}," for text in texts)
        yield "            ),"
    yield "        },"


def _known_lines(client: str, versions: Sequence[str]) -> Iterator[str]:
    files: dict[str, list[str]] = {}
    functions: dict[str, list[str]] = {}
    for version in versions:
        process = python(client, version, "-m", "amqpcodec.compat", "sources", client)
        report = json.loads(process.stdout)
        for table, part in ((files, "files"), (functions, "functions")):
            for key, value in report[part].items():
                table.setdefault(key, []).extend([value] if value else [])
    if not functions:
        raise SystemExit(
            f"known: the entry of {client!r} in _known.py has no paths to hash; add each path that "
            "the drop-in rests on to its last table, with () for the hashes"
        )
    if missing := [path for path, hashes in functions.items() if not hashes]:
        raise SystemExit(
            f"known: no version of {client!r} gives a hash of {', '.join(missing)}; install the "
            "client, or correct the path in _known.py"
        )
    yield f'    "{client}": Known('
    texts = [f'"{version}"' for version in versions]
    yield f"        ({', '.join(texts)}{',' * (len(texts) == 1)}),"
    yield from _entries("", files)
    yield from _entries("", functions)
    yield "    ),"


def write_known() -> None:
    """Write `_known.py` anew: the matrix from its folders, other clients as they are installed."""
    from amqpcodec.compat._known import KNOWN as BEFORE

    text = KNOWN.read_text(encoding="utf-8")
    head = text[: text.index("KNOWN: dict[str, Known] = {")]
    lines = ["KNOWN: dict[str, Known] = {"]
    for client, client_sources in BEFORE.items():
        lines += _known_lines(client, MATRIX.get(client, client_sources.versions))
    KNOWN.write_text(head + "\n".join([*lines, "}", ""]), encoding="utf-8")


# --- differential tests -------------------------------------------------------------------------


def _part_of(text: str, package: str, version: str) -> str:
    """What `check` prints of one client; nothing where this version is not known."""
    lines = text.splitlines()
    head = f"{package} {version}: compared beforehand"
    if head not in lines:
        return ""
    start = lines.index(head)
    ends = (i for i in range(start + 1, len(lines)) if not lines[i].startswith(" "))
    return "\n".join(lines[start : next(ends, len(lines))])


def compare(versions: Iterable[tuple[str, str]], cases: int, seed: int, keep: bool = False) -> bool:
    """Compare each version with and without its drop-in; print a table.

    Args:
        versions: (client, version) each.
        cases: of each version.
        seed: of the first case.
        keep: whether the results are recorded.

    Returns:
        Whether all are the same.
    """
    same = True
    print("| client | version | compiled | left | cases | differ | hang | seconds |")
    print("|---|---|---|---|---|---|---|---|")
    for client, version in versions:
        start = time.monotonic()
        drop_in = "azure" if client in V1_CODECS else client
        process = python(client, version, "-m", "amqpcodec.compat", "check", drop_in)
        text = _part_of(process.stdout, PACKAGES.get(client, client), version)
        parts = text.partition("left to ")[2].splitlines()[1:]
        compiled = re.search(r"compiled: (\d+)", text)
        count = compiled[1] if compiled else "refused"
        arguments = ("--cases", str(cases), "--seed", str(seed), "--quiet")
        package = V1_CODECS.get(client, client)
        process = python(client, version, "-m", "tests.dropins.fuzz", package, *arguments)
        totals = re.search(r"([\d,]+) cases .*?([\d,]+) differences", process.stdout)
        hang = re.search(r"HangError ([\d,]*\d)", process.stdout)
        row = [client, version, count, str(len(parts))]
        row += [totals[1], totals[2]] if totals else ["0", "?"]
        row += [hang[1] if hang else "0", f"{time.monotonic() - start:.0f}"]
        print(f"| {' | '.join(row)} |", flush=True)
        if keep and totals:
            results = read_results()
            entry = results.setdefault(client, {}).setdefault(version, {})
            numbers = [int(totals[number].replace(",", "")) for number in (1, 2)]
            entry |= {
                "compiled": int(count) if compiled else count,
                "left": len(parts),
                "cases": numbers[0],
                "differences": numbers[1],
            }
            write_results(results)
        if process.returncode:
            same = False
            print(process.stdout[-6000:], process.stderr[-3000:], sep="\n", file=sys.stderr)
    return same


def main() -> int:
    """Exit status 1 where a version differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.dropins.versions", description=__doc__)
    parser.add_argument("command", choices=["fetch", "known", "compare", "guide"])
    parser.add_argument("clients", nargs="*", metavar="CLIENT[==VERSION]")
    parser.add_argument("--ends", action="store_true", help="the oldest and the newest only")
    parser.add_argument("--cases", type=int, default=100_000, help="of each version")
    parser.add_argument("--record", action="store_true", help="keep what `compare` found")
    parser.add_argument("--seed", type=int, default=0, help="of the first case")
    options = parser.parse_args()
    versions = ends() if options.ends else all_versions()
    if options.clients:
        chosen = set(options.clients)
        versions = [one for one in versions if one[0] in chosen or "==".join(one) in chosen]
    if options.command == "guide":
        write_tables()
        return 0
    fetch(versions)
    if options.command == "known":
        write_known()
        # In a process that reads the new table.
        subprocess.run(
            [sys.executable, "-m", "tests.dropins.versions", "guide"], cwd=REPO, check=True
        )
    elif options.command == "compare":
        return 0 if compare(versions, options.cases, options.seed, options.record) else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
