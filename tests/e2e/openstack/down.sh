#!/bin/bash
# Stops the OpenStack; with --purge also removes its state.
set -u
. "$(dirname "$0")/common.sh"
"$HERE/machines.sh" down >/dev/null 2>&1
for s in octavia-driver-agent octavia-worker octavia-api-ovn octavia-api-amphora nova-compute nova-api nova-scheduler nova-conductor \
    neutron-server glance-api placement keystone; do stop "$s" & done; wait
for s in ovn-controller ovn-northd; do stop $s; done
if alive ovs-vswitchd && [ "${1:-}" = --purge ]; then
    for b in $(ovs-vsctl --timeout=5 list-br); do ovs-vsctl --timeout=5 del-br "$b"; done
fi
for s in ovs-vswitchd ovn-nb ovn-sb ovsdb-server memcached; do stop $s; done
if alive rabbitmq; then rabbit_env; timeout 60 /usr/lib/rabbitmq/bin/rabbitmqctl stop "$RUN/rabbit-beam.pid" >/dev/null 2>&1; fi
stop rabbitmq 10; stop epmd 5; stop mariadbd 30
say "down"
[ "${1:-}" = --purge ] && rm -rf "$E2E_STATE"
exit 0
