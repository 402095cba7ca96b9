package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

//proves:94
func TestChanges_NameSettingsThatDiffer(t *testing.T) {
	t.Parallel()
	read := func(text string) *Config {
		t.Helper()
		c, _, err := Load(strings.NewReader("[Global]\nauth-url=http://keystone\nuser-id=ccm\ntenant-id=p\n"+text), nil)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	before := read("password=one\n[LoadBalancer]\ntimeout-client-data=1\n[LoadBalancerClass \"gone\"]\n[LoadBalancerClass \"other\"]\nsubnet-id=a\n[LoadBalancerClass \"same\"]\n[Networking]\npublic-network-name=a\n")
	after := read("password=two\nregion=R\n[LoadBalancer]\ntimeout-client-data=2\n[LoadBalancerClass \"new\"]\n[LoadBalancerClass \"other\"]\nsubnet-id=b\n[LoadBalancerClass \"same\"]\n[Networking]\npublic-network-name=b\n")
	want := []Change{
		{Setting: "[Global] password", Global: true},
		{Setting: "[Global] region", Global: true, Restart: true},
		{Setting: "[LoadBalancer] timeout-client-data"},
		{Setting: `[LoadBalancerClass "gone"]`},
		{Setting: `[LoadBalancerClass "new"]`},
		{Setting: `[LoadBalancerClass "other"]`},
		{Setting: "[Networking] public-network-name", Restart: true},
	}
	if diff := cmp.Diff(want, Changes(before, after)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if same := Changes(after, read("password=two\nregion=R\n[LoadBalancer]\ntimeout-client-data=2\n[LoadBalancerClass \"new\"]\n[LoadBalancerClass \"other\"]\nsubnet-id=b\n[LoadBalancerClass \"same\"]\n[Networking]\npublic-network-name=b\n")); same != nil {
		t.Errorf("the same text read twice differs in %v", same)
	}
}
