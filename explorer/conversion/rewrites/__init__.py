"""Equal torch for what the converters cannot take or get wrong: calls replaced in a copy, operators decomposed after export."""

from explorer.conversion.rewrites.decompositions import decompositions
from explorer.conversion.rewrites.rewriting import rewritten

__all__ = ["decompositions", "rewritten"]
