#!/bin/bash
# The programs of a node until its kubelet ends: containerd, kubelet, kube-proxy, a DNS server for
# Services, and a bridge for pods. They have processes, mounts and a host name of their own.
#   node.sh NAMESPACE NAME ADDRESS POD-NETWORK PAUSE-IMAGE DIRECTORY LOGS
# DIRECTORY is that of the control plane, with the kubeconfigs of users and images.tar. CRI is that of
# containerd, and PATH has the other programs. The cgroups of the node have the name CELL-NAMESPACE;
# machines.sh unplug removes them.
set -euo pipefail
if [ "$1" != --inside ]; then
    cgroup=${CELL:?is set in a cell}-$1
    for hierarchy in /sys/fs/cgroup /sys/fs/cgroup/*; do
        [ -w "$hierarchy/cgroup.procs" ] || continue
        mkdir -p "$hierarchy/$cgroup"
        for file in cpuset.cpus cpuset.mems; do # empty ones admit no process in version 1
            [ ! -e "$hierarchy/cgroup.clone_children" ] || [ ! -e "$hierarchy/$file" ] || cat "$hierarchy/$file" >"$hierarchy/$cgroup/$file"
        done
    done
    # Not ip netns exec, which has a /sys without cgroups.
    exec nsenter --net="/run/netns/$1" unshare --mount --uts --pid --fork --kill-child --mount-proc "$0" --inside "$@"
fi
shift
namespace=$1 name=$2 address=$3 pods=$4 pause=$5 directory=$6 logs=$7
kubeconfig=$directory/system:node:$name.kubeconfig
dns=169.254.20.10
export PATH=$CRI/usr/bin:$CRI/usr/sbin:$PATH
mount --make-rprivate /
for path in /run /var/lib /var/log; do mount -t tmpfs tmpfs $path; done
mount --make-rshared / # for the mounts of pods
hostname "$name"

# A kubelet sets these for the whole machine. Here it finds them set.
mkdir /run/sysctl
for setting in vm/overcommit_memory=1 vm/panic_on_oom=0 kernel/panic=10 kernel/panic_on_oops=1 kernel/keys/root_maxkeys=1000000 kernel/keys/root_maxbytes=25000000; do
    file=/run/sysctl/$(basename "${setting%=*}")
    echo "${setting#*=}" >"$file"
    mount --bind "$file" "/proc/sys/${setting%=*}"
done
sysctl -qw net.ipv4.ip_forward=1 net.bridge.bridge-nf-call-iptables=1
ip address replace "$dns/32" dev lo
nft -f - <<CONF
table ip pods {
    chain leaving {
        type nat hook postrouting priority srcnat;
        ip saddr $pods ip daddr != $pods masquerade
    }
}
CONF

mkdir -p /run/cni
cat >/run/containerd.toml <<CONF
version = 2
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "$pause"
restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "$CRI/usr/lib/cni"
conf_dir = "/run/cni"
CONF
cat >/run/kubelet.yaml <<CONF
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
cgroupDriver: cgroupfs
cgroupRoot: /$CELL-$namespace
clusterDNS: [$dns]
clusterDomain: cluster.local
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
enforceNodeAllocatable: []
evictionHard: {memory.available: 50Mi}
failCgroupV1: false
failSwapOn: false
localStorageCapacityIsolation: false
resolvConf: ""
CONF
run() { "$@" >"$logs/$1.log" 2>&1; }
run containerd --config /run/containerd.toml &
for _ in $(seq 120); do ctr version >/dev/null 2>&1 && break; sleep 0.5; done
run ctr --namespace k8s.io images import "$directory/images.tar"
run dns "$directory/admin.kubeconfig" $dns:53 &
run kube-proxy --kubeconfig="$directory/system:kube-proxy.kubeconfig" --hostname-override="$name" --proxy-mode=nftables --cluster-cidr="$pods" --conntrack-max-per-core=0 &
{
    until cidr=$(kubectl --kubeconfig="$kubeconfig" get node "$name" -o 'jsonpath={.spec.podCIDR}' 2>/dev/null) && [ -n "$cidr" ]; do sleep 1; done
    cat >/run/cni/pods.conflist <<CONF
{"cniVersion": "0.4.0", "name": "pods", "plugins": [{
    "type": "bridge", "bridge": "pods", "isGateway": true, "hairpinMode": true, "mtu": 1442,
    "ipam": {"type": "host-local", "ranges": [[{"subnet": "$cidr"}]], "routes": [{"dst": "0.0.0.0/0"}]}}]}
CONF
} &
run kubelet --config=/run/kubelet.yaml --kubeconfig="$kubeconfig" --hostname-override="$name" --node-ip="$address" --cloud-provider=external
