"""What leaves a posterior for other tools: where it came from, draws as a DataTree, draws as a file."""
