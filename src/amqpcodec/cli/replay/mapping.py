"""``--map``: other exchanges and routing keys than the recorded ones."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..errors import UsageError

__all__ = ["Mapping"]

KINDS = ("exchange", "key")


class Mapping:
    """Old names to new ones."""

    def __init__(self, rules: Sequence[str]) -> None:
        """rules: as on the command line.

        Raises:
            UsageError: one of them is none.
        """
        self._rules: dict[str, list[tuple[re.Pattern[str], str]]] = {kind: [] for kind in KINDS}
        self._new_names: dict[tuple[str, str], str] = {}
        for rule in rules:
            kind, colon, mapping = rule.partition(":")
            if not colon or kind not in KINDS:
                kind, mapping = "exchange", rule
            old, sign, new = mapping.partition("=")
            if not sign:
                raise UsageError(f"--map {rule!r}: there is no = in it")
            if new.count("*") > old.count("*"):
                raise UsageError(f"--map {rule!r}: the new name has more * than the old one")
            if old.count("*") > 3:  # each more would cost a name's length once more
                raise UsageError(f"--map {rule!r}: an old name has 3 * at most")
            pattern = "(.*)".join(re.escape(part) for part in old.split("*"))
            self._rules[kind].append((re.compile(pattern, re.DOTALL), new))

    def exchange(self, name: str) -> str:
        """The exchange to publish to."""
        return self._mapped("exchange", name)

    def key(self, name: str) -> str:
        """The routing key to publish with."""
        return self._mapped("key", name)

    def covers_key(self, name: str) -> bool:
        """Whether a rule fits a routing key, or there is no rule for routing keys at all."""
        rules = self._rules["key"]
        return not rules or any(pattern.fullmatch(name) for pattern, _ in rules)

    def _mapped(self, kind: str, name: str) -> str:
        if not self._rules[kind]:
            return name
        new_name = self._new_names.get((kind, name))
        if new_name is None:
            new_name = self._find(kind, name)
            if len(self._new_names) > 10_000:
                self._new_names.clear()
            self._new_names[kind, name] = new_name
        return new_name

    def _find(self, kind: str, name: str) -> str:
        for pattern, new in self._rules[kind]:
            match = pattern.fullmatch(name)
            if match:
                parts = new.split("*")
                filled = [*match.groups()[: len(parts) - 1], ""]
                return "".join(part + text for part, text in zip(parts, filled, strict=True))
        return name
