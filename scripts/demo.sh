#!/usr/bin/env bash
# Run the whole chain on this machine: instances.yaml -> generated/ -> host and AMD libraries -> a table of verdicts.
# It uses set quick, one instance of each kind of kernel, and says at the end what this omits.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p build/demo

step() { printf '\n== %s\n' "$*"; "$@"; }

step ckgen generate
step ckgen build --platform host --set quick
printf '\nFirst verdicts: the new library on a handful of small problems'
step ckgen smoke --platform host --set quick --problems tiny --split-k 3 --brief

printf '\nThe machine code of one instance for two AMD GPUs, executed on this CPU'
emulated=0
step ckgen smoke --platform amd --arch gfx942 --arch gfx1201 --emulate --set quick 'dtype=f16' 'family=xdl' 'ndim=2' \
  '*bwd_weight_xdl*' --split-k 3 || emulated=$?
[ "$emulated" != 1 ] || exit 1 # 2: a tool is missing, which the error names

# One core compiles for AMD while the other one proves.
amd=
if command -v hipcc /opt/rocm/bin/hipcc >/dev/null 2>&1; then
  ckgen build --platform amd --arch gfx90a --set quick >build/demo/amd.log 2>&1 &
  amd=$!
fi

# The layers of RetinaNet whose images can be scaled down to a second's work.
layers='layer2|fpn|head\.box|head\.conv\.(13|7)|layer[34]\.[01]\.conv2'
grep -E "^[^ ]|name: ($layers)" ckgen/problems/retinanet.yaml >build/demo/retinanet-layers.yaml
# RetinaNet has no depthwise convolution and no 1x1 filter of few channels.
grep -E "^[^ ]|name: tiny\.(depthwise72|point8)" ckgen/problems/tiny.yaml >build/demo/small.yaml
proven=0
step ckgen smoke --platform host --set quick --problems build/demo/retinanet-layers.yaml --problems ck_bwd_weight \
  --problems ck_bwd_data --problems build/demo/small.yaml --split-k -1 --split-k 7 --max-macs 1000000 --brief || proven=$?

if [ -n "$amd" ]; then
  printf '\n== ckgen build --platform amd --arch gfx90a --set quick\n'
  wait "$amd" || { cat build/demo/amd.log; exit 1; }
  cat build/demo/amd.log
else
  printf '\nhipcc is not installed (Debian: apt-get install hipcc libamdhip64-dev): the AMD library is not built\n'
fi
printf '\nThis proved %s of the %s valid instances, on %s of the 37 layers of RetinaNet and the problems of CK'"'"'s tests.\n' \
  "$(ckgen list --set quick --names | wc -l)" "$(ckgen list --set full --names | wc -l)" \
  "$(grep -c 'name:' build/demo/retinanet-layers.yaml)"
printf 'make smoke proves set ci, %s instances, on all of them; ckgen build --set NAME builds more.\n' \
  "$(ckgen list --set ci --names | wc -l)"
exit "$proven"
