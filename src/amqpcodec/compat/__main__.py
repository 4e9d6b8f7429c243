"""``python -m amqpcodec.compat check``: what the drop-ins do for the clients that are installed."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Sequence

from .._facade.arguments import Parser
from . import CLIENTS, drop_in
from ._dropin import CompatError, CompatWarning, DropIn
from ._known import KNOWN
from ._sources import digest, file_digest


def _check(one: DropIn, everything: bool) -> bool:
    """Print what the drop-in does for a client that is there; False: it refuses it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CompatWarning)
        try:
            one.install()
        except CompatError as error:
            print(f"{one.client} {one.version()}: refused\n  {error}")
            return False
        report = one.report()
        one.uninstall()
    assert report is not None
    kind = "compared beforehand" if report.is_known else "not known, compared now"
    print(f"{report.client} {report.version}: {kind}")
    count = len(report.compiled)
    print(f"  compiled: {count} functions" + (":" if everything else ""))
    for name in report.compiled if everything else ():
        print(f"    {name}")
    print(f"  left to {report.client}:" + ("" if report.uncompiled else " nothing"))
    for text in report.uncompiled:
        print(f"    {text}")
    return True


def check(clients: Sequence[str], everything: bool) -> int:
    """Install the drop-ins of the clients that are there, print what each does, uninstall them.

    Returns:
        Exit status: 1 where a client is refused, else 0.
    """
    accepted = True
    for client in clients:
        for one in drop_in(client).DROP_INS:
            if one.is_there():
                accepted &= _check(one, everything)
            else:
                print(f"{one.distribution or one.client}: not installed")
    return 0 if accepted else 1


def sources(clients: Sequence[str]) -> int:
    """Print the hashes of the clients' files and functions, as JSON, one client in a line."""
    for client in clients:
        functions = {}
        for path in KNOWN[client].functions:
            try:
                functions[path] = digest(path)
            except (ImportError, AttributeError, LookupError):
                functions[path] = None
        modules = dict.fromkeys(path.partition(":")[0] for path in functions)
        files = {}
        for name in modules:
            try:
                files[name] = file_digest(name)
            except ImportError:
                files[name] = None
        print(json.dumps({"client": client, "files": files, "functions": functions}))
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0, 1 where a client is refused, 2 for wrong arguments."""
    parser = Parser(prog="python -m amqpcodec.compat", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser(
        "check",
        help="for each client: its version, what is compiled, what is left to it, and why",
        description="Print for each client that is installed its version, what its drop-in "
        "compiles, what stays the client's own work and the first value that differs. "
        "The exit status is 1 where a drop-in refuses a client.",
    )
    command.add_argument("clients", nargs="*", metavar="CLIENT", help=", ".join(CLIENTS))
    command.add_argument(
        "--all", action="store_true", dest="everything", help="list the compiled functions"
    )
    command = commands.add_parser(
        "sources", help="hashes of the clients' files and functions, for developers"
    )
    command.add_argument("clients", nargs="*", metavar="CLIENT", help=", ".join(KNOWN))
    options = parser.parse_args(arguments)
    choices = CLIENTS if options.command == "check" else tuple(KNOWN)
    if unknown := set(options.clients) - set(choices):
        parser.error(f"no drop-in for {', '.join(sorted(unknown))}; there is {', '.join(choices)}")
    clients = options.clients or choices
    if options.command == "sources":
        return sources(clients)
    return check(clients, options.everything)


if __name__ == "__main__":
    sys.exit(main())
