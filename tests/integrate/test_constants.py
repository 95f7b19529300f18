"""The constants: each says in what unit it is and where it comes from, and compiled code reads it."""

from dataclasses import FrozenInstanceError, fields

import pytest

from tests.internals import TUNED, Constants, lean


@lean
def read():
    return TUNED.least_part, TUNED.most_iterations, TUNED.safety


def test_compiled_code_reads_the_numbers_as_they_stand():
    assert read() == (TUNED.least_part, TUNED.most_iterations, TUNED.safety)


@pytest.mark.parametrize("constant", fields(Constants), ids=lambda constant: constant.name)
def test_each_has_a_unit_and_an_origin(constant):
    assert constant.metadata["unit"]
    assert len(constant.metadata["origin"].split()) >= 3
    assert type(constant.default).__name__ == constant.type


def test_no_constant_changes():
    with pytest.raises(FrozenInstanceError):
        TUNED.safety = 1.0
