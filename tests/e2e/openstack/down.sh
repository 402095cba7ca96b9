#!/bin/bash
# Stops the OpenStack; with --purge also removes its state, and so is in a hurry.
set -u
. "$(dirname "$0")/common.sh"
purge=; patience=15
[ "${1:-}" = --purge ] && purge=1 patience=2
"$HERE/machines.sh" down >/dev/null 2>&1
for s in octavia-driver-agent octavia-worker octavia-health-manager octavia-housekeeping octavia-api-ovn octavia-api-amphora nova-compute nova-api nova-scheduler nova-conductor \
    neutron-server neutron-rpc neutron-periodic neutron-ovn_maintenance glance-api placement barbican keystone ovn-controller ovn-northd; do stop "$s" $patience & done; wait
if [ $purge ] && alive ovs-vswitchd; then
    for b in $(ovs-vsctl --timeout=5 list-br); do ovs-vsctl --timeout=5 del-br "$b"; done
fi
if [ ! $purge ] && alive rabbitmq; then rabbit_env; timeout 60 /usr/lib/rabbitmq/bin/rabbitmqctl stop "$RUN/rabbit-beam.pid" >/dev/null 2>&1; fi
for s in ovs-vswitchd ovn-nb ovn-sb ovsdb-server memcached rabbitmq epmd mariadbd; do stop "$s" $patience & done; wait
say "down"
[ ! $purge ] || rm -rf "$E2E_STATE"
