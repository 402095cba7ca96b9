# The packages of the OpenStack. Sourced.
# shellcheck shell=bash disable=SC2034
PACKAGES="python3-keystone python3-placement python3-nova python3-glance python3-neutron python3-octavia
 python3-ovn-octavia-provider ovn-central ovn-host openvswitch-switch python3-openvswitch rabbitmq-server
 mariadb-server python3-openstackclient python3-octaviaclient python3-pymysql python3-pymemcache memcached
 python3-memcache uwsgi-core uwsgi-plugin-python3 iproute2 nftables curl jq openssl util-linux procps"
# Only the paste files of these are wanted; their maintainer scripts are not.
UNPACKED="nova-common neutron-common glance-common"

unpack() { # DIRECTORY APT-GET...: the files of UNPACKED, which apt-get downloads
    local directory=$1 package; shift
    mkdir -p "$directory/deb" && chmod 777 "$directory/deb" || return 1
    # shellcheck disable=SC2086
    (cd "$directory/deb" && "$@" download -q $UNPACKED) || return 1
    for package in "$directory"/deb/*.deb; do dpkg-deb -x "$package" "$directory" || return 1; done
    rm -rf "$directory/deb"; touch "$directory/.done"
}
