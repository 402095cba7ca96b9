package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"

	"k8s.io/client-go/rest"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/process"
)

// KubeProxy is Kubernetes' own, as it runs on a node of the second kind. It needs
// root, and nft.
type KubeProxy struct {
	// Program is its path.
	Program string
	// Kubeconfig has its rights, at the address of the node's API server.
	Kubeconfig string
	// PodNetworks are those of the cluster, one of each family at most, with a comma
	// between them.
	PodNetworks string
	// Directory is for its log.
	Directory string
}

// logLines is how much of its log is shown when it has ended.
const logLines = 20

// kubeProxy is one that runs, and the way to its API server.
type kubeProxy struct {
	options Options
	process *process.Process
	api     io.Closer
}

// startKubeProxy returns when kube-proxy reports that it is healthy. It does not change the
// kernel's limit of connections, which is not separate for each namespace.
func startKubeProxy(ctx context.Context, config *rest.Config, options Options) (*kubeProxy, error) {
	server, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("address of the API server: %w", err)
	}
	k := &kubeProxy{options: options}
	if k.api, err = options.Namespace.Forward(server.Host, server.Host); err != nil {
		return nil, err
	}
	path, args := options.Namespace.Command(options.KubeProxy.Program,
		"--kubeconfig="+options.KubeProxy.Kubeconfig, "--hostname-override="+options.Name,
		"--proxy-mode=nftables", "--cluster-cidr="+options.KubeProxy.PodNetworks,
		"--conntrack-max-per-core=0",
	)
	k.process, err = process.Start(process.Spec{
		Name: "kube-proxy of " + options.Name,
		Path: path, Args: args,
		LogFile: filepath.Join(options.KubeProxy.Directory, "kube-proxy-"+options.Name+".log"),
	})
	if err != nil {
		k.api.Close()
		return nil, err
	}
	if err := k.process.Await(ctx, k.healthy); err != nil {
		k.close()
		return nil, err
	}
	return k, nil
}

// healthy is what a cloud's health monitor finds out.
func (k *kubeProxy) healthy(ctx context.Context) error {
	client := http.Client{Timeout: probeTimeout, Transport: &http.Transport{
		DialContext: k.options.Namespace.DialContext, DisableKeepAlives: true,
	}}
	address := "http://" + endpointOf(k.options.Address, proxyHealthPort) + "/healthz"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	return nil
}

// run returns when the context ends. A kube-proxy that ends before is not replaced.
func (k *kubeProxy) run(ctx context.Context) error {
	defer k.close()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-k.process.Done():
	}
	k.options.Logf("%v; the end of its log:\n%s", k.process.Err(), k.process.Log(logLines))
	<-ctx.Done()
	return ctx.Err()
}

// close ends kube-proxy as a power cut does: its rules, which the kernel would go on
// to follow, end too.
func (k *kubeProxy) close() {
	k.process.Kill()
	k.api.Close()
	path, args := k.options.Namespace.Command("nft", "flush", "ruleset")
	if output, err := exec.Command(path, args...).CombinedOutput(); err != nil {
		k.options.Logf("node %s: take away the rules of kube-proxy: %v: %s", k.options.Name, err, output)
	}
}
