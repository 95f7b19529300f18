"""What psmr takes from inside numba, in one place: a version without it is named at once.

numba promises none of these names. They keep machine code on disk (`psmr.dae.compile.cache`), compile a unit
once (`psmr.dae.compile.unit`), lower parts into their callers (`psmr.dae.compile.part`) and open arrays from
addresses (`psmr.numerics.solve.views`).
"""

from __future__ import annotations

import numba

from psmr.errors import PsmrError

try:
    from numba.core import sigutils as sigutils
    from numba.core.ccallback import CFunc as CFunc
    from numba.core.codegen import JITCodeLibrary as JITCodeLibrary
    from numba.core.compiler import Compiler as Compiler
    from numba.core.compiler import CompileResult as CompileResult
    from numba.core.runtime import rtsys as rtsys
    from numba.core.serialize import dumps as dumps
    from numba.np.arrayobj import make_array as make_array
    from numba.np.arrayobj import populate_array as populate_array
except ImportError as error:
    raise PsmrError(
        f"numba {numba.__version__} lacks what psmr takes from inside it ({error}); install a version that"
        " psmr is tested with: pip install 'numba>=0.62,<0.69'"
    ) from error
