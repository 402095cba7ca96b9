package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openstack-ccm/openstack-ccm/tests/cluster"
)

// podPatience bounds one call of a pod.
const podPatience = 5 * time.Second

// routes lets the router lead to the pods of all nodes, beside routes of others, and makes pods members.
func routes(s *scene) {
	api := s.Cloud.API()
	router, err := s.Cloud.Router(s.Context())
	s.must(err)
	if router == "" {
		s.Skip("there is no router with routes that may be changed")
	}
	others := []routers.Route{
		{DestinationCIDR: "192.168.77.0/24", NextHop: s.Cloud.Unused(1)},
		{DestinationCIDR: "10.244.250.0/24", NextHop: s.Cloud.Unused(2)}, // among the pods' networks
	}
	defer func() {
		s.restartWith("")
		s.must(api.SetRoutes(context.WithoutCancel(s.Context()), router, nil))
	}()
	s.must(api.SetRoutes(s.Context(), router, others))
	s.restartWith("[Route]\nrouter-id=" + router + "\n")
	var want []routers.Route
	for _, name := range nodeNames() {
		want = append(want, s.leadsToPods(name)...)
	}
	s.podsAsMembers("node-1", "node-2", s.podsReachEachOther("node-1", "node-2"))

	s.must(s.AddNode(s.Context(), "node-8"))
	s.leadsToPods("node-8")
	s.must(s.StopNode("node-8"))
	s.must(s.Cloud.RemoveMachine(s.Context(), "node-8"))
	s.eventually("no route but these", func(ctx context.Context) error {
		have, err := api.Routes(ctx, router)
		if err == nil && !sameRoutes(have, slices.Concat(want, others)) {
			err = fmt.Errorf("the router has %v", have)
		}
		return err
	})
}

func sameRoutes(a, b []routers.Route) bool {
	order := func(a, b routers.Route) int { return strings.Compare(a.DestinationCIDR, b.DestinationCIDR) }
	slices.SortFunc(a, order)
	slices.SortFunc(b, order)
	return slices.Equal(a, b)
}

// leadsToPods waits until the router and the node's port forward traffic to pods, and the Node has
// the condition for that. It returns the routes.
func (s *scene) leadsToPods(name string) (leading []routers.Route) {
	s.Helper()
	api := s.Cloud.API()
	s.eventually("routes to the pods of "+name, func(ctx context.Context) error {
		node, err := s.Client().CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeNetworkUnavailable && c.Status == corev1.ConditionFalse
		}) {
			return fmt.Errorf("its conditions are %v", node.Status.Conditions)
		}
		if leading, err = s.routesTo(ctx, node.Spec.PodCIDRs); err != nil {
			return err
		}
		return api.paired(ctx, leading)
	})
	return leading
}

// podsReachEachOther connects pods of two nodes, and reports whether routers carry traffic. Only the router has
// routes to their addresses.
func (s *scene) podsReachEachOther(a, b string) bool {
	s.Helper()
	first, second := s.podAddresses(a), s.podAddresses(b)
	for i, address := range first {
		here, carried, err := s.Cloud.AddPod(s.Context(), a, address)
		s.must(err)
		if !carried {
			return false
		}
		there, _, err := s.Cloud.AddPod(s.Context(), b, second[i])
		s.must(err)
		listener, err := here.Listen("tcp", netip.AddrPortFrom(address, 8080).String())
		s.must(err)
		defer listener.Close()
		go tellCallers(listener)
		s.eventually(fmt.Sprintf("pod %s answers pod %s", address, second[i]), func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, podPatience)
			defer cancel()
			connection, err := there.DialContext(ctx, "tcp", netip.AddrPortFrom(address, 8080).String())
			if err != nil {
				return err
			}
			defer connection.Close()
			caller, err := io.ReadAll(connection)
			if err == nil && string(caller) != second[i].String() {
				err = fmt.Errorf("the pod was called by %q", caller)
			}
			return err
		})
	}
	return true
}

