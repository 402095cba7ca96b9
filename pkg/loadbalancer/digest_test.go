package loadbalancer

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/desire"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
)

// A Service whose digest is as it was is left alone: so every field of what is desired
// has to be in it. Here each is changed by itself.
func TestEveryFieldOfWhatIsDesiredIsInTheDigest(t *testing.T) {
	t.Parallel()
	monitor := &model.Monitor{Tags: []string{"t"}}
	lb := &model.LoadBalancer{
		Tags: []string{"t"}, VIP: model.VIP{VIPSettings: model.VIPSettings{SecurityGroupIDs: []string{"sg"}}},
		Listeners: []model.Listener{{
			Tags: []string{"t"}, AllowedCIDRs: []string{"c"}, InsertHeaders: []string{"h"},
			Pool: model.Pool{Tags: []string{"t"}, Members: []model.Member{{}}, Monitor: monitor},
		}},
		FloatingIP: &model.FloatingIP{SubnetIDs: []string{"s"}, Tags: []string{"t"}},
	}
	settings, wish := desire.Settings{}, &securitygroup.Wish{}
	before := digestOf(lb, settings, wish)
	seen := map[string]bool{before: true}
	changed := 0
	for name, undo := range changes(reflect.ValueOf(lb).Elem(), "LoadBalancer") {
		changed++
		if digest := digestOf(lb, settings, wish); seen[digest] {
			t.Errorf("%s is not in the digest, or not told from another field", name)
		} else {
			seen[digest] = true
		}
		undo()
	}
	if changed < 50 || digestOf(lb, settings, wish) != before {
		t.Errorf("%d fields were changed, and the digest is as before: %v", changed, digestOf(lb, settings, wish) == before)
	}
}

// changes changes one field after another, at any depth, with its name and how to undo it.
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
	}
	return true
}

// Settings that are not part of what is desired are in the digest by themselves, or do
// not matter to a load balancer that is there. Who adds one has to say which.
func TestEverySettingIsInTheDigestSomehow(t *testing.T) {
	t.Parallel()
	itself := map[string]func(*desire.Settings){
		"Floating":         func(s *desire.Settings) { s.Floating.Pattern = "x" },
		"FlavorID":         func(s *desire.Settings) { s.FlavorID = "x" },
		"AvailabilityZone": func(s *desire.Settings) { s.AvailabilityZone = "x" },
		"MemberSubnetID":   func(s *desire.Settings) { s.MemberSubnetID = "x" },
		"AllowReplace":     func(s *desire.Settings) { s.AllowReplace = true },
	}
	known := strings.Fields(`
		Family Internal LoadBalancerIP Provider Method SubnetID NetworkID PortID VIPAddress VIP Monitor Listeners servesTCP
		NodeSelector MembersIn Seed MaxMembers SourceRanges SecurityGroups Tags`) // build makes the desired model, or the wish, of them
	known = append(known, strings.Fields(`
		LoadBalancerID KeepFloatingIP Hostname HostnameSuffix ProviderAsked MethodAsked MethodOfClass
		methodOtherwise rangesAnnotated Malformed exists`)...) // which load balancer it is; what becomes of it later, is published or told
	known = slices.AppendSeq(known, maps.Keys(itself))
	of := reflect.TypeFor[desire.Settings]()
	for i := range of.NumField() {
		if name := of.Field(i).Name; !slices.Contains(known, name) {
			t.Errorf("build.Settings.%s is new: a Service where it changes must get another digest, or not need one", name)
		}
	}
	for name, change := range itself {
		changed := desire.Settings{}
		change(&changed)
		if digestOf(&model.LoadBalancer{}, changed, nil) == digestOf(&model.LoadBalancer{}, desire.Settings{}, nil) {
			t.Errorf("%s is not in the digest", name)
		}
	}
}
