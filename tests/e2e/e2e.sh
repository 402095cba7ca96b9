#!/bin/bash
# The whole of `make e2e`: an OpenStack comes up on this machine, the suite runs on
# it, and it goes down again, however it ends. E2E_KEEP=1 leaves it up, E2E_KEEP=failed
# does when something has failed. With E2E_CLOUD the suite runs on that cloud of
# clouds.yaml (docs/internals/testing.md). With an argument, PROVIDER or PROVIDER/SCENARIO, it runs
# that part of the suite on the OpenStack that is up, and leaves it up. RELEASE is the Debian with
# the OpenStack; if this machine is another one, all of it runs in a cell (openstack/cell.sh).
# AMPHORA=real is `make e2e-amphora`, AMPHORA=tcg `make e2e-amphora-udp`, KUBELETS=real is `make e2e-upstream`.
# Each cell, the machine's own release, and each cloud has a directory in out/e2e for the output.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1

build() { # the control plane, and with further flags further programs
    CGO_ENABLED=0 GOFLAGS="${GOFLAGS:-} -trimpath -tags=grpcnotrace" go run ./tests/controlplane/cmd/controlplane --build "$@" || exit 1
}

play() { # TIMEOUT TEST PARALLEL: all that the suite prints is in a log; here, a line per scenario
    echo "compiling the suite, then playing its scenarios; all output is in $log"
    go test -v -count=1 -timeout "$1" ./tests/e2e -run "$2" -parallel "$3" 2>&1 |
        tee "$log" | { grep --line-buffered -E '^(e2e |PASS|FAIL|ok|panic|#)' || true; }
    local result=${PIPESTATUS[0]}
    [ "$result" = 0 ] || grep -A 12 -e '^ *--- FAIL' "$log"
    echo "logs, metrics and events of the controller are in $out/scenarios" >&2
    return "$result"
}

output() { # NAME [PROVIDER[/SCENARIO]]
    out=out/e2e/$1
    export E2E_OUT=$PWD/$out
    mkdir -p "$out"
    if [ $# -gt 1 ]; then # the output of other parts stays
        log=$out/suite-${2//\//-}.log
    else
        log=$out/suite.log
        rm -rf "$out/scenarios"
    fi
}

part='' # of the tests below that of a cloud; scenarios that are not alone are in a group
if [ $# -gt 0 ]; then
    case $1 in */*) scenario=${1#*/} ;; *) scenario='' ;; esac
    part="/^${1%%/*}\$/^(Together|$scenario)/$scenario"
fi
if [ -n "${E2E_CLOUD:-}" ]; then
    output "cloud-${E2E_CLOUD//\//-}" "$@"
    echo "make e2e plays the suite in a project of the cloud $E2E_CLOUD: from twenty minutes to hours, with how long it takes to boot an amphora"
    build
    play "${E2E_TIMEOUT:-3h}" "TestSuite_SucceedsOnAnyOpenStack$part" 8
    exit
fi
suite=TestSuite_SucceedsOnLocalOpenStack
programs=(--kube-proxy)
if [ -n "${AMPHORA:-}" ]; then
    suite=TestSuite_SucceedsWithRealAmphorae
    RELEASE=${RELEASE:-trixie}
elif [ "${KUBELETS:-}" = real ]; then
    suite=TestUpstream_PassesSpecsOfKubernetes
    programs+=(--kubectl --upstream)
    RELEASE=${RELEASE:-trixie}
fi
export RELEASE=${RELEASE:-bookworm}
codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release 2>/dev/null)
if [ "$(id -u)" != 0 ] || { [ "$codename" != bookworm ] && [ "$codename" != "$RELEASE" ]; }; then
    echo "make e2e brings up an OpenStack from the packages of Debian 12, as root, which this is not." >&2
    echo "On an OpenStack that you have it runs with E2E_CLOUD=<a cloud of your clouds.yaml>; see docs/internals/testing.md." >&2
    exit 2
