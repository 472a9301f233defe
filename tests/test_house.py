"""Rules of the house that a machine can check."""

import ast
import dataclasses
import importlib
import inspect
import pkgutil
import pydoc
import re
import subprocess
import sys
from pathlib import Path

import naive
import pytest

import nuvmatch

PACKAGE = Path(nuvmatch.__file__).parent
FILES = {str(path.relative_to(PACKAGE)): path for path in sorted(PACKAGE.rglob("*.py"))}
TREES = {name: ast.parse(path.read_text("utf-8")) for name, path in FILES.items()}
MODULES = {
    found.name: importlib.import_module(found.name)
    for found in pkgutil.walk_packages([str(PACKAGE)], "nuvmatch.")
    if not found.name.endswith("__main__")
}

LONGEST_FUNCTION, LONGEST_FILE, LONGEST_LINE_OF_HELP = 60, 500, 260

# Writes LLVM's instructions one by one.
GENERATORS = {("engine/additions.py", "_piece_in_llvm"), ("engine/histograms.py", "_count_in_llvm")}


def functions():
    """Every function of the package, inner ones too, by file."""
    for name, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield name, node


def is_kernel(function):
    return any(
        ast.unparse(decorator).split(".")[-1] == "jit" for decorator in function.decorator_list
    )


KERNELS = {f"{name}: {node.name}": node for name, node in functions() if is_kernel(node)}


def test_kernels_are_found_as_numba_has_them():
    named = {key.split(": ")[1] for key in KERNELS}
    assert len(KERNELS) > 20
    assert {"decide", "extend", "climb", "sum_slices", "_explained"} <= named


@pytest.mark.parametrize("kernel", [key for key in KERNELS if ": _" not in key])
def test_a_kernel_names_the_plain_loop_that_it_is_compared_with(kernel):
    twins = re.findall(r"``naive\.(\w+)``", ast.get_docstring(KERNELS[kernel]) or "")
    assert twins
    for twin in twins:
        assert inspect.isfunction(getattr(naive, twin, None)), f"there is no naive.{twin}"


@pytest.mark.compiled
def test_each_kernel_calls_those_of_its_own_file_only():
    """Numba's cache does not notice that others were edited."""
    dispatcher = type(nuvmatch.finding.suppression.decide)
    found = set()
    for name, module in MODULES.items():
        for kernel in vars(module).values():
            if isinstance(kernel, dispatcher) and kernel.py_func.__module__ == name:
                found.add(kernel.py_func.__name__)
                called = map(kernel.py_func.__globals__.get, kernel.py_func.__code__.co_names)
                others = [k for k in called if isinstance(k, dispatcher)]
                assert {k.py_func.__module__ for k in others} <= {name}
    assert found == {key.split(": ")[1] for key in KERNELS}


# Documentation

ROOMS = ("batch", "binning", "compat", "evaluation", "tones", "theory", "io", "showing")


def public_objects():
    """What can be reached from outside: functions, classes and their methods, by name."""
    rooms = [nuvmatch, *(MODULES[f"nuvmatch.{room}"] for room in ROOMS)]
    for room in rooms:
        names = getattr(room, "__all__", None) or [
            name
            for name, value in vars(room).items()
            if not name.startswith("_") and getattr(value, "__module__", None) == room.__name__
        ]
        for name in names:
            value = getattr(room, name)
            if inspect.isfunction(value):
                yield f"{room.__name__}.{name}", value
            elif inspect.isclass(value):
                yield f"{room.__name__}.{name}", value
                for method, function in inspect.getmembers(value, callable):
                    ours = (getattr(function, "__module__", None) or "").startswith("nuvmatch")
                    if ours and not method.startswith("_"):
                        yield f"{room.__name__}.{name}.{method}", function


PUBLIC = dict(public_objects())


def documented(documentation, title):
    """Names in a section of a numpydoc docstring; None if there is no such section."""
    found = re.search(
        rf"(?:^|\n){title}\n-+\n(.*?)(?=\n\n\S[^\n]*\n-+\n|\Z)", documentation, re.DOTALL
    )
    if found is None:
        return None
    headers = [line for line in found.group(1).splitlines() if line and not line.startswith(" ")]
    return [name for line in headers for name in re.split(r",\s*", line.split(" : ")[0].strip())]


def parameters(value):
    """Names in the signature, with stars, as numpydoc writes them."""
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    return [
        stars.get(parameter.kind, "") + parameter.name
        for parameter in inspect.signature(value).parameters.values()
        if parameter.name not in ("self", "cls")
    ]


