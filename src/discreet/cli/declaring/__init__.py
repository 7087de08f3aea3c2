"""How `discreet init` declares a table: from names and types, a data dictionary, a public table."""
