package e2e

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openstack-ccm/openstack-ccm/tests/controlplane"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/process"
)

// UpstreamSpecs selects Kubernetes' specs of load balancers, and those of networks that conformance requires.
const UpstreamSpecs = `\[Feature:LoadBalancer\]|\[sig-network\].*\[Conformance\]`

// UpstreamSpecsWithPods selects those that pass only if pods are the members.
const UpstreamSpecsWithPods = "should be able to create LoadBalancer Service without NodePort"

// UpstreamSkips returns the specs that cannot pass, by a part of their names, with the reasons.
func UpstreamSkips() map[string]string {
	const affinity = "OVN of OpenStack 2025.1 has no affinity for TCP, and kube-proxies of two nodes may choose different pods"
	return map[string]string{
		UpstreamSpecsWithPods: "the members are NodePorts",
		"should have session affinity work for LoadBalancer service":         affinity,
		"should be able to switch session affinity for LoadBalancer service": affinity,
		"[sig-network] DNS":        "the DNS server is not that of Kubernetes, and knows only Services",
		"[sig-network] API Server": "the API server listens on loopback, so that its Service has no endpoints",
		"[sig-network] HostPort":   "the network of pods has no host ports",
	}
}

// Upstream is a cluster as Kubernetes' specs expect it, on the local OpenStack: with all controllers of
// Kubernetes, kube-scheduler, and nodes with kubelets.
type Upstream struct {
	*Environment
	tenant    *tenant
	programs  controlplane.Upstream
	kubectl   string
	kubelets  *kubelets
	scheduler *process.Process
	logs      string
}

// StartUpstream starts a cluster without nodes. Its logs are in a directory.
func StartUpstream(ctx context.Context, local *Local, provider, logs string, logf func(string, ...any)) (u *Upstream, err error) {
	cloud, err := local.Tenant(ctx, provider)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(logs, 0o755); err != nil {
		return nil, err
	}
	u = &Upstream{Environment: newEnvironment(cloud, provider, nil), tenant: cloud.(*tenant), logs: logs}
	if u.programs, err = controlplane.BuildUpstream(ctx, logf); err != nil {
		return nil, err
	}
	if u.kubectl, err = controlplane.BuildKubectl(ctx, logf); err != nil {
		return nil, err
	}
	// The API server calls kubelets, and the specs are clients on the external network.
	if err := local.run(ctx, "machines.sh", "join", provider); err != nil {
		return nil, err
	}
	if err := u.startControlPlane(ctx, logf); err != nil {
		return nil, errors.Join(err, u.Close())
	}
	return u, nil
}

func (u *Upstream) startControlPlane(ctx context.Context, logf func(string, ...any)) error {
	router, err := u.Cloud.Router(ctx)
	if err != nil {
		return err
	}
	options := u.options(keysWith(router, ""), logf)
	options.KubeProxy = "" // kubelets.start starts it
	// A controller that could not renew its lease ends, and nothing here starts it anew.
	options.CCMArgs = append(options.CCMArgs, "--leader-elect-lease-duration=3m", "--leader-elect-renew-deadline=2m")
	options.ControlPlane.Programs.ControllerManager = u.programs.ControllerManager
	options.ControlPlane.APIServerArgs = []string{"--allow-privileged", "--kubelet-preferred-address-types=InternalIP"}
	options.ControlPlane.ControllerManagerArgs = []string{
		"--controllers=*", "--cluster-cidr=" + podNetworkV4(), // the paths are relative to the control plane's directory
		"--root-ca-file=" + controlplane.CAFile, "--service-account-private-key-file=" + controlplane.ServiceAccountKeyFile,
	}
	if err := u.start(ctx, options); err != nil {
		return err
	}
	u.scheduler, err = process.Start(process.Spec{
		Name: "kube-scheduler", Path: u.programs.Scheduler, LogFile: filepath.Join(u.logs, "kube-scheduler.log"),
		Args: []string{"--kubeconfig=" + u.ControlPlane().AdminKubeconfig(), "--leader-elect=false", "--secure-port=0"},
	})
	if err != nil {
		return err
	}
	u.kubelets, err = newKubelets(ctx, u, u.tenant.kubeProxy)
	return err
}

// keysWith returns the keys of cloud.conf: the routes of pods, and source ranges, which security groups enforce on
// ovn. Balancers are more keys of its section LoadBalancer.
func keysWith(router, balancers string) string {
	return "manage-security-groups=true\n" + balancers + "[Route]\nrouter-id=" + router + "\n"
}

// RestartWithMembers restarts the controller with other members of load balancers: docs/members.md.
func (u *Upstream) RestartWithMembers(ctx context.Context, members string) error {
	router, err := u.Cloud.Router(ctx)
	if err != nil {
		return err
	}
	return u.RestartWith(ctx, keysWith(router, "members="+members+"\n"))
}

