#!/bin/sh
# Puts the published programs into a folder: sh tests/published_programs/install.sh [FOLDER]. Needs node 20 with npm, about 2.4 GB, and the npm registry.
# None of their install scripts are run; nothing of them is kept in this repository.
set -eu

folder=${1:-${INSPECTOR_PROGRAMS:-var/programs}}
mkdir -p "$folder"
cd "$folder"

with_npm() {
    [ -e "$1/installed" ] && return
    mkdir -p "$1"
    (cd "$1" && echo '{"private": true}' >package.json && npm install --ignore-scripts --no-audit --no-fund --omit=optional --omit=peer "$2")
    touch "$1/installed"
}

with_npm pi-0.73.1 @mariozechner/pi-coding-agent@0.73.1
with_npm pi-0.87.1 @earendil-works/pi-coding-agent@0.87.1
with_npm openclaw-2026.9.6 openclaw@2026.9.6
with_npm gemini-cli-0.61.0 @google/gemini-cli@0.61.0

# Its program is an optional dependency, one for each kind of machine.
if [ ! -e codex-0.169.0/installed ]; then
    mkdir -p codex-0.169.0
    (cd codex-0.169.0 && echo '{"private": true}' >package.json && npm install --ignore-scripts --no-audit --no-fund @openai/codex@0.169.0)
    touch codex-0.169.0/installed
fi

# The packages of its binaries, one for each kind of machine, need nothing else.
with_npm opencode-1.18.33 opencode-linux-x64@1.18.33

# One version for each of our readers. The newest two are optional dependencies too, the older ones are JavaScript.
for version in 2.1.332 2.1.200; do
    [ -e "claude-code-$version/installed" ] && continue
    mkdir -p "claude-code-$version"
    (cd "claude-code-$version" && echo '{"private": true}' >package.json && npm install --ignore-scripts --no-audit --no-fund "@anthropic-ai/claude-code@$version")
    touch "claude-code-$version/installed"
done
for version in 2.1.112 2.1.86 2.1.75 2.1.12 1.0.124; do
    with_npm "claude-code-$version" "@anthropic-ai/claude-code@$version"
done

# The pair that gbrain's own folders are served with: the two have to match.
if [ ! -e pglite-0.4.3/installed ]; then
    mkdir -p pglite-0.4.3
    (cd pglite-0.4.3 && echo '{"private": true}' >package.json && npm install --ignore-scripts --no-audit --no-fund @electric-sql/pglite@0.4.3 @electric-sql/pglite-socket@0.1.3)
    touch pglite-0.4.3/installed
fi

# One of its dependencies was never published; the module that repairs messages needs none of them.
if [ ! -e pi-ai-1.5.2/installed ]; then
    mkdir -p pi-ai-1.5.2
    (cd pi-ai-1.5.2 && npm pack --silent @earendil-works/pi-ai@1.5.2 >/dev/null && tar -xzf earendil-works-pi-ai-1.5.2.tgz)
    touch pi-ai-1.5.2/installed
fi
