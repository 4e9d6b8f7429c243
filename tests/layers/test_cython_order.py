"""Who uses whom in the compiled core, down to files.

Between modules: by the `cimport` lines of their .pyx and .pxd, along `USES`. Inside of a module:
each file uses only what stands above it, in the order in which the root includes them; so there is
no cycle.
"""

from __future__ import annotations

import re
from functools import cache

import pytest

from tests.layers.cython_symbols import Symbols, cimports, includes, symbols
from tests.paths import REPO

SOURCE = REPO / "src" / "amqpcodec"

#: Module -> modules whose declarations it may use. Those above it in this list, or fewer.
USES: dict[str, set[str]] = {
    "_codec": set(),
    "_v1": {"_codec"},
    "_columns": {"_codec", "_v1"},
    "_encode": {"_codec", "_v1", "_columns"},
    "_capture": {"_codec", "_v1", "_columns"},
    "_dropins": {"_codec"},
    "_dropins_v1": {"_codec", "_v1", "_dropins"},
}

#: Module -> folders of its files below _core, in their order: a file uses no later folder.
FOLDERS: dict[str, list[str]] = {
    "_codec": ["wire", "tables", "objects", "protocol"],
    **{module: [module[1:]] for module in USES if module != "_codec"},
    "_capture": ["events", "capture"],
}

#: Declarations of the specifications, without a module: whoever needs them cimports them.
GENERATED = "_gen.v1_constants"

#: Included by the root of every module: what all use of C and of CPython.
SHARED = "_core/wire/python.pxd"


def _read(name: str) -> str:
    path = SOURCE / name
    return path.read_text(encoding="utf-8") if path.exists() else ""


@cache
def stems(module: str) -> tuple[str, ...]:
    """The files of a module, without .pxi and .pxd, in order."""
    declarations = [name[:-4] for name in includes(_read(f"{module}.pxd")) if name != SHARED]
    below = [name[:-4] for name in includes(_read(f"{module}.pyx"))]
    order = list(below)
    for i, name in enumerate(declarations):
        if name not in order:  # declarations alone, as _gen/constants.pxd
            after = [other for other in declarations[:i] if other in order]
            order.insert(order.index(after[-1]) + 1 if after else 0, name)
    return tuple(order)


def both(stem: str) -> Symbols:
    """What a file defines and uses, its declarations included."""
    parts = [symbols(text) for text in (_read(f"{stem}.pxd"), _read(f"{stem}.pxi")) if text]
    defined = {name: line for part in parts for name, line in part.defined.items()}
    used = {name: line for part in parts for name, line in part.used.items()}
    return Symbols(defined, {name: line for name, line in used.items() if name not in defined})


FILES = {module: list(stems(module)) for module in USES}
SYMBOLS = {stem: both(stem) for module in USES for stem in FILES[module]}
PYTHON = symbols(_read(SHARED)).defined


def wrong_uses(symbols_by_file: dict[str, Symbols], order: list[str]) -> list[str]:
    """Names that a file of a module uses, and that only a file below it defines."""
    homes: dict[str, list[str]] = {}
    for name in order:
        for symbol in set(symbols_by_file[name].defined) - set(PYTHON):
            homes.setdefault(symbol, []).append(name)
    return [
        f"{name}:{line}: {symbol} stands below, in {homes[symbol][0]}"
        for name in order
        for symbol, line in sorted(symbols_by_file[name].used.items())
        if symbol in homes
        and symbol not in PYTHON
        and all(order.index(home) >= order.index(name) for home in homes[symbol])
    ]


def wrong_cimports(module: str, imports: list[tuple[str, str]], used: set[str]) -> list[str]:
    """Against the arrows, of a name that is no declaration there, or not used."""
    wrong = []
    for home, name in imports:
        if home == GENERATED:
            is_declared = name in _read("_gen/v1_constants.pxd")
        elif home not in USES[module]:
            wrong.append(f"{module} uses {name} of {home}, which is no module below it")
            continue
        else:
            is_declared = any(name in symbols(_read(f"{s}.pxd")).defined for s in FILES[home])
        if not is_declared:
            wrong.append(f"{module}: {name} is not declared in {home}")
        if name not in used:
            wrong.append(f"{module}: {name} of {home} is not used")
    return wrong


def used_by(module: str) -> set[str]:
    """All words of a module's files and root but for comments and its cimports."""
    texts = [_read(f"{stem}{suffix}") for stem in FILES[module] for suffix in (".pxi", ".pxd")]
    texts.append(re.sub(r"from .* cimport (\([^)]*\)|.*)", "", _read(f"{module}.pyx")))
    return {word for text in texts for word in re.findall(r"\w+", re.sub(r"#.*", "", text))}


@pytest.mark.parametrize("module", USES)
def test_files_use_what_stands_above_them(module: str) -> None:
    assert wrong_uses(SYMBOLS, FILES[module]) == []


