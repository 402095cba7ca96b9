package e2e

import (
	"context"
	"fmt"
	"slices"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/portforwarding"
	"github.com/gophercloud/gophercloud/v2/pagination"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// forwardingProvider is the provider with port forwardings of floating IPs.
const forwardingProvider = "port-forwarding"

// forwarding serves a Service by port forwardings, which are the same with each provider of Octavia: it is played with
// one. Nodes admit only machines of their own network, and what the controller opens.
func forwarding(s *scene) {
	if s.Cloud.VIPNetwork() == "" || s.Provider != "amphora" {
		s.Skip("played with provider amphora, in a cloud of the suite's own")
	}
	s.carrier = forwardingProvider
	defer s.restartWith("")
	s.restartWith("manage-security-groups=true\n")
	defer s.closeNodes()()
	web := s.create("web", func(svc *corev1.Service) {
		svc.Annotations[prefix+"provider"] = forwardingProvider
		svc.Spec.Ports = []corev1.ServicePort{port(corev1.ProtocolTCP, 8080), port(corev1.ProtocolUDP, 8080)}
	}, nodeNames()...)
	f := &forwardedService{service: web, address: web.addresses(1)[0]}
	f.leads(nodeNames()...)
	for _, others := range [][]string{nodeNames()[:1], nodeNames()[1:2]} { // pods move to one node, then to another
		f.pods(others...)
		f.leads(others...)
	}
	web.remove()
	s.nothingLeft()
}

// forwardedService is the Service at work, with its floating IP.
type forwardedService struct {
	*service
	address string
}

// leads waits until both ports are forwarded to one of these nodes, which answers clients outside.
func (f *forwardedService) leads(names ...string) {
	f.Helper()
	var node string
	f.eventually(fmt.Sprintf("ports forwarded to one of %v", names), func(ctx context.Context) error {
		targets, err := f.Cloud.API().targets(ctx, f.address)
		if err != nil {
			return err
		}
		for _, name := range names {
			at, err := f.Client().CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if address := nodeAddress(at); slices.Equal(targets, []string{address, address}) {
				node = name
				return nil
			}
		}
		return fmt.Errorf("they are forwarded to %v", targets)
	})
	f.answeredBy(f.outside(), at(f.address, 8080), node)
	f.answersUDP(f.outside(), at(f.address, 8080))
}

// targets returns the address inside of each port forwarding of a floating IP.
func (a *API) targets(ctx context.Context, address string) ([]string, error) {
	all, err := a.FloatingIPs(ctx, "")
	if err != nil {
		return nil, err
	}
	var targets []string
	for _, ip := range all {
		if ip.FloatingIP != address {
			continue
		}
		forwardings, err := a.forwardings(ctx, ip.ID)
		if err != nil {
			return nil, err
		}
		for _, f := range forwardings {
			targets = append(targets, f.InternalIPAddress)
		}
	}
	return targets, nil
}

// forwardings lists the port forwardings of a floating IP; none in a cloud without them.
func (a *API) forwardings(ctx context.Context, floatingIPID string) ([]portforwarding.PortForwarding, error) {
	var pages pagination.Page
	pages, err := portforwarding.List(a.Network, portforwarding.ListOpts{}, floatingIPID).AllPages(ctx)
	if gophercloud.ResponseCodeIs(err, 404) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return portforwarding.ExtractPortForwardings(pages)
}

// clearForwardings deletes the port forwardings of a floating IP, with which Neutron does not delete it.
func (a *API) clearForwardings(ctx context.Context, floatingIPID string) error {
	all, err := a.forwardings(ctx, floatingIPID)
	for _, f := range all {
		if err == nil {
			err = portforwarding.Delete(ctx, a.Network, floatingIPID, f.ID).ExtractErr()
		}
	}
	return err
}
