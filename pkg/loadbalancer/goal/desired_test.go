package goal

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/desire"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/settings"
)

func backend(name, address string) members.Backend {
	return members.Backend{Node: &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, Address: address}
}

// Where only members change, a round remembers the template.
func TestNodeless_IsTheSameOfATemplateAsOfAllMembers(t *testing.T) {
	t.Parallel()
	at := func(addresses ...string) *model.LoadBalancer {
		pool := model.Pool{}
		for _, address := range addresses {
			pool.Members = append(pool.Members, model.Member{Address: address, SubnetID: "subnet of " + address})
		}
		return &model.LoadBalancer{Listeners: []model.Listener{{Port: 80, Pool: pool}}}
	}
	template := at("")
	two := []members.Backend{backend("a", "10.0.0.1"), backend("b", "10.0.0.2")}
	subnets := map[string]string{"10.0.0.1": "subnet of 10.0.0.1", "10.0.0.2": "another subnet"}
	for name, test := range map[string]struct {
		backends []members.Backend
		have     *model.LoadBalancer
		tells    bool
	}{
		"as it would be made":      {two, at("10.0.0.1"), true},
		"in another subnet":        {two, at("10.0.0.1", "10.0.0.2"), false},
		"a member that is no more": {two, at("10.0.0.1", "10.0.0.3"), false},
		"no nodes":                 {nil, at(), false},
	} {
		brief := &Desired{LoadBalancer: template, template: template, members: &members.Set{ByAddress: test.backends}, Facts: desire.Facts{MemberSubnets: subnets}}
		full := &Desired{LoadBalancer: brief.Filled().LoadBalancer}
		of, ofAll := nodeless(brief, test.have, &settings.Settings{}), nodeless(full, test.have, &settings.Settings{})
		if of != ofAll || (of != "") != test.tells {
			t.Errorf("%s: %q of the template, %q of all members", name, of, ofAll)
		}
	}
}

func TestFilled_ReturnsAllMembersAndLeavesTheTemplateAsItIs(t *testing.T) {
	t.Parallel()
	template := &model.LoadBalancer{Listeners: []model.Listener{{Pool: model.Pool{Members: []model.Member{{Port: 30080}}}}}}
	want := &Desired{
		LoadBalancer: template, template: template,
		members: &members.Set{ByAddress: []members.Backend{backend("a", "10.0.0.1"), backend("b", "10.0.0.2")}},
	}
	filled := want.Filled()
	got := filled.LoadBalancer.Listeners[0].Pool.Members
	if len(got) != 2 || got[0].Address != "10.0.0.1" || got[1].Name != "b" || got[1].Port != 30080 {
		t.Errorf("members are %+v", got)
	}
	if want.LoadBalancer != template || len(template.Listeners[0].Pool.Members) != 1 {
		t.Errorf("the template is %+v", want.LoadBalancer)
	}
	if filled.Filled() != filled {
		t.Error("what is filled is filled again")
	}
	if nothing := (&Desired{}); nothing.Filled() != nothing {
		t.Error("nothing is filled")
	}
}
