package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/openstack-ccm/openstack-ccm/tests/await"
	"github.com/openstack-ccm/openstack-ccm/tests/netns"
)

// local is the OpenStack that openstack/up.sh brings up on this machine. Its
// servers are network namespaces, and load balancers of the provider ovn carry
// traffic.
type local struct {
	scripts, state string
	password       string // of all users
	info           info
	api, admin     *API
	mutex          sync.Mutex // of what runs scripts
	machines       map[string]Machine
}

// info is what the scripts tell of the networks.
type info struct {
	AuthURL  string `json:"auth_url"`
	Network  string `json:"k8s_net"`
	SubnetV6 string `json:"k8s_subnet6"`
	Image    string `json:"image"`
	Project  string `json:"k8s_project"`
}

// OpenLocal opens the OpenStack whose state is in a directory.
func OpenLocal(ctx context.Context, scripts, state string) (Cloud, error) {
	l := &local{scripts: scripts, state: state, machines: map[string]Machine{}}
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
	for name, api := range map[string]**API{"k8s": &l.api, "admin": &l.admin} {
		auth := gophercloud.AuthOptions{
			IdentityEndpoint: l.info.AuthURL, Username: name, Password: l.password, TenantName: name,
			DomainName: "Default", AllowReauth: true,
		}
		if *api, err = NewAPI(ctx, auth, region); err != nil {
			return nil, err
		}
	}
	if err := l.clear(ctx); err != nil {
		return nil, fmt.Errorf("clear what an earlier run left: %w", err)
	}
	return l, l.run(ctx, "machines.sh", "clients")
}

// clear removes what a run that did not end well has left in the project.
func (l *local) clear(ctx context.Context) error {
	unlock := "update load_balancer set provisioning_status='ERROR' where provisioning_status like 'PENDING%'"
	err := errors.Join(l.run(ctx, "machines.sh", "down"), l.run(ctx, "ctl.sh", "sql", "octavia", unlock))
	if err != nil {
		return err
	}
	pages, err := servers.List(l.api.Compute, nil).AllPages(ctx)
	if err != nil {
		return err
	}
	left, err := servers.ExtractServers(pages)
	if err != nil {
		return err
	}
	for _, server := range left {
		if err := servers.Delete(ctx, l.api.Compute, server.ID).ExtractErr(); err != nil {
			return err
		}
	}
	return l.api.clear(ctx)
}

// run runs one of the scripts.
func (l *local) run(ctx context.Context, script string, args ...string) error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	command := exec.CommandContext(ctx, filepath.Join(l.scripts, script), args...)
	command.Env = append(os.Environ(), "E2E_STATE="+l.state)
	command.WaitDelay = 10 * time.Second // daemons that it starts hold its output open
	output, err := command.CombinedOutput()
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return fmt.Errorf("%s %s: %w\n%s", script, strings.Join(args, " "), err, output)
	}
	return nil
}

func (l *local) CloudConf() string {
	text, err := os.ReadFile(filepath.Join(l.state, "cloud.conf"))
	if err != nil {
		return fmt.Sprintf("# %v", err)
	}
	return string(text)
}

func (l *local) API() *API                    { return l.api }
func (l *local) Traffic(provider string) bool { return provider == "ovn" }
func (l *local) Outside() netns.Namespace     { return "e2e-ext" }
func (l *local) Inside() netns.Namespace      { return "e2e-client" }
func (l *local) SubnetV6() string             { return l.info.SubnetV6 }
func (l *local) Unused(n int) string          { return fmt.Sprintf("10.6.255.%d", 100+n) }
func (l *local) Pause() time.Duration         { return 500 * time.Millisecond }
func (l *local) Nature() Nature               { return l }

