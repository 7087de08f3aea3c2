"""The shape of the code: one-way imports, small modules, a greppable privacy boundary."""

import ast
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "discreet"

# A module may import only from modules on earlier lines (or its own package). The first matching prefix decides.
ORDER = [
    "errors",
    "visible",
    "files",
    "recipe",
    "checks",
    "numerics",
    "schema",
    "accounting",
    "guarantee",
    "queries",
    "noise",
    "sources",
    "mechanisms",
    "inference",
    "posterior",
    "models",
    "release",
    "ledger",
    "pipeline",
    "planning",
    "studies",
    "auditing",
    "report",
    "audit",
    "cli",
    "__main__",
]

# Heavy third-party imports: only inside the functions that need them, so that `import discreet` stays cheap.
HEAVY = {"arviz", "duckdb", "numba", "opendp", "pandas", "polars", "pyarrow", "randomgen", "rich", "sqlglot", "xarray"}

# Compiled kernels import numba at their top; everybody else imports them inside the functions that need them.
KERNELS = "samplers.kernels"

# Where private records may appear as a parameter called `rows`.
ROWS_ALLOWED = ("sources", "mechanisms")


@cache  # the tree is walked once, not once for every import
def modules() -> dict[str, Path]:
    paths = [path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py"]
    return {".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__"): path for path in paths}


def level(module: str) -> int:
    for position, prefix in enumerate(ORDER):
        if module == prefix or module.startswith(prefix + "."):
            return position
    raise AssertionError(f"{module} has no place in the order of imports")


def imported(tree: ast.AST) -> list[tuple[str, ast.AST]]:
    """Modules of this package that a tree imports, e.g. "guarantee.basis"."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "discreet":
            base = node.module.removeprefix("discreet").removeprefix(".")
            inner = [f"{base}.{alias.name}".removeprefix(".") for alias in node.names]
            found += [(name if name in modules() else base, node) for name in inner]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if alias.name.startswith("discreet.")]
            found += [(name.removeprefix("discreet."), node) for name in names]
    return found


def upward_imports(module: str, tree: ast.AST) -> list[str]:
    own = module.split(".")[0]
    return [
        f"{module} imports {name}"
        for name, _ in imported(tree)
        if name.split(".")[0] != own and level(name) >= level(module)
    ]


def heavy_imports(module: str, tree: ast.Module) -> list[str]:
    found = []
    if ".kernels" in module:
        return found
    for node in tree.body:
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        found += [name for name in names if name.split(".")[0] in HEAVY or ".kernels" in name]
    return found


def rows_parameters(tree: ast.AST) -> list[str]:
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.Lambda)]
    found = []
    for function in functions:
        arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
        found += [getattr(function, "name", "lambda") for argument in arguments if argument.arg == "rows"]
    return found


@pytest.mark.parametrize("module", sorted(modules()))
def test_imports_point_one_way(module: str) -> None:
    assert upward_imports(module, ast.parse(modules()[module].read_text())) == []


def test_an_upward_import_is_caught() -> None:
    planted = ast.parse("def f():\n    from discreet.pipeline import release\n")
    assert upward_imports("models.base", planted) == ["models.base imports pipeline"]


@pytest.mark.parametrize("module", sorted(modules()))
def test_modules_stay_small(module: str) -> None:
    assert len(modules()[module].read_text().splitlines()) <= 300


@pytest.mark.parametrize("module", sorted(modules()))
def test_heavy_imports_are_local(module: str) -> None:
    assert heavy_imports(module, ast.parse(modules()[module].read_text())) == []


@pytest.mark.parametrize("module", sorted(modules()))
def test_rows_appear_only_behind_the_boundary(module: str) -> None:
    tree = ast.parse(modules()[module].read_text())
    if not module.startswith(ROWS_ALLOWED):
        assert rows_parameters(tree) == []


def test_a_rows_parameter_is_caught() -> None:
    assert rows_parameters(ast.parse("def mean(rows): ...")) == ["mean"]


def test_only_randomness_imports_opendp_and_nobody_uses_numpy_noise_in_mechanisms() -> None:
    for module, path in modules().items():
        text = path.read_text()
        assert ("opendp" in text.lower().replace("opendp discrete", "")) <= (
            module in ("noise.sources", "noise.laws", "mechanisms.noisy_statistics.noisy_statistics")
        ), module
        if module.startswith("mechanisms"):
            assert "np.random" not in text, module
            assert "default_rng" not in text, module


def test_every_mechanism_has_its_proof_beside_it() -> None:
    for path in (SOURCE / "mechanisms").glob("*.py"):
        if path.stem not in ("__init__", "base"):
            proof = path.with_suffix(".md").read_text()
            assert "## Theorem 1" in proof
            assert "## Law that is sampled" in proof
            assert path.with_suffix(".md").name in path.read_text()
