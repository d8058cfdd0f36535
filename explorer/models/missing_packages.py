"""What to install when an import finds nothing."""

import importlib.util

# Import names whose package has another name on the index.
PACKAGES = {
    "PIL": "pillow",
    "cv2": "opencv-python-headless",
    "dotenv": "python-dotenv",
    "hydra": "hydra-core",
    "mmcv": "mmcv-lite",
    "omegaconf": "omegaconf",
    "open_clip": "open_clip_torch",
    "pytorch_lightning": "pytorch-lightning",
    "segmentation_models_pytorch": "segmentation-models-pytorch",
    "sentence_transformers": "sentence-transformers",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}


def absent(error: BaseException | None) -> str | None:
    """The top package whose absence raised `error`; None when it is another error or the package is there."""
    if not isinstance(error, ModuleNotFoundError) or not error.name:
        return None
    top = error.name.partition(".")[0]
    return top if importlib.util.find_spec(top) is None else None


def install(package: str) -> str:
    """The command that installs the package behind an import name."""
    return f"`pip install {PACKAGES.get(package, package)}`"
