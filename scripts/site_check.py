"""Does the site's reference have an entry for each public name, and for no others?

    python scripts/site_check.py SITE

Public is what ``__all__`` of a public module names. One line a difference; exit status 1 if there
is any. Nothing is imported: the documents' environment has no compiled module.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def assigned(path: Path, name: str) -> tuple[str, ...]:
    """The texts that a module assigns to a name; none where it does not."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        targets = node.targets if isinstance(node, ast.Assign) else ()
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            assert isinstance(node, ast.Assign)
            values: tuple[str, ...] = tuple(ast.literal_eval(node.value))
            return values
    return ()


def source(module: str) -> Path:
    """The file in which a module names what is public: its stub, where it has one."""
    path = ROOT / "src" / Path(*module.split("."))
    files = (path.with_suffix(".pyi"), path.with_suffix(".py"), path / "__init__.py")
    return next(file for file in files if file.is_file())


def differences(site: Path) -> Iterator[str]:
    """Names without an entry, and entries of no public name."""
    for module in assigned(ROOT / "src" / "amqpcodec" / "_facade" / "public.py", "MODULES"):
        page = (site / "reference" / module / "index.html").read_text(encoding="utf-8")
        pattern = rf'<(?:h\d|div)[^>]* id="{re.escape(module)}\.(\w+)"'
        entries = set(re.findall(pattern, page))
        public = set(assigned(source(module), "__all__"))
        yield from (f"{module}.{name} has no entry" for name in sorted(public - entries))
        yield from (f"{module}.{name} is not public" for name in sorted(entries - public))


def main(arguments: list[str]) -> int:
    """Print the differences; the exit status."""
    if len(arguments) != 1:
        print("usage: site_check.py SITE", file=sys.stderr)
        return 2
    found = list(differences(Path(arguments[0])))
    print("\n".join(found) or "each public name has an entry in the reference")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
