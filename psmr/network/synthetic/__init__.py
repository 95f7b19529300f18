"""Made systems: typical dynamics on a power flow, coupled copies."""
