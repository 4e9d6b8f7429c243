"""Texts about packets that the reader skipped: for warnings, logs and stderr."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

__all__ = ["no_frames_warning", "other_protocols", "unread_links_warning"]


def unread_links_warning(links: Mapping[str, int]) -> str:
    """That the reader skipped packets of link types that it does not read; "" where it did not.

    links: packets by the type's name, as stats() has them.
    """
    packets = sum(links.values())
    if not packets:
        return ""
    types = ", ".join(f"{name}: {n:,}" for name, n in sorted(links.items()))
    were = "packet was" if packets == 1 else "packets were"
    return f"{packets:,} {were} skipped: their link types are not read ({types})"


def other_protocols(counted: Mapping[str, Any]) -> list[str]:
    """What the connections speak that the reader skipped, and how many of each.

    counted: as stats() has it.
    """
    names: Mapping[str, int] = counted["other_protocol_names"]
    return [f"{n:,} connection{'s' * (n != 1)} of {name}" for name, n in names.items()]


def no_frames_warning(counted: Mapping[str, Any], ports: Collection[int]) -> str:
    """That there are packets and nothing of them is AMQP, or "" where that is not so.

    counted: as stats() has it of a file, or of several. ports: the servers' ports.
    """
    if counted["frames"] or not counted["packets"]:
        return ""
    numbers = ", ".join(map(str, sorted(set(ports)))) or "none"
    reasons = [f"{n:,} packets: {reason}" for reason, n in counted["skipped"].items()]
    reasons += other_protocols(counted)
    if sealed := counted["tls_connections"] - counted["tls_decrypted"]:
        reasons.append(f"{sealed:,} connections over TLS, which keylog= opens")
    details = f" ({', '.join(reasons)})" if reasons else ""
    return f"no frame of AMQP on the ports {numbers}{details}; ports= names the servers' ports"
