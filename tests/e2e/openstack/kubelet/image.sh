#!/bin/bash
# Makes the parts of nodes with kubelets that are from Debian: containerd with runc and plugins for the
# network of pods (cri), and the root of the image that the specs of Kubernetes run in pods (pod). debian.sh caches both.
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

case $1 in
name) cached kubelet "$HERE/image.sh" ;;
make)
    say "making containerd and the image of pods in $2: a minute, and the download of 60 MB"
    bootstrap "$RELEASE" "$2/cri" "$CRI" "$2.cri.log" --variant=extract
    make_pod "$2"
    ;;
esac
