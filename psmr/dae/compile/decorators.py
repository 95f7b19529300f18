"""The decorators that compile a function with numba and keep its machine code on disk.

numba makes each function machine code of its own, with an entry for Python, before another function may call
it, and optimises it once more in each of its callers. A part is only lowered and linked; the function that
Python enters, or the unit that is called by address, is optimised as a whole.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numba
from llvmlite.binding import Linkage
from numba import types

from psmr.base.files import uninterrupted
from psmr.dae.compile.code_cache import CodeCache
from psmr.dae.compile.notice import Notice
from psmr.dae.compile.numba_internals import PASSES, CFunc, Compiler, JITCodeLibrary, PassManager, sigutils


class _Lowered(JITCodeLibrary):  # type: ignore[misc]
    """Code that is linked into that of its callers and never run by itself."""

    def _optimize_final_module(self) -> None:
        pass

    def _get_module_for_linking(self) -> Any:
        self._ensure_finalized()  # numba links a copy: it keeps code that others may still enter
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == Linkage.external:
                function.linkage = Linkage.linkonce_odr
        return self._final_module

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


class _PartCompiler(Compiler):  # type: ignore[misc]
    """numba's compiler up to machine code, with those of its passes that loops over arrays need."""

    def __init__(
        self, typing_context: Any, context: Any, library: Any, args: Any, result: Any, flags: Any, types: Any
    ) -> None:
        library = _Lowered(context.codegen(), "part")
        flags.no_compile = True
        super().__init__(typing_context, context, library, args, result, flags, types)

    def define_pipelines(self) -> list[Any]:
        """Return the passes; those left out are for closures, array expressions, literals and reports."""
        passes = PassManager("part")
        for chosen in PASSES:
            passes.add_pass(chosen, chosen.name())
        passes.finalize()
        return [passes]

    def compile_extra(self, function: Callable[..., Any]) -> Any:
        made = super().compile_extra(function)
        # Callers look it up by its entry for Python: any built-in function that is not another's will do.
        made = made._replace(entry_point=object().__reduce__)
        self.state.targetctx.insert_user_function(made.entry_point, made.fndesc, [made.library])
        return made


def part(function: Callable[..., Any], **options: Any) -> Any:
    """Return `function` for calls from compiled code, compiled with the options of `numba.njit`.

    A call with a number that stands in the program takes the function for any number of its type: while numba
    infers the types of a loop, a counter is first its literal start, and everything that is called with it
    would be compiled twice.
    """
    wrappers = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    made = numba.njit(pipeline_class=_PartCompiler, **wrappers, **options)(function)
    template = made.get_call_template

    def without_literals(args: Any, kws: Any) -> Any:
        plain = tuple(map(types.unliteral, args))
        return template(plain, {name: types.unliteral(kind) for name, kind in kws.items()})

    made.get_call_template = without_literals
    return made


def _kept(function: Callable[..., Any], **options: Any) -> Any:
    options = {"error_model": "numpy", "fastmath": {"contract"}, **options}
    dispatcher = numba.njit(no_cfunc_wrapper=True, **options)(function)
    dispatcher._cache = CodeCache(dispatcher)
    dispatcher.compile = uninterrupted()(dispatcher._cache.releasing_locks()(dispatcher.compile))
    # Made where compiled code calls it: of a hundred functions a run whose code is there calls ten, itself.
    inside = functools.cache(lambda: part(function, **options))
    dispatcher.get_call_template = lambda args, kws: inside().get_call_template(args, kws)
    dispatcher.get_overload = lambda signature: inside().get_overload(signature)
    return dispatcher


def compiled(function: Callable[..., Any]) -> Any:
    """Compile `function` with numba on first use and keep the machine code on disk.

    Division follows IEEE 754 (no exception), products and sums may be contracted to fused operations.
    """
    return _kept(function)


def lean(function: Callable[..., Any]) -> Any:
    """Compile as `compiled` does, but without the reference counts that numba keeps of every array.

    For functions that allocate nothing (numba refuses others) and use arrays that their caller keeps alive.
    On WSCC-9 a step takes a quarter less time, and its loop a third less to compile (measured).
    """
    return _kept(function, _nrt=False)


class Unit:
    """A function with a fixed signature, compiled when its address is first asked for.

    `function`, `signature`: The function, and the numba types of its arguments and result: numbers and
      addresses.
    `notice`: What is said when it must be compiled.
    """

    targetoptions: dict[str, Any] = {"error_model": "numpy", "fastmath": {"contract"}, "_nrt": False}
    is_compiling = False  # while it is, what it calls is compiled without a word

    def __init__(self, function: Callable[..., Any], signature: Any, notice: Notice) -> None:
        self.py_func, self.signature, self.notice = function, signature, notice

    @functools.cached_property
    def _compiled(self) -> Any:
        made: Any = CFunc(self.py_func, sigutils.normalize_signature(self.signature), {}, self.targetoptions)
        made._cache = CodeCache(self)
        made._cache.notice = self.notice
        self.is_compiling = True
        try:
            with uninterrupted(), made._cache.releasing_locks():
                made.compile()
        finally:
            self.is_compiling = False
        return made

    @property
    def address(self) -> int:
        """Where the machine code is."""
        return int(self._compiled.address)


def unit(signature: Any, what: str, seconds: float) -> Callable[[Callable[..., Any]], Unit]:
    """Make a function with arguments of the given types a unit; the rest is what is said of compiling it."""
    return lambda function: Unit(function, signature, Notice(what, seconds))
