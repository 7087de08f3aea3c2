"""The shape of the code: a wall one can see, one-way imports, sockets instead of ladders, small modules, one meaning per name.

Everything is read from the syntax trees, which are parsed once; every rule has a planted twin that must be caught.
"""

import ast
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "discreet"

# A module may import only from packages on earlier lines, or from its own.
ORDER = [
    "errors",
    "visible",
    "recipe",
    "checks",
    "numerics",
    "schema",
    "accounting",
    "guarantee",
    "queries",
    "noise",
    "report",
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
    "audit",
    "sklearn",
    "cli",
]

PRIVATE = ("sources", "mechanisms")  # may see rows and statistics before noise
FREE = ("inference", "posterior", "models")  # sees released numbers only
BEHIND = ("sources", "mechanisms", "noise.sources")  # what the free side never imports

# Reserved parameter names, and who may have them. What is neither private nor free (pipeline, audits of made-up tables)
# hands noise on, and holds no rows.
PRIVATE_NAMES = {"rows", "exact"}
NOISE_ALLOWED = (*PRIVATE, "noise", "auditing")

# What must stay in queries/: a family's own arithmetic on statistics before noise, and nothing else.
EXACT_IN_QUERIES = {
    "queries.families.base.Family.score",
    "queries.families.base.OneConjugate.statistic",
    "queries.families.base.OneConjugate.update",
    "queries.families.bounded_mean.BoundedMean.update",
    "queries.families.conditional_table.ConditionalTable.counts",
    "queries.families.dirichlet.Dirichlet.score",
    "queries.families.dirichlet.Dirichlet.statistic",
    "queries.families.dirichlet.Dirichlet.update",
    "queries.families.dirichlet_tables.DirichletTables.score",
    "queries.families.exponential_rate.ExponentialRate.update",
    "queries.families.gaussian_mean.GaussianMean.update",
    "queries.families.one_sum.OneSum.score",
    "queries.families.one_sum.OneSum.statistic",
    "queries.families.poisson_rate.PoissonRate.update",
}

# Heavy third-party imports: only inside the functions that need them, so that `import discreet` stays cheap.
HEAVY = {"arviz", "duckdb", "numba", "opendp", "pandas", "polars", "pyarrow", "randomgen", "rich", "sqlglot", "xarray"}
KERNELS = "kernels"  # compiled loops import numba at their top; everybody else imports them inside functions

SAYS_NOTHING = (
    "patchwork graded envelope terms moves plain axes sizes cells chain lattice calibration packing utils helpers"
)
MOST_FILES, MOST_LINES = 20, 300
SHARED = {"draws"}  # of mechanisms: what several of them draw with


class Module(NamedTuple):
    """A module by its dotted name without "discreet."."""

    name: str
    text: str
    tree: ast.Module

    @property
    def top(self) -> str:
        return self.name.split(".")[0]


@cache
def modules() -> dict[str, Module]:
    found = {}
    for path in SOURCE.rglob("*.py"):
        name = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        if name not in ("__init__", "__main__"):
            text = path.read_text()
            found[name] = Module(name, text, ast.parse(text))
    return found


def planted(name: str, text: str) -> Module:
    return Module(name, text, ast.parse(text))


def every() -> list[Module]:
    return list(modules().values())


