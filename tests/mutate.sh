#!/usr/bin/env bash
# Lets gremlins change the code of packages in small ways, and counts the changes that
# their own tests notice. Of each package it takes some files, always the same ones.
#
#	tests/mutate.sh FILES PACKAGE...
set -euo pipefail
cd "$(dirname "$0")/.."
sample=$1
shift
for package in "$@"; do
	files=$(cd "$package" && find . -maxdepth 1 -name '*.go' ! -name '*_test.go' | sort)
	chosen=$(shuf -n "$sample" --random-source=<(yes) <<<"$files")
	others=()
	for file in $files; do
		grep -qxF "$file" <<<"$chosen" || others+=(--exclude-files "^${file#./}$")
	done
	echo "== $package:" $chosen
	go run github.com/go-gremlins/gremlins/cmd/gremlins@v0.6.0 unleash --workers "${WORKERS:-2}" \
		--timeout-coefficient 20 "${others[@]}" "./$package"
done
