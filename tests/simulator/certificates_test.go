package simulator_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"k8s.io/utils/ptr"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/barbican"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

func TestCloud_RefusesTLSListenerWithoutStoredCertificate(t *testing.T) {
	t.Parallel()
	cloud := start(t, simulator.Options{})
	service := client(t, cloud, cloud.Account)
	lb, err := loadbalancers.Create(t.Context(), service, loadbalancers.CreateOpts{VipSubnetID: cloud.Subnet.ID}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	stored, err := cloud.AddCertificate()
	if err != nil {
		t.Fatal(err)
	}
	text := cloud.Barbican.AddSecret(barbican.Secret{ProjectID: cloud.Account.ProjectID, Type: "certificate", Payload: []byte("PEM")})
	secrets := cloud.URL() + "/key-manager/v1/secrets/"
	for i, c := range []struct {
		reference string
		refused   string
	}{
		{stored, ""},
		{secrets + "00000000-0000-0000-0000-000000000000", "Could not retrieve certificate: "},
		{secrets + text.ID, "The PKCS12 bundle is unreadable."},
		{"https://elsewhere.test/v1/secrets/x", ""},
	} {
		_, err := listeners.Create(t.Context(), service, listeners.CreateOpts{
			LoadbalancerID: lb.ID, Protocol: listeners.ProtocolTerminatedHTTPS, ProtocolPort: 443 + i, DefaultTlsContainerRef: c.reference,
		}).Extract()
		refused := gophercloud.ResponseCodeIs(err, http.StatusBadRequest) && c.refused != "" && strings.Contains(err.Error(), c.refused)
		if refused != (c.refused != "") || err != nil && !refused {
			t.Errorf("%s: %v", c.reference, err)
		}
		settled(t, cloud)
	}
}

// Octavia reads certificates anew at each change. Another reference repairs the listener.
func TestCloud_FailsListenerOfDeletedCertificateAtNextChange(t *testing.T) {
	t.Parallel()
	cloud := start(t, simulator.Options{})
	service := client(t, cloud, cloud.Account)
	lb, err := loadbalancers.Create(t.Context(), service, loadbalancers.CreateOpts{VipSubnetID: cloud.Subnet.ID}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	settled(t, cloud)
	references := make([]string, 2)
	for i := range references {
		if references[i], err = cloud.AddCertificate(); err != nil {
			t.Fatal(err)
		}
	}
	listener, err := listeners.Create(t.Context(), service, listeners.CreateOpts{
		LoadbalancerID: lb.ID, Protocol: listeners.ProtocolTerminatedHTTPS, ProtocolPort: 443, DefaultTlsContainerRef: references[0],
	}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	settled(t, cloud)
	cloud.Barbican.RemoveSecret(references[0])
	for _, change := range []struct {
		opts listeners.UpdateOpts
		want string
	}{
		{listeners.UpdateOpts{Name: ptr.To("new")}, octavia.Error},
		{listeners.UpdateOpts{DefaultTlsContainerRef: &references[1]}, octavia.Active},
	} {
		if _, err := listeners.Update(t.Context(), service, listener.ID, change.opts).Extract(); err != nil {
			t.Fatal(err)
		}
		settled(t, cloud)
		if state := cloud.Octavia.Snapshot()[0]; state.ProvisioningStatus != octavia.Active || state.Listeners[0].ProvisioningStatus != change.want {
			t.Errorf("load balancer %s, listener %s, want %s", state.ProvisioningStatus, state.Listeners[0].ProvisioningStatus, change.want)
		}
	}
}

func TestCloud_ShowsStatisticsOfTrafficCounter(t *testing.T) {
	t.Parallel()
	cloud := start(t, simulator.Options{})
	service := client(t, cloud, cloud.Account)
	if _, err := loadbalancers.Create(t.Context(), service, fullCreate(cloud)).Extract(); err != nil {
		t.Fatal(err)
	}
	settled(t, cloud)
	listener := cloud.Octavia.Snapshot()[0].Listeners[0].ID
	bytesIn := func() int {
		t.Helper()
		counted, err := listeners.GetStats(t.Context(), service, listener).Extract()
		if err != nil {
			t.Fatal(err)
		}
		return counted.BytesIn
	}
	if got := bytesIn(); got != 0 {
		t.Errorf("%d bytes where nobody counts", got)
	}
	cloud.CountTraffic(func(string) octavia.Statistics { return octavia.Statistics{BytesIn: 42} })
	if got := bytesIn(); got != 42 {
		t.Errorf("%d bytes, want 42", got)
	}
}
