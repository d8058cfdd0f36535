"""What this machine can compute with, read once and live: pure parsers over text, and thin readers apart from them."""
