"""ANDES writes the code of its models into one folder at the first use: one process does, the others wait."""

import fcntl
import importlib.util

import pytest


@pytest.fixture(scope="session", autouse=True)
def generated_code(tmp_path_factory, request):
    """Have ANDES generate what it lacks before two processes may want it at once."""
    if importlib.util.find_spec("andes") is None:
        return
    folder = tmp_path_factory.getbasetemp()
    if hasattr(request.config, "workerinput"):  # of pytest-xdist: a folder for each worker in one
        folder = folder.parent
    with open(folder / "andes.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        import andes

        andes.config_logger(stream_level=40)
        andes.System(default_config=True, no_output=True)
