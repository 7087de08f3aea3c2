"""Figures, tables and theorems of Minami, Arai, Sato and Nakagawa 2016, with the appendix."""
