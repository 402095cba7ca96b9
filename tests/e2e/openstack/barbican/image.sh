#!/bin/bash
# Unpacks Barbican with all that it needs of Debian (debian.sh). A cell has these files below those of its own root, so
# that only the ones of packages that the root lacks are seen.
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$HERE/../debian.sh"
: "${RELEASE:?names a Debian}"
PACKAGES="python3-barbican barbican-common" # the latter has the paste file

case $1 in
name) cached barbican "$HERE/image.sh" ;;
make)
    say "unpacking Barbican in $2: a minute on two idle cores, and the download of 65 MB"
    bootstrap "$RELEASE" "$2" "$PACKAGES" "$2.log" --variant=extract --dpkgopt='path-exclude=/usr/share/doc/*' \
        --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*'
    rm -rf "$2/var/cache/apt" "$2/var/lib/apt/lists"
    ;;
esac
