"""Kernel: a function of numbers and arrays that is compiled to machine code when it is first needed."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar

__all__ = ["Kernel", "kernel"]

P = ParamSpec("P")
R = TypeVar("R")


class Kernel(Generic[P, R]):
    """A function that numba compiles once, for one signature.

    The compiler is loaded with the first call, not with this module. Machine code does exactly what the definition
    says: nothing is reordered or fused (no ``fastmath``), so every processor computes the same bits. Where numba is not
    installed the definition itself runs, with the same results, some hundred times slower.

    Args:
        definition: The function, in the part of Python that numba compiles. It may call other kernels.
        signature: Types of its result and arguments, as numba writes them.
        allocates: Whether it makes arrays. Only then do arrays count who refers to them, which often takes longer than
            the rest of a call with twenty arrays.
    """

    def __init__(self, definition: Callable[P, R], signature: str, *, allocates: bool = False) -> None:
        functools.update_wrapper(self, definition)
        self.definition = definition
        """The function as it was written: the interpreter runs it."""
        self.signature = signature
        self.allocates = allocates
        self._compiled: Callable[..., R] | None = None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the compiled function."""
        return (self._compiled or self.prepare())(*args, **kwargs)

    def prepare(self) -> Callable[..., R]:
        """Compile the function, or load it from numba's cache, unless that was done before."""
        if self._compiled is None:
            self._compiled = _compiled(self.definition, self.signature, allocates=self.allocates)
        return self._compiled


def kernel(signature: str, *, allocates: bool = False) -> Callable[[Callable[P, R]], Kernel[P, R]]:
    """Make a kernel of a function.

    Args:
        signature: Types of its result and arguments, as numba writes them: ``"int64(int64[::1], float64)"``.
        allocates: Whether it makes arrays; the compiler refuses a kernel that does without saying so.
    """
    return lambda definition: Kernel(definition, signature, allocates=allocates)


def is_compiled() -> bool:
    """Return whether kernels are compiled here: whether numba is installed."""
    try:
        import numba  # noqa: F401, PLC0415
    except ImportError:
        return False
    return True


def _compiled(definition: Callable[..., R], signature: str, *, allocates: bool) -> Callable[..., R]:
    if not is_compiled():
        return definition
    import numba  # noqa: PLC0415

    _let_kernels_call_kernels()
    # Without "nrt", numba's runtime, references are not counted. Numba does not document this option.
    compile_: Callable[..., Any] = functools.partial(
        numba.njit, signature, nogil=True, error_model="numpy", _nrt=allocates
    )
    try:
        compiled: Callable[..., R] = compile_(cache=True)(definition)
    except RuntimeError as error:
        if "locator" not in str(error):
            raise
        compiled = compile_()(definition)  # no folder for the cache can be written
    return compiled


@functools.cache
def _let_kernels_call_kernels() -> None:
    from numba.core import types  # noqa: PLC0415
    from numba.extending import typeof_impl  # noqa: PLC0415

    @typeof_impl.register(Kernel)  # type: ignore[untyped-decorator]
    def _typed(called: Kernel[..., Any], _context: object) -> Any:
        return types.Dispatcher(called.prepare())
