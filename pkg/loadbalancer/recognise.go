package loadbalancer

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/snapshot"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
)

// fingerprint is what is written down of a Service in its annotation, so that the
// next process need not read a load balancer that nobody has changed. It proves
// nothing about whose the load balancer is: the digest, which holds the identity of
// cluster and Service, does.
type fingerprint struct {
	loadBalancerID string
	updatedAt      time.Time
	// digest is of what the Service asked for, "" when another version wrote it; frame
	// is of the same without its nodes, "" where that says nothing.
	digest string
	// service is the UID of the Service: on another one it is a copy.
	service types.UID
	// floatingIPID is the floating IP on the VIP, "" for none. What is published does
	// not tell it: that can be a host name.
	floatingIPID string
	frame        string
}

// fingerprintVersion is the last word of a fingerprint. It goes up with what the
// digests are made of: those that another version wrote say nothing. The first words
// are the same in all of them; build.NamedLoadBalancer reads them too.
const fingerprintVersion = "v2"

// none stands for a word that is empty.
const none = "-"

// String writes a fingerprint, such as "ID 2026-11-20T18:34:24Z digest UID ID frame v2".
func (f fingerprint) String() string {
	return strings.Join([]string{
		f.loadBalancerID, f.updatedAt.UTC().Format(time.RFC3339Nano), f.digest, string(f.service),
		cmp.Or(f.floatingIPID, none), cmp.Or(f.frame, none), fingerprintVersion,
	}, " ")
}

// parseFingerprint reads it. One that cannot be read is none; of one that another
// version wrote, there are the load balancer and the Service.
func parseFingerprint(text string) (fingerprint, bool) {
	words := strings.Fields(text)
	if len(words) < 4 {
		return fingerprint{}, false
	}
	for i := range words {
		if words[i] == none {
			words[i] = ""
		}
	}
	updatedAt, err := time.Parse(time.RFC3339Nano, words[1])
	f := fingerprint{loadBalancerID: words[0], updatedAt: updatedAt, service: types.UID(words[3])}
	if len(words) == 7 && words[6] == fingerprintVersion {
		f.digest, f.floatingIPID, f.frame = words[2], words[4], words[5]
	}
	return f, err == nil
}

// lookAge is how old a look at the whole cloud may be for Services of a process
// that has just started: they share one.
const lookAge = time.Minute

// recognise gives what the last process has written down of the Service, if the
// cloud is still like that, else nil.
func (p *pass) recognise(ctx context.Context) (*remembered, error) {
	written, ok := parseFingerprint(p.svc.Annotations[annotation.Fingerprint])
	if !ok || written.digest == "" || written.service != p.svc.UID || len(p.svc.Status.LoadBalancer.Ingress) == 0 {
		return nil, nil
	}
	if named := p.settings.LoadBalancerID; named != "" && named != written.loadBalancerID {
		return nil, nil // it is to move
	}
	look, err := p.inventory.Look(ctx, lookAge)
	if err != nil {
		return nil, err
	}
	lb, there := look.LoadBalancers[written.loadBalancerID]
	if !there || lb.Status != openstack.StatusActive || !lb.UpdatedAt.Equal(written.updatedAt) {
		klog.FromContext(ctx).V(2).Info("The load balancer is not as it was written down, reading it", "status", lb.Status, "updatedAt", lb.UpdatedAt, "written", written.updatedAt)
		return nil, nil
	}
	if p.touched.has(p.svc.UID) || look.Named(lb.Name) > 1 {
		return nil, nil // something was begun, by this process or the last one, and perhaps not ended
	}
	known := &remembered{
		service:        types.NamespacedName{Namespace: p.svc.Namespace, Name: p.svc.Name},
		digest:         written.digest,
		frame:          written.frame,
		address:        lb.VIPAddress,
		loadBalancerID: lb.ID,
		provider:       lb.Provider,
		vipPortID:      lb.VIPPortID,
		vipSubnetID:    lb.VIPSubnetID,
		updatedAt:      lb.UpdatedAt,
		operating:      lb.Operating,
		floatingIPID:   written.floatingIPID,
		since:          look.Began,
		confirmed:      true,
		written:        true,
		announced:      true,
		as:             p.id,
		named:          p.settings.LoadBalancerID,
	}
	if known.floatingIPDrifted(look) != "" {
		return nil, nil // the floating IP is not as it was written down
	}
	if !p.settings.KeepFloatingIP && p.spareFloatingIP(look) {
		p.spares.add(p.svc.UID)
		return nil, nil // left by a change of it that was not ended, and taken back since
	}
	if p.settings.FloatingIP() && known.floatingIPID != "" {
		known.address = look.FloatingIPs[known.floatingIPID].Address
	}
	return known.ifPublished(p), nil
}

