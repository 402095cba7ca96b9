#!/bin/bash
# Makes what amphorae with Debian's own kernel are made of, whose processor qemu emulates: a disk with the root of
# image.sh, the kernel, its first root, and qemu, which a cell has as a layer below its own root. debian.sh caches all. The
# directory of image.sh must exist, and stay, since this one refers to it.
#   tcg.sh disk NEW     is a part of "make", in mounts of its own
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$HERE/../debian.sh"
: "${RELEASE:?names a Debian}"
PACKAGES="qemu-system-x86 linux-image-cloud-amd64 busybox-static"
EARLY="virtio_pci virtio_blk virtio_net ext4 overlay" # modules; no udev loads any later

image=$("$HERE/image.sh" name)

# The first root loads what the disk needs, and goes on there.
make_initrd() { # DIRECTORY
    local root=$1/initrd version module
    version=$(ls "$1/layer/usr/lib/modules")
    mkdir -p "$root"/{bin,dev,proc,disk,modules}
    cp "$1/layer/usr/bin/busybox" "$root/bin/busybox"
    for module in $EARLY; do
        chroot "$1/merged" modprobe --set-version "$version" --show-depends "$module"
    done | sed -n 's/^insmod \([^ ]*\).*/\1/p' | awk '!seen[$0]++' | while read -r module; do
        xz -d -c "$1/merged$module" >"$root/modules/$(basename "$module" .xz)"
        basename "$module" .xz
    done >"$root/order"
    cp "$HERE/tcg/init" "$root/init"
    (cd "$root" && find . | "$root/bin/busybox" cpio -o -H newc) | gzip >"$1/initrd.gz"
    rm -r "$root"
}

make_disk() { # DIRECTORY
    mkdir "$1/merged"
    mount -t overlay -o "lowerdir=$HERE/tcg/guest:$1/modules:$image/root" overlay "$1/merged"
    make_initrd "$1"
    mke2fs -q -t ext4 -O ^has_journal -m 0 -d "$1/merged" "$1/disk" 1500M
    umount "$1/merged"
    rmdir "$1/merged"
}

make_layer() { # DIRECTORY
    bootstrap "$RELEASE" "$1/layer" "$PACKAGES" "$1.log" --variant=extract --dpkgopt='path-exclude=/usr/share/doc/*' \
        --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*'
    rm -rf "$1/layer/var/cache/apt" "$1/layer/var/lib/apt/lists"
    cp "$1/layer/boot/vmlinuz"-* "$1/vmlinuz"
}

case $1 in
name) cached tcg "$HERE/image.sh" "$HERE/guest" "$HERE/tcg.sh" "$HERE/tcg" ;;
make)
    say "making the emulated amphora in $2: two minutes on two busy cores, download included"
    make_layer "$2"
    mkdir -p "$2/modules/usr/lib"
    cp -r "$2/layer/usr/lib/modules" "$2/modules/usr/lib/"
    depmod -b "$2/modules/usr" "$(ls "$2/modules/usr/lib/modules")"
    unshare --mount "$HERE/tcg.sh" disk "$2"
    rm -rf "$2/modules"
    ln -s "$image/root" "$2/root"
    ;;
disk) make_disk "$2" ;;
esac
