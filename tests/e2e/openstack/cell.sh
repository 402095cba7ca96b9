#!/bin/bash
# Runs a command in the cell of RELEASE, a Debian of that name beside this one, or prints the name of the cell:
#   RELEASE=trixie cell.sh COMMAND...
#   RELEASE=trixie cell.sh --name
# The cell has network, mounts, processes and a host name of its own. Its network is only lo, so
# that no packet leaves it, and its ports are free whatever else runs here. Of this machine it
# contains only the checkout, Go, and the caches of both. Its root is made once and cached; its writes
# are in memory. The cell ends with its last command, unless the command leaves the state of an
# OpenStack in it.
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
CHECKOUT=$(realpath "$HERE/../../..")
: "${RELEASE:?names a Debian}"
export RELEASE E2E_STATE=${E2E_STATE:-/var/tmp/openstack-ccm-e2e}
. "$HERE/debian.sh"
# Those with real amphorae, with real kubelets, and without either stand side by side. CELL is also in the
# names of cgroups, which all of them share with this machine.
export CELL=$RELEASE${AMPHORA:+-$AMPHORA-amphorae}${KUBELETS:+-$KUBELETS-kubelets}
PID=/run/openstack-ccm-$CELL.pid
MOUNT=/run/openstack-ccm-$CELL # in the mounts of the cell only
MARK=/run/openstack-ccm-cell   # only a cell has it

alive() { [ -s "$PID" ] && [ -e "/proc/$(cat "$PID")/root$MARK" ]; }
has() { [ -e "/proc/$(cat "$PID")/root$1" ]; } # PATH, in the cell

# Directories of this machine that are at the same path in the cell.
shared() { echo "$CHECKOUT $CACHE $(go env GOROOT GOMODCACHE GOCACHE | tr '\n' ' ')"; }

hold_images() { # the cell and the command in it inherit the locks
    local barbican
    case ${AMPHORA:-} in
    '') ;;
    real | tcg)
        hold barbican "$HERE/barbican/image.sh"
        hold AMPHORA_IMAGE "$HERE/amphora/image.sh"
        LAYERS=:$barbican
        if [ "$AMPHORA" = tcg ]; then # it refers to files of the other one
            hold AMPHORA_IMAGE "$HERE/amphora/tcg.sh"
            LAYERS+=:$AMPHORA_IMAGE/layer
        fi
        export AMPHORA_IMAGE
        ;;
    *) die "AMPHORA is real, tcg, or not set" ;;
    esac
    case ${KUBELETS:-} in
    '') ;;
    real) hold KUBELET_IMAGE "$HERE/kubelet/image.sh"; export KUBELET_IMAGE ;;
    *) die "KUBELETS is real, or not set" ;;
    esac
}

start() {
    local root log=$CACHE/cell-$CELL.log
    hold root "$HERE/root.sh"
    # shellcheck disable=SC2046
    setsid unshare --mount --net --pid --uts --ipc --fork --kill-child "$HERE/cell.sh" --inside "$root${LAYERS:-}" $(shared) </dev/null >"$log" 2>&1 8>&- &
    local outer=$!
    for _ in $(seq 600); do
        tr -d ' ' 2>/dev/null <"/proc/$outer/task/$outer/children" >"$PID" || break
        if alive; then return 0; fi
        sleep 0.1
    done
    kill -KILL "$outer" 2>/dev/null || true
    rm -f "$PID"
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
    # Scripts compare this name with RELEASE; in sid it is that of the next stable release.
    sed -i "s/^VERSION_CODENAME=.*/VERSION_CODENAME=$RELEASE/" etc/os-release
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

[ -e "$HERE/releases/$RELEASE.sh" ] || die "RELEASE is one of $(cd "$HERE/releases" && echo * | sed 's/\.sh//g'), not $RELEASE"
case ${1:?a command} in
--name) echo "$CELL" ;;
--inside) shift; inside "$@" ;;
*)
    [ "$(id -u)" = 0 ] || die "must run as root"
    ! alive || has "$CHECKOUT/go.mod" || die "the cell $CELL has been started by another checkout; take its OpenStack down there"
    [ -z "${AMPHORA:-}" ] || [ -z "${KUBELETS:-}" ] || die "a cell has real amphorae or real kubelets, not both"
    case $1 in
    */down.sh) alive || exit 0 ;;
    *) hold_images ;;
    esac
    # A shared lock, while the command runs, keeps others from ending the cell.
    exec 8>>"$PID.lock"
    until flock --shared 8 && alive; do
        flock 8
        alive || start
    done
    result=0
    trap : INT TERM # which the command gets, too
    enter "$@" 8>&- || result=$?
    if flock --nonblock 8 && alive && ! has "$E2E_STATE"; then stop; fi
    exit $result
    ;;
esac
