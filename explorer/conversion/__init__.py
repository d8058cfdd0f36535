"""Converting torch models to ONNX and Core ML, each conversion proven against its source."""