def imported(module: Module) -> Iterator[str]:
    """Modules of this package that a module imports, e.g. "guarantee.basis"."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "discreet":
            base = node.module.removeprefix("discreet").removeprefix(".")
            for alias in node.names:
                inner = f"{base}.{alias.name}".removeprefix(".")
                yield inner if inner in modules() else base
        elif isinstance(node, ast.Import):
            yield from (a.name.removeprefix("discreet.") for a in node.names if a.name.startswith("discreet."))


def functions(module: Module) -> Iterator[tuple[str, list[str]]]:
    """Dotted names of functions, methods and lambdas with their parameters."""

    def inside(node: ast.AST, path: str) -> Iterator[tuple[str, list[str]]]:
        for child in ast.iter_child_nodes(node):
            own = f"{path}.{getattr(child, 'name', '')}" if hasattr(child, "name") else path
            if isinstance(child, ast.FunctionDef | ast.Lambda):
                a = child.args
                named = [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg))]
                yield own, [argument.arg for argument in named]
            yield from inside(child, own)

    yield from inside(module.tree, module.name)


def within(name: str, places: tuple[str, ...]) -> bool:
    return any(name == place or name.startswith(f"{place}.") for place in places)


# --- imports


def upward_imports(module: Module) -> list[str]:
    own = ORDER.index(module.top)
    other = (name for name in imported(module) if name and name.split(".")[0] != module.top)
    return [f"{module.name} imports {name}" for name in other if ORDER.index(name.split(".")[0]) >= own]


def test_imports_point_one_way() -> None:
    assert len(ORDER) <= 25
    assert [problem for module in every() for problem in upward_imports(module)] == []


def test_an_upward_import_is_caught() -> None:
    found = upward_imports(planted("models.base", "def f():\n    from discreet.pipeline import release\n"))
    assert found == ["models.base imports pipeline"]


def imports_through_the_wall(module: Module) -> list[str]:
    if module.top in FREE:
        return [f"{module.name} imports {name}" for name in imported(module) if within(name, BEHIND)]
    if module.top in PRIVATE:
        return [f"{module.name} imports {name}" for name in imported(module) if within(name, FREE)]
    return []


def test_nothing_is_imported_through_the_wall() -> None:
    assert [problem for module in every() for problem in imports_through_the_wall(module)] == []


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("inference.counts.x", "from discreet.sources import Dataset"),
        ("posterior.x", "from discreet.noise.sources import SystemNoise"),
        ("models.x", "def f():\n    import discreet.mechanisms.draws.tempered"),
        ("mechanisms.x", "from discreet.inference.diagnostics import split_rhat"),
    ],
)
def test_an_import_through_the_wall_is_caught(module: str, line: str) -> None:
    assert imports_through_the_wall(planted(module, line))


def heavy_imports(module: Module) -> list[str]:
    if KERNELS in module.name.split("."):
        return []
    found = []
    for node in module.tree.body:
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        found += [name for name in names if name.split(".")[0] in HEAVY or f".{KERNELS}" in name]
    return [f"{module.name}: {name}" for name in found]


def test_heavy_imports_are_local() -> None:
    assert [problem for module in every() for problem in heavy_imports(module)] == []


@pytest.mark.parametrize("line", ["import numba", "from discreet.numerics.kernels.hidden_pass import collapsed_pass"])
def test_a_heavy_import_at_the_top_is_caught(line: str) -> None:
    assert heavy_imports(planted("models.x", line))


# --- names at the wall


def misnamed(module: Module) -> list[str]:
    """Parameters whose name says another side of the wall than the path does."""
    found = []
    for name, parameters in functions(module):
        wrong = {"generator"} & set(parameters)
        if module.top not in PRIVATE and name not in EXACT_IN_QUERIES:
            wrong |= PRIVATE_NAMES & set(parameters)
        if module.top not in NOISE_ALLOWED:
            wrong |= {"noise"} & set(parameters)
        if module.top in PRIVATE:
            wrong |= {"rng", "design"} & set(parameters)
        found += [f"{name}({parameter})" for parameter in sorted(wrong)]
    return found


def test_private_values_and_noise_travel_under_their_names_only() -> None:
    assert [problem for module in every() for problem in misnamed(module)] == []


def test_what_stays_in_queries_is_all_there() -> None:
    there = {name for module in every() for name, parameters in functions(module) if "exact" in parameters}
    assert there >= EXACT_IN_QUERIES
    assert {name for name in there if name.startswith("queries.")} == EXACT_IN_QUERIES


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("inference.counts.x", "def mean(rows): ..."),
        ("models.x", "def posterior(self, *, exact): ..."),
        ("posterior.x", "f = lambda noise: 0"),
        ("mechanisms.x", "def draw(rng): ..."),
        ("mechanisms.x", "def draw(generator): ..."),
        ("sources.x", "class A:\n    def count(self, rng): ..."),
        ("queries.families.new", "def other(exact): ..."),
    ],
)
def test_a_name_on_the_wrong_side_is_caught(module: str, line: str) -> None:
    assert misnamed(planted(module, line))


def numpy_noise(module: Module) -> list[str]:
    """Random numbers that the private side makes for itself instead of being given `noise`."""
    if module.top not in PRIVATE:
        return []
    return [
        f"{module.name}: {word}" for word in ("default_rng", "np.random.random", "SeededNoise") if word in module.text
    ]


def test_the_private_side_makes_no_random_numbers_of_its_own() -> None:
    assert [problem for module in every() for problem in numpy_noise(module)] == []
    assert numpy_noise(planted("mechanisms.x", "np.random.default_rng(0)"))


def opendp_imports(module: Module) -> bool:
    names = [n.name for node in ast.walk(module.tree) if isinstance(node, ast.Import) for n in node.names]
    names += [node.module or "" for node in ast.walk(module.tree) if isinstance(node, ast.ImportFrom)]
    return any(name.split(".")[0] == "opendp" for name in names)


def test_only_one_module_imports_opendp() -> None:
    assert [module.name for module in every() if opendp_imports(module)] == ["noise.sources"]
    assert opendp_imports(planted("mechanisms.x", "def f():\n    import opendp.prelude as dp"))


# What counts cells exactly, without noise or price, and the one command that shows it to the custodian, marked.
EXACT_COUNTS, THEIR_COMMAND = "sources.cell_check", "cli.commands.check_command"


def shows_exact_counts(module: Module) -> list[str]:
    if module.name in (EXACT_COUNTS, THEIR_COMMAND):
        return []
    return [f"{module.name} imports {name}" for name in imported(module) if name == EXACT_COUNTS]


def test_exact_counts_are_asked_by_one_command() -> None:
    assert EXACT_COUNTS in set(imported(modules()[THEIR_COMMAND]))
    assert [problem for module in every() for problem in shows_exact_counts(module)] == []
    assert shows_exact_counts(
        planted("report.x", "def f():\n    from discreet.sources.cell_check import checked_cells")
    )


# --- sockets


@cache
def kinds() -> dict[str, str]:
    """Classes of mechanisms, families, losses and queries, each with the package that may look at them."""
    found = {}
    for place in ("mechanisms", "queries"):
        for module in every():
            if module.top == place:
                found |= {node.name: place for node in ast.walk(module.tree) if isinstance(node, ast.ClassDef)}
    return found


def ladders(module: Module) -> list[str]:
    """Tests of a kind by its class outside the package of the kind, and comparisons of a kind's name."""
    found = []
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("isinstance", "issubclass"):
            names = {n.id for n in ast.walk(node.args[1]) if isinstance(n, ast.Name)}
            found += [name for name in names if kinds().get(name, module.top) != module.top]
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            texts = [side.value for side in sides if isinstance(side, ast.Constant) and isinstance(side.value, str)]
            asked = [side for side in sides if isinstance(side, ast.Attribute) and side.attr == "kind"]
            found += [f"kind == {text!r}" for text in texts if asked and text in LOSS_NAMES]
        if isinstance(node, ast.Match):
            found.append("match")
    return [f"{module.name}: {name}" for name in found]


