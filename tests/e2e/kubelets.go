package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openstack-ccm/openstack-ccm/tests/cluster"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/process"
)

// The images of pods, of the releases that test/utils/image/manifest.go of Kubernetes names.
const (
	agnhostImage = "registry.k8s.io/e2e-test-images/agnhost:2.66.1"
	pauseImage   = "registry.k8s.io/pause:3.10.2"
)

// kubelets are nodes with containers on machines of the local OpenStack (openstack/kubelet/node.sh).
type kubelets struct {
	cluster *cluster.Cluster
	script  string   // that runs the programs of a node
	env     []string // of the script
	logs    string

	mutex sync.Mutex
	nodes map[string]runningKubelet
}

type runningKubelet struct {
	process *process.Process
	api     io.Closer // the way to the API server
}

// newKubelets writes what all nodes share: their images and kubeconfigs.
func newKubelets(ctx context.Context, u *Upstream, kubeProxy string) (*kubelets, error) {
	image := os.Getenv("KUBELET_IMAGE")
	if image == "" {
		return nil, errors.New("KUBELET_IMAGE is not set: see make e2e-upstream")
	}
	scripts := filepath.Join(u.tenant.scripts, "kubelet")
	k := &kubelets{cluster: u.Cluster, script: filepath.Join(scripts, "node.sh"), logs: u.logs, nodes: map[string]runningKubelet{}}
	var directories []string
	for _, program := range []string{u.programs.Kubelet, kubeProxy, u.kubectl} {
		directories = append(directories, filepath.Dir(program))
	}
	k.env = []string{"CRI=" + filepath.Join(image, "cri"), "PATH=" + strings.Join(append(directories, os.Getenv("PATH")), ":")}
	archive := exec.CommandContext(ctx, filepath.Join(scripts, "archive.sh"),
		filepath.Join(image, "pod"), u.programs.Agnhost, agnhostImage, pauseImage, filepath.Join(u.ControlPlane().Dir(), "images.tar"))
	if output, err := archive.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("write the images of pods: %w\n%s", err, output)
	}
	_, err := u.ControlPlane().Kubeconfig("system:kube-proxy")
	return k, err
}

// start starts a kubelet on a machine, and returns when its Node is ready and initialized.
func (k *kubelets) start(ctx context.Context, name string, machine Machine) error {
	plane := k.cluster.ControlPlane()
	if _, err := plane.Kubeconfig("system:node:"+name, "system:nodes"); err != nil {
		return err
	}
	logs := filepath.Join(k.logs, name)
	if err := os.MkdirAll(logs, 0o755); err != nil {
		return err
	}
	server := strings.TrimPrefix(plane.Config().Host, "https://")
	api, err := machine.Namespace.Forward(server, server)
	if err != nil {
		return err
	}
	node, err := process.Start(process.Spec{
		Name: "kubelet of " + name, Path: k.script, LogFile: filepath.Join(logs, "node.log"), Env: k.env,
		Args: []string{string(machine.Namespace), name, machine.Addresses[0].String(), podNetworkV4(), pauseImage, plane.Dir(), logs},
	})
	if err != nil {
		return errors.Join(err, api.Close())
	}
	k.mutex.Lock()
	k.nodes[name] = runningKubelet{node, api}
	k.mutex.Unlock()
	return node.Await(ctx, func(ctx context.Context) error {
		object, err := k.cluster.Client().CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		ready := func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		}
		if !slices.ContainsFunc(object.Status.Conditions, ready) {
			return fmt.Errorf("node %s is not ready", name)
		}
		return cluster.Initialized(ctx, k.cluster.Client(), name)
	})
}

// stop ends all processes of a node, as a power cut does.
func (k *kubelets) stop(name string) error {
	k.mutex.Lock()
	node := k.nodes[name]
	delete(k.nodes, name)
	k.mutex.Unlock()
	node.process.Kill()
	return node.api.Close()
}

func (k *kubelets) stopAll() (err error) {
	for _, name := range slices.Collect(maps.Keys(k.nodes)) {
		err = errors.Join(err, k.stop(name))
	}
	return err
}
