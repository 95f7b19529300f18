"""Signals that come while code is compiled have their effect when that is done."""

import signal

import pytest

from tests.internals import ENDING, uninterrupted


@pytest.mark.parametrize("number", ENDING)
def test_a_signal_waits(number):
    heard = []
    usual = signal.signal(number, lambda number, frame: heard.append(number))
    try:
        with uninterrupted():
            with uninterrupted():  # a function compiled on the way
                signal.raise_signal(number)
            assert heard == []
        assert heard == [number]
        with pytest.raises(ZeroDivisionError), uninterrupted():
            raise ZeroDivisionError
        signal.raise_signal(number)
        assert heard == [number, number]
    finally:
        signal.signal(number, usual)


def test_what_is_ignored_stays_so():
    usual = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with uninterrupted():
            assert signal.getsignal(signal.SIGTERM) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, usual)
