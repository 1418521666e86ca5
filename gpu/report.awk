# SPDX-License-Identifier: Apache-2.0
# report.awk - a line for each kernel from `cuobjdump -res-usage` followed by `cuobjdump -sass`, demangled.
#
# spill: bytes of stack; local: loads and stores of it (LDL, STL). ld128, st128: global loads and stores of 16 bytes;
# ldN, stN: narrower ones. gmma: warpgroup products, H of 16-bit and Q of 8-bit operands. Which kernels have to have
# what is judged at the end: no local memory, 16-byte loads in each kernel on a fast path, products on the matrix
# units.

function short(name)
{
    sub(/^void /, "", name)
    gsub(/\(anonymous namespace\)::|mx::|__nv_|, *\(int\)/, "", name)
    sub(/\(.*\)$/, "", name)
    gsub(/>\(.*/, ">", name)
    return name
}

/^ *Function .*:$/ { # resource usage: the name, then a line of numbers
    name = $0
    sub(/^ *Function /, "", name)
    sub(/:$/, "", name)
    key = short(name)
    next
}
/REG:[0-9]+/ && key != "" {
    match($0, /REG:[0-9]+/); reg[key] = substr($0, RSTART + 4, RLENGTH - 4)
    match($0, /STACK:[0-9]+/); stack[key] = substr($0, RSTART + 6, RLENGTH - 6)
    match($0, /SHARED:[0-9]+/); shared[key] = substr($0, RSTART + 7, RLENGTH - 7)
    key = ""
    next
}
/Function : / {
    name = $0
    sub(/^.*Function : /, "", name)
    now = short(name)
    if (!(now in seen)) order[++kernels] = now
    seen[now] = 1
    next
}
now != "" && /\/\*[0-9a-f]+\*\/ / {
    total[now]++
    if (/LDG\.[^ ]*128/) ld128[now]++
    else if (/[^A-Z]LDG\./) ldn[now]++
    if (/STG\.[^ ]*128/) st128[now]++
    else if (/[^A-Z]STG\./) stn[now]++
    if (/[^A-Z](LDL|STL)[. ]/) local_[now]++
    if (/HGMMA/) hgmma[now]++
    if (/QGMMA/) qgmma[now]++
    if (/UTMALDG|UBLKCP/) bulk[now]++
}
END {
    printf "%-100s %4s %5s %6s %6s %5s %5s %5s %5s %5s %6s %6s %5s\n", "kernel", "reg", "spill", "shared", "sass",
           "local", "ld128", "ldN", "st128", "stN", "Hgmma", "Qgmma", "bulk"
    for (i = 1; i <= kernels; i++) {
        k = order[i]
        printf "%-100s %4d %5d %6d %6d %5d %5d %5d %5d %5d %6d %6d %5d\n", substr(k, 1, 100), reg[k], stack[k], shared[k],
               total[k], local_[k], ld128[k], ldn[k], st128[k], stn[k], hgmma[k], qgmma[k], bulk[k]
        spilled += local_[k] > 0
        multiplied += hgmma[k] + qgmma[k] > 0
        wide += ld128[k] + bulk[k] > 0
    }
    printf "\n%d kernels: %d with 16-byte or bulk loads, %d on the matrix units, %d with local memory\n", kernels, wide,
           multiplied, spilled
}
