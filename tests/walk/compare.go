package walk

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/sweep"
	"github.com/openstack-ccm/openstack-ccm/tests/testenv"
)

// direct is an environment that gets the final requests of a walk at once.
type direct struct {
	*testenv.Env
	ctx context.Context
	// inherited has the UIDs of the Services of the beginning.
	inherited map[testenv.Key]types.UID
}

// compare returns the differences between an environment at rest and one that only got the final
// requests.
func (r *run) compare(ctx context.Context) ([]string, error) {
	env, err := testenv.New(r.start.Options())
	if err != nil {
		return nil, err
	}
	defer env.Close()
	d := direct{Env: env, ctx: ctx, inherited: map[testenv.Key]types.UID{}}
	if err := begin(r.start, env); err != nil {
		return nil, err
	}
	for _, svc := range env.Cluster.Services() {
		d.inherited[testenv.KeyOf(svc)] = svc.UID
	}
	env.Start(ctx)
	if err := r.lead(d); err != nil {
		return nil, fmt.Errorf("the direct way: %w", err)
	}
	var wrong []string
	for _, line := range r.plain(env.Books()).Diff(r.plain(r.env.Books())) {
		wrong = append(wrong, "in the end, "+line)
	}
	return wrong, nil
}

// settle waits for the controller.
func (d direct) settle() error { return d.Settle(d.ctx, testenv.DriftInterval+10e9, patience) }

// lead makes the final requests. A load balancer outlives its Service if others are on it; then all
// of them are put there first.
func (r *run) lead(d direct) error {
	if r.start.Inherited {
		if err := d.settle(); err != nil {
			return err
		}
	}
	if err := r.leadNodes(d); err != nil {
		return err
	}
	owned, orphaned := r.balancers()
	if err := r.leave(d, orphaned); err != nil {
		return err
	}
	if err := r.leadOrphaned(d, orphaned); err != nil {
		return err
	}
	if err := r.leave(d, nil); err != nil {
		return err
	}
	// Guests are put on a load balancer of another Service when it exists. Before that they would
	// get one of their own, perhaps one that they have left to others in the walk.
	for _, svc := range r.env.Cluster.Services() {
		if r.isHome(svc, owned) || !serves(svc) {
			d.Cluster.Apply(r.written(d, svc))
		}
	}
	if err := d.settle(); err != nil {
		return err
	}
	for _, write := range []func(direct, *v1.Service) *v1.Service{r.placed, r.written} {
		for _, svc := range r.env.Cluster.Services() {
			d.Cluster.Apply(write(d, svc))
		}
		if err := d.settle(); err != nil {
			return err
		}
	}
	return nil
}

// placed returns the version of a Service that its users wrote, with the ID of its load balancer in
// place of the name by which it shares that: an owner that has left the share stays on the load balancer,
// and so do the others.
func (r *run) placed(d direct, svc *v1.Service) *v1.Service {
	placed := r.written(d, svc)
	if placed.Annotations[annotation.Share] == "" || !serves(svc) {
		return placed
	}
	if on := at(r.env.Cloud.Octavia.Snapshot(), fmt.Sprintf("%s/%d", svc.Spec.Ports[0].Protocol, svc.Spec.Ports[0].Port)); on != nil {
		delete(placed.Annotations, annotation.Share)
		placed.Annotations[annotation.LoadBalancerID] = d.counterpart(*on)
	}
	return placed
}

// leadNodes creates the final nodes.
func (r *run) leadNodes(d direct) error {
	for _, node := range d.Cluster.Nodes() {
		now := r.env.Cluster.Node(node.Name)
		if now == nil || now.Status.Addresses[0] != node.Status.Addresses[0] {
			removeNode(d.Env, node.Name)
		}
	}
	for _, node := range r.env.Cluster.Nodes() {
		if d.Cluster.Node(node.Name) == nil {
			if _, err := d.AddNode(node.Name, d.AddressOf(node)); err != nil {
				return err
			}
		}
		there := d.Cluster.Node(node.Name)
		there.Labels = node.Labels
		d.Cluster.SetNode(there)
	}
	return nil
}

// balancers returns the final load balancers: those with their owners, and those that their owners
// have left to others.
func (r *run) balancers() (owned, orphaned []octavia.LoadBalancer) {
	for _, lb := range r.env.Cloud.Octavia.Snapshot() {
		if r.atHome(lb) {
			owned = append(owned, lb)
		} else {
			orphaned = append(orphaned, lb)
		}
	}
	return owned, orphaned
}

