package replay

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/google/uuid"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/keystone"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// recorderProject is the project of every caller of a sequence.
const recorderProject = "11111111111111111111111111111111"

// newBench sets a simulator up as the recorder of a sequence set up Octavia:
// with the no-op provider and network, and no worker.
func newBench(release string, recording Recording) (*machine, error) {
	m := newMachine()
	providers, descriptions := recordedProviders(recording)
	options := octavia.Options{
		Release: release, Clock: m.clock, Network: anyNetwork{m.next}, NewID: m.next.take,
		Providers: providers, Descriptions: descriptions,
		Quota: recordedQuota(recording), PageLimit: recordedPageLimit(recording),
		// Nothing settles by itself: events of the recording do it.
		Delays: map[string]octavia.Delays{"": {Create: never, Update: never, Delete: never}},
	}
	if err := m.start(options); err != nil {
		return nil, err
	}
	return m, nil
}

const never = 1000 * time.Hour

func newMachine() *machine {
	return &machine{
		clock:    &ticking{clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))},
		patterns: newPatterns(), ids: map[string]string{}, next: &planned{},
	}
}

func (m *machine) start(options octavia.Options) error {
	if err := octavia.CheckRelease(options.Release); err != nil {
		return err
	}
	m.octavia = octavia.New(options)
	m.handler = m.octavia
	return nil
}

// caller returns the sender of a request in the recording; false means that its
// token is invalid.
func (m *machine) caller(step Step) (keystone.Caller, bool) {
	if m.site != nil {
		caller, known := m.site.callers[step.As]
		return caller, known
	}
	return keystone.Caller{UserID: "recorder", ProjectID: recorderProject, Roles: strings.Split(step.Roles, ",")}, true
}

// recordedProviders are the providers that the recording's Octavia has, the
// no-op one first: it is the default of recordings.
func recordedProviders(recording Recording) ([]string, map[string]string) {
	for _, step := range recording.Steps {
		var answer struct {
			Providers []struct{ Name, Description string }
		}
		if step.Status != http.StatusOK || !strings.HasSuffix(step.Path, "/lbaas/providers") ||
			json.Unmarshal([]byte(step.Response), &answer) != nil {
			continue
		}
		names, descriptions := []string{octavia.ProviderNoop}, map[string]string{}
		for _, provider := range answer.Providers {
			descriptions[provider.Name] = provider.Description
			if provider.Name != octavia.ProviderNoop {
				names = append(names, provider.Name)
			}
		}
		return names, descriptions
	}
	return []string{octavia.ProviderNoop, octavia.ProviderAmphora, octavia.ProviderAlias}, nil
}

// recordedQuota returns a project's quota in the recording before the first change
// of it.
func recordedQuota(recording Recording) map[string]int {
	for _, step := range recording.Steps {
		if !strings.Contains(step.Path, "/quotas/") {
			continue
		}
		var answer struct{ Quota map[string]any }
		if step.Method != http.MethodGet {
			return nil
		}
		if step.Status == http.StatusOK && json.Unmarshal([]byte(step.Response), &answer) == nil {
			quota := map[string]int{}
			for class, value := range answer.Quota {
				limit, is := value.(float64)
				if !is {
					continue
				}
				quota[strings.ReplaceAll(strings.ReplaceAll(class, "load_balancer", "loadbalancer"), "health_monitor", "healthmonitor")] = int(limit)
			}
			return quota
		}
	}
	return nil
}

// recordedPageLimit returns pagination_max_limit, which is the size of the first page that was
// requested without a limit; 0 if there is none.
func recordedPageLimit(recording Recording) int {
	for _, step := range recording.Steps {
		target, err := url.Parse(step.Path)
		if err != nil || step.Method != http.MethodGet || target.Query().Has("limit") {
			continue
		}
		if strings.Contains(step.Response, "'>=' not supported") {
			return octavia.UnlimitedPages
		}
		_, after, found := strings.Cut(step.Response, "?limit=")
		limit, _, _ := strings.Cut(after, "&")
		switch number, err := strconv.Atoi(limit); {
		case !found:
		case err != nil:
			return octavia.UnlimitedPages
		default:
			return number
		}
	}
	return 0
}

// anyNetwork has everything, as the no-op network driver of the recordings.
type anyNetwork struct{ next *planned }

func (n anyNetwork) CreatePort(spec neutron.PortSpec) (neutron.Port, error) {
	port := neutron.Port{ID: n.next.take("port", nil), Name: spec.Name, NetworkID: cmp.Or(spec.NetworkID, uuid.NewString()), FixedIPs: spec.FixedIPs}
	if len(port.FixedIPs) == 0 {
		port.FixedIPs = []neutron.FixedIP{{SubnetID: spec.SubnetID}}
	}
	port.FixedIPs[0].Address = cmp.Or(port.FixedIPs[0].Address, "198.51.100.1")
	return port, nil
}

func (anyNetwork) DeletePort(string) error { return nil }

func (anyNetwork) Port(id string) (neutron.Port, error) { return neutron.Port{ID: id}, nil }

func (anyNetwork) HasAddress(string) bool { return true }

func (anyNetwork) Subnet(id string) (neutron.Subnet, error) { return neutron.Subnet{ID: id}, nil }

func (anyNetwork) HasFree(string, int) bool   { return true }
func (anyNetwork) FloatingIPOf(string) string { return "" }

func (anyNetwork) Network(id string) (neutron.Network, error) { return neutron.Network{ID: id}, nil }
