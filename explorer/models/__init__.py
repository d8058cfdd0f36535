"""Model files and sources: recognise by content, describe without loading, build and save torch modules."""
