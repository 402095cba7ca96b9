package control_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
)

// planted is the answer to a new fault or condition.
type planted struct {
	ID     string
	Status int
}

func TestFaults_AreRemovedOneByOne(t *testing.T) {
	t.Parallel()
	cloud := start(t)
	service := cloud.client(t)
	var first, second planted
	cloud.do(t, "POST", "faults", `{"kind": "conflict", "route": "/load-balancer/**"}`, 201, &first)
	cloud.do(t, "POST", "faults", `{"lag": "5s", "route": "/network/**", "skew": "-1s", "header": {"A": "b"}}`, 201, &second)
	_, err := loadbalancers.List(service, nil).AllPages(t.Context())
	if !gophercloud.ResponseCodeIs(err, 409) || !strings.Contains(err.Error(), "is immutable") {
		t.Errorf("answered %v", err)
	}
	var list struct {
		Faults []struct {
			ID    string
			Hits  int
			Fault map[string]any
		}
	}
	cloud.do(t, "GET", "faults", "", 200, &list)
	if len(list.Faults) != 2 || list.Faults[0].ID != first.ID || list.Faults[0].Hits != 1 || list.Faults[1].Fault["lag"] != "5s" {
		t.Errorf("in force is %+v", list)
	}
	cloud.do(t, "DELETE", "faults/"+first.ID, "", 204, nil)
	if _, err := loadbalancers.List(service, nil).AllPages(t.Context()); err != nil {
		t.Errorf("after the removal: %v", err)
	}
}

func TestConditions_AreAddedAndRemoved(t *testing.T) {
	t.Parallel()
	cloud := start(t)
	lb := cloud.balance(t).ID
	for _, body := range []string{
		`{"kind": "subnet-exhausted", "subnet": "` + cloud.Subnet.ID + `"}`,
		`{"kind": "quota", "resource": "port", "limit": 1}`,
		`{"kind": "catalog", "url": "http://moved.test"}`,
		`{"kind": "cell-down"}`,
		`{"kind": "held", "load_balancer": "` + lb + `", "provisioning_status": "PENDING_UPDATE", "for": "1h"}`,
		`{"kind": "foreign", "method": "GET", "path": "/network/v2.0/ports", "every": "1h"}`,
	} {
		var made planted
		cloud.do(t, "POST", "conditions", body, 201, &made)
		if list := cloud.Faults.List(); len(list) != 1 || list[0].ID != made.ID || list[0].Condition == "" {
			t.Errorf("%s: in force is %+v", body, list)
		}
		cloud.do(t, "DELETE", "faults/"+made.ID, "", 204, nil)
	}
	if len(cloud.Faults.List()) != 0 {
		t.Errorf("left is %+v", cloud.Faults.List())
	}
}

func TestConditions_DeleteFloatingIPAsForeignClient(t *testing.T) {
	t.Parallel()
	cloud := start(t)
	var made struct {
		planted
		Answer struct{ FloatingIP struct{ ID string } }
	}
	cloud.do(t, "POST", "conditions", `{"kind": "foreign", "method": "POST", "path": "/network/v2.0/floatingips",
		"body": {"floatingip": {"floating_network_id": "`+cloud.ExternalNetwork.ID+`"}}}`, 201, &made)
	cloud.do(t, "POST", "conditions", `{"kind": "foreign", "method": "DELETE",
		"path": "/network/v2.0/floatingips/`+made.Answer.FloatingIP.ID+`"}`, 201, &made)
	if made.Status != 204 || made.ID != "" || len(cloud.Neutron.FloatingIPs()) != 0 {
		t.Errorf("answered %+v, left %+v", made, cloud.Neutron.FloatingIPs())
	}
	if total := cloud.RequestLog.Total().Count; total != 0 {
		t.Errorf("the request log counts %d requests of another client", total)
	}
}

func TestLoadBalancers_StayActiveWhenChildrenFail(t *testing.T) {
	t.Parallel()
	cloud := start(t)
	cloud.balance(t)
	listener := cloud.Octavia.Snapshot()[0].Listeners[0].ID
	cloud.do(t, "POST", "children/"+listener+"/status", `{"provisioning_status": "ERROR"}`, 204, nil)
	if lb := cloud.Octavia.Snapshot()[0]; lb.ProvisioningStatus != "ACTIVE" || lb.Listeners[0].ProvisioningStatus != "ERROR" {
		t.Errorf("load balancer %s, listener %s", lb.ProvisioningStatus, lb.Listeners[0].ProvisioningStatus)
	}
	cloud.do(t, "POST", "failures", `{"operation": "create"}`, 204, nil)
	if _, err := loadbalancers.Create(t.Context(), cloud.client(t), loadbalancers.CreateOpts{VipSubnetID: cloud.Subnet.ID}).Extract(); err != nil {
		t.Fatal(err)
	}
	if lb := cloud.Octavia.Snapshot()[1]; lb.ProvisioningStatus != "ERROR" {
		t.Errorf("the next load balancer is %s", lb.ProvisioningStatus)
	}
}

func TestTokens_AreRevoked(t *testing.T) {
	t.Parallel()
	cloud := start(t)
	service := cloud.client(t)
	cloud.do(t, "POST", "tokens/revoke", "", 204, nil)
	service.ReauthFunc = nil
	if _, err := loadbalancers.List(service, nil).AllPages(t.Context()); !gophercloud.ResponseCodeIs(err, 401) {
		t.Errorf("answered %v", err)
	}
}

func TestOrphans_AreFoundAndRequestsCountedPerService(t *testing.T) {
	t.Parallel()
	cloud := start(t)
	cloud.balance(t)
	var found struct {
		Count   int
		Orphans []struct{ Kind, Name string }
		Ports   []struct{ Name string }
	}
	cloud.do(t, "GET", "orphans", "", 200, &found)
	if found.Count != 2 || found.Orphans[0].Kind != "load balancer" || found.Orphans[1].Kind != "port" {
		t.Errorf("without Services: %+v", found)
	}
	name := found.Orphans[0].Name
	cloud.do(t, "GET", "orphans?service="+url.QueryEscape(name), "", 200, &found)
	if found.Count != 0 {
		t.Errorf("with the Service: %+v", found)
	}
	cloud.do(t, "GET", "leaked-ports", "", 200, &found)
	if found.Count != 0 {
		t.Errorf("leaked: %+v", found)
	}
	var counted struct {
		Total, Bytes  int
		MaxConcurrent int `json:"max_concurrent"`
		Reloads       map[string]int
	}
	cloud.do(t, "GET", "requests?about="+url.QueryEscape(name), "", 200, &counted)
	if counted.Total != 1 || counted.Bytes == 0 || counted.MaxConcurrent != 1 {
		t.Errorf("the requests of %s: %+v", name, counted)
	}
	cloud.do(t, "GET", "requests?about=nobody", "", 200, &counted)
	if counted.Total != 0 {
		t.Errorf("the requests of nobody: %+v", counted)
	}
}
