#!/bin/sh
exec ping -q -n -w 1 -c 1 "$HAPROXY_SERVER_ADDR" >/dev/null 2>&1
