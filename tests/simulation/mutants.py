"""Planted faults, which the simulation must find: mistakes that a careful person could make.

The table is `mutants.txt`. It names the place of a fault by a function and by names that the code
there mentions, never by its text: what a formatter, a comment or a rename elsewhere changes does
not matter. A fault is planted while its module is imported, so the files stay as they are.
"""

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any, NamedTuple

_ROOT = Path(__file__).resolve().parents[2]
_TABLE = Path(__file__).with_name("mutants.txt")
_LINE = re.compile(
    r"(?P<operator>[a-z]+)(?P<names>( [\w-]+)+?)(?: #(?P<number>-?\d+))?(?:: (?P<text>.+))?"
)


class Edit(NamedTuple):
    """One change of a function: what is done where some names are mentioned."""

    operator: str
    names: Sequence[str]
    number: int  # Of the places that mention them all.
    text: str


class Mutant(NamedTuple):
    """A fault."""

    name: str
    module: str
    place: str  # A function or method; empty for the module itself.
    edits: list[Edit]
    why: list[str]  # It is a fault.

    def planted(self) -> ast.Module:
        """The module with the fault in it; raises LookupError if it has no such place."""
        path = _ROOT / self.module.replace(".", "/")
        tree = ast.parse(path.with_suffix(".py").read_text())
        found: Any = tree
        for name in filter(None, self.place.split(".")):
            found = next((each for each in found.body if getattr(each, "name", "") == name), None)
            if found is None:
                raise LookupError(f"{self.name}: {self.module} has no {self.place}")
        before = ast.dump(tree)
        for edit in self.edits:
            try:
                _OPERATORS[edit.operator](found, edit)
            except IndexError:
                raise LookupError(f"{self.name}: {self.place} has no place for {edit}") from None
        if ast.dump(tree) == before:
            raise LookupError(f"{self.name} changes nothing")
        return ast.fix_missing_locations(tree)


def plant(name: str) -> None:
    """Plants a fault in this process, which must not have imported its module yet."""
    [mutant] = [each for each in MUTANTS if each.name == name]
    real = SourceFileLoader.get_code

    def get_code(self: SourceFileLoader, fullname: str) -> Any:
        if fullname != mutant.module:
            return real(self, fullname)
        return compile(mutant.planted(), self.path, "exec", dont_inherit=True)

    SourceFileLoader.get_code = get_code  # type: ignore[method-assign]


# Places


def _mentioned(node: ast.AST) -> set[str]:
    # By the expressions of a statement, not by the statements inside it; and its kind.
    names = {type(node).__name__}
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (ast.stmt, ast.ExceptHandler)):
            names |= _mentioned(child)
    for value in (getattr(node, each, None) for each in ("id", "attr", "arg", "value")):
        if isinstance(value, str):
            names.update(re.findall(r"\w+", value))
    return names


def _places(root: ast.AST, edit: Edit, *kinds: type[ast.AST]) -> list[Any]:
    # In the order of the text.
    return [
        each
        for each in _walk(root)
        if isinstance(each, kinds) and set(edit.names) <= _mentioned(each)
    ]