@pytest.mark.parametrize("module", USES)
def test_modules_use_modules_below_them(module: str) -> None:
    imports = cimports(_read(f"{module}.pyx")) + cimports(_read(f"{module}.pxd"))
    assert wrong_cimports(module, imports, used_by(module)) == []
    assert module == "_codec" or imports


def test_modules_have_no_circle() -> None:
    order = list(USES)
    for module, below in USES.items():
        assert all(order.index(other) < order.index(module) for other in below)


@pytest.mark.parametrize("module", USES)
def test_every_file_is_included_once_and_has_its_place(module: str) -> None:
    source_files = {
        path.relative_to(SOURCE).as_posix()
        for folder in FOLDERS[module]
        for path in (SOURCE / "_core" / folder).glob("*.px[id]")
    }
    roots = includes(_read(f"{module}.pyx")), includes(_read(f"{module}.pxd"))
    included_files = [name for names in roots for name in names if name.startswith("_core/")]
    assert sorted({*included_files, *source_files}) == sorted(source_files | {SHARED})
    assert len(included_files) == len(set(included_files))
    # Declarations in the order of the files, and folders in theirs.
    order = FILES[module]
    declared = [name[:-4] for name in roots[1] if name != SHARED]
    assert declared == sorted(declared, key=order.index)
    folders = [stem.split("/")[1] for stem in order if stem.startswith("_core/")]
    assert folders == sorted(folders, key=FOLDERS[module].index)


def test_every_folder_is_a_room() -> None:
    folders = {path.name for path in (SOURCE / "_core").iterdir() if path.is_dir()}
    assert folders - {"__pycache__"} == {name for names in FOLDERS.values() for name in names}
    assert {path.stem for path in SOURCE.glob("*.pyx")} == set(USES)
    assert {path.stem for path in SOURCE.glob("*.pxd")} == set(USES)


@pytest.mark.parametrize("module", USES)
def test_roots_have_no_logic(module: str) -> None:
    for line in _read(f"{module}.pyx").splitlines():
        assert not line.startswith(("def ", "cdef ", "class ")), line
    for line in _read(f"{module}.pxd").splitlines():
        assert line.startswith(("#", "include ", "from ", "cimport ", " ", ")")) or not line, line


def test_included_files_include_nothing() -> None:
    for stem in SYMBOLS:
        assert includes(_read(f"{stem}.pxi")) + includes(_read(f"{stem}.pxd")) == []


def header_uses() -> list[tuple[str, str]]:
    """(file, header of the core that it includes or declares)."""
    uses = []
    for path in sorted((SOURCE / "_core").rglob("*.*")):
        if path.suffix not in (".h", ".pxi", ".pxd"):
            continue
        name = path.relative_to(SOURCE / "_core").as_posix()
        source = path.read_text(encoding="utf-8")
        for other in re.findall(r'^ *(?:#include|cdef extern from) "(.+?)"', source, re.M):
            if path.suffix == ".h" or "/" in other:  # others of Cython files are Python's
                uses.append((name, other))
    return uses


def test_headers_include_along_the_arrows() -> None:
    room = {folder: module for module, folders in FOLDERS.items() for folder in folders}
    for name, other in header_uses():
        if "/" not in other:
            assert (SOURCE / "_gen" / other).exists(), f"{name} includes {other}"
            continue
        mine, theirs = room[name.split("/")[0]], room[other.split("/")[0]]
        assert mine == theirs or theirs in USES[mine], f"{name} includes {other}"
        if mine == theirs:
            folders = FOLDERS[mine]
            here, target_position = (
                folders.index(name.split("/")[0]),
                folders.index(other.split("/")[0]),
            )
            assert target_position <= here, f"{name} includes {other}"


def test_the_build_knows_all_headers() -> None:
    """setup.py names those of wire; Cython finds those that .pxd files declare, and no others."""
    below = set()
    for name, other in header_uses():
        mine, theirs = name.split("/")[0], other.split("/")[0]
        if name.endswith(".h") and "/" in other and mine != theirs and theirs != "wire":
            declared = "".join(
                path.read_text(encoding="utf-8")
                for path in (SOURCE / "_core" / theirs).glob("*.pxd")
            )
            assert f'cdef extern from "{other}"' in declared, f"{name} includes {other}"
            below.add(theirs)
    assert below == {"columns", "tables"}


def test_headers_have_no_circle() -> None:
    uses: dict[str, set[str]] = {}
    for name, other in header_uses():
        uses.setdefault(name, set()).add(other)
    pending_uses = dict(uses)
    while pending_uses:
        free = [name for name, others in pending_uses.items() if not others & set(pending_uses)]
        assert free, f"headers include each other: {sorted(pending_uses)}"
        for name in free:
            del pending_uses[name]


