"""Huang and Tzounas: matrix pencils of multirate schemes. The schemes are psmr's own `Multirate`."""
