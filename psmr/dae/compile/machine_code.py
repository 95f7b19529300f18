"""From LLVM's text to machine code of this processor, and from that to addresses."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from psmr.base.files import uninterrupted
from psmr.dae.compile.emit import DECLARATIONS
from psmr.dae.compile.shipped_code import processor

llvm.initialize_native_target()
llvm.initialize_native_asmprinter()


def description(processor: tuple[str, str, str]) -> str:
    """Return everything beside the text that shapes machine code for a processor."""
    return repr((llvmlite.__version__, llvm.llvm_version_info, *processor, _LEVEL))


_LEVEL = 2
"""LLVM's optimisation. Level 3 adds an eighth to the time to compile and nothing to the kernels' speed."""


def _target() -> Any:
    triple, name, features = processor()
    machine = llvm.Target.from_triple(triple)
    # jitdefault: the C library may be further away than a short jump reaches.
    return machine.create_target_machine(
        cpu=name, features=features, opt=_LEVEL, reloc="default", codemodel="jitdefault"
    )


@functools.cache
def _builder() -> tuple[Any, Any]:
    target = _target()
    options = llvm.create_pipeline_tuning_options(speed_level=_LEVEL)
    # Entries are gathered and scattered one by one: there is nothing to vectorise, and looking costs time.
    options.loop_vectorization = options.slp_vectorization = False
    return target, llvm.create_pass_builder(target, options)


def machine_code(text: str) -> bytes:
    """Return the object file of kernels given as LLVM's text (`psmr.dae.compile.emit`)."""
    target, builder = _builder()
    head = f'target triple = "{target.triple}"\ntarget datalayout = "{target.target_data}"\n'
    module = llvm.parse_assembly(f"{head}{DECLARATIONS}\n{text}\n!0 = !{{}}\n")
    module.verify()
    builder.getModulePassManager().run(module, builder)
    return bytes(target.emit_object(module))


@functools.cache
def _engine() -> Any:
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target())


def load(objects: Iterable[bytes]) -> None:
    """Make the symbols of object files callable, for as long as the process lives."""
    engine = _engine()
    with uninterrupted():
        for data in objects:
            engine.add_object_file(llvm.ObjectFileRef.from_data(data))
        engine.finalize_object()


def address(symbol: str) -> int:
    """Return the address of a loaded symbol."""
    found = int(_engine().get_function_address(symbol))
    assert found, symbol  # a kernel without an address would be left out in silence
    return found
