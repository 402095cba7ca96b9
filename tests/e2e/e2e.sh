#!/bin/bash
# The whole of `make e2e`: an OpenStack comes up on this machine, the suite runs on
# it, and it goes down again. E2E_KEEP=1 leaves it up.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
if [ "$(id -u)" != 0 ] || ! grep -qs '^VERSION_CODENAME=bookworm' /etc/os-release; then
    echo "make e2e brings up an OpenStack from the packages of Debian 12, as root, which this is not." >&2
    exit 2
fi
export E2E_STATE=${E2E_STATE:-/var/tmp/openstack-ccm-e2e}
tests/e2e/openstack/up.sh || { echo "OpenStack did not come up; its logs are in $E2E_STATE/log" >&2; exit 1; }
go test -v -count=1 -timeout 30m ./tests/e2e -run TestOnAnOpenStack -parallel 4
result=$?
if [ $result != 0 ]; then
    mkdir -p out/e2e && cp -r "$E2E_STATE/log" out/e2e/openstack-log
    echo "the logs of OpenStack are in out/e2e" >&2
fi
[ "${E2E_KEEP:-}" = 1 ] || tests/e2e/openstack/down.sh --purge
exit $result
