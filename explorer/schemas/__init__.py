"""What can be asked and what is answered: pydantic models alone, importing nothing of ours but the error type."""