LOSS_NAMES = {"logistic", "hinge", "huber", "poisson", "table", "quadratic"}


def test_nobody_knows_a_kind_by_its_class() -> None:
    assert [problem for module in every() for problem in ladders(module)] == []


@pytest.mark.parametrize(
    "line",
    [
        "if isinstance(mechanism, NoisyStatistics): ...",
        "isinstance(query.family, Dirichlet | BoundedMean)",
        "issubclass(type(query), Loss)",
        'if query.kind == "quadratic": ...',
    ],
)
def test_a_ladder_is_caught(line: str) -> None:
    assert ladders(planted("release", line))


# --- layout


def twice(modules: list[Module]) -> list[str]:
    """Names of modules and classes that occur more than once."""
    files = Counter(module.name.split(".")[-1] for module in modules if f"{module.name}." not in packages(modules))
    classes = Counter(node.name for module in modules for node in module.tree.body if isinstance(node, ast.ClassDef))
    return [name for count in (files, classes) for name, times in count.items() if times > 1 and name != "base"]


def packages(modules: list[Module]) -> set[str]:
    return {f"{module.name.rpartition('.')[0]}." for module in modules}


def test_no_module_and_no_class_name_occurs_twice() -> None:
    assert twice(every()) == []
    assert twice([*every(), planted("models.laws", "class Schema: ...")]) == ["laws", "Schema"]


def bound_twice(module: Module) -> list[str]:
    """Names that a module binds more than once at its top: a constant that hides an import means two things."""
    names: Counter[str] = Counter()
    for node in module.tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names[node.name] += 1
        elif isinstance(node, ast.Assign):
            names.update(n.id for target in node.targets for n in ast.walk(target) if isinstance(n, ast.Name))
        elif isinstance(node, ast.ImportFrom):
            names.update(alias.asname or alias.name for alias in node.names)
    return [f"{module.name}: {name}" for name, times in names.items() if times > 1]


def test_a_name_means_one_thing_in_a_module() -> None:
    assert [problem for module in every() for problem in bound_twice(module)] == []
    assert bound_twice(planted("accounting.x", "from a import LARGEST\nLARGEST = 300.0"))


def silent_names(names: list[str]) -> list[str]:
    return [name for name in names if name.split(".")[-1] in SAYS_NOTHING.split()]


def test_names_say_something() -> None:
    assert silent_names(list(modules())) == []
    assert silent_names(["inference.counts.lattice"])


def full_folders(folders: dict[str, int]) -> list[str]:
    return [name for name, count in folders.items() if count > MOST_FILES]


def test_folders_stay_small() -> None:
    counted = Counter(
        str(path.parent.relative_to(SOURCE)) for path in SOURCE.rglob("*.*") if "__pycache__" not in str(path)
    )
    assert full_folders(counted) == []
    assert full_folders({"models": 21})


def long_modules(modules: list[Module]) -> list[str]:
    return [module.name for module in modules if len(module.text.splitlines()) > MOST_LINES]


def test_modules_stay_small() -> None:
    assert long_modules(every()) == []
    assert long_modules([planted("models.x", "\n" * (MOST_LINES + 1))]) == ["models.x"]


def unproved(folder: Path) -> list[str]:
    """What a mechanism's folder lacks: its proof with both parts, and the proof's name in its file."""
    proof, code = folder / "proof.md", folder / f"{folder.name}.py"
    texts = [file.read_text() if file.exists() else "" for file in (proof, code)]
    needed = (("## Theorem 1", texts[0]), ("## Law that is sampled", texts[0]), (f"{folder.name}.md", texts[1]))
    return [f"{folder.name}: {words}" for words, text in needed if words not in text]


def test_every_mechanism_has_its_proof_beside_it(tmp_path: Path) -> None:
    folders = [path for path in (SOURCE / "mechanisms").iterdir() if path.is_dir() and path.name != "__pycache__"]
    assert len(folders) > len(SHARED)
    assert [problem for folder in folders if folder.name not in SHARED for problem in unproved(folder)] == []
    assert len(unproved(tmp_path)) == 3
