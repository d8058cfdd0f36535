"""What the converters say, and what it means: the patterns are looked for in the text of an error and of those it came from.

Texts of torch 2.13, coremltools 9.0 and onnx 1.23; each is kept, as recorded, in the tests.
"""

import re
from dataclasses import dataclass

REPLACE = "replace that operator in the model"
EXPORT_WAY = "another way of capturing the model may work; otherwise " + REPLACE


@dataclass(frozen=True)
class Rule:
    """`message` is one clause and may name groups of `pattern`; `remedy` is what a person can do.

    `no_rule` is true when the converter lacks the operator of the group "operator".
    """

    pattern: str
    message: str
    remedy: str
    no_rule: bool = False

    def search(self, text: str) -> re.Match[str] | None:
        return re.search(self.pattern, text, re.DOTALL)


def _lacking(pattern: str, remedy: str = REPLACE) -> Rule:
    return Rule(pattern, "there is no rule for the operator {operator}", remedy, no_rule=True)


RULES = (
    # Operators that the converter has no rule for.
    Rule(
        r"Unsupported fx node (?P<operator>_native_batch_norm_legit_functional)",
        "a batch normalisation is in training mode",
        "call eval() on the model before it is converted",
    ),
    _lacking(r"PyTorch convert function for op '(?P<operator>[\w.:]+)' not implemented"),
    _lacking(r"Unsupported fx node (?P<operator>[\w.:]+)", EXPORT_WAY),
    _lacking(r"lowering for Torch `(?P<operator>[\w.:]+)` op is not supported"),
    Rule(
        r"No ONNX function found for <OpOverload\(op='(?P<operator>[\w.:]+)'.*?complex-valued",
        "ONNX has no complex numbers, which {operator} is given here",
        "keep real and imaginary part as two tensors",
        no_rule=True,
    ),
    _lacking(r"No ONNX function found for <OpOverload\(op='(?P<operator>[\w.:]+)'"),
    _lacking(r"No decompositions registered for .*?'(?P<operator>[\w.:]+)'"),
    _lacking(r"Exporting the operator '(?P<operator>[\w.:]+)' to ONNX opset version \d+ is not supported", EXPORT_WAY),
    _lacking(r"Unsupported: ONNX export of operator (?P<operator>\w+)", EXPORT_WAY),
    _lacking(r"conversion of (?P<operator>\w+) not implemented if [\w ]+", EXPORT_WAY),
    # Values that decide what is computed.
    Rule(
        r"Could not guard on data-dependent expression|GuardOnDataDependentSymNode|Dynamic control flow|Cannot call item",
        "it branches on values, which a graph cannot",
        "replace the `if` by torch.where, or a size taken from values by a fixed one",
    ),
    # Capturing.
    Rule(
        r"Provided Dialect: TRAINING",
        "the exported program is not decomposed",
        "call run_decompositions({{}}) on it before it is converted",
    ),
    Rule(
        r"You marked (?P<name>\w+) as dynamic but your code specialized it to be a constant \((?P<size>\d+)\)",
        "the dimension {name} cannot stay open: the model fixes it at {size}",
        "take sizes from x.shape instead of constants, or ask for a fixed shape",
    ),
    Rule(
        r"Constraints violated \((?P<name>[^)]*)\)",
        "the dimension {name} cannot be as open as was asked",
        "ask for a range that the model allows, or a fixed shape",
    ),
    Rule(
        r"Detected mismatch between the structure of `inputs` and `dynamic_shapes`",
        "the open dimensions do not fit the inputs of the model",
        "give an entry for every input",
    ),
    Rule(
        r"Encountering a dict at the output of the tracer",
        "it returns a dict, which tracing takes only from a wrapper",
        "return a tensor or a tuple of tensors",
    ),
    Rule(
        r"Only tensors, lists, tuples of tensors, or dictionary of tensors can be output from traced functions",
        "it returns something that is no tensor",
        "return a tensor or a tuple of tensors",
    ),
    Rule(r"traced function didn't return any values", "it returns nothing", "return a tensor from forward"),
    Rule(r"got an unexpected keyword argument '(?P<name>\w+)'", "it takes no argument {name}", "give the inputs in their order"),
    Rule(
        r"\.numpy\(\) is not supported for tensor subclasses",
        "it leaves torch for numpy, which a graph cannot follow",
        "compute with torch in forward",
    ),
    Rule(
        r"only 0-dimensional arrays can be converted to Python scalars",
        "this numpy is too new for coremltools 9.0",
        "install numpy below 2.4",
    ),
    # What was handed over.
    Rule(
        r"PytorchStreamReader failed locating file constants\.pkl|failed locating constants\.pkl|PytorchStreamReader failed",
        "the file holds weights or a pickled module, not a program",
        "give file.py:factory as the source and this file as its weights",
    ),
    Rule(
        r"Unable to determine the type of the model",
        "coremltools takes neither a module nor such a file",
        "give file.py:factory as the source",
    ),
    Rule(r"Expected argument \"inputs\" for TorchScript models", "the inputs are not declared", "declare each input's shape"),
    Rule(
        r'Op "[^"]*" \(op_type: cond\) Input pred="[^"]*" expects tensor or scalar of dtype .*? but got str',
        "the scripted model branches on a setting",
        "give the module itself instead of torch.jit.script of it",
    ),
    # Shapes and types.
    Rule(
        r"node (?P<operator>\w+) \(\w+\) got \d+ input\(s\), expected (?:minimum )?\[?[\d, ]+",
        "coremltools expects more arguments of {operator} than torch.export hands over",
        "spell out every argument of that call, or let the rewrites do it",
    ),
    Rule(
        r"only supports tensors with rank <= 5\. Layer \"[^\"]+\", with type \"(?P<operator>\w+)\", outputs a rank (?P<rank>\d+)",
        "{operator} gives a tensor of {rank} dimensions, Core ML takes at most 5",
        "merge dimensions before that operation",
    ),
    Rule(
        r'to the "(?P<operator>\w+)" op must be a rank (?P<rank>\d+) tensor\. Got rank (?P<got>\d+)',
        "{operator} takes {rank} dimensions in Core ML, {got} are given",
        "split the computation into parts with that many dimensions",
    ),
    Rule(
        r"query, key, value must have a same batch dimension",
        "attention has fewer key heads than query heads, which coremltools does not repeat",
        "repeat keys and values with repeat_interleave, or let the rewrites do it",
    ),
    Rule(
        r"Input squeeze_\d+ has rank [12] != other inputs rank 0",
        "coremltools cannot assign to several indices at once",
        "assign with torch.where, scatter or index_copy, or let the rewrites do it",
    ),
    Rule(
        r"perm should have the same length as rank\(x\)",
        "einsum with an ellipsis is beyond coremltools",
        "write every index out, or use matmul",
    ),
    Rule(
        r"Incompatible dim \d+ in shapes \(1, \d+, \d+, \d+\) vs\. \(1, 1, 1, 3\)",
        "a Core ML picture takes one scale for all channels",
        "give mean and std with the image option: they are folded into the model",
    ),
    Rule(
        r"inputs with infinite upper_bound is not allowed",
        "an open dimension has no upper bound, which Core ML demands",
        "give a range such as 1..64",
    ),
    Rule(
        r"(?P<name>torch\.complex\d+)", "Core ML has no complex numbers ({name})", "keep real and imaginary part as two tensors"
    ),
    Rule(
        r"Python int too large to convert to C (?:long|int)|out of bounds for int32",
        "an integer lies beyond 32 bit, which Core ML lacks",
        "use smaller integers or float32",
    ),
    # The machine.
    Rule(
        r"BlobWriter not loaded|libmilstoragepython|No module named 'coremltools\.lib",
        "this Python has no compiled part of coremltools",
        "use Python 3.11, 3.12 or 3.13",
    ),
    Rule(r"maximum recursion depth exceeded", "the graph is nested too deeply for the converter", "convert parts of the model"),
    Rule(
        r"can't allocate memory|Unable to allocate|std::bad_alloc|out of memory",
        "the memory does not suffice",
        "close other programs, or convert a part of the model",
    ),
    Rule(r"No space left on device", "the disk is full", "free some space"),
    Rule(
        r"larger than 2GiB|exceeds maximum protobuf size|ModelProto.{0,40}2GB",
        "the file would hold over 2 GB",
        "write the weights beside it with external_data",
    ),
)
