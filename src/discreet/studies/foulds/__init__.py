"""Figures and tables of Foulds, Geumlek, Welling and Chaudhuri 2016, with the supplement."""
