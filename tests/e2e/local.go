package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/amphorae"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	corev1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/tests/controlplane"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/netns"
)

// Local is the OpenStack that openstack/up.sh brings up on this machine. It has a
// tenant for each provider of load balancers; they do not meet.
type Local struct {
	scripts, state string
	password       string // of all users
	info           info
	kubeProxy      string
	// stopped is full while the Octavia API of a tenant is stopped: the script that starts it
	// starts all that does not run, also that of the other tenant.
	stopped chan struct{}
	running sync.Mutex // of what runs scripts
}

// tenant is a tenant of the local OpenStack. Its servers are network namespaces with a
// kube-proxy each, and load balancers of the provider ovn carry traffic.
type tenant struct {
	*Local
	name string
	tenantInfo
	api      *API
	admin    *API // in the tenant's region: the other's Octavia may be stopped
	mutex    sync.Mutex
	machines map[string]Machine
}

// info is what the scripts tell of the cloud.
type info struct {
	AuthURL      string `json:"auth_url"`
	Image        string `json:"image"`
	RealAmphorae bool   `json:"real_amphorae"`
	// NAT is set if the kernel of real amphorae has it, which they need for UDP.
	NAT bool `json:"nat"`
	// FragileTracking is set if the virtual switch may end when members or next hops leave under connections.
	FragileTracking bool                  `json:"fragile_tracking"`
	Tenants         map[string]tenantInfo `json:"tenants"`
}

// tenantInfo is what they tell of a tenant: its region has an Octavia API of its own.
type tenantInfo struct {
	Project string `json:"project"`
	Region  string `json:"region"`
	Network string `json:"network"`
	Subnet  string `json:"subnet"`
	Subnet6 string `json:"subnet6"`
	VIPs    string `json:"vips"`
}

// OpenLocal opens the OpenStack with its state in a directory, and builds the programs of
// its machines.
func OpenLocal(ctx context.Context, scripts, state string, logf func(string, ...any)) (*Local, error) {
	l := &Local{scripts: scripts, state: state, stopped: make(chan struct{}, 1)}
	text, err := os.ReadFile(filepath.Join(state, "info.json"))
	if err != nil {
		return nil, fmt.Errorf("there is no OpenStack on this machine, see make e2e-up: %w", err)
	}
	if err := json.Unmarshal(text, &l.info); err != nil {
		return nil, fmt.Errorf("read info.json: %w", err)
	}
	password, err := os.ReadFile(filepath.Join(state, "password"))
	if err != nil {
		return nil, err
	}
	l.password = string(password)
	if l.kubeProxy, err = controlplane.BuildKubeProxy(ctx, logf); err != nil {
		return nil, err
	}
	return l, nil
}

// signIn signs in as a user of the project of the same name.
func (l *Local) signIn(ctx context.Context, name, region string) (*API, error) {
	return NewAPI(ctx, gophercloud.AuthOptions{
		IdentityEndpoint: l.info.AuthURL, Username: name, Password: l.password, TenantName: name,
		DomainName: "Default", AllowReauth: true,
	}, region)
}

// Tenant opens the cloud as the tenant of a provider. It removes the objects of earlier runs.
func (l *Local) Tenant(ctx context.Context, provider string) (Cloud, error) {
	t := &tenant{Local: l, name: provider, tenantInfo: l.info.Tenants[provider], machines: map[string]Machine{}}
	var err error
	if t.api, err = l.signIn(ctx, t.name, t.Region); err != nil {
		return nil, err
	}
	if t.admin, err = l.signIn(ctx, "admin", t.Region); err != nil {
		return nil, err
	}
	if err := t.clear(ctx); err != nil {
		return nil, fmt.Errorf("clear what an earlier run left: %w", err)
	}
	return t, l.run(ctx, "machines.sh", "clients", t.name)
}

// clear removes what a run that did not end well has left in the project.
func (t *tenant) clear(ctx context.Context) error {
	unlock := "update load_balancer set provisioning_status='ERROR' where provisioning_status like 'PENDING%' and project_id='" + t.Project + "'"
	err := errors.Join(t.run(ctx, "machines.sh", "down", t.name), t.run(ctx, "ctl.sh", "sql", "octavia", unlock))
	if err != nil {
		return err
	}
	left, err := t.api.servers(ctx, "")
	if err != nil {
		return err
	}
	for _, server := range left {
		if err := t.api.deleteServer(ctx, server.ID); err != nil {
			return err
		}
	}
	router, err := t.Router(ctx)
	if err != nil {
		return err
	}
	if err := errors.Join(t.api.SetRoutes(ctx, router, nil), t.api.clear(ctx, "")); err != nil || t.VIPs == "" {
		return err
	}
	vips, err := t.api.vipPorts(ctx, t.VIPs)
	for _, port := range vips {
		err = errors.Join(err, ports.Delete(ctx, t.api.Network, port.ID).ExtractErr())
	}
	return err
}