@pytest.mark.parametrize(
    ("family", "other"), [("legacy", "v1"), ("v1", "legacy")], ids=["legacy", "v1"]
)
def test_families_of_columns_do_not_use_each_other(family: str, other: str) -> None:
    """Both append through what stands above them; the driver uses both."""
    mine = [stem for stem in FILES["_columns"] if columns_family(stem) == family]
    theirs = [stem for stem in FILES["_columns"] if columns_family(stem) == other]
    assert len(mine) > 9
    names = set().union(*(SYMBOLS[stem].defined for stem in theirs))
    for stem in FILES["_columns"]:
        if columns_family(stem) != other:
            names -= set(SYMBOLS[stem].defined)
    for stem in mine:
        assert not names & set(SYMBOLS[stem].used), stem


def columns_family(stem: str) -> str:
    name = stem.rsplit("/", 1)[1]
    if "v1" in name.split("_"):
        return "v1"
    legacy = ("legacy_plan", "json_tables", "variant_tables", "tables", "wanted", "rows", "run")
    legacy += ("fast_tables", "fast", "frames", "run_fields", "columns", "messages")
    return "legacy" if name in legacy else ""


@pytest.mark.parametrize(
    "stem", ["_core/objects/legacy", "_core/objects/objects", "_core/columns/append"]
)
def test_symbols_are_found(stem: str) -> None:
    """The reader sees much of what there is, or the tests above would be blind."""
    assert len(SYMBOLS[stem].defined) > 8
    all_symbols = {
        symbol for file_symbols in SYMBOLS.values() for symbol in file_symbols.defined
    } | set(PYTHON)
    assert len(all_symbols & set(SYMBOLS[stem].used)) > 15


def test_a_moved_include_is_found_out() -> None:
    for stem in ("_core/wire/wire", "_core/wire/errors", "_core/objects/legacy"):
        order = [other for other in FILES["_codec"] if other != stem] + [stem]
        assert any(f"stands below, in {stem}" in line for line in wrong_uses(SYMBOLS, order)), stem


def test_a_forbidden_cimport_is_found_out() -> None:
    used = {"scan_frame", "Cursor", "nothing"}
    assert wrong_cimports("_v1", [("_codec", "Cursor")], used) == []
    assert "no module below" in wrong_cimports("_v1", [("_columns", "Cursor")], used)[0]
    assert "not declared" in wrong_cimports("_v1", [("_codec", "nothing")], used)[0]
    assert "not used" in wrong_cimports("_v1", [("_codec", "Fault")], used)[0]


SAMPLE = '''
"""cdef int in_a_docstring(x)."""
from libc.stdint cimport (uint8_t,
                          int8_t)
import re as _re
cdef extern from "x.h" nogil:
    uint16_t load(const uint8_t* p)
    ctypedef struct Thing:
        int inside
    PyObject* made "py_made"(char* p)
    enum:
        LEAST
    ctypedef enum Color:
        RED
cdef enum:
    ONE = 1
    TWO
cdef struct Plain:
    uint8_t u
ctypedef int (*reader)(Plain* d) except -1
cdef object A = B.attribute
cdef const char** NAMES = [b"x"]
cdef uint8_t table[4]
cdef int8_t SHAPES[2][256]
cdef inline bint act(Plain* d, int n=DEFAULT) noexcept nogil:
    # a comment with comment_word
    cdef size_t i, j = 0
    cdef Other* o
    for k in range(n):
        o.field = outside(d, keyword=n)
    return f"{text}" == "a_string" and _re.compile(ONE)
cdef class Shape(Base):
    cdef int count
    def area(self, double scale):
        return self.count * scale * FACTOR
PLAIN = made
'''


def test_symbols_of_a_sample() -> None:
    sample_symbols = symbols(SAMPLE)
    assert set(sample_symbols.defined) == {
        *("uint8_t", "int8_t", "_re", "load", "Thing", "made", "ONE", "TWO", "Plain", "reader"),
        *("LEAST", "Color", "RED"),
        *("A", "NAMES", "table", "SHAPES", "act", "Shape", "PLAIN"),
    }
    expected_uses = {"B", "DEFAULT", "Other", "outside", "Base", "FACTOR"}
    assert expected_uses <= set(sample_symbols.used)
    unwanted = (
        "in_a_docstring comment_word a_string attribute inside keyword i j k o n d count scale"
    )
    assert not set(unwanted.split()) & set(sample_symbols.used)


def test_cimports_of_a_sample() -> None:
    text = "from amqpcodec._codec cimport (\n    A, b,\n    C,\n)\nfrom libc cimport d\n"
    text += "from amqpcodec._gen.x cimport E\n"
    assert cimports(text) == [("_codec", "A"), ("_codec", "b"), ("_codec", "C"), ("_gen.x", "E")]
