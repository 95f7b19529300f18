"""What a class of component says beside its equations."""

from psmr import Component
from tests.internals import Placement, placement


def test_a_class_says_its_place_in_attributes():
    class Own(Component):
        role = "exciter"
        records = ("OWN gain",)
        memory = ("gain",)

    class Derived(Own):
        pass

    said = placement(Own)
    assert (said.role, said.records, said.memory, said.grid) == ("exciter", ("OWN gain",), ("gain",), "")
    assert said.rest_limits({}) == {}
    # The records of a base are the base's.
    assert (placement(Derived).role, placement(Derived).records) == ("exciter", ())
    assert placement(Component) == Placement()