// run runs one of the scripts.
func (l *Local) run(ctx context.Context, script string, args ...string) error {
	l.running.Lock()
	defer l.running.Unlock()
	command := exec.CommandContext(ctx, filepath.Join(l.scripts, script), args...)
	command.Env = append(os.Environ(), "E2E_STATE="+l.state)
	command.WaitDelay = 10 * time.Second // daemons that it starts hold its output open
	output, err := command.CombinedOutput()
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return fmt.Errorf("%s %s: %w\n%s", script, strings.Join(args, " "), err, output)
	}
	return nil
}

func (t *tenant) CloudConf() string {
	text, err := os.ReadFile(filepath.Join(t.state, "cloud-"+t.name+".conf"))
	if err != nil {
		return fmt.Sprintf("# %v", err)
	}
	return string(text)
}

func (t *tenant) API() *API                { return t.api }
func (t *tenant) KubeProxy() string        { return t.kubeProxy }
func (t *tenant) VIPNetwork() string       { return t.VIPs }
func (t *tenant) Outside() netns.Namespace { return "e2e-ext" }
func (t *tenant) Inside() netns.Namespace  { return t.namespace("client") }
func (t *tenant) SubnetV6() string         { return t.Subnet6 }
func (t *tenant) Unused(n int) string      { return fmt.Sprintf("10.6.255.%d", 100+n) }
func (t *tenant) Prefix() string           { return "" }
func (t *tenant) Pause() time.Duration     { return 500 * time.Millisecond }

// Traffic implements Cloud.
func (t *tenant) Traffic(by string, protocol corev1.Protocol) bool {
	return by == "ovn" || by == routerProvider || by == forwardingProvider ||
		t.info.RealAmphorae && (protocol == corev1.ProtocolTCP || protocol == corev1.ProtocolUDP && t.info.NAT)
}

// FragileTracking implements Cloud.
func (t *tenant) FragileTracking() bool { return t.info.FragileTracking }

// Crowd is half of that of other clouds: Octavia makes those of a project one after
// another, and this one waits for a Neutron that has two cores for all, up to ten
// seconds each.
func (t *tenant) Crowd() int { return 15 }

// Patience implements Cloud: an emulated amphora takes minutes to boot, in which nothing else changes.
func (t *tenant) Patience() Patience {
	patience := localPatience()
	if t.info.NAT {
		patience.Standstill *= 4
	}
	return patience
}

// localPatience bears with a busy machine: single requests to Octavia have taken more than
// two minutes there, and nothing else changed meanwhile.
func localPatience() Patience {
	return Patience{Standstill: 5 * time.Minute, Most: time.Hour}
}

// RemovedTwice implements Cloud: the driver of ovn logs that it has no such member.
func (t *tenant) RemovedTwice() (int, error) {
	if t.name != "ovn" {
		return 0, nil
	}
	log, err := os.ReadFile(filepath.Join(t.state, "log", "octavia-wsgi.log"))
	return bytes.Count(log, []byte("Exception occurred during deletion of member")), err
}

func (t *tenant) Lease() time.Duration { return 12 * time.Second }
func (t *tenant) Nature() Nature       { return t }

// namespace is that of a machine.
func (t *tenant) namespace(machine string) netns.Namespace {
	return netns.Namespace("e2e-" + t.name + "-" + machine)
}

func (t *tenant) AddMachine(ctx context.Context, name string) (Machine, error) {
	flavor, err := t.api.smallFlavor(ctx, func(flavors.Flavor) bool { return true })
	if err != nil {
		return Machine{}, err
	}
	id, port, err := t.api.makeServer(ctx, t.Pause(), servers.CreateOpts{
		Name: name, FlavorRef: flavor.ID, ImageRef: t.info.Image,
		Networks: []servers.Network{{UUID: t.Network}}, SecurityGroups: []string{"k8s-nodes"},
	})
	if err != nil {
		return Machine{}, err
	}
	machine := Machine{ServerID: id, Namespace: t.namespace(name)}
	if machine.Addresses, err = addressesOf(port); err != nil {
		return Machine{}, err
	}
	args := []string{"plug", t.name, name, port.ID, port.MACAddress}
	for _, address := range machine.Addresses {
		length := "/16"
		if address.Is6() {
			length = "/64"
		}
		args = append(args, address.String()+length)
	}
	if err := t.run(ctx, "machines.sh", args...); err != nil {
		return Machine{}, err
	}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.machines[name] = machine
	return machine, nil
}

// Router implements Cloud: the tenant has one.
func (t *tenant) Router(ctx context.Context) (string, error) {
	pages, err := routers.List(t.api.Network, routers.ListOpts{}).AllPages(ctx)
	if err != nil {
		return "", err
	}
	all, err := routers.ExtractRouters(pages)
	if err != nil || len(all) != 1 {
		return "", fmt.Errorf("the project has %d routers: %w", len(all), err)
	}
	return all[0].ID, nil
}

