"""What Perl's Net::AMQP (Debian's libnet-amqp-perl) reads, as it writes it again."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from random import Random
from typing import Any

from tests.differential.compare import Difference, Known, Peer, Refused
from tests.differential.legacy import METHODS, Sent, ours
from tests.paths import REPO
from tests.reference import encode_frame

SCRIPT = REPO / "tests" / "interop" / "net_amqp.pl"
SPEC = REPO / "spec" / "amqp0-9-1.xml"


def frame(rng: Random) -> bytes:
    """Methods and headers with the tags that it knows."""
    some = Sent(rng, faithful=True, tags="SIFATt")
    method_or_header = some.header() if rng.randrange(3) == 0 else some.method(rng.choice(METHODS))
    return encode_frame(rng.choice((1, 2, 65535)), method_or_header)


def theirs(cases: list[bytes]) -> list[Any]:
    """One process for all; where it ends at a case, the next goes on after it."""
    if shutil.which("perl") is None:
        raise ImportError("no perl")
    if subprocess.run(["perl", "-MNet::AMQP", "-MJSON::PP", "-e1"], capture_output=True).returncode:
        raise ImportError("no Net::AMQP: install your system's package (libnet-amqp-perl)")
    results: list[Any] = []
    while len(results) < len(cases):
        requests = "".join(
            json.dumps({"read": data.hex()}) + "\n" for data in cases[len(results) :]
        )
        process = subprocess.run(
            ["perl", str(SCRIPT), str(SPEC)], input=requests, capture_output=True, text=True
        )
        answers = [json.loads(line) for line in process.stdout.splitlines()]
        results += [ours(bytes.fromhex(answer["hex"])) for answer in answers]
        if len(results) < len(cases):
            results.append(Refused(process.stderr.strip().splitlines()[0]))
    return results


def cut_to_int(at: Difference) -> bool:
    """What it does not tell from a number is written as one of 32 bits."""
    number = at.ours.get("seconds") if isinstance(at.ours, dict) else at.ours
    if isinstance(number, str) and re.fullmatch("-?[0-9]+", number):
        number = int(number)
    if type(number) not in (bool, int) or type(at.theirs) is not int:
        return False
    return at.theirs == (int(number) + 2**31) % 2**32 - 2**31


KNOWN: Known = {"tags": cut_to_int}
PEERS = [Peer("net-amqp", frame, ours, theirs, KNOWN)]
