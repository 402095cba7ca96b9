# Debian unstable (best effort): OpenStack 2026.2, Octavia 19.0, ovn-octavia-provider 11.0, OVN 26.03. Sourced.
# shellcheck shell=bash disable=SC2034
OPENSTACK=2026.2
# The directory of the modules with the APIs, which are no programs.
WSGI_MODULES=/usr/lib/python3/dist-packages
MARIADB_OPTIONS=(--innodb-snapshot-isolation=OFF) # as in trixie.sh
export E2E_FRAGILE_TRACKING=${E2E_FRAGILE_TRACKING:-0}
export E2E_OCTAVIA_BACKPORTS=${E2E_OCTAVIA_BACKPORTS:-0}