// AddPod implements Cloud: the address is on lo, and the way to other pods is through
// the router.
func (t *tenant) AddPod(ctx context.Context, node string, address netip.Addr) (netns.Namespace, bool, error) {
	return t.namespace(node), true, t.run(ctx, "machines.sh", "pod", t.name, node, address.String())
}

func (t *tenant) RemoveMachine(ctx context.Context, name string) error {
	t.mutex.Lock()
	machine := t.machines[name]
	delete(t.machines, name)
	t.mutex.Unlock()
	err := servers.Delete(ctx, t.api.Compute, machine.ServerID).ExtractErr()
	return errors.Join(err, t.run(ctx, "machines.sh", "unplug", t.name, name))
}

// Fail implements Nature, in the database.
func (t *tenant) Fail(ctx context.Context, loadBalancerID string) error {
	return t.run(ctx, "ctl.sh", "sql", "octavia", fmt.Sprintf("update load_balancer set provisioning_status='ERROR' where id='%s'", loadBalancerID))
}

// KillAmphora implements Nature.
func (t *tenant) KillAmphora(ctx context.Context, loadBalancerID string) (killed bool, err error) {
	if !t.info.RealAmphorae {
		return false, nil
	}
	pages, err := amphorae.List(t.admin.LoadBalancer, amphorae.ListOpts{LoadbalancerID: loadBalancerID}).AllPages(ctx)
	if err != nil {
		return false, err
	}
	all, err := amphorae.ExtractAmphorae(pages)
	if err != nil {
		return false, err
	}
	for _, amphora := range all {
		if amphora.ComputeID == "" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(t.machinesOfAmphorae(), amphora.ComputeID, "kernel", "pid"))
		if err != nil {
			return killed, err
		}
		group, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			return killed, err
		}
		if err := syscall.Kill(-group, syscall.SIGKILL); err != nil {
			return killed, err
		}
		killed = true
	}
	return killed, nil
}

// machinesOfAmphorae is the directory with one for each machine.
func (l *Local) machinesOfAmphorae() string { return filepath.Join(l.state, "amphorae") }

// Amphorae returns the IDs of the machines that are real amphorae.
func (l *Local) Amphorae() (ids []string, err error) {
	entries, err := os.ReadDir(l.machinesOfAmphorae())
	for _, entry := range entries {
		ids = append(ids, entry.Name())
	}
	return ids, err
}

// StopOctavia implements Nature.
func (t *tenant) StopOctavia(ctx context.Context) (func(context.Context) error, error) {
	select {
	case t.stopped <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	var once sync.Once
	start := func(ctx context.Context) (err error) {
		once.Do(func() {
			err = t.run(ctx, "ctl.sh", "restart", "octavia-api-"+t.name)
			<-t.stopped
		})
		return err
	}
	if err := t.run(ctx, "ctl.sh", "stop", "octavia-api-"+t.name); err != nil {
		return nil, errors.Join(err, start(ctx))
	}
	return start, nil
}

// LimitLoadBalancers implements Nature.
func (t *tenant) LimitLoadBalancers(ctx context.Context, limit int) (func(context.Context) error, error) {
	return t.admin.limitLoadBalancers(ctx, t.Project, limit)
}

// RevokeTokens implements Nature: a password that is set, be it to what it was,
// revokes the user's tokens in Keystone. The services cache the validation of a
// token for five minutes, so that cache is cleared too.
func (t *tenant) RevokeTokens(ctx context.Context) error {
	identity, err := openstack.NewIdentityV3(t.admin.Compute.ProviderClient, gophercloud.EndpointOpts{Region: region})
	if err != nil {
		return err
	}
	pages, err := users.List(identity, users.ListOpts{Name: t.name}).AllPages(ctx)
	if err != nil {
		return err
	}
	all, err := users.ExtractUsers(pages)
	if err != nil || len(all) != 1 {
		return fmt.Errorf("%d users have the name %s: %w", len(all), t.name, err)
	}
	if _, err := users.Update(ctx, identity, all[0].ID, users.UpdateOpts{Password: t.password}).Extract(); err != nil {
		return err
	}
	return t.run(ctx, "ctl.sh", "forget")
}

// Close deletes the servers.
func (t *tenant) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), t.Patience().Standstill)
	defer cancel()
	t.mutex.Lock()
	names := make([]string, 0, len(t.machines))
	for name := range t.machines {
		names = append(names, name)
	}
	t.mutex.Unlock()
	var errs []error
	for _, name := range names {
		errs = append(errs, t.RemoveMachine(ctx, name))
	}
	return errors.Join(append(errs, t.run(ctx, "machines.sh", "down", t.name))...)
}
