"""The changelog from fragments: files changelog.d/NAME.KIND.md of one or two sentences.

python scripts/changelog.py                  # prints the section that the fragments make
python scripts/changelog.py check            # exit status 1 where a name or a text is wrong
python scripts/changelog.py release 0.2.0    # moves the section into CHANGELOG.md
"""

from __future__ import annotations

import argparse
import datetime
import re
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KINDS = {"added": "Added", "changed": "Changed", "fixed": "Fixed", "removed": "Removed"}
NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*\.(" + "|".join(KINDS) + r")\.md")


def fragments(folder: Path) -> list[Path]:
    """The files of changelog.d that are not its README, by name."""
    return sorted(path for path in folder.iterdir() if path.name != "README.md")


def problems(paths: list[Path]) -> list[str]:
    """A sentence for each fragment with a wrong name or without text."""
    found = []
    for path in paths:
        if not NAME.fullmatch(path.name):
            kinds = ", ".join(KINDS)
            found.append(
                f"{path.name}: a fragment is called NAME.KIND.md, with KIND one of {kinds}"
            )
        elif not path.read_text(encoding="utf-8").strip():
            found.append(f"{path.name}: the fragment has no text; say what changes for a user")
    return found


def section(paths: list[Path], heading: str) -> str:
    """The fragments as a section of the changelog, grouped by kind."""
    lines = [f"## {heading}", ""]
    for kind, title in KINDS.items():
        texts = [
            " ".join(path.read_text(encoding="utf-8").split())
            for path in paths
            if path.name.endswith(f".{kind}.md")
        ]
        if texts:
            bullets = [
                textwrap.fill(
                    text, 120, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False
                )
                for text in texts
            ]
            lines += [f"### {title}", "", *bullets, ""]
    return "\n".join(lines)


def release(changelog: str, added: str) -> str:
    """The text of CHANGELOG.md with a section before all others."""
    head, separator, rest = changelog.partition("\n## ")
    return f"{head}\n{added}{separator}{rest}"


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Print, check or release."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("action", nargs="?", choices=("draft", "check", "release"), default="draft")
    parser.add_argument("version", nargs="?", help="the version to release")
    options = parser.parse_args(arguments)
    if (options.action == "release") != (options.version is not None):
        parser.error("give a version with release, and only there: release 0.2.0")
    paths = fragments(root / "changelog.d")
    wrong = problems(paths)
    for text in wrong:
        print(text, file=sys.stderr)
    if wrong or options.action == "check":
        return 1 if wrong else 0
    if options.action == "draft":
        print(section(paths, "Unreleased"), end="")
        return 0
    if not paths:
        print("changelog.d has no fragments: there is nothing to release", file=sys.stderr)
        return 1
    path = root / "CHANGELOG.md"
    today = datetime.datetime.now(datetime.UTC).date()
    added = section(paths, f"{options.version} ({today})")
    path.write_text(release(path.read_text(encoding="utf-8"), added), encoding="utf-8")
    for fragment in paths:
        fragment.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
