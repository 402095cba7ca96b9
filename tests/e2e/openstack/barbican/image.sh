#!/bin/bash
# Unpacks Barbican with all that it needs of Debian. A cell has these files below those of its own root, so
# that only the ones of packages that the root lacks are seen. They are cached; the output is their directory.
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$HERE/../debian.sh"
: "${RELEASE:?names a Debian}"
PACKAGES="python3-barbican barbican-common" # the latter has the paste file

directory=$CACHE/barbican-$RELEASE-$(sha256sum <"$HERE/image.sh" | cut -c1-16)
mkdir -p "$CACHE"
exec 9>"$directory.lock"; flock 9
if [ ! -d "$directory" ]; then
    say "unpacking Barbican in $directory: a minute on two idle cores, and the download of 65 MB"
    rm -rf --one-file-system "$directory.new" "$CACHE/barbican-$RELEASE"-*[0-9a-f]
    bootstrap "$RELEASE" "$directory.new" "$PACKAGES" "$directory.log" --variant=extract --dpkgopt='path-exclude=/usr/share/doc/*' \
        --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*'
    rm -rf "$directory.new/var/cache/apt" "$directory.new/var/lib/apt/lists"
    mv "$directory.new" "$directory"
    say "made it"
fi
echo "$directory"