fi
if [ "${KUBELETS:-}" = real ] && [ $# -gt 0 ]; then
    echo "make e2e-run has none of Kubernetes' specs: E2E_KEEP=1 make e2e-upstream FOCUS=REGEXP runs some on an OpenStack that is up." >&2
    exit 2
fi
if [ -n "${AMPHORA:-}${KUBELETS:-}" ] && [ "$codename" = "$RELEASE" ] && [ -z "${AMPHORA_IMAGE:-}${KUBELET_IMAGE:-}" ]; then
    echo "AMPHORA and KUBELETS need a cell, a Debian of another release than this machine's: RELEASE=trixie on Debian 12." >&2
    exit 2
fi
cell=$(tests/e2e/openstack/cell.sh --name) || exit
if [ "$codename" != "$RELEASE" ]; then
    build "${programs[@]}" # a cell has no network to download from
    exec tests/e2e/openstack/cell.sh tests/e2e/e2e.sh "$@"
fi
export E2E_STATE=${E2E_STATE:-/var/tmp/openstack-ccm-e2e}
# Runs of parts may share an OpenStack. A whole run begins by deleting the output, and ends by deleting the OpenStack.
exec 9>>"$E2E_STATE.lock"
if [ $# -gt 0 ]; then mode=--shared; else mode=--exclusive; fi
if ! flock --nonblock $mode 9; then
    echo "Another run uses the OpenStack in $E2E_STATE: start this one when it has ended." >&2
    exit 2
fi
output "$cell" "$@"
# Both providers together have so many scenarios at work. Everything here is bound by CPU:
# more of them make each other slow, and end no sooner.
parallel=$(($(nproc) * 2))
[ $parallel -le 8 ] || parallel=8
if [ $# -gt 0 ]; then
    E2E_KEEP=1
    # Before the trap: another process may be bringing it up.
    if [ ! -e "$E2E_STATE/info.json" ]; then
        echo "There is no OpenStack in $E2E_STATE: bring it up with 'make e2e-up', or keep that of a run with 'E2E_KEEP=1 make e2e'." >&2
        exit 2
    fi
fi
finish() {
    local result=$?
    if [ $result != 0 ] && [ -d "$E2E_STATE/log" ]; then
        rm -rf "$out/openstack" && cp -r "$E2E_STATE/log" "$out/openstack"
        echo "what the suite said is in $log, the logs of OpenStack are in $out/openstack" >&2
    fi
    local keep=${E2E_KEEP:-}
    if [ "$keep" = failed ] && [ $result != 0 ]; then keep=1; fi
    if [ "$keep" = 1 ] && [ -e "$E2E_STATE/info.json" ]; then
        local which again
        case ${AMPHORA:-}${KUBELETS:+kubelets} in
        '') which="RELEASE=$RELEASE" again="make e2e-run $which RUN=ovn/Life" ;;
        real) which=AMPHORA=real again="make e2e-run $which RUN=amphora/Life" ;;
        tcg) which=AMPHORA=tcg again="make e2e-run $which RUN=amphora/Datagrams" ;;
        *) which=KUBELETS=real again="E2E_KEEP=1 make e2e-upstream FOCUS=REGEXP" ;;
        esac
        echo "The OpenStack in $E2E_STATE is still up. Run a part on it: $again. Take it down: make e2e-down $which."
    else
        tests/e2e/openstack/down.sh --purge
    fi
}
trap finish EXIT
trap 'exit 130' INT TERM
[ $# -gt 0 ] || echo "builds Kubernetes' programs, brings up an OpenStack in $E2E_STATE, plays the suite and takes the OpenStack down again; docs/internals/testing.md has the times"
build "${programs[@]}"
[ $# -gt 0 ] || tests/e2e/openstack/up.sh || exit
play "${E2E_TIMEOUT:-3h}" "$suite$part" $parallel
