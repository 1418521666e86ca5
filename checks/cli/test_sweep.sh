# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# Sweeps: shards, threads and processes give the bytes of one run; mistakes are told.
. "${root:?}/checks/cli/expect.sh"
small='--format e4m3,e2m1 --block 16,32 --recipe nvfp4,fp8-tensor,fp8-128x128 --rows 1000 --cols 300'

# shellcheck disable=SC2086  # the options are words
{
    expect 0 'sweep: 28 cells' "$MXCHECK" sweep $small --json whole.json
    cp out whole.txt
    for part in 0 1 2; do expect 0 'INCOMPLETE: 1 of 3' "$MXCHECK" sweep $small --shard $part/3 --json $part.json; done
    expect 0 '28 cells' "$MXCHECK" report --merge 2.json 0.json 1.json --json merged.json
    cmp whole.json merged.json
    cmp whole.txt out
    expect 0 '28 cells' "$MXCHECK" sweep $small --threads 1 --json single.json
    cmp whole.json single.json
    expect 2 'part 1 of 3 is missing' "$MXCHECK" report --merge 0.json 2.json
    expect 2 'is there already' "$MXCHECK" report --merge 0.json 0.json
    expect 2 'a part of another sweep' "$MXCHECK" report --merge 0.json whole.json
    if [ -e "$BUILD/mxcheck-mpi.so" ]; then
        for n in 1 2 4; do
            mpirun --allow-run-as-root --oversubscribe -n $n "$MXCHECK" sweep $small --json mpi.json >mpi.txt
            cmp whole.json mpi.json
            cmp whole.txt mpi.txt
        done
    else
        echo 'mpirun: not run, built without MPI'
        # shellcheck disable=SC2097,SC2098
        OMPI_COMM_WORLD_SIZE=2 expect 3 'no MPI plug-in' "$MXCHECK" sweep $small
    fi
}

expect 2 "no recipe 'mxfp9'" "$MXCHECK" sweep --recipe mxfp9
expect 2 'a plain cast' "$MXCHECK" sweep --recipe cast-e4m3-cuda-sat
expect 2 'no distribution' "$MXCHECK" sweep --data gaussian
expect 2 'a number from' "$MXCHECK" sweep --rows 0
expect 2 'a number from' "$MXCHECK" sweep --cols many
expect 2 'takes I/N with' "$MXCHECK" sweep --shard 3/3
expect 2 'f32, bf16 or f16' "$MXCHECK" sweep --source e4m3
expect 2 'missing.safetensors' "$MXCHECK" sweep --input missing.safetensors
expect 0 'data/normal' "$MXCHECK" sweep --input "$root/vectors/data.safetensors" --recipe mxfp8
expect 2 'which report' "$MXCHECK" report
expect 2 'several files' "$MXCHECK" report a b
expect 2 'whole.txt' "$MXCHECK" report whole.txt

if command -v gnuplot >/dev/null; then
    expect 0 '28 cells' "$MXCHECK" report whole.json --html whole.html
    grep -q '</html>' whole.html
    [ "$(grep -c '<svg' whole.html)" = 16 ]
    if grep -q 'src="http\|href="http[^"]*css' whole.html; then
        echo 'whole.html is not self-contained'
        exit 1
    fi
else
    echo 'report --html: not run, gnuplot is not installed'
    expect 3 'install gnuplot-nox' "$MXCHECK" report whole.json --html whole.html
fi
echo '{"mxcheck": "poem"}' >other.json
expect 2 "a report of kind 'poem'" "$MXCHECK" report other.json --html other.html
