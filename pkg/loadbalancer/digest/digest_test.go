package digest

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
)

// A Service with the same digest is not changed: so every desired field must be part of it. Each is
// changed separately.
func TestOf_ChangesWithEveryDesiredField(t *testing.T) {
	t.Parallel()
	monitor := &model.Monitor{Tags: []string{"t"}}
	lb := &model.LoadBalancer{
		Tags: []string{"t"}, VIP: model.VIP{Additional: []model.AdditionalVIP{{}}, VIPSettings: model.VIPSettings{SecurityGroupIDs: []string{"sg"}}},
		Listeners: []model.Listener{{
			Tags: []string{"t"}, AllowedCIDRs: []string{"c"}, InsertHeaders: []string{"h"},
			Pool: model.Pool{Tags: []string{"t"}, Members: model.MembersOf(model.Member{}), Monitor: monitor},
		}},
		FloatingIP: &model.FloatingIP{SubnetIDs: []string{"s"}, Tags: []string{"t"}},
		NextHops:   []string{"h"},
		Barred:     []string{"h"},
	}
	asked, spec := &settings.Settings{}, &securitygroup.Spec{}
	before := Of(lb, asked, spec)
	seen := map[string]bool{before: true}
	member := model.Member{}
	for name, undo := range changes(reflect.ValueOf(&member).Elem(), "Member") {
		changed := lb.Clone()
		changed.Listeners[0].Pool.Members = model.MembersOf(member)
		if now := Of(changed, asked, spec); seen[now] {
			t.Errorf("%s is not in the digest, or not told from another field", name)
		} else {
			seen[now] = true
		}
		undo()
	}
	if more := lb.Clone(); true {
		more.Listeners[0].Pool.Members = model.MembersOf(model.Member{}, model.Member{Address: "10.0.0.2"})
		more.Orphans = []model.Pool{{Members: more.Listeners[0].Pool.Members}}
		fewer := more.Clone()
		fewer.Orphans[0].Members = model.Members{}
		if Of(more, asked, spec) == Of(fewer, asked, spec) {
			t.Error("members of a pool without a listener are not in the digest")
		}
	}
	changed := 0
	for name, undo := range changes(reflect.ValueOf(lb).Elem(), "LoadBalancer") {
		changed++
		if now := Of(lb, asked, spec); seen[now] {
			t.Errorf("%s is not in the digest, or not told from another field", name)
		} else {
			seen[now] = true
		}
		undo()
	}
	if changed < 50 || Of(lb, asked, spec) != before {
		t.Errorf("%d fields were changed, and the digest is as before: %v", changed, Of(lb, asked, spec) == before)
	}
}

// The next process, perhaps of another version, compares the records of this one.
func TestOf_IsTheSameInEveryProgramThatWritesTheSameVersionOfRecords(t *testing.T) {
	t.Parallel()
	lb := &model.LoadBalancer{
		Name: "lb", Tags: []string{"t"}, Listeners: []model.Listener{{
			Port: 80, Pool: model.Pool{Members: model.MembersOf(model.Member{Port: 30080}), Monitor: &model.Monitor{Delay: 5}},
		}}, FloatingIP: &model.FloatingIP{NetworkID: "n"},
	}
	const recorded = "7371a6013390f47cce0856ca919620e1"
	if got := Of(lb, &settings.Settings{}, &securitygroup.Spec{}); got != recorded {
		t.Errorf("%s, want %s: where that is meant, raise recordVersion of package state", got, recorded)
	}
}

// changes yields each field, at any depth, changed, with its name and a function to undo the
// change.
func changes(v reflect.Value, name string) func(func(string, func()) bool) {
	return func(yield func(string, func()) bool) { change(v, name, yield) }
}

