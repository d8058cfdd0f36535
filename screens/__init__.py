"""The screens: a Textual program that knows the schemas and the engine's client, never a numerical library."""
