package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/monitors"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/cost"
)

// laterNodes take the place of nodeNames.
func laterNodes() []string { return []string{"node-4", "node-5", "node-6"} }

// inherited is a Service that cloud-provider-openstack served before.
type inherited struct {
	name   string
	ports  []corev1.ServicePort
	change func(*corev1.Service)
	// told is the text that an event about it must contain, warned that of a Warning. Other
	// Warnings are errors.
	told, warned string
	// refused is set if its settings are invalid, so that it is never served as requested.
	refused bool
}

func annotated(annotations ...string) func(*corev1.Service) {
	return func(svc *corev1.Service) {
		for i := 0; i < len(annotations); i += 2 {
			svc.Annotations[annotations[i]] = annotations[i+1]
		}
	}
}

func localTraffic(svc *corev1.Service) {
	svc.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
}

// inheritedServices are of the kinds that clusters have. Address is that of a floating IP
// that a user has made.
func inheritedServices(provider, address string) []inherited {
	tcp, udp := corev1.ProtocolTCP, corev1.ProtocolUDP
	all := []inherited{
		{name: "web", ports: []corev1.ServicePort{port(tcp, 8080), port(tcp, 8443)}},
		{name: "dns", ports: []corev1.ServicePort{port(udp, 5353), port(tcp, 5353)}, change: annotated(internalAnnotation, "true")},
		{name: "local", change: func(svc *corev1.Service) {
			localTraffic(svc)
			annotated(prefix+"enable-health-monitor", "true")(svc)
			svc.Spec.LoadBalancerIP = address
			if provider != "ovn" { // there no listener has them
				svc.Spec.LoadBalancerSourceRanges = []string{"0.0.0.0/1", "128.0.0.0/1"}
			}
		}},
		{name: "blind", change: localTraffic, told: "enable-health-monitor"},
		{name: "kept", change: annotated(prefix+"keep-floatingip", "true")},
		{name: "malformed", warned: "x-forwarded-for", change: annotated(
			prefix+"x-forwarded-for", "True", prefix+"connection-limit", "", prefix+"enable-health-monitor", "")},
		{name: "classless", warned: "gone-class", refused: true},
	}
	if provider != "ovn" {
		all = append(all, inherited{name: "proxy", change: annotated(prefix+"proxy-protocol", "true")})
	}
	return all
}

// switched adopts the objects of cloud-provider-openstack without a write. After that, all nodes
// are replaced, and Services change and are deleted. It must be the last scenario, because the
// nodes are others then.
func switched(s *scene) {
	defer s.restartWith("")
	s.StopCCM()
	before := s.startLegacy()
	mine, err := floatingips.Create(s.Context(), s.Cloud.API().Network, floatingips.CreateOpts{
		FloatingNetworkID: before.external, Description: s.namespace + " made by hand",
	}).Extract()
	s.must(err)
	defer func() { s.must(s.Cloud.API().DeleteFloatingIP(context.WithoutCancel(s.Context()), mine.ID)) }()
	kinds := inheritedServices(s.Provider, mine.FloatingIP)
	services := before.serveAll(kinds)
	was, unheard := s.published(services), s.unheardMonitors(services)

	s.restartWith("manage-security-groups=true\n")
	for _, kind := range kinds {
		if kind.refused {
			services[kind.name].tells(kind.warned)
			continue
		}
		s.eventually("first sync of "+kind.name, func(context.Context) error {
			if services[kind.name].synced() == 0 {
				return errors.New("there was none")
			}
			return nil
		})
	}
	s.wroteNothing(unheard)
	for _, kind := range kinds {
		if kind.told != "" {
			services[kind.name].tells(kind.told)
		}
	}
	if now := s.published(services); !maps.Equal(now, was) {
		s.Errorf("it is published %v, was %v", now, was)
	}
	s.answeredBy(s.outside(), at(was["web"].address, 8080), nodeNames()...)
	s.replaceNodes(services)
	s.answeredBy(s.outside(), at(was["web"].address, 8080), laterNodes()...)
	s.outgrow(services)
	if now := s.published(services); !maps.Equal(now, was) {
		s.Errorf("in the end it was published %v, at first %v", now, was)
	}
	s.onlyWarnings(kinds)
	for _, name := range []string{"web", "guest", "dns", "local", "blind", "malformed", "classless", "proxy", "kept"} {
		if service := services[name]; service != nil {
			service.remove()
		}
	}
	s.bothAddressesStay(mine.ID, was["kept"].address)
	s.nothingLeft()
}

