"""Static var systems: what regulates a voltage in place of a switched shunt of the power flow."""
