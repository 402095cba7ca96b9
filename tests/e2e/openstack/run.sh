#!/bin/bash
# Runs one of the Python scripts here with the cloud's environment:
#   run.sh provision.py servers 3
. "$(dirname "$0")/common.sh"
E2E_PASSWORD=$(cat "$E2E_STATE/password"); export E2E_PASSWORD
s=$1; shift
exec /usr/bin/python3 "$HERE/$s" "$@"
