# Makes roots of Debian from the packages of this machine's own source. Sourced.
# shellcheck shell=bash
CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/openstack-ccm

say() { printf '%s [%4ds] %s\n' "$(date +%H:%M:%S)" "$SECONDS" "$*" >&2; }
die() { say "ERROR: $*"; exit 1; }

codename() { sed -n 's/^VERSION_CODENAME=//p' /etc/os-release; }

# The machine's own source of Debian packages; empty before the first apt-get update.
mirror() { apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' "Codename: $(codename)" 'Component: main' | head -n 1; }

bootstrap() { # SUITE DIRECTORY PACKAGES LOG OPTION...: of mmdebstrap
    local suite=$1 directory=$2 packages=$3 log=$4; shift 4
    [ -n "$(mirror)" ] || apt-get update -q >"$log" 2>&1
    [ -n "$(mirror)" ] || die "no source of apt has Debian's packages"
    command -v mmdebstrap >/dev/null || DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends mmdebstrap >"$log" 2>&1 ||
        die "mmdebstrap cannot be installed, see $log"
    apt-config dump | grep '^Acquire::' >"$directory.apt"
    # shellcheck disable=SC2086
    mmdebstrap --include="$(echo $packages | tr ' ' ',')" --aptopt="$directory.apt" --aptopt='APT::Install-Recommends "false"' "$@" \
        "$suite" "$directory" "$(mirror)" >"$log" 2>&1 || die "mmdebstrap failed, see $log"
    rm -f "$directory.apt"
}
