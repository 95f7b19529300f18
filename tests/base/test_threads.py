"""One thread for linear algebra: put back after errors and nested users alike."""

import threading

import numpy as np
import pytest
import scipy.linalg  # noqa: F401  # its BLAS is one of those that are limited
from threadpoolctl import threadpool_info, threadpool_limits

from psmr.errors import PsmrError
from tests.internals import on_one_thread, one_thread


@pytest.fixture(autouse=True)
def two_threads(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    with threadpool_limits(2, user_api="blas"):
        yield


def threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_blas_works_on_one_thread_within_and_as_before_behind_it():
    before = threads()
    with one_thread(200), one_thread(100):
        assert threads() == {1}
    assert threads() == before
    with pytest.raises(PsmrError), one_thread(200):
        raise PsmrError("wrong")
    assert threads() == before


def test_small_matrices_and_one_thread_by_the_environment_are_left_alone(monkeypatch):
    before = threads()
    with one_thread(63):
        assert threads() == before
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    with one_thread(200):
        assert threads() == before


def test_another_thread_leaves_the_number_alone():
    before, seen = threads(), []

    def other():
        with one_thread(200):
            seen.append(threads())

    thread = threading.Thread(target=other, daemon=True)
    thread.start()
    thread.join(10)
    assert seen == [before]


def test_a_function_is_limited_by_the_order_of_its_first_argument():
    limited = on_one_thread(lambda matrix, found: found.append(threads()))
    found, before = [], threads()
    limited(np.eye(80), found)
    limited(np.eye(8), found)
    assert found == [{1}, before]
