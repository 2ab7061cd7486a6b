#!/usr/bin/env bash
# Twenty reloads a second for a minute under load: no answer but 200 and 429, no connection dropped, and in the one window
# that is open never more admitted than the larger of the two limits.
#
#   bench/reload.sh [path of zonai] [seconds]
#
# Needs wrk. Exit code 1 where one of these does not hold.
set -euo pipefail
zonai=$(realpath "${1:-target/release/zonai}")
seconds=${2:-60}
smaller=1000
larger=2000
work=$(mktemp -d)
server=
trap 'kill "$server" 2>/dev/null || true; wait; rm -rf "$work"' EXIT
cd "$work"
"$zonai" init . >/dev/null
limits=lib/src/rate_limit

write() {
  printf 'table: tasks\nlimits:\n  list: %s/1h\n' "$1" >"$limits/.new"
  mv "$limits/.new" "$limits/tasks.yaml"
}

write "$smaller"
"$zonai" serve --host 127.0.0.1 --port 0 --log info 2>log &
server=$!
for _ in $(seq 200); do
  address=$(sed -n 's/.*listening on http:\/\/\([0-9.:]*\).*/\1/p' log | head -1)
  [ -n "$address" ] && break
  sleep 0.05
done
cat >count.lua <<'LUA'
local threads = {}
function setup(thread) table.insert(threads, thread) end
function init() ok, refused, other = 0, 0, 0 end
function response(status)
  if status == 200 then ok = ok + 1 elseif status == 429 then refused = refused + 1 else other = other + 1 end
end
function done(summary)
  local o, r, x = 0, 0, 0
  for _, thread in ipairs(threads) do
    o, r, x = o + thread:get("ok"), r + thread:get("refused"), x + thread:get("other")
  end
  local errors = summary.errors
  print(string.format("RESULT %d %d %d %d", o, r, x, errors.connect + errors.read + errors.write + errors.timeout))
end
LUA
wrk -t1 -c16 -d"${seconds}s" -s count.lua "http://$address/db/list?body=%7B%22table%22%3A%22tasks%22%7D" >wrk.out &
load=$!
reloads=0
microseconds() { local now=$EPOCHREALTIME; echo $((${now%.*} * 1000000 + 10#${now#*.})); }
began=$(microseconds)
while kill -0 "$load" 2>/dev/null; do
  if [ $((reloads % 2)) = 0 ]; then write "$larger"; else write "$smaller"; fi
  kill -HUP "$server"
  reloads=$((reloads + 1))
  # What the machine was late with is made up for.
  [ $(((reloads * 50000) - ($(microseconds) - began))) -lt 0 ] || sleep 0.04
done
wait "$load"
taken=$("$zonai" limits list --format json . >/dev/null && grep -c 'policies changed' log || true)
read -r _ admitted refused other errors < <(grep '^RESULT' wrk.out)
echo "reloads: $reloads asked for in $seconds s, $taken taken"
echo "answers: $admitted admitted, $refused refused, $other others; errors of connections: $errors"
echo "limits: $smaller and $larger in one window of an hour"
kill -TERM "$server"
wait "$server"
server=
[ "$admitted" = "$larger" ] && [ "$other" = 0 ] && [ "$errors" = 0 ]
