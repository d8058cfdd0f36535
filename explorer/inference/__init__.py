"""Running models and comparing what they give: ONNX Runtime, a Core ML reference evaluator, benchmarks."""