// serveAll makes the Services and serves one after the other, as the predecessor does;
// then it puts one more on the load balancer of the first.
func (l *legacy) serveAll(kinds []inherited) map[string]*service {
	l.Helper()
	services := map[string]*service{}
	finalizer := func(svc *corev1.Service) { svc.Finalizers = []string{"service.kubernetes.io/load-balancer-cleanup"} }
	for _, kind := range kinds {
		created := l.create(kind.name, func(svc *corev1.Service) {
			finalizer(svc)
			if kind.ports != nil {
				svc.Spec.Ports = kind.ports
			}
			if kind.change != nil {
				kind.change(svc)
			}
		}, "node-1")
		l.must(l.serve(l.Context(), created.get()))
		services[kind.name] = created
	}
	id := services["web"].get().Annotations[prefix+"load-balancer-id"]
	services["guest"] = l.create("guest", func(svc *corev1.Service) {
		finalizer(svc)
		svc.Spec.Ports = []corev1.ServicePort{port(corev1.ProtocolTCP, 9090)}
		svc.Annotations[prefix+"load-balancer-id"] = id
	}, "node-2")
	l.must(l.serve(l.Context(), services["guest"].get()))
	// Its class existed when the load balancer was created, and has not been read since.
	services["classless"].annotate(prefix+"class", "gone-class")
	return services
}

// place is what a Service publishes.
type place struct{ loadBalancer, address string }

func (s *scene) published(services map[string]*service) map[string]place {
	s.Helper()
	places := map[string]place{}
	for name, service := range services {
		object := service.get()
		if len(object.Status.LoadBalancer.Ingress) != 1 {
			s.Fatalf("%s publishes %v", name, object.Status.LoadBalancer.Ingress)
		}
		places[name] = place{object.Annotations[prefix+"load-balancer-id"], object.Status.LoadBalancer.Ingress[0].IP}
	}
	return places
}

// replaceNodes lets other nodes come, and then all go that were there.
func (s *scene) replaceNodes(services map[string]*service) {
	s.Helper()
	coming, ctx := errgroup.WithContext(s.Context())
	for _, name := range laterNodes() {
		coming.Go(func() error { return s.AddNode(ctx, name) })
	}
	s.must(coming.Wait())
	for _, service := range services {
		service.pods(laterNodes()...)
	}
	for _, name := range nodeNames() {
		s.must(s.StopNode(name))
		s.must(s.Client().CoreV1().Nodes().Delete(s.Context(), name, metav1.DeleteOptions{}))
	}
	for _, service := range services {
		service.onNodes(laterNodes())
	}
	s.guarded("-" + s.namespace + "-web")
	s.guarded("-" + s.namespace + "-classless")
	for _, name := range nodeNames() {
		s.must(s.Cloud.RemoveMachine(s.Context(), name))
	}
}

// onNodes waits until these nodes are the members behind all of the Service's ports.
func (s *service) onNodes(names []string) {
	s.Helper()
	s.eventually(fmt.Sprintf("members of %s on %v", s.name, names), func(ctx context.Context) error { return s.isOn(ctx, names) })
}

// isOn returns an error unless these nodes are the members behind all of the Service's ports.
func (s *service) isOn(ctx context.Context, names []string) error {
	s.Helper()
	object, want, have := s.get(), map[string]int{}, map[string]int{}
	for _, name := range names {
		node, err := s.Client().CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, port := range object.Spec.Ports {
			want[at(nodeAddress(node), port.NodePort)]++
		}
	}
	api := s.Cloud.API()
	all, err := api.Pools(ctx, object.Annotations[prefix+"load-balancer-id"])
	if err != nil {
		return err
	}
	for _, pool := range all {
		if !strings.HasSuffix(pool.Name, "_"+s.namespace+"_"+s.name) {
			continue // another Service's on the same load balancer
		}
		members, err := api.Members(ctx, pool.ID)
		if err != nil {
			return err
		}
		for _, member := range members {
			have[at(member.Address, int32(member.ProtocolPort))]++
		}
	}
	if !maps.Equal(have, want) {
		return fmt.Errorf("they are %v, want %v", have, want)
	}
	return nil
}

// outgrow lets Services ask for more than cloud-provider-openstack has given them.
func (s *scene) outgrow(services map[string]*service) {
	s.Helper()
	for _, name := range []string{"web", "dns", "guest", "malformed"} {
		number := int32(7000 + len(name))
		services[name].change(func(svc *corev1.Service) { svc.Spec.Ports = append(svc.Spec.Ports, port(corev1.ProtocolTCP, number)) })
		services[name].pods(laterNodes()...)
	}
	for _, name := range []string{"web", "dns", "guest", "malformed"} {
		services[name].onNodes(laterNodes())
	}
	services["blind"].annotate(prefix+"enable-health-monitor", "true")
	s.eventually("health monitor of blind", func(ctx context.Context) error {
		all, err := s.Cloud.API().Pools(ctx, services["blind"].get().Annotations[prefix+"load-balancer-id"])
		if err == nil && (len(all) != 1 || all[0].MonitorID == "") {
			err = errors.New("there is none")
		}
		return err
	})
	if s.Provider == "ovn" {
		return
	}
	services["local"].change(func(svc *corev1.Service) { svc.Spec.LoadBalancerSourceRanges = []string{"0.0.0.0/1"} })
	s.eventually("source ranges of local", func(ctx context.Context) error {
		all, err := s.Cloud.API().Listeners(ctx, services["local"].get().Annotations[prefix+"load-balancer-id"])
		if err == nil && !slices.Equal(all[0].AllowedCIDRs, []string{"0.0.0.0/1"}) {
			err = fmt.Errorf("they are %v", all[0].AllowedCIDRs)
		}
		return err
	})
	services["proxy"].annotate(prefix+"proxy-protocol", "v2")
	s.eventually("PROXY protocol of proxy", func(ctx context.Context) error {
		all, err := s.Cloud.API().Pools(ctx, services["proxy"].get().Annotations[prefix+"load-balancer-id"])
		if err == nil && (len(all) != 1 || all[0].Protocol != "PROXYV2") {
			err = fmt.Errorf("there are %d pools, of %s", len(all), all[0].Protocol)
		}
		return err
	})
}

