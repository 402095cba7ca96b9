package control_test

import (
	"fmt"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
)

func TestSummary_CountsWhatExistsAndWhatHasTheAddressOrCIDR(t *testing.T) {
	t.Parallel()
	cloud := start(t)
	cloud.balance(t)
	var got struct {
		LoadBalancers     int `json:"load_balancers"`
		Pending           int
		Failed            int
		Listeners         int
		Pools             int
		Members           int
		PoolsWith         map[string]int `json:"pools_with"`
		ListenersAllowing int            `json:"listeners_allowing"`
		Requests          int
		Writes            int
		TotalCycles       int `json:"total_cycles"`
		Bytes             int
	}
	lb := cloud.Octavia.Snapshot()[0]
	address := lb.Pools[0].Members[0].Address
	cloud.do(t, "GET", "summary?cidr=10.0.0.0/8&address="+address+"&address=192.0.2.1", "", 200, &got)
	if got.LoadBalancers != 1 || got.Listeners != len(lb.Listeners) || got.Pools != len(lb.Pools) || got.Members != len(lb.Pools[0].Members) {
		t.Errorf("counted %+v", got)
	}
	if fmt.Sprint(got.PoolsWith) != fmt.Sprint(map[string]int{address: 1}) || got.ListenersAllowing != 1 {
		t.Errorf("with the address %v, allowing %d", got.PoolsWith, got.ListenersAllowing)
	}
	if got.Requests < 1 || got.Writes != 1 || got.TotalCycles != 1 || got.Bytes == 0 || got.Pending+got.Failed != 0 {
		t.Errorf("booked %+v", got)
	}
	cloud.do(t, "POST", "loadbalancers/"+lb.ID+"/status", `{"provisioning_status": "ERROR"}`, 204, nil)
	if _, err := loadbalancers.Create(t.Context(), cloud.client(t), loadbalancers.CreateOpts{VipSubnetID: cloud.Subnet.ID}).Extract(); err != nil {
		t.Fatal(err)
	}
	cloud.do(t, "GET", "summary", "", 200, &got)
	if got.LoadBalancers != 2 || got.Failed != 1 {
		t.Errorf("counted %+v", got)
	}
}
