#!/bin/sh
# Installs pinned versions of six reference MCP servers into a folder and prints, for each, its
# name, a tab and the command that starts it.
#
#   install-servers.sh [FOLDER]
#
# Needs node 20 or later with npm, python3 3.11 or later with venv, and git. Packages come from the
# registries npm and pip are configured for. Running it again with the same folder installs nothing.
set -eu

FILESYSTEM=2026.8.31
MEMORY=2026.8.31
EVERYTHING=2026.8.31
GIT=2026.10.19
TIME=2026.10.19
FETCH=2026.10.24
# Later releases of what the npm packages depend on are ignored, so that a listing stays the same.
NPM_BEFORE=2026-11-15

fail() {
    echo "install-servers: $*" >&2
    exit 1
}

[ $# -le 1 ] || fail "usage: $0 [FOLDER]"
set -- "${1:-$(dirname "$0")/.servers}"
for tool in node npm python3 git; do
    command -v "$tool" >/dev/null 2>&1 || fail "$tool is not installed"
done
python3 -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
    fail "python3 is older than 3.11 or has no venv module"

mkdir -p "$1"
folder=$(cd "$1" && pwd)
case $folder in
    *"'"*) fail "the folder's name must not contain a quote" ;;
esac
bin=$folder/npm/node_modules/.bin
pybin=$folder/py/bin
log=$folder/install.log
pins="$FILESYSTEM $MEMORY $EVERYTHING $GIT $TIME $FETCH $NPM_BEFORE 1"

# What the Python servers depend on, at the versions the saved listings were made with.
constraints() {
    cat <<'PINS'
annotated-types==0.8.0
anyio==4.16.0
attrs==26.1.0
beautifulsoup4==4.15.0
certifi==2026.10.19.post1
cffi==2.1.1
charset-normalizer==3.5.3
click==8.5.1
cryptography==50.0.2
gitdb==4.0.12
gitpython==3.2.1
h11==0.16.0
html5lib==1.1
httpcore==1.0.9
httpcore2==2.16.2
httpx==0.28.1
httpx2==2.16.2
idna==3.20
jsonschema==4.26.0
jsonschema-specifications==2025.9.1
lxml==6.1.3
markdownify==1.2.3
mcp==2.3.0
mcp-types==2.3.0
opentelemetry-api==1.45.2
protego==0.7.0
pycparser==3.12
pydantic==2.14.4
pydantic-core==2.50.5
pyjwt==2.15.1
python-multipart==0.0.34
readabilipy==0.3.0
referencing==0.37.0
regex==2026.11.19
requests==2.34.2
rpds-py==2026.9.1
six==1.17.0
smmap==5.0.3
socksio==1.0.0
soupsieve==4.1.3
sse-starlette==3.7.0
starlette==1.10.0
truststore==0.10.5
typing-extensions==4.16.0
typing-inspection==0.4.5
tzdata==2026.6
tzlocal==5.4.5
urllib3==2.8.0
uvicorn==0.54.0
webencodings==0.6.1
PINS
}

# Runs a command with its output in the log, and shows the log's end if the command fails.
run() {
    "$@" >>"$log" 2>&1 && return
    tail -n 20 "$log" >&2
    fail "this failed: $*"
}

install_all() {
    rm -rf "$folder/installed" "$folder/npm" "$folder/py"
    : >"$log"
    mkdir -p "$folder/npm"
    echo '{"private": true}' >"$folder/npm/package.json"
    run npm install --prefix "$folder/npm" --before "$NPM_BEFORE" --save-exact --ignore-scripts \
        --no-audit --no-fund --no-update-notifier \
        "@modelcontextprotocol/server-filesystem@$FILESYSTEM" \
        "@modelcontextprotocol/server-memory@$MEMORY" \
        "@modelcontextprotocol/server-everything@$EVERYTHING"
    run python3 -m venv "$folder/py"
    constraints >"$folder/constraints.txt"
    run "$pybin/python" -m pip install --disable-pip-version-check --only-binary :all: \
        --constraint "$folder/constraints.txt" \
        "mcp-server-git==$GIT" "mcp-server-time==$TIME" "mcp-server-fetch==$FETCH"
}

[ "$(cat "$folder/installed" 2>/dev/null)" = "$pins" ] || install_all
for program in "$bin/mcp-server-filesystem" "$bin/mcp-server-memory" \
    "$bin/mcp-server-everything" \
    "$pybin/mcp-server-git" "$pybin/mcp-server-time" "$pybin/mcp-server-fetch"; do
    [ -x "$program" ] || fail "$program is missing; remove $folder and try again"
done
echo "$pins" >"$folder/installed"
mkdir -p "$folder/files"

tab=$(printf '\t')
# The time server's descriptions name the local time zone.
cat <<COMMANDS
filesystem$tab'$bin/mcp-server-filesystem' '$folder/files'
memory${tab}MEMORY_FILE_PATH='$folder/memory.json' '$bin/mcp-server-memory'
everything$tab'$bin/mcp-server-everything'
git$tab'$pybin/mcp-server-git'
time${tab}TZ=UTC '$pybin/mcp-server-time'
fetch$tab'$pybin/mcp-server-fetch'
COMMANDS