def _walk(root: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(root):
        yield child
        yield from _walk(child)


def _exchange(root: ast.AST, old: ast.AST, new: Sequence[ast.AST]) -> None:
    for node in ast.walk(root):
        for name, value in ast.iter_fields(node):
            if value is old:
                setattr(node, name, new[0])
            elif isinstance(value, list) and any(each is old for each in value):
                at = next(number for number, each in enumerate(value) if each is old)
                value[at : at + 1] = new


def _expression(text: str) -> ast.expr:
    # Of any function, so with `await`.
    [statement] = _statements(text)
    assert isinstance(statement, ast.Expr)
    return statement.value


def _statements(text: str) -> list[ast.stmt]:
    [function] = ast.parse(f"async def _():\n {text}").body
    assert isinstance(function, ast.AsyncFunctionDef)
    return function.body


# What is done there


def _statement(root: ast.AST, edit: Edit) -> None:
    # Other statements instead, before or after, or none.
    old = _places(root, edit, ast.stmt)[edit.number]
    new: list[ast.AST] = list(_statements(edit.text or "pass"))
    kept = {"before": [*new, old], "after": [old, *new]}
    _exchange(root, old, kept.get(edit.operator, new))


def _value(root: ast.AST, edit: Edit) -> None:
    # Another value of an assignment, a `return` or an expression.
    kinds = (ast.Assign, ast.AugAssign, ast.Return, ast.Expr)
    _places(root, edit, *kinds)[edit.number].value = _expression(edit.text)


def _test(root: ast.AST, edit: Edit) -> None:
    # Another condition.
    tests = []
    for node in _walk(root):
        tests += [node.test] if isinstance(node, (ast.If, ast.While, ast.IfExp)) else []
        tests += node.ifs if isinstance(node, ast.comprehension) else []
    fitting = [each for each in tests if set(edit.names) <= _mentioned(each)]
    _exchange(root, fitting[edit.number], [_expression(edit.text)])


def _put(root: ast.AST, edit: Edit) -> None:
    # An expression in the place of a name.
    [name] = edit.names
    named = [
        each
        for each in _walk(root)
        if name in (getattr(each, "id", ""), getattr(each, "attr", ""))
        and not isinstance(getattr(each, "ctx", None), ast.Store)
    ]
    _exchange(root, named[edit.number], [_expression(edit.text)])


def _argument(root: ast.AST, edit: Edit) -> None:
    # Another argument of a call, or none; an argument is a number or a name.
    function, which = edit.names
    calls = [
        each
        for each in _walk(root)
        if isinstance(each, ast.Call)
        and function in (getattr(each.func, "id", ""), getattr(each.func, "attr", ""))
    ]
    call = calls[edit.number]
    new = [_expression(edit.text)] if edit.text else []
    if which.lstrip("-").isdecimal():
        at = range(len(call.args))[int(which)]
        call.args[at : at + 1] = new
    else:
        call.keywords = [each for each in call.keywords if each.arg != which]
        call.keywords += [ast.keyword(which, each) for each in new]


def _once(root: ast.AST, edit: Edit) -> None:
    # A loop goes through once.
    _places(root, edit, ast.While)[edit.number].body.append(ast.Break())


def _handler(root: ast.AST, edit: Edit) -> None:
    # What is done about an exception.
    _places(root, edit, ast.ExceptHandler)[edit.number].body = _statements(edit.text)


def _calmly(root: ast.AST, edit: Edit) -> None:
    # What is done at last, whatever happens, is done only if nothing goes wrong.
    tries = [each for each in _walk(root) if isinstance(each, ast.Try) and each.finalbody]
    found = tries[edit.number]
    assert set(edit.names) <= set().union(*map(_mentioned, found.finalbody))
    last, found.finalbody = found.finalbody, []
    if found.handlers:
        found.orelse += last
    else:
        _exchange(root, found, [*found.body, *last])


_OPERATORS: dict[str, Callable[[ast.AST, Edit], None]] = {
    **dict.fromkeys(("drop", "instead", "before", "after"), _statement),
    "value": _value,
    "test": _test,
    "put": _put,
    "argument": _argument,
    "once": _once,
    "handler": _handler,
    "calmly": _calmly,
}


def _read() -> Iterator[Mutant]:
    module, mutant = "", None
    for line in _TABLE.read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        if line.startswith("    and ") and mutant is not None:
            mutant.edits.append(_edit(line.removeprefix("    and ")))
        elif line.startswith("    ") and mutant is not None:
            mutant.why.append(line.strip())
        elif " " not in line:
            module = line
        else:
            name, place, edit = line.split(" ", 2)
            mutant = Mutant(name, module, place.removesuffix("()"), [_edit(edit)], [])
            yield mutant


def _edit(text: str) -> Edit:
    found = _LINE.fullmatch(text)
    if found is None:
        raise ValueError(f"{_TABLE.name} has a line that says nothing: {text}")
    number = int(found["number"] or 0)
    return Edit(found["operator"], found["names"].split(), number, found["text"] or "")


MUTANTS = tuple(_read())
