#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Registers, stack and the instructions that decide speed, a line a kernel, from the machine code of the objects
# given. Needs cuobjdump: of the CUDA toolkit, or CUOBJDUMP=path (pip: nvidia-cuda-cuobjdump).
#
#   mma     wgmma (HGMMA, QGMMA), tcgen05 (UTCQMMA) and mma.sync (HMMA) instructions
#   wide    global loads and stores of 16 bytes; bulk: bulk copies
#   local   loads and stores of local memory, where there should be none
set -eu
dump=${CUOBJDUMP:-$(command -v cuobjdump || echo "${NVCC:+$(dirname "$NVCC")/}cuobjdump")}
[ -x "$dump" ] || { echo "gpu-report: no cuobjdump; set CUOBJDUMP" >&2; exit 3; }
printf '%5s %5s %5s %6s %6s %6s %6s  %s\n' regs stack shared mma wide bulk local kernel
for object in "$@"; do
    { "$dump" --dump-resource-usage "$object"; "$dump" --dump-sass "$object"; } | awk '
        / Function [^ ]*:$/ { name = $2; sub(/:$/, "", name) }
        /REG:/ {
            split($0, field, " ")
            for (i in field) if (split(field[i], pair, ":") == 2) use[name, pair[1]] = pair[2]
        }
        /Function : / { name = $3; seen[name] = 1 }
        / (HGMMA|QGMMA|UTCQMMA|HMMA)/ { mma[name]++ }
        / (LDG|STG)[.A-Z0-9]*[.]128/ { wide[name]++ }
        / UTMA(LDG|STG)/ { bulk[name]++ }
        / (LDL|STL)/ { local[name]++ }
        END {
            for (name in seen)
                printf "%5d %5d %5d %6d %6d %6d %6d  %s\n", use[name, "REG"], use[name, "STACK"], use[name, "SHARED"],
                       mma[name], wide[name], bulk[name], local[name], name
        }'
done | c++filt | sed 's/(anonymous namespace):://g; s/(gemm::Problem.*//; s/void //' | sort -k8
