"""What is answered given noisy scores."""
