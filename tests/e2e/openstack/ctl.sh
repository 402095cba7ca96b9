#!/bin/bash
# ctl.sh status | restart NAME... | stop NAME... | sql DATABASE [STATEMENT] | forget
# forget empties the cache that all services keep of tokens.
set -u
. "$(dirname "$0")/common.sh"
cmd=${1:-status}; shift
case $cmd in
status)
    for f in "$RUN"/*.pid; do n=$(basename "$f" .pid); [ "$n" = rabbit-beam ] && continue
        if alive "$n"; then
            rss=$(for p in $(cat "$f") $(pgrep -P "$(cat "$f")"); do awk '/^Rss/{print $2}' "/proc/$p/smaps_rollup" 2>/dev/null; done | awk '{s+=$1} END{print int(s/1024)}')
            printf '%-22s pid %-7s %5s MiB\n' "$n" "$(cat "$f")" "$rss"
        else printf '%-22s DEAD\n' "$n"; fi
    done ;;
restart) for n; do stop "$n"; done; exec "$HERE/up.sh" --no-install --no-provision ;;
stop) for n; do stop "$n"; done ;;
sql) db=$1; shift; if [ $# -gt 0 ]; then sql "$db" -e "$*"; else sql "$db"; fi ;;
forget) exec 3<>"/dev/tcp/127.0.0.1/$MEMCACHED_PORT"; printf 'flush_all\r\nquit\r\n' >&3; grep -q OK <&3 || die "memcached" ;;
*) die "unknown command $cmd" ;;
esac
