#!/bin/bash
# Brings up the OpenStack from scratch (or what of it does not run yet).
# Usage: up.sh [--no-install] [--no-provision]
set -uo pipefail
. "$(dirname "$0")/common.sh"
. "$HERE/packages.sh"
. "$HERE/config.sh"
INSTALL=1; PROVISION=1
for a in "$@"; do case $a in
    --no-install) INSTALL=0 ;; --no-provision) PROVISION=0 ;;
    *) die "unknown argument $a" ;;
esac; done
[ "$(id -u)" = 0 ] || die "must run as root"

# Packages that the command installs start no daemons. A killed run may have left the file.
without_daemons() ( # COMMAND...
    file=/usr/sbin/policy-rc.d
    if [ ! -e $file ] || grep -q "^# openstack-ccm's" $file; then
        trap 'rm -f $file' EXIT
        printf "#!/bin/sh\n# openstack-ccm's end-to-end tests install packages\nexit 101\n" >$file
        chmod 755 $file
    fi
    "$@"
)

install_packages() {
    local missing=() p
    for p in $PACKAGES; do dpkg -s "$p" 2>/dev/null | grep -q '^Status: install ok' || missing+=("$p"); done
    if [ ${#missing[@]} -gt 0 ]; then
        say "installing ${#missing[@]} packages"
        apt-get update -q >"$LOG/apt.log" 2>&1 || say "apt-get update failed, going on"
        without_daemons env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 install -y -q --no-install-recommends \
            "${missing[@]}" >>"$LOG/apt.log" 2>&1 || die "apt-get failed, see $LOG/apt.log"
    fi
    [ -e "$PKG/.done" ] || unpack "$PKG" apt-get >>"$LOG/apt.log" 2>&1 || die "apt-get download failed"
}

start_mariadb() {
    if [ ! -d "$E2E_STATE/mysql/mysql" ]; then
        mkdir -p "$E2E_STATE/mysql"; chown mysql: "$E2E_STATE/mysql"
        mariadb-install-db --no-defaults --user=mysql --datadir="$E2E_STATE/mysql" --skip-test-db \
            --auth-root-authentication-method=socket >"$LOG/mysql-install.log" 2>&1 || die "mariadb-install-db failed"
    fi
    daemon mariadbd mariadbd --no-defaults --user=mysql --datadir="$E2E_STATE/mysql" --skip-networking \
        --socket="$RUN/mysqld.sock" --pid-file="$E2E_STATE/mysql/pid" --log-error="$LOG/mariadb.log" \
        --max-connections=2000 --skip-log-bin --innodb-buffer-pool-size=256M --innodb-flush-log-at-trx-commit=0 \
        --innodb-doublewrite=0 --sync-binlog=0 --character-set-server=utf8mb3 --collation-server=utf8mb3_general_ci \
        --innodb-file-per-table=0 --performance-schema=0 --open-files-limit=20000 "${MARIADB_OPTIONS[@]}"
}

start_rabbit() {
    rabbit_env
    : >"$ETC/rabbitmq-plugins"; echo '[].' >"$ETC/rabbitmq-plugins"
    printf 'listeners.tcp.default = 127.0.0.1:%s\nvm_memory_high_watermark.absolute = 512MB\ndisk_free_limit.absolute = 50MB\ncollect_statistics = none\n' \
        "$RABBIT_PORT" >"$ETC/rabbitmq.conf"
    daemon epmd epmd -address 127.0.0.1
    sleep 0.5
    daemon rabbitmq /usr/lib/rabbitmq/bin/rabbitmq-server
}

start_ovn() {
    mkdir -p "$OVS_RUNDIR" "$OVN_RUNDIR" "$OVS_DBDIR"
    [ -e "$OVS_DBDIR/conf.db" ] || ovsdb-tool create "$OVS_DBDIR/conf.db" /usr/share/openvswitch/vswitch.ovsschema
    [ -e "$OVS_DBDIR/nb.db" ] || ovsdb-tool create "$OVS_DBDIR/nb.db" /usr/share/ovn/ovn-nb.ovsschema
    [ -e "$OVS_DBDIR/sb.db" ] || ovsdb-tool create "$OVS_DBDIR/sb.db" /usr/share/ovn/ovn-sb.ovsschema
    daemon ovsdb-server ovsdb-server "$OVS_DBDIR/conf.db" --remote="punix:$OVS_RUNDIR/db.sock" \
        --remote=db:Open_vSwitch,Open_vSwitch,manager_options --unixctl="$OVS_RUNDIR/ovsdb-server.ctl" \
        --log-file="$LOG/ovsdb-server.log" -vconsole:off
    daemon ovn-nb ovsdb-server "$OVS_DBDIR/nb.db" --remote="punix:$OVN_RUNDIR/ovnnb_db.sock" \
        --remote="ptcp:$OVN_NB_PORT:127.0.0.1" --unixctl="$OVN_RUNDIR/ovnnb_db.ctl" --log-file="$LOG/ovn-nb.log" -vconsole:off
    daemon ovn-sb ovsdb-server "$OVS_DBDIR/sb.db" --remote="punix:$OVN_RUNDIR/ovnsb_db.sock" \
        --remote="ptcp:$OVN_SB_PORT:127.0.0.1" --unixctl="$OVN_RUNDIR/ovnsb_db.ctl" --log-file="$LOG/ovn-sb.log" -vconsole:off
    wait_for 20 ovsdb-server ovs-vsctl --no-wait --timeout=2 show
    ovs-vsctl --no-wait init
    ovs-vsctl --no-wait set open_vswitch . external_ids:system-id=e2e-chassis external_ids:hostname="$E2E_HOST" \
        external_ids:ovn-remote="unix:$OVN_RUNDIR/ovnsb_db.sock" external_ids:ovn-encap-type=geneve \
        external_ids:ovn-encap-ip=127.0.0.1 external_ids:ovn-bridge=br-int \
        external_ids:ovn-bridge-datapath-type=netdev external_ids:ovn-bridge-mappings=physnet1:br-ex \
        external_ids:ovn-cms-options='"enable-chassis-as-gw,availability-zones=nova"'
    daemon ovs-vswitchd ovs-vswitchd "unix:$OVS_RUNDIR/db.sock" --unixctl="$OVS_RUNDIR/ovs-vswitchd.ctl" \
        --log-file="$LOG/ovs-vswitchd.log" -vconsole:off
    ovs-vsctl --timeout=20 -- --may-exist add-br br-ex -- set bridge br-ex datapath_type=netdev \
        -- --may-exist add-br br-int -- set bridge br-int datapath_type=netdev fail-mode=secure || die "ovs-vswitchd"
    daemon ovn-northd ovn-northd --ovnnb-db="unix:$OVN_RUNDIR/ovnnb_db.sock" --ovnsb-db="unix:$OVN_RUNDIR/ovnsb_db.sock" \
        --unixctl="$OVN_RUNDIR/ovn-northd.ctl" --log-file="$LOG/ovn-northd.log" -vconsole:off
    start_ovn_controller
}

start_ovn_controller() {
    daemon ovn-controller ovn-controller "unix:$OVS_RUNDIR/db.sock" \
        --log-file="$LOG/ovn-controller.log" -vconsole:off
}

launchers() { # console scripts of packages that are not installed
    mkdir -p "$E2E_STATE/bin"
    local l n m
    for l in nova-manage=nova.cmd.manage nova-api=nova.cmd.api nova-conductor=nova.cmd.conductor \
        nova-scheduler=nova.cmd.scheduler nova-compute=nova.cmd.compute neutron-server=neutron.cmd.eventlet.server \
        neutron-db-manage=neutron.db.migration.cli glance-api=glance.cmd.api glance-manage=glance.cmd.manage; do
        n=${l%%=*}; m=${l#*=}
        printf '#!/usr/bin/python3\nimport sys\nfrom %s import main\nsys.exit(main())\n' "$m" >"$E2E_STATE/bin/$n"
    done
    cat >"$E2E_STATE/bin/octavia-worker" <<EOF
#!/usr/bin/python3
import sys
from octavia_e2e import backports
backports.apply()
from octavia.cmd.octavia_worker import main
sys.exit(main())
EOF
    cat >"$E2E_STATE/bin/octavia-driver-agent" <<EOF
#!/usr/bin/python3
import sys
from octavia_e2e import backports
backports.apply_to_ovn_agent()
from octavia.cmd.driver_agent import main
sys.exit(main())
EOF
    cat >"$E2E_STATE/bin/barbican-wsgi" <<EOF
from paste import deploy
application = deploy.loadapp('config:/usr/share/barbican-common/barbican-api-paste.ini')
EOF
    chmod 755 "$E2E_STATE"/bin/*
}

create_databases() {
    local d
    { for d in keystone placement glance nova_api nova nova_cell0 neutron octavia barbican; do
        echo "CREATE DATABASE IF NOT EXISTS $d;"
    done
    echo "CREATE USER IF NOT EXISTS 'e2e'@'localhost' IDENTIFIED BY '$E2E_PASSWORD';"
    echo "GRANT ALL PRIVILEGES ON *.* TO 'e2e'@'localhost';"
    } | sql || die "databases"
}

step() { # NAME CMD...: run once per state directory, log to NAME.log
    local name=$1; shift
    [ -e "$RUN/../done/$name" ] && return 0
    local t=$SECONDS
    "$@" >"$LOG/$name.log" 2>&1 || { say "$name FAILED, see $LOG/$name.log"; tail -5 "$LOG/$name.log"; return 1; }
    touch "$E2E_STATE/done/$name"; say "$name done in $((SECONDS - t))s"
}

sync_keystone() { keystone-manage --config-file "$ETC/keystone/keystone.conf" db_sync &&
    keystone-manage --config-file "$ETC/keystone/keystone.conf" fernet_setup --keystone-user root --keystone-group root &&
    keystone-manage --config-file "$ETC/keystone/keystone.conf" credential_setup --keystone-user root --keystone-group root &&
    keystone-manage --config-file "$ETC/keystone/keystone.conf" bootstrap --bootstrap-password "$E2E_PASSWORD" \
        --bootstrap-region-id "$E2E_REGION" --bootstrap-public-url "$AUTH_URL" \
        --bootstrap-admin-url "$AUTH_URL" --bootstrap-internal-url "$AUTH_URL"; }
sync_placement() { OS_PLACEMENT_CONFIG_DIR=$ETC/placement placement-manage --config-file "$ETC/placement/placement.conf" db sync; }
sync_glance() { "$E2E_STATE/bin/glance-manage" --config-file "$ETC/glance/glance-api.conf" db_sync; }
sync_nova() {
    local m="$E2E_STATE/bin/nova-manage --config-file $ETC/nova/nova.conf"
    $m api_db sync && $m cell_v2 map_cell0 --database_connection "$(db_url nova_cell0)" &&
    { $m cell_v2 list_cells | grep -q ' cell1 ' || $m cell_v2 create_cell --name cell1; } && $m db sync; }
sync_neutron() { "$E2E_STATE/bin/neutron-db-manage" --config-file "$ETC/neutron/neutron.conf" upgrade heads; }
sync_barbican() { HOME=$ETC/barbican-home barbican-manage db upgrade; }
sync_octavia() { octavia-db-manage --config-file "$ETC/octavia/octavia.conf" upgrade head; }

wsgi_file() { # SERVICE PROGRAM: the API of a service for uwsgi, which a package has as a module or as a program
    if [ -n "${WSGI_MODULES:-}" ]; then echo "$WSGI_MODULES/$1/wsgi/api.py"; else echo "/usr/bin/$2"; fi
}

start_apis() { # of Glance, Neutron and Nova
    local n=$ETC/nova/nova.conf e=$ETC/neutron b=$E2E_STATE/bin w=${WSGI_MODULES:-} worker
    if [ -z "$w" ]; then
        daemon glance-api "$b/glance-api" --config-file "$ETC/glance/glance-api.conf"
        daemon neutron-server "$b/neutron-server" --config-file "$e/neutron.conf" --config-file "$e/ml2.ini"
        daemon nova-api "$b/nova-api" --config-file "$n"
        return
    fi
    uwsgi_daemon glance-api "$GLANCE_PORT" "$w/glance/wsgi/api.py" 1 OS_GLANCE_CONFIG_DIR="$ETC/glance"
    uwsgi_daemon neutron-server "$NEUTRON_PORT" "$w/neutron/wsgi/api.py" "${E2E_NEUTRON_WORKERS:-2}" OS_NEUTRON_CONFIG_FILES="$e/neutron.conf;$e/ml2.ini"
    uwsgi_daemon nova-api "$NOVA_PORT" "$w/nova/wsgi/osapi_compute.py" 2 OS_NOVA_CONFIG_FILES="$PKG/usr/share/nova-common/api-paste.ini;$n"
    for worker in rpc periodic ovn_maintenance; do # children of neutron-server where it is a program
        daemon "neutron-$worker" python3 -c "from neutron.cmd.server import main_$worker as main; main()" \
            --config-file "$e/neutron.conf" --config-file "$e/ml2.ini"
    done
}

start_services() {
    local n=$ETC/nova/nova.conf o=$ETC/octavia/octavia.conf b=$E2E_STATE/bin
    uwsgi_daemon placement "$PLACEMENT_PORT" "$(wsgi_file placement placement-api)" 1 OS_PLACEMENT_CONFIG_DIR="$ETC/placement"
    [ -z "$AMPHORA" ] || uwsgi_daemon barbican "$BARBICAN_PORT" "$b/barbican-wsgi" 1 HOME="$ETC/barbican-home"
    start_apis
    daemon nova-conductor "$b/nova-conductor" --config-file "$n"
    daemon nova-scheduler "$b/nova-scheduler" --config-file "$n"
    mkdir -p /var/run/octavia
    daemon octavia-driver-agent "$b/octavia-driver-agent" --config-file "$o"
    uwsgi_daemon octavia-api-ovn "$OCTAVIA_PORT" "$(wsgi_file octavia octavia-wsgi)" 1 HOME="$ETC/octavia-home"
    uwsgi_daemon octavia-api-amphora "$OCTAVIA2_PORT" "$(wsgi_file octavia octavia-wsgi)" 1 HOME="$ETC/octavia-home"
    wait_for 120 placement http_up "http://127.0.0.1:$PLACEMENT_PORT/"
    wait_for 120 glance http_up "http://127.0.0.1:$GLANCE_PORT/"
    wait_for 120 neutron http_up "http://127.0.0.1:$NEUTRON_PORT/"
    wait_for 120 nova http_up "http://127.0.0.1:$NOVA_PORT/"
    [ -z "$AMPHORA" ] || wait_for 120 barbican http_up "http://127.0.0.1:$BARBICAN_PORT/"
    daemon nova-compute "$b/nova-compute" --config-file "$n"
    wait_for 120 octavia http_up "http://127.0.0.1:$OCTAVIA_PORT/"
    wait_for 120 octavia http_up "http://127.0.0.1:$OCTAVIA2_PORT/"
}

# Releases of user-mode Linux before 7 do not run on processors with AMX. It boots here only to print a text.
try_amphora() {
    local printed
    [ -n "${AMPHORA_IMAGE:-}" ] || die "real amphorae are only in a cell: RELEASE=trixie"
    [ -c /dev/net/tun ] || { say "ERROR: this machine has no /dev/net/tun, which real amphorae need"; exit 3; }
    [ "$AMPHORA" != tcg ] || return 0
    printed=$(timeout 120 "$AMPHORA_IMAGE/linux" mem=64M uml_dir=/tmp/ rootfstype=hostfs rootflags="$AMPHORA_IMAGE/root" ro \
        init=/bin/echo con=null con0=null,fd:1 quiet -- it-runs 2>&1)
    case $printed in *it-runs*) return ;; esac
    printf '%s\n' "$printed"
    say "ERROR: user-mode Linux does not run on this machine, so that it cannot have real amphorae"
    exit 3
}

start_octavia_workers() { # after the management network is known
    local o=(--config-file "$ETC/octavia/octavia.conf")
    if [ -n "$AMPHORA" ]; then
        connect_octavia
        o+=(--config-file "$ETC/octavia/amphora.conf")
        daemon octavia-health-manager octavia-health-manager "${o[@]}"
        daemon octavia-housekeeping octavia-housekeeping "${o[@]}"
    fi
    daemon octavia-worker "$E2E_STATE/bin/octavia-worker" "${o[@]}"
}

connect_octavia() { # to the management network of amphorae
    local group port mac address
    read -r group port mac address < <(python3 "$HERE/management_port.py") || die "the management network"
    ovs-vsctl --timeout=20 -- --may-exist add-port br-int o-hm0 -- set interface o-hm0 type=internal \
        external_ids:iface-id="$port" external_ids:attached-mac="$mac" external_ids:iface-status=active
    wait_for 10 o-hm0 ip link show o-hm0
    ip link set o-hm0 address "$mac" mtu 1442 up
    ip address replace "$address" dev o-hm0
    write_amphora_conf "$group" "${address%/*}"
}

mkdir -p "$RUN" "$LOG" "$ETC" "$PKG" "$E2E_STATE/done" "$E2E_STATE/home"
echo "$BOOT" >"$RUN/boot"
chmod 755 "$E2E_STATE"
[ -s "$E2E_STATE/password" ] || (umask 077; head -c 12 /dev/urandom | od -An -tx1 | tr -d ' \n' >"$E2E_STATE/password")
E2E_PASSWORD=$(cat "$E2E_STATE/password"); export E2E_PASSWORD
[ -e "$E2E_AMPHORA_DELAY_FILE" ] || printf 'update=0\ncreate=0\ndelete=0\nfail=0\n' >"$E2E_AMPHORA_DELAY_FILE"

# If this script is interrupted, what it has in the background would write to a state that is being deleted.
background=()
trap 'for p in "${background[@]}"; do kill "$p" $(pgrep -P "$p"); done' EXIT

[ -z "$AMPHORA" ] || try_amphora
[ $INSTALL = 1 ] && install_packages
launchers
write_config
say "starting the database, message broker, cache, OVN"
chmod 777 "$RUN"
start_mariadb; start_rabbit
daemon memcached memcached -u nobody -l 127.0.0.1 -p "$MEMCACHED_PORT" -U 0 -m 128 -c 2048
start_ovn
wait_for 60 mariadb sql -e 'select 1'
create_databases
step sync_keystone sync_keystone || exit 1
uwsgi_daemon keystone "$KEYSTONE_PORT" "$(wsgi_file keystone keystone-wsgi-public)" 2 OS_KEYSTONE_CONFIG_DIR="$ETC/keystone"
wait_for 60 keystone http_up "$AUTH_URL"
step identity python3 "$HERE/identity.py" || exit 1
( step sync_neutron sync_neutron; step sync_glance sync_glance ) & background+=($!)
( step sync_nova sync_nova ) & background+=($!)
( step sync_octavia sync_octavia; step sync_placement sync_placement; [ -z "$AMPHORA" ] || step sync_barbican sync_barbican ) & background+=($!)
wait "${background[@]}"
background=()
for s in neutron glance nova octavia placement ${AMPHORA:+barbican}; do [ -e "$E2E_STATE/done/sync_$s" ] || die "database of $s"; done
wait_for 60 rabbitmq bash -c "exec 3<>/dev/tcp/127.0.0.1/$RABBIT_PORT"
say "starting the services"
start_services
say "all APIs answer"
if [ $PROVISION = 1 ]; then
    (python3 "$HERE/provision.py" network compute || die "provisioning") & background+=($!)
    wait_for 60 'nova cell mapping' bash -c "'$E2E_STATE/bin/nova-manage' --config-file '$ETC/nova/nova.conf' cell_v2 discover_hosts >/dev/null 2>&1; mariadb --socket='$RUN/mysqld.sock' -uroot -N -e 'select host from nova_api.host_mappings' | grep -q ."
    wait "${background[@]}" || exit 1
    background=()
    write_octavia_conf # with the management network
fi
start_octavia_workers
# That of OVN 23.03 and 25.03 sometimes crashes when it meets a new bridge: bash then prints its segmentation fault.
alive ovn-controller || { say "ovn-controller has ended, starting it anew"; start_ovn_controller; sleep 2; }
for f in "$RUN"/*.pid; do
    n=$(basename "$f" .pid); [ "$n" = rabbit-beam ] || alive "$n" || die "$n has ended, see $LOG/$n.out"
done
say "OpenStack $OPENSTACK is up; clouds e2e-admin, e2e-ovn and e2e-amphora in $E2E_STATE/clouds.yaml"
