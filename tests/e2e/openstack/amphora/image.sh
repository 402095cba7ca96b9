#!/bin/bash
# Makes what real amphorae are made of: the root of their Debian, with Octavia's agent, and a
# user-mode Linux that boots it. debian.sh caches both.
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$HERE/../debian.sh"
: "${RELEASE:?names a Debian}"
PACKAGES="systemd-sysv dbus iproute2 procps kmod nftables openssl netbase iputils-ping socat ethtool
 haproxy keepalived ipvsadm rsyslog octavia-agent python3-octavia"
# The first release of Debian whose user-mode Linux runs on processors with AMX.
KERNEL=sid
# Services of the packages and of Debian that an amphora does not need.
MASKED="haproxy.service keepalived.service octavia-agent.service ipvsadm.service pollinate.service haveged.service
 anacron.service anacron.timer atd.service cron.service networking.service systemd-binfmt.service systemd-logind.service
 getty@tty1.service e2scrub_reap.service e2scrub_all.timer apt-daily.timer apt-daily-upgrade.timer
 dpkg-db-backup.timer fstrim.timer systemd-networkd-wait-online.service"

make_root() { # DIRECTORY
    local unit
    bootstrap "$RELEASE" "$1/root" "$PACKAGES" "$1.log" --variant=minbase --dpkgopt='path-exclude=/usr/share/doc/*' \
        --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*'
    cp -r "$HERE/guest/." "$1/root"
    for unit in $MASKED; do ln -sfn /dev/null "$1/root/etc/systemd/system/$unit"; done
    mkdir -p "$1/root/etc/octavia/certs" "$1/root/etc/octavia/interfaces"
    systemctl --quiet --root="$1/root" enable amphora-agent.service config-drive.service
    : >"$1/root/etc/fstab"
    touch "$1/root/etc/.updated" "$1/root/var/.updated" # else the first boot, which each one is, updates much
    rm -rf "$1/root/var/cache/apt" "$1/root/var/lib/apt/lists"
}

make_kernel() { # DIRECTORY
    bootstrap "$KERNEL" "$1/kernel" user-mode-linux "$1.kernel.log" --variant=extract
    mv "$1/kernel/usr/bin/linux.uml" "$1/linux"
    mv "$1/kernel/usr/lib/uml/modules" "$1/root/usr/lib/modules"
    depmod -b "$1/root" "$(ls "$1/root/usr/lib/modules")"
    rm -rf --one-file-system "$1/kernel"
}

case $1 in
name) cached amphora "$HERE/image.sh" "$HERE/guest" ;;
make)
    say "making the image of the amphora in $2: two minutes on two idle cores, and the download of 200 MB"
    make_root "$2"
    make_kernel "$2"
    ;;
esac
