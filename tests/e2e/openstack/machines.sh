#!/bin/bash
# Network namespaces that act as machines on the networks of the cloud.
#   machines.sh plug NAME PORT-ID MAC ADDRESS/LENGTH...  e2e-NAME, with the addresses
#                                                        of a port of the tenant network
#   machines.sh unplug NAME                              as when its power is cut
#   machines.sh clients                                  e2e-client on the tenant network,
#                                                        e2e-ext on the external one
#   machines.sh down                                     all of them go
set -uo pipefail
. "$(dirname "$0")/common.sh"
E2E_PASSWORD=$(cat "$E2E_STATE/password"); export E2E_PASSWORD
V="ovs-vsctl --timeout=20"

device() { echo "e2e$(printf %s "$1" | cksum | cut -d' ' -f1)"; }

plug() { # NAMESPACE BRIDGE DEVICE MTU [PORT-ID MAC]
    local ns=$1 br=$2 dev=$3 mtu=$4 id=${5:-} mac=${6:-}
    ip netns list | grep -q "^$ns\b" || ip netns add "$ns"
    ip -n "$ns" link set lo up
    ip -n "$ns" link show "$dev" >/dev/null 2>&1 && return 0
    # shellcheck disable=SC2086
    $V -- --may-exist add-port "$br" "$dev" -- set interface "$dev" type=internal ${id:+external_ids:iface-id=$id external_ids:attached-mac=$mac external_ids:iface-status=active}
    wait_for 10 "$dev" ip link show "$dev"
    ip link set "$dev" netns "$ns"
    [ -n "$mac" ] && ip -n "$ns" link set "$dev" address "$mac"
    ip -n "$ns" link set "$dev" mtu "$mtu" up
}

machine() { # NAME PORT-ID MAC ADDRESS/LENGTH...
    local ns=e2e-$1 dev id=$2 mac=$3
    dev=$(device "$1"); shift 3
    plug "$ns" br-int "$dev" 1442 "$id" "$mac"
    local address
    for address; do
        ip -n "$ns" addr replace "$address" dev "$dev" nodad
    done
    ip -n "$ns" route replace default via 10.6.0.1
    ip -n "$ns" -6 route replace default via fd00:6::1 2>/dev/null
    return 0
}

case ${1:-} in
plug) shift; machine "$@" ;;
unplug)
    $V --if-exists del-port br-int "$(device "$2")"
    ip netns del "e2e-$2" 2>/dev/null
    exit 0
    ;;
clients)
    read -r id mac ip4 ip6 gw6 < <(python3 "$HERE/client_port.py")
    machine client "$id" "$mac" "$ip4" "$ip6"
    plug e2e-ext br-ex e2eext 1500
    ip -n e2e-ext addr replace 172.24.4.1/22 dev e2eext
    ip -n e2e-ext addr replace 2001:db8:24::1/64 dev e2eext nodad
    [ -n "${gw6:-}" ] && ip -n e2e-ext -6 route replace fd00:6::/64 via "$gw6"
    exit 0
    ;;
down)
    for d in $($V list-ports br-int 2>/dev/null | grep -E '^e2e[0-9]+$'); do $V --if-exists del-port br-int "$d"; done
    $V --if-exists del-port br-ex e2eext
    for ns in $(ip netns list | awk '/^e2e-/{print $1}'); do ip netns del "$ns"; done
    exit 0
    ;;
*) sed -n 2,9p "$0"; exit 2 ;;
esac
