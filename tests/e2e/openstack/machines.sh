#!/bin/bash
# Network namespaces that act as machines on the networks of a tenant.
#   machines.sh plug TENANT NAME PORT-ID MAC ADDRESS/LENGTH...  e2e-TENANT-NAME, with the
#                                                               addresses of a port
#   machines.sh unplug TENANT NAME                              as when its power is cut
#   machines.sh pod TENANT NAME ADDRESS                         an address of a pod, which finds
#                                                               others through the router
#   machines.sh clients TENANT                                  e2e-TENANT-client on its network,
#                                                               e2e-ext on the external one
#   machines.sh join TENANT                                     the namespace of this process gets both
#                                                               networks; those outside leave theirs
#   machines.sh tap DEVICE PORT-ID MAC                          the network card of an amphora
#   machines.sh untap DEVICE
#   machines.sh down [TENANT]                                   all namespaces go
set -uo pipefail
. "$(dirname "$0")/common.sh"
E2E_PASSWORD=$(cat "$E2E_STATE/password"); export E2E_PASSWORD
V="ovs-vsctl --timeout=20"
alive ovs-vswitchd || V="$V --no-wait" # nobody is there to do it

device() { echo "e2e$(printf %s "$1" | cksum | cut -d' ' -f1)"; } # NAMESPACE

plug() { # NAMESPACE BRIDGE DEVICE MTU [PORT-ID MAC]
    local ns=$1 br=$2 dev=$3 mtu=$4 id=${5:-} mac=${6:-}
    [ -e "/run/netns/$ns" ] || ip netns add "$ns"
    ip -n "$ns" link set lo up
    ip -n "$ns" link show "$dev" >/dev/null 2>&1 && return 0
    # shellcheck disable=SC2086
    $V -- --may-exist add-port "$br" "$dev" -- set interface "$dev" type=internal ${id:+external_ids:iface-id=$id external_ids:attached-mac=$mac external_ids:iface-status=active}
    wait_for 10 "$dev" ip link show "$dev"
    ip link set "$dev" netns "$ns"
    [ -n "$mac" ] && ip -n "$ns" link set "$dev" address "$mac"
    ip -n "$ns" link set "$dev" mtu "$mtu" up
}

machine() { # TENANT NAME PORT-ID MAC ADDRESS/LENGTH...
    local ns=e2e-$1-$2 dev id=$3 mac=$4
    dev=$(device "$ns"); shift 4
    plug "$ns" br-int "$dev" 1442 "$id" "$mac"
    local address
    for address; do
        ip -n "$ns" addr replace "$address" dev "$dev" nodad
    done
    ip -n "$ns" route replace default via 10.6.0.1
    ip -n "$ns" -6 route replace default via fd00:6::1 2>/dev/null
    return 0
}

node() { # TENANT NAME: what a node of Kubernetes is told to do for kube-proxy
    ip netns exec "e2e-$1-$2" sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
}

# The kernel of an amphora leaves checksums to the card, and Open vSwitch in user space sends packets
# on as they are. On the way through a veth without that ability this machine's kernel adds them.
tap() { # DEVICE PORT-ID MAC
    local dev=$1 n=${1#amp} feature link
    ip link show "$dev" >/dev/null 2>&1 && return 0
    ip tuntap add "$dev" mode tap
    ip link add "br$n" type bridge forward_delay 0 mcast_snooping 0
    ip link add "va$n" type veth peer name "vb$n"
    for feature in tx sg tso gso; do "$AMPHORA_IMAGE/root/usr/sbin/ethtool" -K "va$n" $feature off; done
    for link in "$dev" "va$n"; do ip link set "$link" mtu 1442 master "br$n" up; done
    ip link set "vb$n" mtu 1442 up
    ip link set "br$n" up
    $V -- --may-exist add-port br-int "vb$n" -- set interface "vb$n" \
        external_ids:iface-id="$2" external_ids:attached-mac="$3" external_ids:iface-status=active
}

outside() { # e2e-ext, of all tenants, gets the external network
    (
        flock 9
        plug e2e-ext br-ex e2eext 1500
        ip -n e2e-ext addr replace 172.24.4.1/22 dev e2eext
    ) 9>>"$RUN/outside.lock"
}

untap() { # DEVICE
    local n=${1#amp} link
    $V --if-exists del-port br-int "vb$n"
    for link in "$1" "va$n" "br$n"; do ip link del "$link" 2>/dev/null; done
    return 0
}

unplug() { # NAMESPACE
    local cgroup
    $V --if-exists del-port br-int "$(device "$1")"
    ip netns del "$1"
    [ -n "${CELL:-}" ] || return 0
    for cgroup in /sys/fs/cgroup/"$CELL-$1" /sys/fs/cgroup/*/"$CELL-$1"; do # of kubelet/node.sh
        [ ! -d "$cgroup" ] || find "$cgroup" -depth -type d -exec rmdir {} +
    done
}

case ${1:-} in
plug) shift; machine "$@"; node "$1" "$2" ;;
unplug) unplug "e2e-$2-$3" ;;
pod)
    case $4 in
    *:*) length=128 pods=fd00:10:244::/56 gateway=fd00:6::1 ;;
    *) length=32 pods=10.244.0.0/16 gateway=10.6.0.1 ;;
    esac
    # An IPv6 address is no source of a route before the kernel has looked for duplicates, on lo too.
    ip -n "e2e-$2-$3" addr replace "$4/$length" dev lo nodad &&
        ip -n "e2e-$2-$3" route replace "$pods" via "$gateway" src "$4"
    ;;
tap) tap "$2" "$3" "$4" ;;
untap) untap "$2" ;;
clients)
    # shellcheck disable=SC2046
    machine "$2" client $(python3 "$HERE/client_port.py" "$2")
    outside
    ;;
join)
    $V --if-exists del-port br-ex e2eext
    ip netns del e2e-ext
    ip netns attach e2e-ext $$
    outside
    ip netns attach "e2e-$2-control" $$
    # shellcheck disable=SC2046
    machine "$2" control $(python3 "$HERE/client_port.py" "$2" control)
    ;;
down)
    for ns in $(ip netns list | awk -v p="^e2e-${2:+$2-}" '$1 ~ p {print $1}'); do unplug "$ns"; done
    [ -n "${2:-}" ] || $V --if-exists del-port br-ex e2eext
    ;;
*) sed -n 2,15p "$0"; exit 2 ;;
esac
