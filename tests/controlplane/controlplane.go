package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/process"
)

// Options are what may differ between control planes. The zero value starts
// everything.
type Options struct {
	// Programs are those to run; where one is empty, what Build returns is run.
	Programs Programs
	// WithoutControllerManager starts only etcd and the API server. Service accounts are then not
	// created, silent nodes not marked, and the contents of deleted namespaces not removed.
	WithoutControllerManager bool
	// APIServerArgs and ControllerManagerArgs are added to the programs' flags.
	APIServerArgs, ControllerManagerArgs []string
	// Logf takes the progress of the start; nil drops it.
	Logf func(format string, args ...any)
}

// bindAttempts is how often the API server gets another port when another process
// took the one that was free.
const bindAttempts = 10

// logTail is how many lines of a log Log shows.
const logTail = 60

// ControlPlane is a running control plane. Stop ends it.
type ControlPlane struct {
	options   Options
	programs  Programs
	dir       *workDir
	pki       *pki
	admin     *rest.Config
	client    kubernetes.Interface
	processes []*process.Process // in the order of their start
	stop      sync.Once
}

// Start starts a control plane and returns when it answers: a few seconds after
// the binary is built. The context bounds the start only. The processes end with
// Stop, or with the calling process.
func Start(ctx context.Context, options Options) (*ControlPlane, error) {
	if options.Logf == nil {
		options.Logf = func(string, ...any) {}
	}
	c := &ControlPlane{options: options, programs: options.Programs}
	if c.programs.Etcd == "" || c.programs.APIServer == "" || c.programs.ControllerManager == "" {
		built, err := Build(ctx, options.Logf)
		if err != nil {
			return nil, err
		}
		c.programs = c.programs.or(built)
	}
	dir, err := newWorkDir(os.TempDir())
	if err != nil {
		return nil, fmt.Errorf("start the test control plane: %w", err)
	}
	c.dir = dir
	if err := c.startAll(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start the test control plane: %w", err), c.Stop())
	}
	return c, nil
}

func (c *ControlPlane) startAll(ctx context.Context) (err error) {
	if c.pki, err = newPKI(filepath.Join(c.dir.path, pkiDirectory)); err != nil {
		return err
	}
	if err := c.startEtcd(ctx); err != nil {
		return err
	}
	if err := c.startAPIServer(ctx); err != nil {
		return err
	}
	if c.options.WithoutControllerManager {
		return nil
	}
	return c.startControllerManager(ctx)
}

func (c *ControlPlane) startEtcd(ctx context.Context) error {
	server, err := c.start(etcd, c.programs.Etcd, etcdArgs())
	if err != nil {
		return err
	}
	c.processes = append(c.processes, server)
	return server.Await(ctx, func(context.Context) error {
		_, err := os.Stat(filepath.Join(c.dir.path, etcdClient))
		return err
	})
}

// startAPIServer tries another port if, according to the log, the first one was taken before its
// use.
func (c *ControlPlane) startAPIServer(ctx context.Context) error {
	for attempt := 1; ; attempt++ {
		port, err := freePort()
		if err != nil {
			return fmt.Errorf("find a free port: %w", err)
		}
		if err := c.connect(port); err != nil {
			return err
		}
		server, err := c.start(apiServer, c.programs.APIServer, c.apiServerArgs(port))
		if err != nil {
			return err
		}
		err = server.Await(ctx, func(ctx context.Context) error {
			return c.client.CoreV1().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
		})
		if server.Running() {
			c.processes = append(c.processes, server)
			return err
		}
		if attempt == bindAttempts || !strings.Contains(server.Log(logTail), "address already in use") {
			return err
		}
	}
}

// connect makes the administrator's client and kubeconfig for a server at the port.
func (c *ControlPlane) connect(port int) error {
	pair, err := c.pki.ca.clientCertificate(adminUser, []string{adminGroup})
	if err != nil {
		return err
	}
	c.admin = &rest.Config{
		Host: fmt.Sprintf("https://127.0.0.1:%d", port),
		TLSClientConfig: rest.TLSClientConfig{
			CAData:   c.pki.ca.PEM,
			CertData: pair.Certificate,
			KeyData:  pair.Key,
		},
		QPS: -1,
	}
	if c.client, err = kubernetes.NewForConfig(c.admin); err != nil {
		return err
	}
	_, err = c.Kubeconfig(adminUser, adminGroup)
	return err
}

// startControllerManager waits for the first service account, which is its work.
func (c *ControlPlane) startControllerManager(ctx context.Context) error {
	manager, err := c.start(controllerManager, c.programs.ControllerManager, c.controllerManagerArgs())
	if err != nil {
		return err
	}
	c.processes = append(c.processes, manager)
	return manager.Await(ctx, func(ctx context.Context) error {
		_, err := c.client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
}

// Client returns the administrator's client.
func (c *ControlPlane) Client() kubernetes.Interface { return c.client }

// Dir is the directory of the control plane's files. Others may put theirs
// there: it is removed by Stop, or by the next control plane's start.
func (c *ControlPlane) Dir() string { return c.dir.path }

// Log returns the last lines of what a program has written: etcd,
// kube-apiserver or kube-controller-manager.
func (c *ControlPlane) Log(name string) string { return process.Tail(c.logFile(name), logTail) }

// Stop ends the processes, the last started first, and removes the directory.
// It kills: nothing of the cluster is kept, and an API server that is asked to
// end waits for its watchers.
func (c *ControlPlane) Stop() error {
	var err error
	c.stop.Do(func() {
		for i := len(c.processes) - 1; i >= 0; i-- {
			c.processes[i].Kill()
		}
		if err = c.dir.remove(); err != nil {
			err = fmt.Errorf("stop the test control plane: %w", err)
		}
	})
	return err
}
