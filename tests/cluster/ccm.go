package cluster

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/component-base/metrics/testutil"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/process"
)

// bindAttempts is the maximum number of ports that the cloud controller manager tries, if another
// process takes the one that was free.
const bindAttempts = 10

// probeTimeout limits one request for its health or its metrics.
const probeTimeout = 5 * time.Second

// CCM describes how to run the cloud controller manager.
type CCM struct {
	// Program is its path, CloudConf that of its configuration file.
	Program, CloudConf string
	// Installation has its identity at the API server, and its flags.
	Installation Installation
	// Directory is for its log and its certificate.
	Directory string
	// Args are added to its flags, Env to its environment.
	Args, Env []string
	// Ready is the path that answers when the program is ready; empty means /readyz.
	Ready string
}

// Controller is a running cloud controller manager.
type Controller struct {
	*process.Process
	address string
	client  *http.Client
}

// Start starts the process and returns when it reports that it is ready, that is signed in to the
// cloud. It may then still wait to become the leader.
func (c CCM) Start(ctx context.Context) (*Controller, error) {
	for attempt := 1; ; attempt++ {
		address, err := freeAddress()
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		ccm, err := process.Start(process.Spec{
			Name:    filepath.Base(c.Program),
			Path:    c.Program,
			Args:    c.args(address),
			Env:     c.Env,
			LogFile: c.logFile(),
		})
		if err != nil {
			return nil, err
		}
		controller := &Controller{ccm, address.String(), newClient()}
		err = ccm.Await(ctx, func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, probeTimeout)
			defer cancel()
			_, err := controller.Ask(ctx, cmp.Or(c.Ready, "/readyz"))
			return err
		})
		if err == nil {
			return controller, nil
		}
		ccm.Kill()
		if attempt == bindAttempts || !strings.Contains(ccm.Log(errorLogLines), "address already in use") {
			return nil, err
		}
	}
}

// logFile is the file of its output.
func (c CCM) logFile() string { return filepath.Join(c.Directory, "ccm.log") }

// errorLogLines is the number of lines of its log in an error.
const errorLogLines = 30

// args returns the flags of an installation, and after them those that override the place of the
// process: outside of a pod, on a port of its own.
func (c CCM) args(address *net.TCPAddr) []string {
	kubeconfig := c.Installation.Kubeconfig
	return slices.Concat(c.Installation.Args, []string{
		"--cloud-config=" + c.CloudConf,
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=" + address.IP.String(),
		fmt.Sprintf("--secure-port=%d", address.Port),
		"--authorization-always-allow-paths=/healthz,/readyz,/metrics",
		"--cert-dir=" + filepath.Join(c.Directory, "ccm-certificates"),
	}, c.Args)
}

// Metrics returns all its metrics, by name.
func (c *Controller) Metrics(ctx context.Context) (testutil.Metrics, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	text, err := c.Ask(ctx, "/metrics")
	if err != nil {
		return nil, fmt.Errorf("read the metrics of the cloud controller manager: %w", err)
	}
	counts := testutil.NewMetrics()
	return counts, testutil.ParseMetrics(text, &counts)
}

// Ensured returns the number of Ensure calls of the service controller that have returned since the
// start.
func (c *Controller) Ensured(ctx context.Context) (int, error) {
	counts, err := c.Metrics(ctx)
	if err != nil {
		return 0, err
	}
	for _, sample := range counts["cloudprovider_openstack_reconcile_total"] {
		if sample.Metric["operation"] == "loadbalancer_ensure" {
			return int(sample.Value), nil
		}
	}
	return 0, nil
}

// newClient returns one that does not verify the certificate, which is self-signed. It keeps its
// connection, as Prometheus does: a handshake costs the process more than an answer. On one machine
// compression has no benefit, and costs as much as the metrics themselves.
func newClient() *http.Client {
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, IdleConnTimeout: time.Minute, DisableCompression: true,
	}}
}

// Ask returns the answer at a path that needs no credentials.
func (c *Controller) Ask(ctx context.Context, path string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+c.address+path, nil)
	if err != nil {
		return "", err
	}
	response, err := c.client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = errors.New(response.Status)
	}
	return string(text), err
}

func freeAddress() (*net.TCPAddr, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr), nil
}