// unheardMonitors are the Services with a health monitor that its provider never heard of:
// ovn of Zed takes none in the request that makes a load balancer. They never probe, and
// their pools are replaced.
func (s *scene) unheardMonitors(services map[string]*service) (names []string) {
	s.Helper()
	pages, err := monitors.List(s.Cloud.API().LoadBalancer, nil).AllPages(s.Context())
	s.must(err)
	all, err := monitors.ExtractMonitors(pages)
	s.must(err)
	for name := range services {
		if slices.ContainsFunc(all, func(m monitors.Monitor) bool {
			return m.ProvisioningStatus == "PENDING_CREATE" && strings.HasSuffix(m.Name, "_"+s.namespace+"_"+name)
		}) {
			names = append(names, name)
		}
	}
	return names
}

// wroteNothing judges that the controller has changed nothing since its start but these
// Services' load balancers.
func (s *scene) wroteNothing(but []string) {
	s.Helper()
	changes := slices.DeleteFunc(s.events("reason=ChangingLoadBalancer"), func(event string) bool {
		name, _, _ := strings.Cut(event, ": ")
		return slices.Contains(but, name)
	})
	if spent := s.spent(); len(changes) > 0 || len(but) == 0 && spent != (cost.Cost{}) {
		s.Errorf("the switch took %+v: %q", spent, changes)
	}
}

// repairer is the controller in the API server that looks whether all cluster IPs are
// allocated. One that is just being allocated may be a warning to it.
const repairer = "ipallocator-repair-controller"

// events are those of the scene that a selector picks, but for the API server's own:
// Service, reason and message.
func (s *scene) events(selector string) (said []string) {
	s.Helper()
	list, err := s.Client().CoreV1().Events(s.namespace).List(s.Context(), metav1.ListOptions{FieldSelector: selector})
	s.must(err)
	for _, event := range list.Items {
		if event.Source.Component == repairer || event.ReportingController == repairer {
			continue
		}
		said = append(said, fmt.Sprintf("%s: %s: %s", event.InvolvedObject.Name, event.Reason, event.Message))
	}
	return said
}

// busyCloud matches what a busy machine makes of OpenStack: slow, without an answer in time, or
// with errors of its own. What the controller makes of that is judged in the end.
var busyCloud = regexp.MustCompile(`which is longer than usual|no answer within|(Octavia|Neutron) answered 5\d\d |which goes on by itself: looking again`)

// warnings are the events of that type, but for those of a busy cloud.
func (s *scene) warnings() []string {
	s.Helper()
	return slices.DeleteFunc(s.events("type="+corev1.EventTypeWarning), func(event string) bool {
		return busyCloud.MatchString(event)
	})
}

// onlyWarnings checks that there are the expected Warnings and no others.
func (s *scene) onlyWarnings(kinds []inherited) {
	s.Helper()
	told := map[string]bool{}
	for _, event := range s.warnings() {
		name, text, _ := strings.Cut(event, ": ")
		at := slices.IndexFunc(kinds, func(k inherited) bool { return k.name == name })
		if at < 0 || kinds[at].warned == "" || !strings.Contains(text, kinds[at].warned) {
			s.Error(event)
			continue
		}
		told[kinds[at].name] = true
	}
	for _, kind := range kinds {
		if kind.warned != "" && !told[kind.name] {
			s.Errorf("%s: no Warning contains %s", kind.name, kind.warned)
		}
	}
}

// bothAddressesStay judges that the user's floating IP and the kept one are free again,
// and gives the latter back.
func (s *scene) bothAddressesStay(mine, kept string) {
	s.Helper()
	api := s.Cloud.API()
	all, err := api.FloatingIPs(s.Context(), "")
	s.must(err)
	left := 0
	for _, ip := range all {
		if ip.ID != mine && ip.FloatingIP != kept {
			continue
		}
		left++
		if ip.PortID != "" {
			s.Errorf("floating IP %s is still on port %s", ip.FloatingIP, ip.PortID)
		}
		if ip.FloatingIP == kept {
			s.must(api.DeleteFloatingIP(s.Context(), ip.ID))
		}
	}
	if left != 2 {
		s.Errorf("%d floating IPs are left, want the user's own and the kept one", left)
	}
}
