"""What all drop-ins share: patch points that are changed and put back, versions, counts.

Where the environment has AMQPCODEC_DROPINS_RAISE=1 when a drop-in is installed, an error of its own
is raised, as our tests want it; else it is counted and the client's own code does the work.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from types import FunctionType
from typing import Any, Literal, NamedTuple, Protocol

from ._compare import DiffersError, HangError, limit_lines
from ._sources import Sources

__all__ = [
    "CompatError", "CompatWarning", "DropIn", "Install", "OnUnknown", "PatchPoint", "Report",
    "all_or_none", "check_on_unknown",
]  # fmt: skip

#: What is done about a client that was not compared with its drop-in beforehand.
OnUnknown = Literal["warn", "error", "skip"]


def check_on_unknown(on_unknown: str) -> None:
    """Raise ValueError for another word."""
    if on_unknown not in ("warn", "error", "skip"):
        raise ValueError(f"on_unknown is 'warn', 'error' or 'skip', not {on_unknown!r}")


class CompatError(RuntimeError):
    """A drop-in cannot be installed; the client is as it was."""


class CompatWarning(UserWarning):
    """A drop-in meets a client, or a state of it, that it was not made for."""


class Install(Protocol):
    """Put a drop-in in place of the client's codec."""

    def __call__(self, strict: bool = True, *, on_unknown: OnUnknown = "warn") -> None:
        """As DropIn.install() has it."""


class PatchPoint(NamedTuple):
    """A place of a client that is changed: attribute of a module or class, or a dict's entry.

    Args:
        replacement: what is put there.
        dependencies: paths of the client's functions whose work is done there and cannot be
            compared beforehand (`_sources.py`). Where one is not known, the patch point stays the
            client's own.
        label: what warnings call it where its holder has no name.
    """

    holder: Any
    name: Any
    replacement: Any
    dependencies: tuple[str, ...] = ()
    label: str = ""

    def __repr__(self) -> str:
        return (
            self.label
            or f"{getattr(self.holder, '__qualname__', self.holder.__name__)}.{self.name}"
        )

    def current(self) -> Any:
        """What stands there now, descriptors as they are."""
        if isinstance(self.holder, dict):
            return self.holder[self.name]
        if isinstance(self.holder, FunctionType):
            return getattr(self.holder, self.name)
        return vars(self.holder)[self.name]

    def untouched(self, client: str) -> bool:
        """Whether a function stands there that the client shipped; other things are not judged."""
        function = self.current()
        if not callable(function):
            return True
        module = sys.modules.get(getattr(function, "__module__", None) or "")
        return (
            type(function) is FunctionType
            and module is not None
            and function.__globals__ is vars(module)
            and f"{function.__module__}.".startswith(f"{client}.")
            and (function.__name__ == self.name or isinstance(self.holder, dict))
        )

    def set(self, value: Any) -> None:
        """Put something there."""
        if isinstance(self.holder, dict):
            self.holder[self.name] = value
        else:
            setattr(self.holder, self.name, value)


class ClientPatch(NamedTuple):
    """A drop-in made for the client that is there.

    unsupported: what is the client's own work because it differs: what it is, and why, in words.
    """

    codec: Any
    points: list[PatchPoint]
    guards: Any
    unsupported: tuple[tuple[str, str], ...] = ()


class Report(NamedTuple):
    """What is compiled of a client and what is left to it.

    Args:
        client: name of the package.
        version: of the client.
        is_known: whether this version was compared with the drop-in beforehand.
        compiled: the client's functions whose work the drop-in does.
        uncompiled: what stays the client's own work, and why, in words.
    """

    client: str
    version: str
    is_known: bool
    compiled: tuple[str, ...]
    uncompiled: tuple[str, ...]


