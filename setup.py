"""The extension modules and their compiler flags; metadata is in pyproject.toml."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

PACKAGE = Path("src/amqpcodec")

#: Module -> folders of its sources below _core/. Which modules it uses says its .pxd and .pyx.
ROOMS = {
    "_codec": ("wire", "tables", "objects", "protocol"),
    "_v1": ("v1",),
    "_columns": ("columns",),
    "_encode": ("encode",),
    "_capture": ("events", "capture"),
    "_dropins": ("dropins",),
    "_dropins_v1": ("dropins_v1",),
}

# Set by CI: then a warning of Cython or of the C compiler ends the build.
STRICT = bool(os.environ.get("AMQPCODEC_WERROR"))

# For work on the core: 0 compiles in half the time, and nothing of that is worth measuring.
LEVEL = os.environ.get("AMQPCODEC_OPTIMIZE", "3")

# For tests: a writer that stores more than it reserved ends the process (_core/wire/promise.h).
CHECKED = [("AMQPCODEC_CHECKED_WRITES", "1")] if os.environ.get("AMQPCODEC_CHECKED_WRITES") else []

if sys.platform == "win32":
    compile_args = ["/O2"]
else:
    # No -march=native: the wheels that users get are what is measured.
    compile_args = [f"-O{LEVEL}", "-Wall", "-Wextra"]
    # What Cython's own code does everywhere.
    compile_args += ["-Wno-unused-parameter", "-Wno-cast-function-type"]
    compile_args += ["-Wno-missing-field-initializers"]
    # No room uses all that the headers of another one define.
    compile_args += ["-Wno-unused-function", "-Wno-unused-variable"]
    # Of values read only where a reader did not fail, which gcc sees within a module alone;
    # clang does not know the name.
    compile_args += ["-Wno-maybe-uninitialized", "-Wno-unknown-warning-option"]
    if STRICT:
        compile_args.append("-Werror")


def headers(*folders: str) -> list[str]:
    """Headers that a module may include by way of others: a change there rebuilds it.

    Cython finds what a module includes and cimports, and the headers declared there, but not what
    these headers include: of other rooms that is headers of wire alone.
    """
    core = PACKAGE / "_core"
    below = [PACKAGE / "_gen", core / "wire", *(core / folder for folder in folders)]
    return sorted({str(path) for folder in below for path in folder.glob("*.h")})


extensions = [
    Extension(
        f"amqpcodec.{name}",
        [str(PACKAGE / f"{name}.pyx")],
        include_dirs=[str(PACKAGE / "_core"), str(PACKAGE / "_gen")],
        depends=headers(*folders),
        extra_compile_args=compile_args,
        define_macros=CHECKED,
    )
    for name, folders in ROOMS.items()
]

# Set by `make`, which installs the metadata once and then builds in place.
BARE = bool(os.environ.get("AMQPCODEC_METADATA_ONLY"))


def write_stubs() -> None:
    """Write the stubs that are not committed, before setup() looks for the package's files."""
    subprocess.run([sys.executable, "spec/stubs.py"], check=True)


def translate() -> list[Extension]:
    """The extensions with C files in place of Cython's."""
    return cythonize(
        extensions,
        nthreads=os.cpu_count() or 1,
        show_all_warnings=False,
        annotate=bool(os.environ.get("AMQPCODEC_ANNOTATE")),
    )


def translate_without_warnings() -> list[Extension]:
    """The same; a warning ends the build. cythonize() has no argument for this, so look at stderr.

    Raises:
        SystemExit: Cython wrote a warning.
    """
    with tempfile.TemporaryFile() as written:
        stderr = os.dup(2)
        os.dup2(written.fileno(), 2)  # its workers write there, too
        try:
            translated = translate()
        finally:
            sys.stderr.flush()
            os.dup2(stderr, 2)
            os.close(stderr)
            written.seek(0)
            text = written.read().decode(errors="replace")
            sys.stderr.write(text)
    if "warning: " in text:
        for module in translated:  # else the next build would take them as they are
            Path(module.sources[0]).unlink(missing_ok=True)
        sys.exit("warnings of Cython end the build (AMQPCODEC_WERROR)")
    return translated


# A worker that Cython starts by `forkserver` or `spawn` imports this file: it must build nothing.
if __name__ == "__main__":
    write_stubs()
    setup(
        ext_modules=[] if BARE else (translate_without_warnings if STRICT else translate)(),
        options={"build_ext": {"parallel": True}},
    )
