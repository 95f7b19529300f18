"""What psmr takes from inside numba, in one place: a version without it is named at once.

numba promises none of these names. They keep machine code on disk (`psmr.dae.compile.code_cache`), compile a
unit once and lower parts into their callers (`psmr.dae.compile.decorators`), and open arrays from addresses
(`psmr.integrate.solve.records`).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

import numba

from psmr.base.errors import PsmrError

try:
    from numba.core import cgutils as cgutils
    from numba.core import sigutils as sigutils
    from numba.core.ccallback import CFunc as CFunc
    from numba.core.codegen import JITCodeLibrary as JITCodeLibrary
    from numba.core.compiler import Compiler as Compiler
    from numba.core.compiler import CompileResult as CompileResult
    from numba.core.compiler_machinery import PassManager as PassManager
    from numba.core.imputils import lower_constant as lower_constant
    from numba.core.imputils import lower_getattr_generic as lower_getattr_generic
    from numba.core.registry import CPUDispatcher as CPUDispatcher
    from numba.core.runtime import rtsys as rtsys
    from numba.core.serialize import dumps as dumps
    from numba.core.typed_passes import (
        IRLegalization,
        NativeLowering,
        NoPythonBackend,
        NopythonTypeInference,
        PreLowerStripPhis,
    )
    from numba.core.typing.templates import AttributeTemplate as AttributeTemplate
    from numba.core.typing.templates import infer_getattr as infer_getattr
    from numba.core.untyped_passes import (
        DeadBranchPrune,
        FixupArgs,
        GenericRewrites,
        IRProcessing,
        ReconstructSSA,
        TranslateByteCode,
    )
except ImportError as error:
    raise PsmrError(
        f"numba {numba.__version__} lacks what psmr takes from inside it ({error}); install a version that"
        ' psmr is tested with: pip install "numba>=0.62,<0.69"'
    ) from error


def array_lowering() -> ModuleType:
    """Return how numba lowers arrays: where something is compiled, since importing it takes a while."""
    from numba.np import arrayobj

    return arrayobj


PASSES = (
    TranslateByteCode,
    FixupArgs,
    IRProcessing,
    DeadBranchPrune,
    GenericRewrites,
    ReconstructSSA,
    NopythonTypeInference,
    PreLowerStripPhis,
    IRLegalization,
    NativeLowering,
    NoPythonBackend,
)
"""numba's passes that a plain function over arrays and numbers needs to become LLVM code."""

PRIVATE: Mapping[Any, tuple[str, ...]] = {
    CompileResult: ("_reduce", "_rebuild", "_replace"),
    JITCodeLibrary: (
        "_ensure_finalized",
        "_optimize_final_module",
        "_finalize_final_module",
        "_finalize_dynamic_globals",
    ),
    Compiler: ("compile_extra", "define_pipelines"),
    CFunc: ("compile", "address"),
    CPUDispatcher: ("compile", "get_call_template", "get_overload", "is_compiling"),
    type(rtsys): ("initialize",),
    cgutils: ("gep_inbounds", "alloca_once_value"),
    sigutils: ("normalize_signature",),
}
"""What psmr uses or overrides of these; attributes that may go or be renamed."""


def missing() -> list[str]:
    """Return the names in `PRIVATE` that this version of numba lacks."""
    return [
        f"{getattr(owner, '__qualname__', owner.__name__)}.{name}"
        for owner, names in (*PRIVATE.items(), (array_lowering(), ("make_array", "populate_array")))
        for name in names
        if not hasattr(owner, name)
    ]
