# Common part of the OpenStack. Sourced by the other scripts.
# shellcheck shell=bash
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
AMPHORA=${AMPHORA:-} # real: user-mode Linux; tcg: emulated by qemu; else stubs
[ -z "$AMPHORA" ] && [ "${KUBELETS:-}" != real ] || RELEASE=${RELEASE:-trixie}
RELEASE=${RELEASE:-bookworm}
if ! grep -qs "^VERSION_CODENAME=$RELEASE\$" /etc/os-release; then RELEASE=$RELEASE exec "$HERE/cell.sh" "$(realpath "$0")" "$@"; fi
. "$HERE/releases/$RELEASE.sh"
E2E_STATE=${E2E_STATE:-/var/tmp/openstack-ccm-e2e}
E2E_HOST=${E2E_HOST:-e2e-compute}
E2E_REGION=${E2E_REGION:-RegionOne}
KEYSTONE_PORT=${E2E_KEYSTONE_PORT:-25000}
NOVA_PORT=${E2E_NOVA_PORT:-28774}
PLACEMENT_PORT=${E2E_PLACEMENT_PORT:-28778}
GLANCE_PORT=${E2E_GLANCE_PORT:-29292}
NEUTRON_PORT=${E2E_NEUTRON_PORT:-29696}
OCTAVIA_PORT=${E2E_OCTAVIA_PORT:-29876}
OCTAVIA2_PORT=${E2E_OCTAVIA2_PORT:-29877}
BARBICAN_PORT=${E2E_BARBICAN_PORT:-29311}
RABBIT_PORT=${E2E_RABBIT_PORT:-25672}
MEMCACHED_PORT=${E2E_MEMCACHED_PORT:-21211}
OVN_NB_PORT=${E2E_OVN_NB_PORT:-26641}
OVN_SB_PORT=${E2E_OVN_SB_PORT:-26642}

RUN=$E2E_STATE/run; LOG=$E2E_STATE/log; ETC=$E2E_STATE/etc
PKG=/usr/local/share/openstack-ccm-e2e # of a cell
[ -e "$PKG/.done" ] || PKG=$E2E_STATE/pkg
AUTH_URL=http://127.0.0.1:$KEYSTONE_PORT/v3
export OVS_RUNDIR=$RUN/ovs OVN_RUNDIR=$RUN/ovn OVS_LOGDIR=$LOG OVN_LOGDIR=$LOG OVS_DBDIR=$E2E_STATE/ovs
export PYTHONPATH=$HERE/py PYTHONDONTWRITEBYTECODE=1
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
export HOME=$E2E_STATE/home
export E2E_STATE E2E_HOST E2E_AMPHORA_DELAY_FILE=$E2E_STATE/amphora-delay
unset "${!OS_@}"

# After another boot of the machine the pids are those of other processes.
BOOT=$(cat /proc/sys/kernel/random/boot_id)
[ ! -e "$RUN/boot" ] || [ "$(cat "$RUN/boot")" = "$BOOT" ] || rm -f "$RUN"/*.pid

say() { printf '%s [%4ds] %s\n' "$(date +%H:%M:%S)" "$SECONDS" "$*"; }
die() { say "ERROR: $*" >&2; exit 1; }

alive() { # NAME
    local f=$RUN/$1.pid
    [ -s "$f" ] && kill -0 "$(cat "$f")" 2>/dev/null
}

daemon() { # NAME CMD...: start in the background under a pid file, with no other file of ours open
    local name=$1; shift
    if alive "$name"; then say "$name already runs"; return 0; fi
    (
        cd / || exit # some run as a user that cannot read the checkout
        for fd in /proc/"$BASHPID"/fd/*; do fd=${fd##*/}; [ "$fd" -le 2 ] || exec {fd}>&-; done
        exec setsid "$@" >>"$LOG/$name.out" 2>&1 </dev/null
    ) &
    echo $! >"$RUN/$name.pid"
}

stop() { # NAME [SECONDS]: TERM by pid, KILL after a while
    local name=$1 wait=${2:-15} pid
    [ -s "$RUN/$name.pid" ] || return 0
    pid=$(cat "$RUN/$name.pid")
    if kill -0 "$pid" 2>/dev/null; then
        kill -TERM "$pid" 2>/dev/null
        for _ in $(seq $((wait * 5))); do kill -0 "$pid" 2>/dev/null || break; sleep 0.2; done
        if kill -0 "$pid" 2>/dev/null; then
            # setsid made the daemon the leader of its own process group
            kill -KILL -- "-$pid" 2>/dev/null || kill -KILL "$pid" 2>/dev/null
        fi
    fi
    rm -f "$RUN/$name.pid"
}

wait_for() { # SECONDS WHAT CMD...
    local t=$1 what=$2; shift 2
    for _ in $(seq $((t * 4))); do "$@" >/dev/null 2>&1 && return 0; sleep 0.25; done
    die "$what did not come up in ${t}s (see $LOG)"
}

http_up() { # URL: any HTTP answer below 500
    local code
    code=$(curl -s -m 5 -o /dev/null -w '%{http_code}' "$1") || return 1
    [ "$code" -ge 200 ] && [ "$code" -lt 500 ]
}

rabbit_env() {
    export RABBITMQ_NODENAME=e2e@localhost RABBITMQ_NODE_IP_ADDRESS=127.0.0.1 RABBITMQ_NODE_PORT=$RABBIT_PORT
    export RABBITMQ_DIST_PORT=$((RABBIT_PORT + 1)) ERL_EPMD_ADDRESS=127.0.0.1
    export RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS="-kernel inet_dist_use_interface {127,0,0,1} +S 2:2 +sbwt none"
    export RABBITMQ_CTL_ERL_ARGS="-kernel inet_dist_use_interface {127,0,0,1}"
    export RABBITMQ_MNESIA_BASE=$E2E_STATE/rabbit RABBITMQ_LOG_BASE=$LOG RABBITMQ_CONFIG_FILE=$ETC/rabbitmq
    export RABBITMQ_ENABLED_PLUGINS_FILE=$ETC/rabbitmq-plugins RABBITMQ_PID_FILE=$RUN/rabbit-beam.pid
    export RABBITMQ_CONF_ENV_FILE=/dev/null LC_ALL=C.UTF-8
}

uwsgi_daemon() { # NAME PORT WSGI-FILE PROCESSES [ENV=VALUE...]
    local name=$1 port=$2 file=$3 procs=$4; shift 4
    daemon "$name" env "$@" uwsgi --plugin python3 --http-socket "127.0.0.1:$port" --wsgi-file "$file" \
        --master --processes "$procs" --threads 8 --enable-threads --lazy-apps --thunder-lock \
        --buffer-size 65535 --post-buffering 1048576 --add-header 'Connection: close' --die-on-term --no-orphans \
        --need-app --procname-prefix "e2e-$name " --logto "$LOG/$name-uwsgi.log" --chdir "$E2E_STATE"
}

sql() { mariadb --socket="$RUN/mysqld.sock" -uroot "$@"; }
