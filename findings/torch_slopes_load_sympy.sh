#!/usr/bin/env bash
# Package: torch 2.13.0, with numpy 2.4.6.
# Seen: the first gradient of an output with given slopes (grad_outputs of torch.autograd.grad, or backward of a
#   non-scalar) imports torch.fx.experimental.symbolic_shapes and sympy: about 500 modules, which take most of a second in
#   each new training process. The gradient of a sum imports neither, and the same gradient written as the sum of outputs
#   times slopes is equal to the last bit.
# Expected: eager gradients import no symbolic algebra; shapes without symbols are compared as tuples.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv env
env/bin/python -m pip install -q --disable-pip-version-check torch==2.13.0 numpy==2.4.6
env/bin/python > seen.txt <<'PY'
import sys

import torch

x = torch.linspace(-1, 1, 7, requires_grad=True)
slope = torch.linspace(2, 3, 7)
compiler = ("sympy", "torch.fx.experimental.symbolic_shapes")


def loaded():
    return [name in sys.modules for name in compiler]


print("import torch", loaded())
(of_sum,) = torch.autograd.grad((x.sin() * slope).sum(), x)
print("gradient of a sum", loaded())
before = len(sys.modules)
(of_slopes,) = torch.autograd.grad(x.sin(), x, slope)
print("gradient with slopes", loaded(), "more than 300 modules:", len(sys.modules) - before > 300)
print("equal to the bit:", torch.equal(of_sum, of_slopes))
PY
diff - seen.txt <<'SEEN'
import torch [False, False]
gradient of a sum [False, False]
gradient with slopes [True, True] more than 300 modules: True
equal to the bit: True
SEEN