// spareFloatingIP tells whether a look shows a floating IP of the Service's on no port.
func (p *pass) spareFloatingIP(look *snapshot.Look) bool {
	return slices.ContainsFunc(look.Described(p.id.FloatingIPDescription()), func(fip snapshot.FloatingIP) bool { return fip.PortID == "" })
}

// ifPublished gives what is remembered, if the Service's status says the same.
func (r *remembered) ifPublished(p *pass) *remembered {
	want, have := p.settings.Ingress(r.address), p.svc.Status.LoadBalancer.Ingress[0]
	if want.IP != have.IP || want.Hostname != have.Hostname {
		return nil
	}
	return r
}

// Written is what stands in the annotations of a Service once its load balancer is
// well.
type Written struct {
	// Fingerprint is for the next process; "" where that must not believe anything yet.
	Fingerprint string
	// LoadBalancerID and Address are what cloud-provider-openstack writes, for other
	// tools and for people.
	LoadBalancerID, Address string
	// Named is the load balancer that the Service named: where it names another one by
	// now, that stands.
	Named string
}

func (r *remembered) toWrite(uid types.UID) Written {
	text := Written{LoadBalancerID: r.loadBalancerID, Address: r.address, Named: r.named}
	if r.confirmed {
		text.Fingerprint = fingerprint{r.loadBalancerID, r.updatedAt, r.digest, uid, r.floatingIPID, r.frame}.String()
	}
	return text
}

// writeEvery is how often it is looked for something to be written down.
const writeEvery = time.Second

// WriteDown keeps what is known of load balancers where people and the next process
// find it: write is called with a Service and what is to stand in its annotations, the
// ID and address a while after they are known, the fingerprint when a look of Watch has
// confirmed it. It returns when the context ends. Where nobody watches for drift it
// takes those looks itself.
func (r *Reconciler) WriteDown(ctx context.Context, write func(context.Context, types.NamespacedName, types.UID, Written) error) {
	var pause time.Time
	for {
		timer := r.options.Clock.NewTimer(writeEvery)
		select {
		case <-timer.C():
			if now := r.options.Clock.Now(); !r.watches() && now.After(pause) && !r.confirmDue(ctx) {
				pause = now.Add(lookAge)
			}
			r.writeDue(ctx, write)
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// writeDue writes down what is known by now and does not stand there yet.
func (r *Reconciler) writeDue(ctx context.Context, write func(context.Context, types.NamespacedName, types.UID, Written) error) {
	for uid, known := range r.memory.all() {
		announces := !known.announced && r.options.Clock.Since(known.since) >= confirmAfter
		if known.written || !known.confirmed && !announces || len(known.reported) > 0 {
			continue
		}
		if err := write(ctx, known.service, uid, known.toWrite(uid)); err != nil {
			klog.FromContext(ctx).V(2).Info("Cannot write down the state of a load balancer, trying again", "service", known.service, "err", err)
			continue
		}
		now := *known
		now.written, now.announced = known.confirmed, true
		r.memory.exchange(uid, known, &now)
	}
}

// confirmDue confirms what has changed and has come to rest, and forgets what somebody
// else has changed. It is false when something is left, as somebody works on it, or as
// the cloud does not answer.
func (r *Reconciler) confirmDue(ctx context.Context) bool {
	rested := func(known *remembered) bool {
		return !known.confirmed && known.contents != nil && r.options.Clock.Since(known.since) >= confirmAfter
	}
	all := r.memory.all()
	maps.DeleteFunc(all, func(_ types.UID, known *remembered) bool { return !rested(known) })
	if len(all) == 0 {
		return true
	}
	look, err := r.inventory.Look(ctx, 0)
	if err != nil {
		klog.FromContext(ctx).V(2).Info("Cannot look at load balancers that were changed, trying again", "err", err)
		return false
	}
	done := true
	for uid, known := range all {
		if r.atWork(uid, known) {
			continue
		}
		if r.check(ctx, uid, known, look) != "" {
			r.memory.forgetThis(uid, known)
		}
		done = done && r.memory.recall(uid) != known
	}
	return done
}
