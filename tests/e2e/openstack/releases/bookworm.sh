# Debian 12: OpenStack Zed, Octavia 11.0, ovn-octavia-provider 3.0, OVN 23.03. Sourced.
# shellcheck shell=bash disable=SC2034
OPENSTACK=zed
MARIADB_OPTIONS=(--plugin-load-add=auth_socket)
# Defects of the packages that later releases do not have (py/octavia_e2e/backports.py).
export E2E_OCTAVIA_BACKPORTS=${E2E_OCTAVIA_BACKPORTS:-1}
