package replay_test

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/keystone"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/replay"
)

// The exchanges of Zed have the same answers when they are repeated on a simulated Zed. The exchanges
// written for a release replay on it.
func TestRepeat_WritesExchangesThatReplay(t *testing.T) {
	t.Parallel()
	for _, release := range []string{"zed", "2025.1"} {
		for provider, count := range map[string]int{"amphora": 300, "ovn": 216} {
			t.Run(release+" "+provider, func(t *testing.T) {
				t.Parallel()
				files, err := filepath.Glob(filepath.Join("testdata", "zed", provider, "*.json"))
				if err != nil {
					t.Fatal(err)
				}
				directory := t.TempDir()
				synctest.Test(t, func(t *testing.T) {
					repeated, err := replay.Repeat(t.Context(), newPlace(t, release, provider), files...)
					if err != nil {
						t.Fatal(err)
					}
					for _, one := range repeated {
						if len(one.Differences) > 0 && release == "zed" {
							t.Errorf("%s differs:\n%s", one.Name, strings.Join(one.Differences, "\n"))
						}
						if err := os.WriteFile(filepath.Join(directory, one.Name), one.Text, 0o600); err != nil {
							t.Fatal(err)
						}
					}
				})
				replayed(t, release, filepath.Join(directory, "*.json"), count)
			})
		}
	}
}

// place is a simulated Octavia with a network.
type place struct {
	octavia  *octavia.Octavia
	neutron  *neutron.Neutron
	delays   map[string]octavia.Delays
	provider string
	failing  bool
	subnet   [2]neutron.Subnet // of IPv4 and IPv6
}

const project = "0123456789abcdef0123456789abcdef"

func newPlace(t *testing.T, release, provider string) *place {
	t.Helper()
	p := &place{neutron: neutron.New(neutron.Options{}), delays: map[string]octavia.Delays{}, provider: provider}
	network := p.neutron.AddNetwork(neutron.NetworkSpec{Name: "net", ProjectID: project})
	for i, spec := range []neutron.SubnetSpec{
		{Name: "v4", NetworkID: network.ID, CIDR: "10.6.0.0/16"},
		{Name: "v6", NetworkID: network.ID, CIDR: "fd00:6::/64", AddressMode: "dhcpv6-stateful"},
	} {
		var err error
		if p.subnet[i], err = p.neutron.AddSubnet(spec); err != nil {
			t.Fatal(err)
		}
	}
	p.octavia = octavia.New(octavia.Options{
		Release: release, Network: p.neutron, Delays: p.delays, Quirks: octavia.Quirks{SecondResolution: true},
		Descriptions: map[string]string{
			"amphora": "The Octavia Amphora driver (rig noop back end)", "octavia": "Deprecated alias of the Octavia Amphora driver",
			"ovn": "Octavia OVN driver",
		},
	})
	t.Cleanup(p.octavia.Close)
	return p
}

func (p *place) Known() (projectID, network, subnet, subnet6 string) {
	return project, p.subnet[0].NetworkID, p.subnet[0].ID, p.subnet[1].ID
}

func (p *place) Provide(_ context.Context, delay time.Duration, fail bool) error {
	synctest.Wait() // nothing reads the delays now
	p.delays[p.provider] = octavia.Delays{Create: delay, Update: delay, Delete: delay}
	p.failing = fail
	return nil
}

func (p *place) Port(context.Context) (id, address string, err error) {
	port, err := p.neutron.CreatePort(neutron.PortSpec{ProjectID: project, SubnetID: p.subnet[0].ID, Name: "user-port"})
	if err != nil {
		return "", "", err
	}
	return port.ID, port.FixedIPs[0].Address, nil
}

func (p *place) Send(ctx context.Context, caller, method, path, body string, header map[string]string) (*httptest.ResponseRecorder, error) {
	time.Sleep(time.Second) // lists are in the order of creation, in whole seconds
	member := []string{"load-balancer_member", "member", "reader"}
	from, known := map[string]keystone.Caller{
		"k8s":   {UserID: "k8s", ProjectID: project, Roles: member},
		"other": {UserID: "other", ProjectID: "another-project", Roles: member},
		"admin": {UserID: "admin", ProjectID: "admin-project", Roles: []string{"admin", "member", "reader"}},
	}[caller]
	request := httptest.NewRequestWithContext(ctx, method, strings.ReplaceAll(path, " ", "%20"), strings.NewReader(body))
	request.Host = "127.0.0.1:9876"
	request.Header.Set("Accept", "application/json")
	for key, value := range maps.All(header) {
		request.Header.Set(key, value)
	}
	answer := httptest.NewRecorder()
	if !known {
		keystone.New(keystone.Options{}).Authenticate(p.octavia).ServeHTTP(answer, request)
		return answer, nil
	}
	fails := p.failing && method != http.MethodGet
	if fails {
		p.octavia.FailNext(operation(method, path), 1)
	}
	p.octavia.ServeHTTP(answer, request.WithContext(keystone.WithCaller(ctx, from)))
	if fails && answer.Code >= http.StatusBadRequest {
		p.octavia.FailNext(operation(method, path), -1) // it was refused
	}
	return answer, nil
}

// operation returns the work of the provider that a request is.
func operation(method, path string) octavia.Operation {
	switch {
	case method == http.MethodPost && strings.HasSuffix(path, "/loadbalancers"):
		return octavia.OperationCreate
	case method == http.MethodDelete && strings.Contains(path, "/loadbalancers/"):
		return octavia.OperationDelete
	default:
		return octavia.OperationUpdate
	}
}
