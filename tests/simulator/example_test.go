package simulator_test

import (
	"context"
	"fmt"
	"log"
	"net/http"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// A test of a controller: the cloud takes a minute or two to create a load balancer, which are
// milliseconds here, and the answer to the creation is lost.
func Example() {
	cloud, err := simulator.Start(simulator.Options{Profile: "real", Speed: 100_000})
	if err != nil {
		log.Fatal(err)
	}
	defer cloud.Close()
	const route = "/load-balancer/v2.0/lbaas/loadbalancers"
	lost := faults.Kinds()["gateway-timeout-after-work"]
	lost.Method, lost.Route, lost.Count = http.MethodPost, route, 1
	cloud.Faults.Add(lost)

	// Here the controller would work.
	ctx := context.Background()
	provider, err := openstack.AuthenticatedClient(ctx, gophercloud.AuthOptions{
		IdentityEndpoint: cloud.AuthURL(), Username: cloud.Account.UserName, Password: cloud.Account.Password,
		TenantID: cloud.Account.ProjectID, DomainName: "Default",
	})
	if err != nil {
		log.Fatal(err)
	}
	service, err := openstack.NewLoadBalancerV2(provider, gophercloud.EndpointOpts{})
	if err != nil {
		log.Fatal(err)
	}
	_, err = loadbalancers.Create(ctx, service, loadbalancers.CreateOpts{
		Name: "web", VipSubnetID: cloud.Subnet.ID, Tags: []string{"uid-1"},
	}).Extract()
	fmt.Println("create answered 504:", gophercloud.ResponseCodeIs(err, http.StatusGatewayTimeout))
	if err := cloud.WaitSettled(ctx); err != nil {
		log.Fatal(err)
	}

	// Here the test would check its work.
	for _, lb := range cloud.Octavia.Snapshot() {
		fmt.Println(lb.Name, lb.ProvisioningStatus)
	}
	fmt.Println("writes:", cloud.RequestLog.Total(requestlog.Writes(), requestlog.About("uid-1")).Count)
	fmt.Println("orphans:", len(cloud.Orphans([]string{"uid-1"}, nil)))
	// Output:
	// create answered 504: true
	// web ACTIVE
	// writes: 1
	// orphans: 0
}
