"""What mechanisms that draw parameters share: laws on declared spaces, exact samplers, public grids."""
