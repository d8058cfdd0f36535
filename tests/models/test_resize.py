import pytest
import torch
from torch import nn

from explorer.models.resize import resize_to


@pytest.mark.parametrize(
    ("small", "large", "shape"),
    [
        (nn.Conv2d(2, 3, 3), nn.Conv2d(4, 8, 3), (1, 2, 5, 5)),
        (nn.Conv2d(3, 3, 3, groups=3), nn.Conv2d(8, 8, 3, groups=8), (1, 3, 5, 5)),
        (nn.Conv2d(3, 6, 3, groups=3), nn.Conv2d(8, 16, 3, groups=8), (1, 3, 5, 5)),
        (nn.Conv2d(4, 6, 3, groups=2), nn.Conv2d(8, 16, 3, groups=2), (1, 4, 5, 5)),
        (nn.ConvTranspose2d(2, 3, 3), nn.ConvTranspose2d(4, 8, 3), (1, 2, 5, 5)),
        (nn.Linear(2, 3), nn.Linear(4, 8), (1, 2)),
        (nn.BatchNorm2d(3), nn.BatchNorm2d(8), (2, 3, 5, 5)),
        (nn.BatchNorm1d(3, affine=False), nn.BatchNorm1d(8, affine=False), (2, 3)),
        (nn.LayerNorm(3), nn.LayerNorm(8), (1, 3)),
        (nn.GroupNorm(1, 3), nn.GroupNorm(1, 8), (1, 3, 5)),
    ],
    ids=lambda value: str(value)[:60] if isinstance(value, nn.Module) else "",
)
def test_layer_takes_the_shapes_and_computes_the_same(small: nn.Module, large: nn.Module, shape: tuple[int, ...]) -> None:
    resize_to(large, small.state_dict())
    large.load_state_dict(small.state_dict())
    inputs = torch.rand(shape)
    assert torch.equal(large.eval()(inputs), small.eval()(inputs))
    assert repr(large) == repr(small)


def test_bare_parameters_and_ties_are_kept() -> None:
    module = nn.ModuleList([nn.Linear(4, 4, bias=False), nn.Linear(4, 4, bias=False)])
    module[1].weight = module[0].weight
    module.register_parameter("position", nn.Parameter(torch.zeros(1, 4), requires_grad=False))
    resize_to(module, {"0.weight": torch.zeros(2, 2), "1.weight": torch.zeros(2, 2), "position": torch.zeros(1, 2)})
    assert module[0].weight is module[1].weight
    assert module[0].weight.shape == (2, 2)
    assert module.position.shape == (1, 2)
    assert not module.position.requires_grad
