"""What a model asks of the rows, and how far one privacy unit can move the answer."""
