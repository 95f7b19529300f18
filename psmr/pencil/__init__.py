"""How much a scheme deforms the modes of a system: step operators, mode matching, the deformation report."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