class DropIn:
    """One client's drop-in. `build` makes the codec and says where its functions go.

    Args:
        client: name of the package.
        build: called with strict; raises AttributeError or KeyError where a patch point is missing.
        paths: of all that the drop-in rests on beside its patch points (`_sources.py`).
        distribution: where the version is asked of what was installed, not of the package; also
            its name in the table of known sources.
    """

    def __init__(
        self,
        client: str,
        build: Callable[[bool], ClientPatch],
        paths: tuple[str, ...],
        distribution: str | None = None,
    ) -> None:
        self.client = client
        self.distribution = distribution
        self.sources = Sources(distribution or client)
        self.versions = self.sources.versions
        self.paths = paths
        self.build = build
        self._lock = threading.RLock()
        self._patch: ClientPatch | None = None
        self._report: tuple[bool, tuple[str, ...], tuple[str, ...]] = (False, (), ())
        self._before: list[tuple[PatchPoint, Any]] = []
        self._calls = 0  # of codecs that were installed before, as the next one
        self._reasons: Counter[str] = Counter()

    def install(self, strict: bool = True, *, on_unknown: OnUnknown = "warn") -> None:
        """Put the compiled codec into the patch points of the client, which is imported.

        Args:
            strict: False makes a header value that the client cannot read a `types.RawValue`.
            on_unknown: what is done about a client that is none of the versions that were compared
                with the drop-in, or was changed: "warn" compares it, uses what gives the client's
                own results and warns; "error" raises `CompatError`; "skip" warns and leaves the
                client as it is.

        Raises:
            CompatError: the client is missing, has not what the drop-in replaces, gives other
                values than the drop-in (the first of these is named), or is not known and
                `on_unknown` is "error".
            ValueError: `on_unknown` is another word.
        """
        check_on_unknown(on_unknown)
        with self._lock:
            if self._patch is not None:
                self._patch.codec.lenient = not strict
                return
            try:
                importlib.import_module(self.client)
            except ModuleNotFoundError as error:
                if not f"{self.client}.".startswith(f"{error.name}."):
                    raise
                raise CompatError(
                    f"the drop-in for {self.client} needs {self.client}, which is not installed"
                ) from error
            is_known_version = self.is_known()
            if not is_known_version and on_unknown != "warn":
                text = self._unknown()
                if on_unknown == "error":
                    raise CompatError(f"{text}. Nothing was changed.")
                warnings.warn(f"{text}: it is left as it is", CompatWarning, stacklevel=3)
                return
            try:
                with limit_lines(not is_known_version), warnings.catch_warnings():
                    # Those of an old client would be errors, and so differences, with -W error.
                    warnings.simplefilter("ignore", DeprecationWarning)
                    patch = self.build(strict)
                theirs = [point for point in patch.points if not point.untouched(self.client)]
                unpatched = self._unpatchable(
                    [point for point in patch.points if point not in theirs]
                )
                before = [
                    (point, point.current())
                    for point in patch.points
                    if point not in theirs
                    and not any(point in group for group in unpatched.values())
                ]
            except DiffersError as error:
                raise CompatError(
                    f"{self.client} {self.version()} gives other values than this drop-in, which "
                    f"was made for {', '.join(self.versions)} as released. The first: {error}. "
                    "Nothing was changed: install such a version, or use "
                    f"{self.client} without the drop-in."
                ) from error
            except HangError as error:
                raise CompatError(
                    f"{self.client} {self.version()} does not end in a first comparison: {error}; "
                    f"known is {', '.join(self.versions)}. Nothing was changed."
                ) from error
            except (AttributeError, ImportError, KeyError, TypeError) as error:
                raise CompatError(
                    f"{self.client} {self.version()} does not have what this drop-in replaces "
                    f"({error}); known is {', '.join(self.versions)}. Nothing was changed."
                ) from error
            warning_texts = [*self._warnings(patch, theirs, unpatched)]
            parts = [f"{what} is left to {self.client}: {why}" for what, why in patch.unsupported]
            if is_known_version:
                for text in parts:
                    warnings.warn(text, CompatWarning, stacklevel=3)
            else:
                used = "only what gives the client's own results in a comparison is used"
                warnings.warn(
                    ". ".join([f"{self._unknown()}: {used}", *parts]), CompatWarning, stacklevel=3
                )
            for text in warning_texts:
                warnings.warn(text, CompatWarning, stacklevel=3)
            patch.codec.forget_calls()
            patch.codec.lenient = not strict
            patch.codec.raises = os.environ.get("AMQPCODEC_DROPINS_RAISE") == "1"
            self._before = before
            for point in theirs:  # so what rests on it is left to the client's code, which calls it
                patch.guards.expect(point.holder, point.name, object())
            undo_list: list[tuple[PatchPoint, Any]] = []
            patch.guards.count_changes()
            try:
                for point, was in before:
                    if not isinstance(point.holder, FunctionType):
                        patch.guards.expect(point.holder, point.name, point.replacement)
                    point.set(point.replacement)
                    undo_list.append((point, was))
            except BaseException:
                for point, was in undo_list:
                    point.set(was)
                patch.guards.release()
                raise
            self._patch = patch
            uncompiled = (f"{what}: {why}" for what, why in patch.unsupported)
            compiled = tuple(repr(point) for point, _ in before)
            self._report = is_known_version, compiled, (*uncompiled, *warning_texts)

    def _unpatchable(self, points: list[PatchPoint]) -> dict[str, list[PatchPoint]]:
        """The patch points that stay the client's own, by the reason."""
        by_reason: dict[str, list[PatchPoint]] = {}
        for point in points:
            why = self.sources.why_not(point.dependencies)
            if why is not None:
                by_reason.setdefault(why, []).append(point)
        return by_reason

    def _unknown(self) -> str:
        """Why this client is not known, in words."""
        if self._release() not in self.versions:
            return (
                f"this drop-in knows {self.client} {', '.join(self.versions)}, and this is "
                f"{self.version()}"
            )
        return str(self.sources.why_not(self.paths, patched=True))

    def _warnings(
        self, patch: ClientPatch, theirs: list[PatchPoint], by_reason: dict[str, list[PatchPoint]]
    ) -> Iterator[str]:
        """What a user should know of the client's functions that stay."""
        for point in theirs:
            yield (
                f"{point} is not {self.client}'s own: it stays what somebody made it, and what "
                "goes through it is not faster"
            )
        for path in patch.guards.foreign((point.holder, point.name) for point in theirs):
            yield (
                f"{path} is not {self.client}'s own: what rests on it is left to {self.client}'s "
                "code, and is not faster"
            )
        for why, points in by_reason.items():
            yield (
                f"{why}: {', '.join(map(repr, points))} is left as it is, and what goes through it "
                "is not faster"
            )

    def is_known(self) -> bool:
        """Whether this is a version, and these are sources, that were compared with the drop-in."""
        is_compared_version = self._release() in self.versions
        return is_compared_version and self.sources.why_not(self.paths, patched=True) is None

    def _release(self) -> str:
        """The version that the package says, which costs nothing; or else what was installed."""
        version = getattr(importlib.import_module(self.client), "__version__", None)
        return self.version() if version is None else str(version)

    def version(self) -> str:
        """That of the client."""
        if self.distribution is not None:
            from importlib import metadata

            try:
                return metadata.version(self.distribution)
            except metadata.PackageNotFoundError:
                pass
        return str(getattr(importlib.import_module(self.client), "__version__", "unknown"))

    def report(self) -> Report | None:
        """What is compiled and what is left to the client; None: the drop-in is not installed."""
        with self._lock:
            if self._patch is None:
                return None
            return Report(self.client, self.version(), *self._report)

    def uninstall(self) -> None:
        """Put back what stood in the client's patch points.

        What somebody else changed since stays.
        """
        with self._lock:
            if self._patch is None:
                return
            for point, was in reversed(self._before):
                if point.current() is point.replacement:
                    point.set(was)
            self._forget()
            self._patch.guards.release()
            codec = self._patch.codec
            self._calls += codec.calls
            self._reasons.update(codec.reasons)
            self._before = []
            self._patch = None

    def save(self) -> Callable[[], None]:
        """A function that makes the drop-in what it is now: not installed, or installed and as
        strict as it is."""
        with self._lock:
            patch = self._patch
            lenient = patch is not None and patch.codec.lenient

        def restore() -> None:
            with self._lock:
                if patch is None:
                    self.uninstall()
                elif self._patch is patch:
                    patch.codec.lenient = lenient

        return restore

    def _forget(self) -> None:
        """Put the client's functions back where its modules, imported since, took ours by value."""
        ours = {
            id(point.replacement): was for point, was in self._before if callable(point.replacement)
        }
        for name, module in list(sys.modules.items()):
            if f"{name}.".startswith(f"{self.client}."):
                for attribute, value in list(vars(module).items()):
                    if id(value) in ours:
                        setattr(module, attribute, ours[id(value)])

    def is_there(self) -> bool:
        """Whether the client can be imported."""
        try:
            return find_spec(self.client) is not None
        except ModuleNotFoundError:  # not even the package around it
            return False

    def installed(self) -> bool:
        """Whether the drop-in is installed now."""
        return self._patch is not None

    def calls(self) -> int:
        """How often the compiled codec was entered in the place of the client's."""
        with self._lock:
            return self._calls + (self._patch.codec.calls if self._patch else 0)

    def fallbacks(self) -> dict[str, int]:
        """How many of these calls the client's own code did in the end, by reason."""
        with self._lock:
            now = self._patch.codec.reasons if self._patch else {}
            return dict(self._reasons + Counter(now))


@contextmanager
def all_or_none(drop_ins: Iterable[DropIn]) -> Iterator[None]:
    """Where the body raises, these drop-ins are what they were before it."""
    restores = [drop_in.save() for drop_in in drop_ins]
    try:
        yield
    except BaseException:
        for restore in reversed(restores):
            restore()
        raise
