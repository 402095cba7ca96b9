package goal

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

func TestFilled_ReturnsAllMembersAndLeavesTheTemplateAsItIs(t *testing.T) {
	t.Parallel()
	backend := func(name, address string) members.Backend {
		return members.Backend{Node: &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, Address: address}
	}
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