func (l *local) AddMachine(ctx context.Context, name string) (Machine, error) {
	pages, err := flavors.ListDetail(l.api.Compute, nil).AllPages(ctx)
	if err != nil {
		return Machine{}, err
	}
	known, err := flavors.ExtractFlavors(pages)
	if err != nil {
		return Machine{}, err
	}
	small := slices.MinFunc(known, func(a, b flavors.Flavor) int { return a.RAM - b.RAM })
	server, err := servers.Create(ctx, l.api.Compute, servers.CreateOpts{
		Name: name, FlavorRef: small.ID, ImageRef: l.info.Image,
		Networks: []servers.Network{{UUID: l.info.Network}}, SecurityGroups: []string{"k8s-nodes"},
	}, nil).Extract()
	if err != nil {
		return Machine{}, fmt.Errorf("create server %s: %w", name, err)
	}
	port, err := l.portOf(ctx, server.ID)
	if err != nil {
		return Machine{}, fmt.Errorf("port of server %s: %w", name, err)
	}
	machine := Machine{ServerID: server.ID, Namespace: netns.Namespace("e2e-" + name)}
	args := []string{"plug", name, port.ID, port.MACAddress}
	for _, ip := range port.FixedIPs {
		address, err := netip.ParseAddr(ip.IPAddress)
		if err != nil {
			return Machine{}, err
		}
		machine.Addresses = append(machine.Addresses, address)
	}
	slices.SortFunc(machine.Addresses, netip.Addr.Compare) // IPv4 comes before IPv6
	for _, address := range machine.Addresses {
		length := "/16"
		if address.Is6() {
			length = "/64"
		}
		args = append(args, address.String()+length)
	}
	if err := l.run(ctx, "machines.sh", args...); err != nil {
		return Machine{}, err
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.machines[name] = machine
	return machine, nil
}

// portOf waits until Nova has made the server's port, and is done with it.
func (l *local) portOf(ctx context.Context, server string) (port ports.Port, err error) {
	return port, await.Every(ctx, l.Pause(), func(ctx context.Context) error {
		found, err := servers.Get(ctx, l.api.Compute, server).Extract()
		if err != nil {
			return err
		}
		if found.Status != "ACTIVE" {
			return fmt.Errorf("server is %s", found.Status)
		}
		pages, err := ports.List(l.api.Network, ports.ListOpts{DeviceID: server}).AllPages(ctx)
		if err != nil {
			return err
		}
		all, err := ports.ExtractPorts(pages)
		if err != nil || len(all) != 1 {
			return fmt.Errorf("it has %d ports: %w", len(all), err)
		}
		port = all[0]
		return nil
	})
}

func (l *local) RemoveMachine(ctx context.Context, name string) error {
	l.mutex.Lock()
	machine := l.machines[name]
	delete(l.machines, name)
	l.mutex.Unlock()
	err := servers.Delete(ctx, l.api.Compute, machine.ServerID).ExtractErr()
	return errors.Join(err, l.run(ctx, "machines.sh", "unplug", name))
}

// Fail implements Nature, in the database.
func (l *local) Fail(ctx context.Context, loadBalancerID string) error {
	return l.run(ctx, "ctl.sh", "sql", "octavia", fmt.Sprintf("update load_balancer set provisioning_status='ERROR' where id='%s'", loadBalancerID))
}

// StopOctavia implements Nature.
func (l *local) StopOctavia(ctx context.Context) (func(context.Context) error, error) {
	start := func(ctx context.Context) error { return l.run(ctx, "ctl.sh", "restart", "octavia-api") }
	return start, l.run(ctx, "ctl.sh", "stop", "octavia-api")
}

// LimitLoadBalancers implements Nature.
func (l *local) LimitLoadBalancers(ctx context.Context, limit int) (func(context.Context) error, error) {
	return l.admin.limitLoadBalancers(ctx, l.info.Project, limit)
}

// RevokeTokens implements Nature: a password that is set, be it to what it was,
// revokes the user's tokens in Keystone. The services believe for five minutes what
// it told them of a token before, so that has to be forgotten too.
func (l *local) RevokeTokens(ctx context.Context) error {
	identity, err := openstack.NewIdentityV3(l.admin.Compute.ProviderClient, gophercloud.EndpointOpts{Region: region})
	if err != nil {
		return err
	}
	pages, err := users.List(identity, users.ListOpts{Name: "k8s"}).AllPages(ctx)
	if err != nil {
		return err
	}
	all, err := users.ExtractUsers(pages)
	if err != nil || len(all) != 1 {
		return fmt.Errorf("%d users have the name k8s: %w", len(all), err)
	}
	if _, err := users.Update(ctx, identity, all[0].ID, users.UpdateOpts{Password: l.password}).Extract(); err != nil {
		return err
	}
	return l.run(ctx, "ctl.sh", "forget")
}

// Close deletes the servers.
func (l *local) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	l.mutex.Lock()
	names := make([]string, 0, len(l.machines))
	for name := range l.machines {
		names = append(names, name)
	}
	l.mutex.Unlock()
	var errs []error
	for _, name := range names {
		errs = append(errs, l.RemoveMachine(ctx, name))
	}
	return errors.Join(append(errs, l.run(ctx, "machines.sh", "down"))...)
}
