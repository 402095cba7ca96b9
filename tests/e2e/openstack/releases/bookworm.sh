# Debian 12: OpenStack Zed, Octavia 11.0, ovn-octavia-provider 3.0, OVN 23.03. Sourced.
# shellcheck shell=bash disable=SC2034
OPENSTACK=zed
MARIADB_OPTIONS=(--plugin-load-add=auth_socket)
# Open vSwitch 3.1 in user space has ended with "assertion conn->conn_type == CT_CONN_TYPE_DEFAULT failed in
# conn_update_state()" when members of ovn, or the next hop of a VIP, left under many connections through a
# floating IP.
export E2E_FRAGILE_TRACKING=${E2E_FRAGILE_TRACKING:-1}
# Defects of the packages that later releases do not have (py/octavia_e2e/backports.py).
export E2E_OCTAVIA_BACKPORTS=${E2E_OCTAVIA_BACKPORTS:-1}