// leave deletes the Services that do not exist in the end, except owners of some load balancers.
func (r *run) leave(d direct, but []octavia.LoadBalancer) error {
	for _, svc := range d.Cluster.Services() {
		key := testenv.KeyOf(svc)
		known := r.env.Cluster.Service(key)
		owns := slices.ContainsFunc(but, func(lb octavia.LoadBalancer) bool { owner, _ := ownerOf(lb); return owner == key })
		if !owns && (known == nil || known.UID != svc.UID) {
			d.Cluster.Delete(key)
		}
	}
	return d.settle()
}

// leadOrphaned creates the load balancers that their owners have left to others.
func (r *run) leadOrphaned(d direct, balancers []octavia.LoadBalancer) error {
	if len(balancers) == 0 {
		return nil
	}
	for i, lb := range balancers {
		key, uid := ownerOf(lb)
		svc := sweep.NewService(key.Name)
		svc.Namespace, svc.UID = key.Namespace, types.UID(uid)
		internal := !slices.ContainsFunc(r.env.Cloud.Neutron.FloatingIPs(), func(ip neutron.FloatingIP) bool { return ip.PortID == lb.VIP.PortID })
		svc.Annotations[annotation.Internal] = strconv.FormatBool(internal)
		d.Cluster.Edit(key, func(known *v1.Service) { known.Annotations[annotation.Internal] = strconv.FormatBool(internal) })
		number := int32(9000 + i)
		svc.Spec.Ports = []v1.ServicePort{{Name: "p", Protocol: v1.ProtocolTCP, Port: number, NodePort: 20000 + number}}
		if d.Cluster.Service(key) == nil {
			d.Cluster.Apply(svc)
		}
	}
	if err := d.settle(); err != nil {
		return err
	}
	return r.leadGuests(d, balancers)
}

// leadGuests puts Services on load balancers that their owners have left. A Service that has left
// one stays there until others are on it, and so does a deleted one: first until those of other names are on it, the
// ones that have left their own last, and then until one of its own name replaces it.
func (r *run) leadGuests(d direct, balancers []octavia.LoadBalancer) error {
	const owners, successors = 1, 2
	turn := func(svc *v1.Service) int {
		known := d.Cluster.Service(testenv.KeyOf(svc))
		switch {
		case !slices.ContainsFunc(balancers, func(lb octavia.LoadBalancer) bool { owner, _ := ownerOf(lb); return owner == testenv.KeyOf(svc) }):
			return 0
		case known != nil && known.UID == svc.UID:
			return owners
		}
		return successors
	}
	turns := map[int][]*v1.Service{}
	for _, svc := range r.env.Cluster.Services() {
		if isOn(svc, balancers) {
			turns[turn(svc)] = append(turns[turn(svc)], svc)
		}
	}
	for now := range successors + 1 {
		if now == successors {
			if err := r.leave(d, nil); err != nil {
				return err
			}
		}
		for _, svc := range turns[now] {
			d.Cluster.Apply(r.placed(d, svc))
		}
		if err := d.settle(); err != nil {
			return err
		}
	}
	return nil
}

// isOn reports whether a Service is on one of the load balancers.
func isOn(svc *v1.Service, balancers []octavia.LoadBalancer) bool {
	return serves(svc) && at(balancers, fmt.Sprintf("%s/%d", svc.Spec.Ports[0].Protocol, svc.Spec.Ports[0].Port)) != nil
}

// isHome reports whether a Service is on its own load balancer, one of some load balancers.
func (r *run) isHome(svc *v1.Service, balancers []octavia.LoadBalancer) bool {
	return slices.ContainsFunc(balancers, func(lb octavia.LoadBalancer) bool {
		owner, _ := ownerOf(lb)
		return owner == testenv.KeyOf(svc) && r.atHome(lb)
	})
}

// atHome reports whether the owner of a load balancer is on it.
func (r *run) atHome(lb octavia.LoadBalancer) bool {
	key, uid := ownerOf(lb)
	svc := r.env.Cluster.Service(key)
	if svc == nil || !serves(svc) || uid != "" && string(svc.UID) != uid {
		return false
	}
	return isOn(svc, []octavia.LoadBalancer{lb})
}

// gone is the ID of a load balancer that does not exist.
const gone = "00000000-0000-4000-8000-000000000000"

