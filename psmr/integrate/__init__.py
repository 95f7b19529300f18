"""How a DAE is advanced in time; knows no power system."""
