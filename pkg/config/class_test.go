package config

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestClass_HasOnlyKeysOfSection(t *testing.T) {
	t.Parallel()
	section, class := reflect.TypeFor[LoadBalancer](), reflect.TypeFor[LoadBalancerClass]()
	for i := range class.NumField() {
		key := class.Field(i)
		field, ok := section.FieldByName(key.Name)
		if !ok || field.Tag.Get("gcfg") != key.Tag.Get("gcfg") {
			t.Errorf("[LoadBalancer] has no %s", key.Tag.Get("gcfg"))
		}
	}
}

// TestClass_OverridesSection sets every key of a class, and each by itself.
//
//proves:34
func TestClass_OverridesSection(t *testing.T) {
	t.Parallel()
	conf := mustLoad(t, signIn+`[LoadBalancer]
lb-provider=amphora
create-monitor=true
internal-lb=true
monitor-delay=10
timeout-client-data=1000
timeout-tcp-inspect=7
subnet-id=section
network-id=section
floating-subnet=section-*
[LoadBalancerClass "gold"]
lb-provider=ovn
create-monitor=false
internal-lb=no
monitor-delay=20
timeout-client-data=0
subnet-id=class
floating-subnet-id=class
[LoadBalancerClass "empty"]
`)
	lb, gold := conf.LoadBalancer, conf.LoadBalancer.With(conf.LoadBalancerClass["gold"])
	want := lb
	want.LBProvider, want.CreateMonitor, want.InternalLB, want.MonitorDelay = "ovn", false, false, seconds(20)
	want.TimeoutClientData = new(int)
	want.SubnetID, want.NetworkID = "class", ""
	want.FloatingSubnetID, want.FloatingSubnet = "class", ""
	if diff := cmp.Diff(want, gold); diff != "" {
		t.Error(diff)
	}
	for _, class := range []*LoadBalancerClass{conf.LoadBalancerClass["empty"], nil} {
		if diff := cmp.Diff(lb, lb.With(class)); diff != "" {
			t.Error(diff)
		}
	}
}
