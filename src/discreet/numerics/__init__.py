"""Special functions and quadrature: neither private nor free, they see numbers and no rows."""
