# Makes directories with files of Debian, from the packages of this machine's own source, and caches them. Sourced.
#
# A script that makes one has two commands: "name" prints the path of its directory, and "make NEW" writes the files
# into an empty directory, which then gets that path. The path ends with a sum of what the files depend on, so that
# another version of the script has another directory.
# shellcheck shell=bash
CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/openstack-ccm

say() { printf '%s [%4ds] %s\n' "$(date +%H:%M:%S)" "$SECONDS" "$*" >&2; }
die() { say "ERROR: $*"; exit 1; }

cached() { # FAMILY PATH...: prints the path of the directory of files that depend on those of PATH...
    local family=$1; shift
    echo "$CACHE/$family-$RELEASE-$(find "$@" -type f -print0 | LC_ALL=C sort -z | xargs -0 cat | sha256sum | cut -c1-16)"
}

# Makes the directory of a script if it does not exist. This process, and those that it starts, then have a shared lock
# on it, without which another version of the script deletes it.
hold() { # VARIABLE SCRIPT: the variable gets the path
    local script=$2 directory file
    directory=$("$script" name)
    mkdir -p "$CACHE"
    exec {file}>>"$directory.lock"
    until lock --shared "$file" "$directory" && [ -d "$directory" ]; do
        lock --exclusive "$file" "$directory"
        [ -d "$directory" ] || make_cached "$directory" "$script"
    done
    printf -v "$1" %s "$directory"
}

lock() { # MODE FILE-DESCRIPTOR DIRECTORY
    flock --nonblock "$1" "$2" || { say "waiting for the process that has the lock of $3"; flock "$1" "$2"; }
}

make_cached() { # DIRECTORY SCRIPT, with the exclusive lock
    local directory=$1 script=$2 other
    for other in "${directory%-*}"-*.lock; do
        [ "$other" = "$directory.lock" ] || delete_unused "${other%.lock}"
    done
    rm -rf --one-file-system "$directory.new"
    mkdir -m 755 "$directory.new"
    "$script" make "$directory.new"
    mv "$directory.new" "$directory"
    say "made $directory"
}

delete_unused() { # DIRECTORY
    (
        flock --nonblock 9 || { say "$1 is in use"; exit 0; }
        rm -rf --one-file-system "$1.new"*
        [ ! -d "$1" ] || mv "$1" "$1.new" # without that suffix it is complete
        rm -rf --one-file-system "$1.new"
    ) 9>>"$1.lock"
}

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