func change(v reflect.Value, name string, yield func(string, func()) bool) bool {
	set := func(to any) bool {
		before := reflect.ValueOf(v.Interface())
		v.Set(reflect.ValueOf(to).Convert(v.Type()))
		return yield(name, func() { v.Set(before) })
	}
	switch v.Kind() {
	case reflect.String:
		return set(v.String() + "x")
	case reflect.Bool:
		return set(!v.Bool())
	case reflect.Int:
		return set(v.Int() + 1)
	case reflect.Pointer:
		return v.IsNil() || change(v.Elem(), name, yield)
	case reflect.Slice:
		for i := range v.Len() {
			if !change(v.Index(i), fmt.Sprintf("%s[%d]", name, i), yield) {
				return false
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() && !change(v.Field(i), name+"."+field.Name, yield) {
				return false
			}
		}
	default: // no setting is of another kind
	}
	return true
}

// Settings that are not part of the desired load balancer are in the digest themselves, or have no
// effect on an existing one. Each new setting must be assigned here.
func TestOf_AccountsForEverySetting(t *testing.T) {
	t.Parallel()
	itself := map[string]func(*settings.Settings){
		"Floating.Pattern":              func(s *settings.Settings) { s.Floating.Pattern = "x" },
		"Floating.Tags":                 func(s *settings.Settings) { s.Floating.Tags = "x" },
		"LoadBalancer.FlavorID":         func(s *settings.Settings) { s.LoadBalancer.FlavorID = "x" },
		"LoadBalancer.AvailabilityZone": func(s *settings.Settings) { s.LoadBalancer.AvailabilityZone = "x" },
		"LoadBalancer.AllowReplace":     func(s *settings.Settings) { s.LoadBalancer.AllowReplace = true },
		"Members.Weights":               func(s *settings.Settings) { s.Members.Weights = "drain" },
		"Members.SubnetID":              func(s *settings.Settings) { s.Members.SubnetID = "x" },
	}
	known := strings.Fields(`
		Family Second Dual.Second VIP.AdditionalSubnetIDs Internal LoadBalancerIP LoadBalancer.Provider LoadBalancer.Tags Pools.Algorithm Pools.Persistence Pools.CookieName Monitor Listeners ports own
		Traffic.Ports Traffic.Local Traffic.HealthCheckNodePort Traffic.ClientAffinity Traffic.AffinityTimeout
		VIP.SubnetID VIP.NetworkID VIP.PortID VIP.Address VIP.VIPSettings Floating.ID Floating.Tag Floating.NetworkID Floating.SubnetID
		Members.Mode Members.nodes Members.BySubnet Members.Within Members.Adopted Members.Watch Members.NodeSelector Members.DefaultSubnetID Members.Seed Members.Max Members.NextHops Access.SourceRanges Access.SecurityGroupMode Metrics.Port Metrics.AllowedCIDRs`) // desire makes the desired model, or the security groups, of them
	known = append(known, strings.Fields(`
		LoadBalancer.ID LoadBalancer.Share LoadBalancer.ProviderAsked Floating.Keep Status.Hostname Status.HostnameSuffix Status.AlwaysNamed Status.IPMode Pools.AlgorithmAsked Pools.AlgorithmOfClass
		Pools.algorithmOtherwise Access.annotated Traffic.ownPorts Access.otherFamily Dual.Policy Malformed exists guest otherAddress parser service`)...) // which load balancer it is; what becomes of it later, is published or told
	known = slices.AppendSeq(known, maps.Keys(itself))
	for _, name := range settingNames(reflect.TypeFor[settings.Settings](), known) {
		if !slices.Contains(known, name) {
			t.Errorf("settings.Settings.%s is new: a Service where it changes must get another digest, or not need one", name)
		}
	}
	for name, change := range itself {
		changed := &settings.Settings{}
		change(changed)
		if Of(&model.LoadBalancer{}, changed, nil) == Of(&model.LoadBalancer{}, &settings.Settings{}, nil) {
			t.Errorf("%s is not in the digest", name)
		}
	}
}

// On a load balancer of another owner, which has its floating IP, the Service publishes one of the
// two addresses.
func TestOf_TellsInternalGuestFromOther(t *testing.T) {
	t.Parallel()
	guest := &model.LoadBalancer{Shared: &model.Shared{}}
	if Of(guest, &settings.Settings{Internal: true}, nil) == Of(guest, &settings.Settings{}, nil) {
		t.Error("it publishes what it did before")
	}
}

// settingNames returns the names of the settings, as group.name if those of a group differ.
func settingNames(of reflect.Type, alike []string) []string {
	var names []string
	for i := range of.NumField() {
		group := of.Field(i)
		if group.Type.Kind() != reflect.Struct || slices.Contains(alike, group.Name) {
			names = append(names, group.Name)
			continue
		}
		for n := range group.Type.NumField() {
			names = append(names, group.Name+"."+group.Type.Field(n).Name)
		}
	}
	return names
}
