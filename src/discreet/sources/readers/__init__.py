"""Files and frames as relations that an engine can scan."""
