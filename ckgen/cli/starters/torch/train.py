"""Train a small model whose convolutions compute both gradients with the library, beside the same model in PyTorch.

python train.py build/ci/host/libckgen_conv.so
"""

import copy
import sys

import torch

import ckgen.torch

torch.manual_seed(1)
device = "cuda" if torch.cuda.is_available() and "host" not in sys.argv[1] else "cpu"
model = torch.nn.Sequential(
    torch.nn.Conv2d(8, 16, 3, padding=1),
    torch.nn.ReLU(),
    torch.nn.Conv2d(16, 8, 3, stride=2, padding=1, groups=2),
).to(device, memory_format=torch.channels_last)
plain = copy.deepcopy(model)
print(ckgen.torch.patch(model, sys.argv[1], input_gradient=True))

image = torch.randn(2, 8, 14, 14, device=device).to(memory_format=torch.channels_last)
losses = []
for each in (model, plain):
    optimizer = torch.optim.SGD(each.parameters(), lr=0.1)
    for _ in range(5):
        optimizer.zero_grad()
        loss = each(image).square().mean()
        loss.backward()
        optimizer.step()
    losses.append(loss.item())
print(f"loss {losses[0]:.6f} with the library, {losses[1]:.6f} with PyTorch")
if abs(losses[0] - losses[1]) > 1e-4 * abs(losses[1]):
    sys.exit("the losses differ")
