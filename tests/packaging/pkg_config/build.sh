#!/usr/bin/env bash
# Builds the consumer with nothing but pkg-config. Usage: build.sh <static|shared> <output>; PKG_CONFIG_PATH is set.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
flags=(--cflags --libs)
[[ $1 == static ]] && flags+=(--static)
read -ra options <<< "$(pkg-config "${flags[@]}" doclock)"
"${CXX:-c++}" -std=c++20 "$here/../consumer.cpp" -o "$2" "${options[@]}"
