# Debian 13: OpenStack 2025.1, Octavia 16.0, ovn-octavia-provider 8.0, OVN 25.03. Sourced.
# shellcheck shell=bash disable=SC2034
OPENSTACK=2025.1
# With the isolation that is the default of MariaDB 11.8, Octavia's worker fails with "Record has
# changed since last read" when something else writes to the same row: the load balancer ends in
# ERROR.
MARIADB_OPTIONS=(--innodb-snapshot-isolation=OFF)
export E2E_FRAGILE_TRACKING=${E2E_FRAGILE_TRACKING:-0}
export E2E_OCTAVIA_BACKPORTS=${E2E_OCTAVIA_BACKPORTS:-0}
