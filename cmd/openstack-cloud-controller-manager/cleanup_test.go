package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulated"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
)

func TestProgram_CleansUp(t *testing.T) {
	t.Parallel()
	env := simulated.New(t, simulator.Options{})
	made, err := env.SignIn(openstack.SessionOptions{}).Octavia().CreateLoadBalancer(t.Context(), octavia.LoadBalancer{
		Name: "kube_service_prod_default_web", VIPSubnetID: env.Cloud.Subnet.ID, Tags: []string{"kube_cluster_id_5a1c0f6e-0a66-4b0e-9c4d-5f0b7f6c2a11", "kube_svc_uid_s1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	env.Settle()
	conf := "--cloud-config=" + file(t, "cloud.conf", env.Cloud.CloudConf())

	type report struct {
		Cluster struct{ ID, Name string }
		Items   []struct{ Kind, ID, Name, State string }
		Code    int `json:"exitCode"`
	}
	asJSON := func(code int, arguments ...string) (r report) {
		t.Helper()
		got := runProgram(t, nil, append([]string{"/bin/" + programName, "cleanup", conf, "--output=json"}, arguments...)...)
		if got.code != code {
			t.Errorf("%q: exit code %d, want %d: %s", arguments, got.code, code, got.errors)
		}
		if err := json.Unmarshal([]byte(got.out), &r); err != nil {
			t.Errorf("%v: %s", err, got.out)
		}
		return r
	}
	if r := asJSON(3, "--cluster-name=prod"); r.Cluster.ID != "5a1c0f6e-0a66-4b0e-9c4d-5f0b7f6c2a11" || r.Cluster.Name != "prod" || r.Code != 3 ||
		len(r.Items) != 1 || r.Items[0].Kind != "load-balancer" || r.Items[0].ID != made.ID || r.Items[0].State != "found" {
		t.Errorf("found %+v", r)
	}
	if r := asJSON(5, "--cluster-id=5a1c0f6e-0a66-4b0e-9c4d-5f0b7f6c2a12"); r.Items == nil || len(r.Items) > 0 {
		t.Errorf("of another cluster %+v", r)
	}
	off := "--cloud-config=" + file(t, "off.conf", env.Cloud.CloudConf()+"enabled=false\n")
	if got := runProgram(t, nil, "cleanup", off, "--cluster-name=prod"); got.code != 3 || !strings.Contains(got.out, made.ID) ||
		!strings.HasPrefix(got.out, "cloud "+env.Cloud.AuthURL()+", project ") || !strings.Contains(got.out, env.Cloud.Account.ProjectID) || !strings.Contains(got.out, ", region RegionOne\n") {
		t.Errorf("whatever cloud.conf enables: %+v", got)
	}
	text := runProgram(t, nil, "cleanup", conf, "--cluster-id=5a1c0f6e-0a66-4b0e-9c4d-5f0b7f6c2a11", "--yes")
	if text.code != 0 || !strings.Contains(text.out, "removed") || !strings.HasSuffix(text.out, "cluster ID 5a1c0f6e-0a66-4b0e-9c4d-5f0b7f6c2a11: 0 found, 1 removed, 0 failed, 0 kept, 0 left-alone\n") {
		t.Errorf("removed: %+v", text)
	}
	if r := asJSON(5, "--cluster-id=5a1c0f6e-0a66-4b0e-9c4d-5f0b7f6c2a11", "--yes"); len(r.Items) > 0 {
		t.Errorf("again %+v", r)
	}
	if got := runProgram(t, nil, "cleanup", conf+".gone", "--cluster-id=5a1c0f6e-0a66-4b0e-9c4d-5f0b7f6c2a11"); got.code != 1 || got.out != "" || !strings.HasPrefix(got.errors, "Error: ") {
		t.Errorf("without a cloud.conf: %+v", got)
	}
	if got := runProgram(t, nil, "cleanup", conf, "--cluster-id=5a1c0f6e-0a66-4b0e-9c4d-5f0b7f6c2a11", "--cluster-cidr=10.244.0.0/16"); got.code != 1 || !strings.Contains(got.errors, "router-id") {
		t.Errorf("pod networks without a router: %+v", got)
	}
	if got := runProgram(t, nil, "cleanup", "--help"); got.code != 0 || !strings.Contains(got.out, "--cluster-id") || strings.Contains(got.out, "--leader-elect") {
		t.Errorf("help: %+v", got)
	}
}
