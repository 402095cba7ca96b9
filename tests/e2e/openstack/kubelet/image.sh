#!/bin/bash
# Makes the parts of nodes with kubelets that are from Debian: containerd with runc and plugins for the
# network of pods (cri), and the root of the image that the specs of Kubernetes run in pods (pod). Both are
# cached; the output is their directory.
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$HERE/../debian.sh"
: "${RELEASE:?names a Debian}"
CRI="containerd runc containernetworking-plugins"
POD="base-files busybox curl netcat-openbsd" # the commands of the specs, and a shell

make_pod() { # DIRECTORY
    local root=$1/pod
    bootstrap "$RELEASE" "$root" "$POD" "$1.pod.log" --variant=extract --dpkgopt='path-exclude=/usr/share/*'
    mkdir -p "$root/usr/local/bin"
    ln -s busybox "$root/usr/bin/sh"
    chroot "$root" /usr/bin/busybox --install -s /usr/local/bin
    ln -sf /usr/bin/nc.openbsd "$root/usr/local/bin/nc" # that of busybox has fewer options
}

directory=$CACHE/kubelet-$RELEASE-$(sha256sum <"$HERE/image.sh" | cut -c1-16)
mkdir -p "$CACHE"
exec 9>"$directory.lock"; flock 9
if [ ! -d "$directory" ]; then
    say "making containerd and the image of pods in $directory: a minute, and the download of 60 MB"
    rm -rf --one-file-system "$directory.new" "$CACHE/kubelet-$RELEASE"-*[0-9a-f]
    mkdir "$directory.new"
    bootstrap "$RELEASE" "$directory.new/cri" "$CRI" "$directory.new.cri.log" --variant=extract
    make_pod "$directory.new"
    mv "$directory.new" "$directory"
    say "made it"
fi
echo "$directory"
