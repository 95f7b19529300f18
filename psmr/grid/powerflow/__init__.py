"""The power flow."""
