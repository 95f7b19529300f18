"""Functions as parts of others: lowered once, optimised and made machine code with what calls them.

numba makes each function machine code of its own, with an entry for Python, before another function may call
it, and optimises it once more in each of its callers. A part is only lowered and linked; the function that
Python enters, or the unit that is called by address, is optimised as a whole.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba import types

from psmr.dae.compile.numba_internals import Compiler, JITCodeLibrary


class _Lowered(JITCodeLibrary):  # type: ignore[misc]
    """Code that is linked into that of its callers and never run by itself."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


class _PartCompiler(Compiler):  # type: ignore[misc]
    """numba's compiler up to machine code."""

    def __init__(
        self, typing_context: Any, context: Any, library: Any, args: Any, result: Any, flags: Any, types: Any
    ) -> None:
        library = _Lowered(context.codegen(), "part")
        flags.no_compile = True
        super().__init__(typing_context, context, library, args, result, flags, types)

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
