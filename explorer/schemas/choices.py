"""Choices and words that several specs share."""

from typing import Literal

Device = Literal["auto", "cpu", "mps", "cuda", "xla"]
Precision = Literal["float32", "float16", "bfloat16"]
DeploymentTarget = Literal["iOS15", "iOS16", "iOS17", "iOS18", "iOS26", "macOS12", "macOS13", "macOS14", "macOS15", "macOS26"]

SOURCE_HELP = "a file, file.py:factory, package.module:factory or job:ID"
DATA_HELP = (
    "digits, linear, a .npz or .csv file, a folder of images by class, or file.py:factory; "
    "options follow after commas: target=COLUMN, task=regression, size=PIXELS, validation=SHARE"
)