// AddKubelet adds a server with a kubelet, and returns when its Node is ready and initialized.
func (u *Upstream) AddKubelet(ctx context.Context, name string) error {
	ctx, cancel := u.patient(ctx, u.Cloud.Patience())
	defer cancel()
	machine, err := u.Cloud.AddMachine(ctx, name)
	if err != nil {
		return err
	}
	return u.kubelets.start(ctx, name, machine)
}

// DeleteServer deletes the server of a node, as the provider of Kubernetes' specs does, and returns when its
// Node is gone.
func (u *Upstream) DeleteServer(ctx context.Context, name string) error {
	ctx, cancel := u.patient(ctx, u.Cloud.Patience())
	defer cancel()
	if err := errors.Join(u.kubelets.stop(name), u.Cloud.RemoveMachine(ctx, name)); err != nil {
		return err
	}
	return u.await(ctx, func(ctx context.Context) error {
		_, err := u.Client().CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(err, fmt.Errorf("node %s is there", name))
	})
}

// AwaitNoObjects returns when the project has no load balancer, no floating IP, and no security group of a Service.
// The specs do not wait for the deletion of their namespaces.
func (u *Upstream) AwaitNoObjects(ctx context.Context) error {
	ctx, cancel := u.patient(ctx, u.Cloud.Patience())
	defer cancel()
	api := u.Cloud.API()
	return u.await(ctx, func(ctx context.Context) error {
		balancers, err := api.LoadBalancers(ctx, "")
		ips, ipsErr := api.FloatingIPs(ctx, "")
		groups, groupsErr := api.SecurityGroups(ctx, serviceGroups)
		if err := errors.Join(err, ipsErr, groupsErr); err != nil {
			return err
		}
		if len(balancers)+len(ips)+len(groups) > 0 {
			return fmt.Errorf("%d load balancers, %d floating IPs and %d security groups are left", len(balancers), len(ips), len(groups))
		}
		return nil
	})
}

// Spec is the result of one of Kubernetes' specs.
type Spec struct {
	Name    string  `xml:"name,attr"`
	Status  string  `xml:"status,attr"` // passed, skipped or failed, among others
	Seconds float64 `xml:"time,attr"`
}

// RunSpecs runs Kubernetes' specs with names that match a regular expression, without some by a part of
// their names, one after another, also if one has failed. Their output and a report in JUnit's format are in a directory. The error is not nil
// if a spec failed.
func (u *Upstream) RunSpecs(ctx context.Context, directory, focus string, skips map[string]string) ([]Spec, error) {
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return nil, err
	}
	args := []string{
		"--ginkgo.focus=" + focus, "--ginkgo.timeout=3h", "--ginkgo.no-color", "--ginkgo.v",
		"--provider=skeleton", "--kubeconfig=" + u.ControlPlane().AdminKubeconfig(), "--kubectl-path=" + u.kubectl,
		"--report-dir=" + directory, "--dump-logs-on-failure=false", "--disable-log-dump",
	}
	for text := range skips {
		args = append(args, "--ginkgo.skip="+regexp.QuoteMeta(text))
	}
	output, err := os.Create(filepath.Join(directory, "specs.log"))
	if err != nil {
		return nil, err
	}
	defer output.Close()
	command := exec.CommandContext(ctx, u.programs.E2E, args...)
	command.Stdout, command.Stderr = output, output
	failed := command.Run()
	specs, err := readReport(filepath.Join(directory, "junit_01.xml"))
	return specs, errors.Join(failed, err)
}

// readReport returns the specs in a report that were selected.
func readReport(path string) (specs []Spec, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var report struct {
		Suites []struct {
			Specs []Spec `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(text, &report); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	for _, suite := range report.Suites {
		for _, spec := range suite.Specs {
			if name, is := strings.CutPrefix(spec.Name, "[It] "); is && (spec.Status != "skipped" || spec.Seconds > 0) {
				specs = append(specs, Spec{name, spec.Status, spec.Seconds})
			}
		}
	}
	return specs, nil
}

// Close ends everything. The controller's log and all events are in the output, in scenarios/upstream.
func (u *Upstream) Close() error {
	var errs []error
	if u.Cluster != nil && u.CCM != nil {
		errs = append(errs, u.keepController(context.Background(), "upstream"), u.keepEvents(context.Background(), "upstream", metav1.NamespaceAll))
	}
	if u.kubelets != nil {
		errs = append(errs, u.kubelets.stopAll())
	}
	if u.scheduler != nil {
		u.scheduler.Kill()
	}
	if u.Cluster != nil {
		errs = append(errs, u.Stop())
	}
	return errors.Join(append(errs, u.Cloud.Close())...)
}
