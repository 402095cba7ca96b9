#!/bin/bash
# Makes what amphorae with Debian's own kernel are made of, whose processor qemu emulates: a disk with the root of
# image.sh, the kernel, its first root, and qemu, which a cell has as a layer below its own root. All are cached; the output is
# their directory.
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$HERE/../debian.sh"
: "${RELEASE:?names a Debian}"
PACKAGES="qemu-system-x86 linux-image-cloud-amd64 busybox-static"
EARLY="virtio_pci virtio_blk virtio_net ext4 overlay" # modules; no udev loads any later

image=$("$HERE/image.sh")
sum() { { echo "$image"; cat "$HERE/tcg.sh" $(find "$HERE/tcg" -type f | sort); } | sha256sum | cut -c1-16; }

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

make_disk() { # DIRECTORY: in mounts of its own
    mkdir "$1/merged"
    mount -t overlay -o "lowerdir=$HERE/tcg/guest:$1/modules:$image/root" overlay "$1/merged"
    make_initrd "$1"
    mke2fs -q -t ext4 -O ^has_journal -m 0 -d "$1/merged" "$1/disk" 1500M
    umount "$1/merged"
    rmdir "$1/merged"
}

directory=$CACHE/tcg-$RELEASE-$(sum)
if [ "${1:-}" = --disk ]; then make_disk "$2"; exit; fi
exec 9>"$directory.lock"; flock 9
if [ ! -d "$directory" ]; then
    say "making the emulated amphora in $directory: two minutes on two busy cores, download included"
    rm -rf --one-file-system "$directory.new" "$CACHE/tcg-$RELEASE"-*[0-9a-f]
    mkdir -p "$directory.new/modules/usr/lib"
    bootstrap "$RELEASE" "$directory.new/layer" "$PACKAGES" "$directory.log" --variant=extract --dpkgopt='path-exclude=/usr/share/doc/*' \
        --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*'
    rm -rf "$directory.new/layer/var/cache/apt" "$directory.new/layer/var/lib/apt/lists"
    cp "$directory.new/layer/boot/vmlinuz"-* "$directory.new/vmlinuz"
    cp -r "$directory.new/layer/usr/lib/modules" "$directory.new/modules/usr/lib/"
    depmod -b "$directory.new/modules/usr" "$(ls "$directory.new/modules/usr/lib/modules")"
    unshare --mount "$HERE/tcg.sh" --disk "$directory.new"
    rm -rf "$directory.new/modules"
    ln -s "$image/root" "$directory.new/root"
    mv "$directory.new" "$directory"
    say "made it"
fi
echo "$directory"
