#!/bin/sh
# Puts the judges into a folder: sh tests/judges/install.sh [FOLDER]. Needs node 20 with npm, python3 with venv, and the registries.
# The chat template is other people's file: it is read out of a published package here and never kept in this repository.
set -eu

folder=${1:-${INSPECTOR_JUDGES:-var/judges}}
python=${PYTHON:-python3}
mkdir -p "$folder"
cd "$folder"

for each in 6=6.0.326 7=7.0.173 6.0.168=6.0.168; do
    place=ai-${each%%=*} wanted=${each#*=}
    [ -e "$place/node_modules/ai/package.json" ] && continue
    mkdir -p "$place"
    (cd "$place" && npm init --yes >/dev/null && npm install --no-audit --no-fund "ai@$wanted")
done

if [ ! -e ai-packages/node_modules/@ai-sdk/google/package.json ]; then
    mkdir -p ai-packages
    (
        cd ai-packages
        npm init --yes >/dev/null
        npm install --no-audit --no-fund ai@6.0.326 @ai-sdk/anthropic@3.0.138 @ai-sdk/openai@3.0.141 @ai-sdk/google@3.0.141
    )
fi

for wanted in 1.11.0 1.13.1; do
    place=mistral-common-$wanted
    [ -e "$place/installed" ] && continue
    "$python" -m venv "$place"
    "$place/bin/python" -m pip install --quiet "mistral-common==$wanted" jinja2==3.1.6
    touch "$place/installed"
done

template=mistralai-Ministral-3-14B-Reasoning-2512.jinja
if [ ! -e "$template" ]; then
    package=llama_cpp_python-0.3.36
    mistral-common-1.13.1/bin/python -m pip download --quiet --no-deps --no-binary :all: llama-cpp-python==0.3.36
    tar -xzOf "$package.tar.gz" "$package/vendor/llama.cpp/models/templates/$template" >"$template.part"
    mv "$template.part" "$template"
    rm "$package.tar.gz"
fi
