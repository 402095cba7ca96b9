package controlplane

import (
	"net"
	"path/filepath"
	"strconv"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/process"
)

// The names of the programs, as the binary and Log know them, and of those that are no
// part of the binary.
const (
	etcd              = "etcd"
	apiServer         = "kube-apiserver"
	controllerManager = "kube-controller-manager"
	kubectl           = "kubectl"
	kubeProxy         = "kube-proxy"
)

// PodNetworks are those that nodes get their pod CIDRs from, one of each family.
const PodNetworks = "10.244.0.0/16,fd00:10:244::/56"

// The networks of the cluster's Services. apiServiceAddress is the first address,
// that of the Service kubernetes.
const (
	serviceNetworks   = "10.96.0.0/16,fd00:10:96::/112"
	apiServiceAddress = "10.96.0.1"
)

// Files of the control plane as a complete kube-controller-manager has to name them: relative to its working
// directory.
const (
	CAFile                = pkiDirectory + "/" + caFile
	ServiceAccountKeyFile = pkiDirectory + "/" + serviceAccountFile
)

// etcd speaks over sockets in the working directory instead of TCP ports, which
// another process could take first. It wants the form host:port also for them,
// and uses that as the file's name.
const (
	etcdClient = "client:1"
	etcdPeer   = "peer:1"
)

// start runs one program in the control plane's directory.
func (c *ControlPlane) start(name, path string, args []string) (*process.Process, error) {
	return process.Start(process.Spec{
		Name:    name,
		Path:    path,
		Args:    args,
		Dir:     c.dir.path,
		LogFile: c.logFile(name),
	})
}

func (c *ControlPlane) logFile(name string) string {
	return filepath.Join(c.dir.path, name+".log")
}

// etcdArgs forgo the safety against power cuts: nothing here outlives the process.
func etcdArgs() []string {
	return []string{
		"--name=test", "--data-dir=etcd", "--unsafe-no-fsync", "--log-level=warn",
		"--listen-client-urls=unix://" + etcdClient,
		"--advertise-client-urls=unix://" + etcdClient,
		"--listen-peer-urls=unix://" + etcdPeer,
		"--initial-advertise-peer-urls=unix://" + etcdPeer,
		"--initial-cluster=test=unix://" + etcdPeer,
	}
}

// apiServerArgs leave the Service kubernetes without endpoints: a loopback
// address is no legal endpoint, and nothing inside the cluster would follow it.
func (c *ControlPlane) apiServerArgs(port int) []string {
	return append([]string{
		"--etcd-servers=unix://" + etcdClient,
		"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", "--secure-port=" + strconv.Itoa(port),
		"--endpoint-reconciler-type=none",
		"--cert-dir=" + c.pki.dir,
		"--tls-cert-file=" + c.pki.file(serverFile),
		"--tls-private-key-file=" + c.pki.file(serverKeyFile),
		"--client-ca-file=" + c.pki.file(caFile),
		"--requestheader-client-ca-file=" + c.pki.file(frontProxyCAFile),
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--anonymous-auth=false", "--authorization-mode=Node,RBAC",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + c.pki.file(serviceAccountFile),
		"--service-account-signing-key-file=" + c.pki.file(serviceAccountFile),
		"--service-cluster-ip-range=" + serviceNetworks,
	}, c.options.APIServerArgs...)
}

// controllerManagerArgs let it serve nothing, so that it needs no port, and run the
// controllers that the built one has. All of them are the administrator.
func (c *ControlPlane) controllerManagerArgs() []string {
	return append([]string{
		"--kubeconfig=" + c.AdminKubeconfig(),
		"--secure-port=0",
		"--leader-elect=false",
		"--controllers=serviceaccount-controller,namespace-controller,node-ipam-controller,node-lifecycle-controller," +
			"taint-eviction-controller,garbage-collector-controller",
		"--kube-api-qps=1000", "--kube-api-burst=1000", // the default delays the start by five seconds
		"--cloud-provider=external",
		"--allocate-node-cidrs", "--cluster-cidr=" + PodNetworks,
		"--service-cluster-ip-range=" + serviceNetworks,
	}, c.options.ControllerManagerArgs...)
}

// freePort returns a TCP port of 127.0.0.1 that was free a moment ago.
func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}
