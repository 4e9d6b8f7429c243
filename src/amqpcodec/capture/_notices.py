"""Numbers in words, and packets that the reader skipped: for warnings, logs and stderr."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ._ports import ServerPorts

__all__ = [
    "counted_noun",
    "no_frames_warning",
    "other_ports",
    "other_protocols",
    "translated_notice",
    "unread_links_warning",
]


def counted_noun(number: int, noun: str) -> str:
    """Such as "1 packet" and "1,000 packets"."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def translated_notice(connections: int) -> str:
    """That the reader read connections once whose packets were captured again behind an address
    translation; "" where there were none.

    connections: as stats() counts them.
    """
    if connections <= 0:
        return ""
    if connections == 1:
        once = "1 connection was captured again behind an address translation: it is"
    else:
        once = (
            f"{connections:,} connections were captured again behind an address translation:"
            " each is"
        )
    return f"{once} read once, with the addresses that came first"


def unread_links_warning(links: Mapping[str, int]) -> str:
    """That the reader skipped packets of link types that it does not read; "" where it did not.

    links: packets by the type's name, as stats() has them.
    """
    packets = sum(links.values())
    if not packets:
        return ""
    types = ", ".join(f"{name}: {n:,}" for name, n in sorted(links.items()))
    if packets == 1:
        return f"1 packet was skipped: its link type is not read ({types})"
    return f"{packets:,} packets were skipped: their link types are not read ({types})"


def other_protocols(counted: Mapping[str, Any]) -> list[str]:
    """What the connections speak that the reader skipped, and how many of each.

    counted: as stats() has it.
    """
    names: Mapping[str, int] = counted["other_protocol_names"]
    return [f"{counted_noun(n, 'connection')} of {name}" for name, n in names.items()]


def other_ports(counted: Mapping[str, Any]) -> str:
    """Ports that were not read and got a protocol header, between commas; "" where there are none.

    counted: as stats() has it.
    """
    return ",".join(counted["unread_header_ports"])


def no_frames_warning(counted: Mapping[str, Any], ports: ServerPorts) -> str:
    """That nothing of a recording is AMQP, or "" where that is not so.

    counted: as stats() has it of a file, or of several.
    """
    if counted["frames"]:
        return ""
    if not counted["packets"]:
        return "no frame of AMQP: no packet was recorded"
    numbers = ", ".join(map(str, sorted(set(ports.numbers)))) or "none"
    reasons = [f"{counted_noun(n, 'packet')}: {reason}" for reason, n in counted["skipped"].items()]
    reasons += other_protocols(counted)
    if sealed := counted["tls_connections"] - counted["tls_decrypted"]:
        reasons.append(f"{counted_noun(sealed, 'connection')} over TLS, which keylog= opens")
    if others := other_ports(counted):
        reasons.append(f"a protocol header was sent to {others}")
    details = f" ({', '.join(reasons)})" if reasons else ""
    detection = ", and no protocol header on any other" if ports.detect else ""
    advice = "ports= names the servers' ports"
    plural = "s" * (len(set(ports.numbers)) != 1)
    return f"no frame of AMQP on port{plural} {numbers}{detection}{details}; {advice}"
