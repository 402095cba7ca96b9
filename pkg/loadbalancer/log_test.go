package loadbalancer_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/loglines"
	simneutron "github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// At the verbosity of the manifests each change has one line with all its details, and nothing else
// is logged. cloudprovider adds the Service.
//
//proves:102
func TestLog_HasOneLineForEachChange(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: map[string]string{"manage-security-groups": "true"}})
	var log *loglines.Log
	env.ctx, log = loglines.At(env.ctx, 2)
	svc, nodes := service("web", 1), env.nodes(2)
	env.ensure(svc, nodes[:1]) // first, because it creates the object of the lines
	lb, fip := env.loadBalancer(), env.Cloud.Neutron.FloatingIPs()[0]
	groups := env.Cloud.Neutron.SecurityGroups()
	group := groups[slices.IndexFunc(groups, func(g simneutron.SecurityGroup) bool { return strings.HasPrefix(g.Name, "lb-sg-") })]
	onGroup, onBalancer, onFloatingIP := "securityGroup="+group.ID, "loadBalancer="+lb.ID, "floatingIP="+fip.ID
	for _, operation := range []struct {
		name string
		do   func()
		want [][]string
	}{
		{"create", func() {}, [][]string{
			{"security group " + group.Name + ": create", onGroup},
			{"security group " + group.Name + ": allow tcp/30080 from " + env.Cloud.Subnet.CIDR, onGroup},
			{"security group " + group.Name + ": put on the ports of node-0", onGroup},
			{"load balancer " + lb.Name + ": create (amphora) with TCP/80 and 1 member", onBalancer},
			{"floating IP: create on network " + fip.NetworkID, onFloatingIP, onBalancer},
		}},
		{"update", func() { env.ensure(svc, nodes) }, [][]string{
			{"security group " + group.Name + ": put on the ports of node-1", onGroup},
			{"pool TCP/80: member +node-1=" + nodes[1].Status.Addresses[0].Address + ":30080", onBalancer, "made"},
		}},
		{"delete", func() { env.delete(svc) }, [][]string{
			{"load balancer " + lb.Name + " (" + lb.ID + "): delete", onBalancer},
			{"floating IP " + fip.Address + ": delete", onFloatingIP},
			{"security group " + group.ID + ": take off all ports and delete", onGroup},
		}},
	} {
		operation.do()
		writes := len(env.Cloud.RequestLog.Requests(requestlog.Writes()))
		var got [][]string
		requests := 0
		for _, line := range log.Take() {
			got = append(got, append([]string{fmt.Sprint(line["step"])}, idsOf(t, line)...))
			ids, _ := line["requestIDs"].([]any)
			requests += len(ids)
		}
		if diff := cmp.Diff(operation.want, got); diff != "" {
			t.Errorf("%s: the log has (-want +got):\n%s", operation.name, diff)
		}
		if requests != writes {
			t.Errorf("%s: the log has the IDs of %d requests, sent were %d", operation.name, requests, writes)
		}
		env.Cloud.RequestLog.Reset()
	}
}

// idsOf returns the IDs in the line of a change, in order. The test fails if the line lacks a field
// that all lines have.
func idsOf(t *testing.T, line loglines.Line) []string {
	t.Helper()
	if line["msg"] != "Changed the cloud" || line["took"] == nil || !strings.HasPrefix(fmt.Sprint(line["globalRequestID"]), "req-") {
		t.Errorf("the log has the line %v", line)
	}
	requests, _ := line["requestIDs"].([]any)
	for _, id := range requests {
		if !strings.HasPrefix(fmt.Sprint(id), "req-") {
			t.Errorf("the ID of a request is %v", id)
		}
	}
	var ids []string
	for _, key := range slices.Sorted(maps.Keys(line)) {
		switch key {
		case "securityGroup", "loadBalancer", "floatingIP":
			ids = append(ids, key+"="+fmt.Sprint(line[key]))
		case "made": // known from no other source
			ids = append(ids, key)
		}
	}
	return ids
}
