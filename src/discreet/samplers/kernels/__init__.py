"""Compiled inner loops: numba at the top of every module, so import these only inside the functions that need them."""