// podsAsMembers makes the pods of two nodes the members of a load balancer, and then one of them.
func (s *scene) podsAsMembers(a, b string, carried bool) {
	s.Helper()
	pods := map[string]netip.Addr{a: s.podAddresses(a)[0], b: s.podAddresses(b)[0]}
	web := s.create("web", func(svc *corev1.Service) { svc.Annotations[prefix+"members"] = "pods" })
	for _, left := range [][]string{{a, b}, {b}} {
		maps.DeleteFunc(pods, func(node string, _ netip.Addr) bool { return !slices.Contains(left, node) })
		s.must(cluster.SetPodsAt(s.Context(), s.Client(), web.get(), pods))
		s.eventually(fmt.Sprintf("members %v", pods), func(ctx context.Context) error {
			all, err := s.Cloud.API().Pools(ctx, web.loadBalancer().ID)
			if err != nil || len(all) != 1 {
				return fmt.Errorf("there are %d pools: %w", len(all), err)
			}
			members, err := s.Cloud.API().Members(ctx, all[0].ID)
			if err == nil && (len(members) != len(pods) || slices.ContainsFunc(members, func(m pools.Member) bool {
				return !slices.ContainsFunc(left, func(node string) bool { return pods[node].String() == m.Address })
			})) {
				err = fmt.Errorf("they are %v", members)
			}
			return err
		})
		if carried {
			s.answeredBy(s.outside(), at(web.address(), 8080), left...)
		}
	}
	web.remove()
	s.nothingLeft()
}

// tellCallers sends each client its own address.
func tellCallers(listener net.Listener) {
	for {
		connection, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue
		}
		if from, ok := connection.RemoteAddr().(*net.TCPAddr); ok {
			_, _ = io.WriteString(connection, from.AddrPort().Addr().Unmap().String()) // a client that does not get it tries again
		}
		_ = connection.Close()
	}
}

// podAddresses are one of each pod CIDR of a node.
func (s *scene) podAddresses(name string) (addresses []netip.Addr) {
	s.Helper()
	node, err := s.Client().CoreV1().Nodes().Get(s.Context(), name, metav1.GetOptions{})
	s.must(err)
	for _, cidr := range node.Spec.PodCIDRs {
		prefix, err := netip.ParsePrefix(cidr)
		s.must(err)
		addresses = append(addresses, prefix.Addr().Next().Next())
	}
	return addresses
}

// Routes are those of a router.
func (a *API) Routes(ctx context.Context, router string) ([]routers.Route, error) {
	read, err := routers.Get(ctx, a.Network, router).Extract()
	if err != nil {
		return nil, err
	}
	return read.Routes, nil
}

// SetRoutes replaces the routes of a router.
func (a *API) SetRoutes(ctx context.Context, router string, routes []routers.Route) error {
	if routes == nil {
		routes = []routers.Route{}
	}
	return routers.Update(ctx, a.Network, router, routers.UpdateOpts{Routes: &routes}).Err
}

// routesTo gives the routes of the router to these destinations, an error unless there
// is one to each.
func (s *scene) routesTo(ctx context.Context, destinations []string) ([]routers.Route, error) {
	router, err := s.Cloud.Router(ctx)
	if err != nil {
		return nil, err
	}
	have, err := s.Cloud.API().Routes(ctx, router)
	if err != nil {
		return nil, err
	}
	leading := slices.DeleteFunc(slices.Clone(have), func(r routers.Route) bool { return !slices.Contains(destinations, r.DestinationCIDR) })
	if len(leading) != len(destinations) {
		return nil, fmt.Errorf("the router has %v, wanted are routes to %v", have, destinations)
	}
	return leading, nil
}

// paired is an error unless the ports that routes lead to let their destinations
// through.
func (a *API) paired(ctx context.Context, leading []routers.Route) error {
	for _, route := range leading {
		found, err := a.ports(ctx, ports.ListOpts{FixedIPs: []ports.FixedIPOpts{{IPAddress: route.NextHop}}})
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(found, func(port ports.Port) bool {
			return slices.ContainsFunc(port.AllowedAddressPairs, func(pair ports.AddressPair) bool { return pair.IPAddress == route.DestinationCIDR })
		}) {
			return fmt.Errorf("no port with address %s has a pair for %s", route.NextHop, route.DestinationCIDR)
		}
	}
	return nil
}
