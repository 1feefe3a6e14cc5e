from __future__ import annotations

import importlib
import pkgutil

import pytest

import core.kernels
from core.kernels import oracles
from core.kernels.catalogue import MODULES, all_kernels_of, called_by, kernels_of
from core.kernels.kernel import Kernel
from core.records.record import Kind


def _kernels_by_module() -> dict[str, set[str]]:
    found = pkgutil.walk_packages(core.kernels.__path__, "core.kernels.")
    modules = [importlib.import_module(module.name) for module in found]
    return {
        module.__name__: {
            name
            for name, found in vars(module).items()
            if isinstance(found, Kernel) and found.__module__ == module.__name__
        }
        for module in modules
    }


def test_no_kernel_is_missing() -> None:
    """
    Every module with kernels is in the catalogue, under the kind of feed that its folder names. Otherwise a first
    window would wait for a compiler.
    """
    found = {name: kernels for name, kernels in _kernels_by_module().items() if kernels}
    catalogued = {module.__name__: kind for kind, modules in MODULES.items() for module in modules}
    assert catalogued.keys() == found.keys(), "name it in core/kernels/catalogue.py"
    assert all(name.startswith(f"core.kernels.{kind}.") for name, kind in catalogued.items())
    listed = {f"{one.__module__}.{one.definition.__name__}" for one in all_kernels_of(list(Kind))}
    assert listed == {f"{module}.{name}" for module, names in found.items() for name in names}


def test_a_kernel_is_prepared_once() -> None:
    """
    A kernel that the models of both kinds call is listed once.
    """
    for found in (kernels_of, all_kernels_of):
        both = found(list(Kind))
        assert len(both) == len({id(one) for one in both})
        assert {id(one) for kind in Kind for one in found([kind])} == {id(one) for one in both}


@pytest.mark.parametrize("kind", Kind)
def test_every_kernel_is_compiled_with_those_that_are_prepared(kind: Kind) -> None:
    """
    It is one of them, or one of them calls it, directly or not.
    """
    reached, waiting = set[int](), list(kernels_of([kind]))
    while waiting:
        one = waiting.pop()
        if id(one) not in reached:
            reached.add(id(one))
            waiting += called_by(one)
    assert {id(one) for one in all_kernels_of([kind])} <= reached


def test_each_module_has_an_oracle() -> None:
    """
    Kernels are compared with a slow version of the same name.
    """
    names = {module.__name__.rpartition(".")[2] for modules in MODULES.values() for module in modules}
    assert names <= {module.name for module in pkgutil.iter_modules(oracles.__path__)}
