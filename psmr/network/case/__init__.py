"""Cases: tables of buses, branches and plants, checked."""
