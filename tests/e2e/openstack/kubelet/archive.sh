#!/bin/bash
# archive.sh ROOT AGNHOST AGNHOST-IMAGE PAUSE-IMAGE OUTPUT: writes both images, with the program agnhost
# and a certificate for it, into an archive of the format of "docker save". That of agnhost also has the
# files of ROOT.
set -euo pipefail
root=$1 agnhost=$2 output=$5
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
cd "$work"
tar -C "$root" --numeric-owner --owner=0 --group=0 -cf root.tar .
mkdir program && cp "$agnhost" program/agnhost
openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=localhost -keyout program/localhost.key -out program/localhost.crt 2>/dev/null
tar -C program --owner=0 --group=0 -cf program.tar agnhost localhost.key localhost.crt

config() { # NAME ENTRYPOINT LAYER...: NAME.json
    local name=$1 entrypoint=$2; shift 2
    sha256sum "$@" | jq -R 'split(" ")[0] | "sha256:" + .' | jq -s --argjson entrypoint "$entrypoint" '{
        architecture: "amd64", os: "linux", rootfs: {type: "layers", diff_ids: .},
        config: {Entrypoint: $entrypoint, Env: ["PATH=/usr/local/bin:/usr/bin:/bin"]}}' >"$name.json"
}
config agnhost '["/agnhost"]' root.tar program.tar
config pause '["/agnhost", "pause"]' program.tar
jq -n --arg agnhost "$3" --arg pause "$4" '[
    {Config: "agnhost.json", RepoTags: [$agnhost], Layers: ["root.tar", "program.tar"]},
    {Config: "pause.json", RepoTags: [$pause], Layers: ["program.tar"]}]' >manifest.json
tar -cf "$output" manifest.json agnhost.json pause.json root.tar program.tar
