"""Figures and lemmas of Geumlek, Song and Chaudhuri 2017, with the appendix."""
