"""A hook of MkDocs: pages that lie beside docs/, and links that leave it.

SECURITY.md and CHANGELOG.md are pages of the site; a link to another file of the repository is one
to where the repository is, or plain text where that is not known. Long code in tables may break.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
#: Page of the site -> file of the repository.
PAGES = {"security.md": "SECURITY.md", "changelog.md": "CHANGELOG.md"}
#: Characters of code in a table that stay in one line.
UNBROKEN = 24


def on_files(files: Files, config: Any) -> Files:
    """Add the pages."""
    for name, source in PAGES.items():
        content = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, name, content=content))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Make links out of docs/ links to the repository."""
    here = (ROOT / "docs" / page.file.src_uri).parent

    def link(match: re.Match[str]) -> str:
        text, target = match[1], match[2]
        if "://" in target or target.startswith(("#", "mailto:")):
            return match[0]
        name, _, anchor = target.partition("#")
        base = ROOT if page.file.src_uri in PAGES else here
        path = (base / name).resolve()
        inside = path.is_relative_to(ROOT / "docs")
        if inside and page.file.src_uri not in PAGES:
            return match[0]
        if inside:
            return f"[{text}]({path.relative_to(ROOT / 'docs')}{anchor and '#' + anchor})"
        page_names = {ROOT / source: name for name, source in PAGES.items()}
        if path in page_names:
            return f"[{text}]({'../' * page.file.src_uri.count('/')}{page_names[path]})"
        if not path.exists():
            raise FileNotFoundError(f"{page.file.src_uri}: {target} does not exist")
        if config.repo_url:
            return f"[{text}]({config.repo_url}/blob/main/{path.relative_to(ROOT)})"
        return text

    return re.sub(r"\[([^\]]+)\]\(([^)\s]+)\)", link, markdown)


def on_page_content(html: str, page: Any, config: Any, files: Files) -> str:
    """Let long code in tables break at punctuation: a column of it is as narrow as its names."""

    def code(match: re.Match[str]) -> str:
        parts = re.split(r"(<[^>]*>)", match[0])
        text = "".join(parts[::2])
        if len(text) <= UNBROKEN:
            return match[0]
        after = r"[./:_]" if "/" in text else r"[.,(=\[:|]"
        for at, part in enumerate(parts[::2]):
            broken = re.sub(rf"({after})(?=[\w\"'(*])", r"\1<wbr>", part)
            parts[2 * at] = re.sub(
                r"(?<![\w-])--\w[\w-]*", r'<span class="option">\g<0></span>', broken
            )
        return "".join(parts)

    def cell(match: re.Match[str]) -> str:
        return re.sub(r"<code>.*?</code>", code, match[0], flags=re.S)

    return re.sub(r"<td\b.*?</td>", cell, html, flags=re.S)
