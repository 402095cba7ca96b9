#!/bin/bash
# Makes the root of a cell: a Debian with the packages of OpenStack (debian.sh).
#   root.sh unpack ROOT     is its last part, a hook of mmdebstrap
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$HERE/packages.sh"
. "$HERE/debian.sh"
: "${RELEASE:?names a Debian}"

case $1 in
name) cached root "$HERE/packages.sh" ;;
make)
    say "making a Debian $RELEASE with OpenStack in $2: two minutes on two idle cores, and the download of 300 MB"
    bootstrap "$RELEASE" "$2" "$PACKAGES" "$2.log" --variant=minbase --customize-hook="$HERE/root.sh unpack \"\$1\""
    rm -rf "$2/var/cache/apt" "$2/var/lib/apt/lists"
    ;;
unpack) unpack "$2/usr/local/share/openstack-ccm-e2e" env APT_CONFIG="$MMDEBSTRAP_APT_CONFIG" apt-get ;;
esac