// written returns the version of a Service that its users wrote, for another environment.
func (r *run) written(d direct, svc *v1.Service) *v1.Service {
	svc = svc.DeepCopy()
	if nodes, watched := r.env.Cluster.Endpoints(testenv.KeyOf(svc)); watched {
		d.Cluster.SetEndpoints(testenv.KeyOf(svc), nodes...)
	}
	id, had := svc.Annotations[annotation.LoadBalancerID]
	known := d.Cluster.Service(testenv.KeyOf(svc))
	for _, name := range controllers() {
		delete(svc.Annotations, name)
		if known != nil && known.UID == svc.UID && known.Annotations[name] != "" {
			svc.Annotations[name] = known.Annotations[name]
		}
	}
	svc.Finalizers, svc.Status = nil, v1.ServiceStatus{}
	if !had || sweep.IsRouted(svc) { // where that of its time in Octavia has no effect
		if svc.Annotations[annotation.Share] != "" {
			delete(svc.Annotations, annotation.LoadBalancerID) // that of placed
		}
		return svc
	}
	if id == "" {
		svc.Annotations[annotation.LoadBalancerID] = ""
		return svc
	}
	there := r.env.Cloud.Octavia.Snapshot()
	at := slices.IndexFunc(there, func(lb octavia.LoadBalancer) bool { return lb.ID == id })
	if at < 0 {
		svc.Annotations[annotation.LoadBalancerID] = gone
		return svc
	}
	delete(svc.Annotations, annotation.LoadBalancerID)
	if lb := d.counterpart(there[at]); lb != "" {
		svc.Annotations[annotation.LoadBalancerID] = lb
	}
	return svc
}

// counterpart returns the load balancer of the same owner as one of another environment. If one of
// cloud-provider-openstack was recreated, it returns the new one.
func (d direct) counterpart(of octavia.LoadBalancer) string {
	wantKey, wantUID := ownerOf(of)
	adopted := ""
	for _, lb := range d.Cloud.Octavia.Snapshot() {
		switch key, uid := ownerOf(lb); {
		case key == wantKey && uid == wantUID:
			return lb.ID
		case key == wantKey && uid == "" && string(d.inherited[wantKey]) == wantUID:
			adopted = lb.ID
		}
	}
	return adopted
}

var (
	partNumber  = regexp.MustCompile(`\b(listener|pool|monitor)_\d+_`)
	annotations = regexp.MustCompile(` ?annotations=\{[^}]*\}`)
	// identity matches texts that cloud-provider-openstack does not write; a recreated object has
	// them.
	inherited = regexp.MustCompile(` ?AllowedCIDRs=\[0\.0\.0\.0/0\]| ?kubectl\.kubernetes\.io/last-applied-configuration=\{.*\}\}\n`)
	// limitsNote matches the rest of a description after limits were removed.
	limitsNote  = regexp.MustCompile(` Description=Set by Kubernetes: nothing`)
	identity    = regexp.MustCompile(` ?Tags=\[[^\]]*\]| \(uid .* in [^)]*\)\)`)
	replacesTag = regexp.MustCompile(` ?kube_lb_replaces_[^ \]]*`)
	// nextHops matches the nodes of VIPs and port forwardings: a next hop stays while its node can serve.
	nextHops = regexp.MustCompile(` ?NextHop=[^ }]*|AddressPairs=\[[^\]]*\] ?`)
)

// plain removes the parts of books that depend on the history: numbers of parts, next hops, and annotations of
// Services without a load balancer.
func (r *run) plain(books testenv.Books) testenv.Books {
	var lines testenv.Books
	for _, line := range books {
		if r.start.Inherited {
			if strings.HasPrefix(line, "port ") && strings.Contains(line, "DeviceOwner=Octavia") {
				continue // Octavia itself created some of them in the recorded cloud
			}
			line = inherited.ReplaceAllString(identity.ReplaceAllString(line, ""), "")
		}
		line = limitsNote.ReplaceAllString(line, "")
		line = replacesTag.ReplaceAllString(partNumber.ReplaceAllString(line, "${1}_N_"), "")
		if r.start.Routed {
			line = nextHops.ReplaceAllString(line, "")
		}
		for _, svc := range r.env.Cluster.Services() {
			if !serves(svc) && strings.HasPrefix(line, "Service "+testenv.KeyOf(svc).String()+" ") {
				line = strings.TrimSuffix(annotations.ReplaceAllString(line, ""), "{}")
			}
		}
		lines = append(lines, line)
	}
	return lines
}
