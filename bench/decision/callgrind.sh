#!/bin/sh
# Counts the instructions of one decision under callgrind, and fails when there are more than the bound beside this
# script says. Instructions are counted, not timed: the number is the same on a busy machine.
#
#   bench/decision/callgrind.sh            check
#   bench/decision/callgrind.sh --bless    store the present count, a tenth added, as the bound
set -eu
cd "$(dirname "$0")"
target="${CARGO_TARGET_DIR:-$(pwd)/../target}"
cargo build --quiet --release --target-dir "$target"
count() {
    out="$(mktemp)"
    # The keys of the hash differ in every run; the mean of many decisions does not.
    valgrind --tool=callgrind --callgrind-out-file="$out" "$target/release/decision" --once "$1" >/dev/null 2>&1
    sed -n 's/^\(summary\|totals\): *\([0-9]*\).*/\2/p' "$out" | head -n 1
    rm -f "$out"
}
few=$(count 10000)
many=$(count 110000)
each=$(((many - few) / 100000))
if [ "${1:-}" = "--bless" ]; then
    echo $((each + each / 10)) >callgrind.bound
fi
bound=$(cat callgrind.bound)
echo "instructions a decision: $each, bound $bound"
[ "$each" -le "$bound" ]
