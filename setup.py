"""The one extension module and its switches; metadata is in pyproject.toml."""

import os
import sys
from typing import Any

from Cython.Build import cythonize
from Cython.Compiler import Options
from Cython.Compiler.Code import CCodeWriter
from Cython.Compiler.ModuleNode import ModuleNode
from Cython.Compiler.Nodes import CFuncDefNode, ExceptClauseNode
from setuptools import Extension, setup

HERE = "src/amqpcodec"


def sources_below(*folders: str) -> list[str]:
    """Everything the root module includes: a change there must rebuild it."""
    return sorted(
        os.path.join(folder, name)
        for folder in folders
        for name in os.listdir(folder)
        if name.endswith((".pxi", ".pxd", ".h"))
    )


link_args: list[str] = []

# Set by CI: then a warning of Cython or of the C compiler ends the build.
STRICT = bool(os.environ.get("AMQPCODEC_WERROR"))
Options.warning_errors = STRICT

# No lines of the compiled core in tracebacks, as of any other C extension: to note them at 10,000
# tests for an error takes a twelfth of the size, and registers where there is none. Except clauses
# do need a traceback to catch.
note_traceback = CCodeWriter.put_add_traceback
handle_clause = ExceptClauseNode.generate_handling_code
catching: list[ExceptClauseNode] = []


def note_where_caught(code: CCodeWriter, name: str, include_cline: bool = True) -> None:
    """Instead of put_add_traceback: in except clauses only."""
    if catching:
        note_traceback(code, name, include_cline)


def handle_and_note(clause: ExceptClauseNode, code: CCodeWriter, end_label: str) -> None:
    """Instead of generate_handling_code: say that this is an except clause."""
    catching.append(clause)
    handle_clause(clause, code, end_label)
    catching.pop()


CCodeWriter.put_add_traceback = note_where_caught
ExceptClauseNode.generate_handling_code = handle_and_note

# What the module itself executes runs once, and where that fails the import does: to put its
# temporaries in order behind each of its thousand calls would take another 65 KB.
end_module = ModuleNode.generate_wrapped_entries_code
give_up = CCodeWriter.put_xdecref
ended: list[CCodeWriter] = []


def end_as_it_is(node: ModuleNode, env: Any, code: CCodeWriter) -> None:
    """Instead of generate_wrapped_entries_code: what comes before the temporaries are given up."""
    end_module(node, env, code)
    ended.append(code)


def give_up_before(code: CCodeWriter, *what: Any, **how: Any) -> None:
    """Instead of put_xdecref: unless the module's execution has ended."""
    if code not in ended:
        give_up(code, *what, **how)


ModuleNode.generate_wrapped_entries_code = end_as_it_is
CCodeWriter.put_xdecref = give_up_before

# Files of what runs once a class, a schema or an error: compiled to be small, not fast. gcc takes
# for cold, too, what cannot do without a cold function, and all that only such calls: what every
# call of a user comes through is not among them.
COLD = {
    "arrow_stream", "bind_pyamqp_odd", "capture_state", "columns_plan", "columns_request",
    "columns_v1_plan", "encode_steps", "errors", "v1_classes", "v1_desc", "v1_errors", "v1_rules",
}  # fmt: skip
WARM = {
    "find_request", "frame_plan", "kin_request", "v1_by_symbol", "v1_column_kind", "v1_known_slow",
}  # fmt: skip
COLD_FUNCTIONS = {"even_begin", "even_source", "run_begin", "run_undo"}  # of other files
APART_FUNCTIONS = {"run_messages"}  # loops that need all registers for themselves
declare = CFuncDefNode.analyse_declarations


def declare_cold(function: CFuncDefNode, env: Any) -> None:
    """Instead of analyse_declarations: AMQP_COLD of wire.h before the type of such functions."""
    source = os.path.basename(function.pos[0].get_filenametable_entry())
    name = function.declared_name()
    cold = source.removesuffix(".pxi") in COLD or name in COLD_FUNCTIONS or name.startswith("_make")
    if cold and name not in WARM and "inline" not in function.modifiers:
        function.modifiers = [*function.modifiers, "AMQP_COLD"]
    if name in APART_FUNCTIONS:
        function.modifiers = [*function.modifiers, "AMQP_APART"]
    declare(function, env)


CFuncDefNode.analyse_declarations = declare_cold

# For work on the core: 0 compiles in half the time, and nothing of that is worth measuring.
LEVEL = os.environ.get("AMQPCODEC_OPTIMIZE", "3")

if sys.platform == "win32":
    compile_args = ["/O2"]
else:
    # No -march=native: the wheels that users get are what is measured.
    compile_args = [f"-O{LEVEL}", "-Wall", "-Wextra"]
    # What Cython's own code does all over.
    compile_args += ["-Wno-unused-parameter", "-Wno-cast-function-type"]
    compile_args += ["-Wno-missing-field-initializers", "-Wno-unused-function"]
    if STRICT:
        compile_args.append("-Werror")
# Names are looked up in the module where a class is made or a schema read: no copy is kept at each
# such place, which only Pythons before 3.12 could have.
macros = [("CYTHON_USE_DICT_VERSIONS", "0")]
if sys.platform == "linux":
    compile_args += ["-g0", "-fno-plt"]  # calls into libpython are what is left of most fields
    # A twentieth of the size; no exception passes through here.
    compile_args += ["-fno-asynchronous-unwind-tables", "-fno-unwind-tables"]
    # Copies of functions and loops for some of their values: larger, and no faster here.
    compile_args += ["-fno-ipa-cp-clone", "-fno-peel-loops", "-fno-unswitch-loops"]
    compile_args.append("-fno-split-loops")
    link_args.append("-Wl,-z,noseparate-code")  # no padding to whole pages

codec = Extension(
    "amqpcodec._codec",
    [f"{HERE}/_codec.pyx"],
    include_dirs=[f"{HERE}/_core"],
    define_macros=macros,
    depends=sources_below(f"{HERE}/_core", f"{HERE}/_gen"),
    extra_compile_args=compile_args,
    extra_link_args=link_args,
)

# Set by `make`, which installs the metadata once and then builds in place: not twice, that is.
BARE = bool(os.environ.get("AMQPCODEC_METADATA_ONLY"))

setup(
    ext_modules=[]
    if BARE
    else cythonize(
        [codec], show_all_warnings=False, annotate=bool(os.environ.get("AMQPCODEC_ANNOTATE"))
    )
)
