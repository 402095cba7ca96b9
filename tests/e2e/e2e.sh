#!/bin/bash
# The whole of `make e2e`: an OpenStack comes up on this machine, the suite runs on
# it, and it goes down again, however it ends. E2E_KEEP=1 leaves it up. With
# E2E_CLOUD the suite runs on that cloud of clouds.yaml (docs/testing.md).
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
mkdir -p out/e2e

build() { # the control plane, and with further flags further programs
    CGO_ENABLED=0 GOFLAGS="${GOFLAGS:-} -trimpath" go run ./tests/controlplane/cmd/controlplane --build "$@" || exit 1
}

play() { # TIMEOUT TEST: all that the suite prints is in out/e2e/suite.log; here, a line per scenario
    echo "compiling the suite, then playing its scenarios; all output is in out/e2e/suite.log"
    go test -v -count=1 -timeout "$1" ./tests/e2e -run "$2" -parallel 8 2>&1 |
        tee out/e2e/suite.log | { grep --line-buffered -E '^(e2e |PASS|FAIL|ok|panic|#)' || true; }
    local result=${PIPESTATUS[0]}
    [ "$result" = 0 ] || grep -A 12 -e '^ *--- FAIL' out/e2e/suite.log
    return "$result"
}

if [ -n "${E2E_CLOUD:-}" ]; then
    echo "make e2e plays the suite in a project of the cloud $E2E_CLOUD: from twenty minutes to hours, with how long it takes to boot an amphora"
    build
    play "${E2E_TIMEOUT:-3h}" TestOnAnyOpenStack
    exit
fi
if [ "$(id -u)" != 0 ] || ! grep -qs '^VERSION_CODENAME=bookworm' /etc/os-release; then
    echo "make e2e brings up an OpenStack from the packages of Debian 12, as root, which this is not." >&2
    echo "On an OpenStack that you have it runs with E2E_CLOUD=<a cloud of your clouds.yaml>; see docs/testing.md." >&2
    exit 2
fi
export E2E_STATE=${E2E_STATE:-/var/tmp/openstack-ccm-e2e}
finish() {
    local result=$?
    if [ $result != 0 ] && [ -d "$E2E_STATE/log" ]; then
        rm -rf out/e2e/openstack && cp -r "$E2E_STATE/log" out/e2e/openstack
        echo "what the suite said is in out/e2e/suite.log, the logs of OpenStack are in out/e2e/openstack" >&2
    fi
    [ "${E2E_KEEP:-}" = 1 ] || tests/e2e/openstack/down.sh --purge
}
trap finish EXIT
trap 'exit 130' INT TERM
echo "make e2e installs packages, builds Kubernetes' programs, brings up an OpenStack in $E2E_STATE, plays the suite"
echo "and takes the OpenStack down again: about twelve minutes on two cores, half an hour the first time"
build --kube-proxy
tests/e2e/openstack/up.sh || exit 1
play 30m TestOnAnOpenStack
