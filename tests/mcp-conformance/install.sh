#!/bin/sh
# Installs the protocol's own conformance suite, and the node it needs, at pinned versions.
#
#   install.sh [FOLDER]
#
# Needs node 20 or later with npm. Running it again with the same folder installs nothing.
set -eu

SUITE=0.1.16
NODE=22.23.3
BEFORE=2026-11-25

folder=${1:-$(dirname "$0")/.suite}
mkdir -p "$folder"
pins="$SUITE $NODE $BEFORE 1"
[ "$(cat "$folder/installed" 2>/dev/null)" = "$pins" ] && exit 0
rm -rf "$folder/installed" "$folder/node_modules"
echo '{"private": true}' >"$folder/package.json"
# The package `node` fetches its program in a script of its own.
npm install --prefix "$folder" --before "$BEFORE" --save-exact --no-audit --no-fund \
    --no-update-notifier "node@$NODE" "@modelcontextprotocol/conformance@$SUITE" >"$folder/log" 2>&1 || {
    tail -n 20 "$folder/log" >&2
    exit 1
}
"$folder/node_modules/.bin/node" --version
echo "$pins" >"$folder/installed"