def test_the_parser_of_documentation_reads_what_numpydoc_allows():
    text = """Do it.

    Parameters
    ----------
    a, b : int
        Both: numbers.
    c
    *rest : str
    **options

        More of these.

    Returns
    -------
    d : float
        Not : this.
    """
    assert documented(inspect.cleandoc(text), "Parameters") == ["a", "b", "c", "*rest", "**options"]
    assert documented(inspect.cleandoc(text), "Returns") == ["d"]
    assert documented(inspect.cleandoc(text), "Raises") is None


@pytest.mark.parametrize("name", PUBLIC)
def test_the_parameters_documented_are_those_of_the_signature(name):
    """In any order.

    A docstring without sections, and that of a method, may explain them in a sentence; what is
    only returned, and made by nobody outside, has its fields as attributes.
    """
    value = PUBLIC[name]
    documentation = inspect.getdoc(value)
    assert documentation
    if inspect.isclass(value) and (
        getattr(value, "_is_protocol", False) or issubclass(value, Exception)
    ):
        return
    expected = parameters(value)
    found = documented(documentation, "Parameters")
    attributes = documented(documentation, "Attributes")
    if found is None and dataclasses.is_dataclass(value) and attributes is not None:
        found = attributes
    is_method = not inspect.isclass(value) and "." in value.__qualname__
    if found is None and (is_method or not re.search(r"\n-{4,}\n", documentation)):
        return
    assert sorted(found or []) == sorted(expected)


@pytest.mark.parametrize("name", nuvmatch.__all__)
def test_help_fits_a_screen(name):
    value = getattr(nuvmatch, name)
    if isinstance(value, str):
        return
    lines = pydoc.render_doc(value, renderer=pydoc.plaintext).splitlines()
    assert len(lines) > 3
    assert max(map(len, lines)) <= LONGEST_LINE_OF_HELP, max(lines, key=len)


@pytest.mark.parametrize("name", ["locate", "score_map"])
def test_functions_and_methods_take_the_same_keywords(name):
    """Those of the method and those that make a matcher, with the same defaults."""

    def keywords(value):
        found = inspect.signature(value).parameters.values()
        return {p.name: p.default for p in found if p.kind is p.KEYWORD_ONLY}

    function = keywords(getattr(nuvmatch, name))
    method = keywords(getattr(nuvmatch.Matcher, name))
    matcher = keywords(nuvmatch.Matcher)
    assert not set(method) & set(matcher)
    assert function.items() <= {**method, **matcher}.items()
    # A map's memory is kept from call to call by a matcher; places have no type.
    left_out = {"locate": {"dtype"}, "score_map": {"out"}}[name]
    assert {*method, *matcher} - set(function) == left_out


# Size


def test_no_file_is_too_long():
    lengths = {name: path.read_text("utf-8").count("\n") for name, path in FILES.items()}
    assert not {name: n for name, n in lengths.items() if n > LONGEST_FILE}


def lines_of_code(name, function):
    """Lines of a function, its docstring not counted."""
    lines = function.end_lineno - function.lineno + 1
    if ast.get_docstring(function) is not None:
        docstring = function.body[0]
        lines -= docstring.end_lineno - docstring.lineno + 1
    return lines


def test_no_function_is_too_long():
    """Kernels are loops in which a call would cost; they are exempt."""
    long = {
        f"{name}: {node.name}": lines_of_code(name, node)
        for name, node in functions()
        if not is_kernel(node) and (name, node.name) not in GENERATORS
    }
    assert len(long) > 300
    assert not {key: lines for key, lines in long.items() if lines > LONGEST_FUNCTION}


def test_no_constant_is_named_by_how_many():
    """`_MOST_ROWS` says less than what the limit is of."""
    vague = re.compile(r"_?(MOST|FEW)")
    names = [
        f"{name}: {node.id}"
        for name, tree in TREES.items()
        for statement in tree.body
        if isinstance(statement, (ast.Assign, ast.AnnAssign))
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and vague.match(node.id)
    ]
    assert not names


EXTRAS = [
    "dask", "distributed", "jinja2", "matplotlib", "pandas", "pyarrow", "tifffile", "tqdm", "zarr",
]  # fmt: skip


def test_the_command_line_starts_without_any_extra():
    missing = "".join(f"sys.modules[{name!r}] = None; " for name in EXTRAS)
    code = f"import sys; {missing}import nuvmatch.cli; nuvmatch.cli.main(['bins', '--help'])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert said.stdout.startswith("usage: nuvmatch bins"), said.stderr
