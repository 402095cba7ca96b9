#!/bin/bash
# Network namespaces that act as the machines of the k8s servers.
#   nodes.sh up [N [PORT...]]   e2e-node-1..N: the servers node-1..N on the tenant
#                               network, each with an HTTP and UDP server on PORTs
#                               (default 30080); e2e-client on the tenant network;
#                               e2e-ext on the external network (172.24.4.1)
#   nodes.sh down
set -uo pipefail
. "$(dirname "$0")/common.sh"
E2E_PASSWORD=$(cat "$E2E_STATE/password"); export E2E_PASSWORD
V="ovs-vsctl --timeout=20"

plug() { # NETNS BRIDGE DEVICE [IFACE-ID MAC]
    local ns=$1 br=$2 dev=$3 id=${4:-} mac=${5:-}
    ip netns list | grep -q "^$ns\b" || ip netns add "$ns"
    ip -n "$ns" link set lo up
    ip -n "$ns" link show "$dev" >/dev/null 2>&1 && return 0
    $V -- --may-exist add-port "$br" "$dev" -- set interface "$dev" type=internal ${id:+external_ids:iface-id=$id external_ids:attached-mac=$mac external_ids:iface-status=active}
    wait_for 10 "$dev" ip link show "$dev"
    ip link set "$dev" netns "$ns"
    [ -n "$mac" ] && ip -n "$ns" link set "$dev" address "$mac"
    ip -n "$ns" link set "$dev" mtu "$([ -n "$id" ] && echo 1442 || echo 1500)" up
}

case ${1:-} in
up)
    n=${2:-3}; shift; [ $# -gt 0 ] && shift
    ports=${*:-30080}
    while read -r i id mac ip4 ip6; do
        ns=e2e-node-$i
        plug "$ns" br-int "e2en$i" "$id" "$mac"
        ip -n "$ns" addr replace "$ip4" dev "e2en$i"
        [ -n "${ip6:-}" ] && ip -n "$ns" addr replace "$ip6" dev "e2en$i" nodad
        ip -n "$ns" route replace default via 10.6.0.1
        ip -n "$ns" -6 route replace default via fd00:6::1 2>/dev/null
        # shellcheck disable=SC2086
        daemon "node-server-$i" ip netns exec "$ns" /usr/bin/python3 "$HERE/node-server.py" "node-$i" $ports
    done < <(python3 "$HERE/nodes.py" "$n" | sort -n)
    read -r id mac ip4 ip6 gw6 < <(python3 "$HERE/client_port.py")
    plug e2e-client br-int e2eclient "$id" "$mac"
    ip -n e2e-client addr replace "$ip4" dev e2eclient
    ip -n e2e-client addr replace "$ip6" dev e2eclient nodad
    ip -n e2e-client route replace default via 10.6.0.1
    ip -n e2e-client -6 route replace default via fd00:6::1
    plug e2e-ext br-ex e2eext
    ip -n e2e-ext addr replace 172.24.4.1/22 dev e2eext
    ip -n e2e-ext addr replace 2001:db8:24::1/64 dev e2eext nodad
    [ -n "${gw6:-}" ] && ip -n e2e-ext -6 route replace fd00:6::/64 via "$gw6"
    ;;
down)
    for f in "$RUN"/node-server-*.pid; do [ -e "$f" ] && stop "$(basename "$f" .pid)" 3; done
    for d in $($V list-ports br-int 2>/dev/null | grep -E '^e2e(n[0-9]+|client)$') ; do $V --if-exists del-port br-int "$d"; done
    $V --if-exists del-port br-ex e2eext
    for ns in $(ip netns list | awk '/^e2e-/{print $1}'); do ip netns del "$ns"; done
    ;;
*) sed -n 2,9p "$0"; exit 2 ;;
esac
