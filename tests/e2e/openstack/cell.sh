#!/bin/bash
# Runs a command in the cell of RELEASE, a Debian of that name beside this one:
#   RELEASE=trixie cell.sh COMMAND...
# The cell has network, mounts, processes and a host name of its own. Its network is only lo, so
# that no packet leaves it, and its ports are free whatever else runs here. Of this machine it
# contains only the checkout, Go, and the caches of both. Its root is made once and cached; its writes
# are in memory. The cell ends with the command, unless the command leaves the state of an OpenStack
# in it.
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
CHECKOUT=$(realpath "$HERE/../../..")
: "${RELEASE:?names a Debian}"
export RELEASE E2E_STATE=${E2E_STATE:-/var/tmp/openstack-ccm-e2e}
. "$HERE/packages.sh"
. "$HERE/debian.sh"
# Those with real amphorae, with real kubelets, and without either stand side by side. CELL is also in the
# names of cgroups, which all of them share with this machine.
export CELL=$RELEASE${AMPHORA:+-$AMPHORA-amphorae}${KUBELETS:+-$KUBELETS-kubelets}
PID=/run/openstack-ccm-$CELL.pid
MOUNT=/run/openstack-ccm-$CELL # in the mounts of the cell only
MARK=/run/openstack-ccm-cell   # only a cell has it

# The name of the root contains a sum of what is installed in it.
root() { echo "$CACHE/root-$RELEASE-$(sha256sum <"$HERE/packages.sh" | cut -c1-16)"; }

# A cell has a shared lock on its root, as file 9, so that no other deletes it.
hold_root() {
    mkdir -p "$CACHE"
    exec 9>"$1.lock"
    until flock --shared 9 && [ -d "$1" ]; do
        flock 9
        [ -d "$1" ] || make_root "$1"
    done
}

make_root() {
    local root=$1 log=$1.log other
    say "making a Debian $RELEASE with OpenStack in $root: two minutes on two idle cores, and the download of 300 MB"
    rm -rf --one-file-system "$root.new"
    for other in "$CACHE/root-$RELEASE"-*[0-9a-f]; do
        [ ! -d "$other" ] || flock --nonblock "$other.lock" rm -rf --one-file-system "$other" || say "$other is in use"
    done
    bootstrap "$RELEASE" "$root.new" "$PACKAGES" "$log" --variant=minbase --customize-hook="$HERE/cell.sh --unpack \"\$1\""
    rm -rf "$root.new/var/cache/apt" "$root.new/var/lib/apt/lists"
    mv "$root.new" "$root"
    say "made it"
}

alive() { [ -s "$PID" ] && [ -e "/proc/$(cat "$PID")/root$MARK" ]; }
has() { [ -e "/proc/$(cat "$PID")/root$1" ]; } # PATH, in the cell

# Directories of this machine that are at the same path in the cell.
shared() { echo "$CHECKOUT $CACHE $(go env GOROOT GOMODCACHE GOCACHE | tr '\n' ' ')"; }

start() {
    local root log=$CACHE/cell-$CELL.log; root=$(root)
    hold_root "$root"
    # shellcheck disable=SC2046
    setsid unshare --mount --net --pid --uts --ipc --fork --kill-child "$HERE/cell.sh" --inside "$root${LAYERS:-}" $(shared) </dev/null >"$log" 2>&1 &
    local outer=$!
    for _ in $(seq 100); do
        cat "/proc/$outer/task/$outer/children" 2>/dev/null | tr -d ' ' >"$PID" || true
        if alive; then return 0; fi
        sleep 0.1
    done
    die "the cell did not start, see $log"
}

inside() { # ROOT[:LAYER...] SHARED...: the first process of a cell; layers add the files that the root lacks
    local root=$1 path; shift
    mount --make-rprivate /
    mkdir -p "$MOUNT"
    mount -t tmpfs -o mode=755 tmpfs "$MOUNT"
    mkdir "$MOUNT"/{upper,work,root}
    mount -t overlay -o "lowerdir=$root,upperdir=$MOUNT/upper,workdir=$MOUNT/work" overlay "$MOUNT/root"
    cd "$MOUNT/root"
    mount -t proc proc proc
    mount -t sysfs sysfs sys
    mount --rbind /sys/fs/cgroup sys/fs/cgroup # for kubelets
    mount --rbind /dev dev
    mount -t tmpfs -o mode=1777 tmpfs dev/shm
    mount -t tmpfs -o mode=755 tmpfs run
    for path; do mkdir -p ".$path"; mount --rbind "$path" ".$path"; done
    ip link set lo up
    hostname cell
    echo '127.0.0.1 localhost cell' >etc/hosts
    mkdir -p run/lock old
    # In place of chroot: a process that enters the namespaces later has this root, too.
    pivot_root . old
    umount -l /old
    rmdir /old
    touch "$MARK"
    # While it waits, it also reaps the daemons of scripts that have ended.
    exec sh -c 'while :; do sleep 3600 & wait; done'
}

enter() { # COMMAND...
    # shellcheck disable=SC2016
    nsenter --target "$(cat "$PID")" --mount --net --pid --uts --ipc --root \
        env GOPROXY=off GOTOOLCHAIN=local GOFLAGS="$(go env GOFLAGS)" GOCACHE="$(go env GOCACHE)" GOMODCACHE="$(go env GOMODCACHE)" \
        LC_ALL=C.UTF-8 PATH="$(go env GOROOT)/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" sh -c 'cd "$1" && shift && exec "$@"' in "$PWD" "$@"
}

stop() {
    kill -KILL "$(cat "$PID")"
    rm -f "$PID"
}

case ${1:?a command} in
--inside) shift; inside "$@" ;;
--unpack) unpack "$2/usr/local/share/openstack-ccm-e2e" env APT_CONFIG="$MMDEBSTRAP_APT_CONFIG" apt-get ;;
*)
    [ "$(id -u)" = 0 ] || die "must run as root"
    [ -e "$HERE/releases/$RELEASE.sh" ] || die "RELEASE is one of $(cd "$HERE/releases" && echo * | sed 's/\.sh//g'), not $RELEASE"
    case $1 in */down.sh) alive || exit 0 ;; esac
    # Before an image is made, since that deletes the one that this cell uses.
    ! alive || has "$CHECKOUT/go.mod" || die "the cell $CELL has been started by another checkout; take its OpenStack down there"
    [ -z "${AMPHORA:-}" ] || [ -z "${KUBELETS:-}" ] || die "a cell has real amphorae or real kubelets, not both"
    case ${AMPHORA:-} in
    '') ;;
    real) AMPHORA_IMAGE=$("$HERE/amphora/image.sh") ;;
    tcg) AMPHORA_IMAGE=$("$HERE/amphora/tcg.sh") ;;
    *) die "AMPHORA is real, tcg, or not set" ;;
    esac
    if [ -n "${AMPHORA:-}" ]; then
        LAYERS=:$("$HERE/barbican/image.sh")
        [ "$AMPHORA" != tcg ] || LAYERS+=:$AMPHORA_IMAGE/layer
        export AMPHORA_IMAGE
    fi
    case ${KUBELETS:-} in
    '') ;;
    real) KUBELET_IMAGE=$("$HERE/kubelet/image.sh"); export KUBELET_IMAGE ;;
    *) die "KUBELETS is real, or not set" ;;
    esac
    alive || start
    result=0
    trap : INT TERM # which the command gets, too
    enter "$@" || result=$?
    if alive && ! has "$E2E_STATE"; then stop; fi # another command may have ended it
    exit $result
    ;;
esac
