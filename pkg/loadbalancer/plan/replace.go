package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// A load balancer cannot change its provider, flavor, availability zone and VIP. When
// the Service permits it, another one takes its place:
//
//	there is                               plan
//	the old one                            make the new one beside it
//	both, the new one is being made        (waited for before any plan)
//	both, the new one is ERROR, or no more delete the new one
//	what is asked for, and has no
//	floating IP yet
//	both, the new one is well              what still differs in it, move the floating IP, delete the old one
//
// A new one whose VIP is on the same port, or has the same address, cannot be made
// beside the old one: that goes first. Which of the two is the new one is told by its
// tag, so that this goes on after a crash anywhere.

// misfit is a setting that a load balancer which exists cannot take.
type misfit struct{ name, want, have string }

// misfits gives what is desired and cannot become of a load balancer.
func misfits(desired, observed *model.LoadBalancer) []misfit {
	var found []misfit
	for _, m := range []misfit{
		{"provider", driver.Canonical(desired.Provider), driver.Canonical(observed.Provider)},
		{"flavor", desired.FlavorID, observed.FlavorID},
		{"availability zone", desired.AvailabilityZone, observed.AvailabilityZone},
		{"port of the VIP", desired.VIP.PortID, observed.VIP.PortID},
		{"subnet of the VIP", desired.VIP.SubnetID, observed.VIP.SubnetID},
		{"network of the VIP", desired.VIP.NetworkID, observed.VIP.NetworkID},
		{"address of the VIP", desired.VIP.Address, observed.VIP.Address},
	} {
		if m.want != "" && m.want != m.have {
			found = append(found, m)
		}
	}
	return found
}

// Misfits tells whether a load balancer cannot become what is desired, and can be
// replaced for that: nobody else is on it, it was made for the Service, and not for
// this very wish.
func Misfits(desired, observed *model.LoadBalancer) bool {
	return replaceable(observed) && len(misfits(desired, observed)) > 0 && !madeFor(desired, observed)
}

func replaceable(lb *model.LoadBalancer) bool { return len(lb.Foreign) == 0 && lb.Shared == nil }

// madeFor tells whether a load balancer was made in place of another one for just
// what is desired: that it still does not fit would not change if it were made again.
func madeFor(desired, observed *model.LoadBalancer) bool {
	return observed.MadeFor != "" && observed.MadeFor == Wish(desired)
}

// Wish condenses what of the desired load balancer one that exists cannot become.
func Wish(desired *model.LoadBalancer) string {
	vip := desired.VIP
	sum := sha256.Sum256([]byte(strings.Join([]string{
		driver.Canonical(desired.Provider), desired.FlavorID, desired.AvailabilityZone, vip.PortID, vip.SubnetID, vip.NetworkID, vip.Address,
	}, "\n")))
	return hex.EncodeToString(sum[:4])
}

// startReplacement returns the plan that creates the replacement of a load balancer.
func startReplacement(desired *model.LoadBalancer, observed model.Observed, opts Options) Plan {
	lb, next := observed.LoadBalancer, opts.Replacement.LoadBalancer
	why := "it is in ERROR"
	if unfit := misfits(desired, lb); len(unfit) > 0 {
		why = fmt.Sprintf("its %s cannot change from %q to %q", unfit[0].name, unfit[0].have, unfit[0].want)
	}
	if sameVIP(next.VIP, lb.VIP) {
		spare := observed.Spare
		if lb.FloatingIP != nil {
			spare = append(slices.Clone(spare), released(*lb.FloatingIP))
		}
		steps := []Step{DeleteLoadBalancer{ID: lb.ID, Name: lb.Name, Cascade: true, Why: why + ", and the new one takes its VIP"}}
		return Plan{Steps: append(steps, create(next, spare, opts.forReplacement())...)}
	}
	created, _ := atOnce(next, opts.forReplacement())
	return Plan{Steps: []Step{CreateLoadBalancer{LoadBalancer: created, Replaces: lb.ID, Why: why}}}
}

// sameVIP tells whether two load balancers cannot be there at a time.
func sameVIP(a, b model.VIP) bool {
	return a.PortID != "" && a.PortID == b.PortID || a.Address != "" && a.Address == b.Address
}

// finishReplacement returns the plan that lets a load balancer take the place of the one
// that it was created to replace.
func finishReplacement(desired *model.LoadBalancer, observed model.Observed, opts Options) Plan {
	lb, old := observed.LoadBalancer, observed.Retiring
	inUse := lb.FloatingIP != nil
	switch {
	case lb.Status.Failed() && !inUse:
		return Plan{Steps: []Step{DeleteLoadBalancer{ID: lb.ID, Name: lb.Name, Cascade: true, Why: "it is in ERROR and has never served"}}}
	case lb.Status.Failed():
		return Plan{Blocked: inError(lb)}
	case len(misfits(desired, lb)) > 0 && !madeFor(desired, lb) && !inUse && !old.Status.Failed():
		return Plan{Steps: []Step{DeleteLoadBalancer{ID: lb.ID, Name: lb.Name, Cascade: true, Why: "it is not what is asked for any more"}}}
	case len(old.Foreign) > 0:
		return Plan{Blocked: fmt.Sprintf("load balancer %s (%s) was to be replaced, and is not deleted because it also holds %s: "+
			"remove that, or remove the annotation allow-replace", old.Name, old.ID, old.Foreign[0])}
	}
	if blocked := guards(desired, lb); blocked != "" {
		return Plan{Blocked: blocked}
	}
	d := contents(desired, lb, opts)
	d.steps = append(detachFloatingIP(desired, orElse(lb.FloatingIP, old.FloatingIP), observed.Spare, opts), d.steps...)
	want := desired.FloatingIP
	if want != nil && !fits(want, lb.FloatingIP) && fits(want, old.FloatingIP) && lb.FloatingIP == nil {
		d.add(MoveFloatingIP(associate(want, *old.FloatingIP)))
	} else {
		d.add(attachFloatingIP(desired, lb.FloatingIP, observed.Spare, opts)...)
	}
	d.add(DeleteLoadBalancer{ID: old.ID, Name: old.Name, Cascade: true, Why: "another one has taken its place", Succeeded: true})
	return Plan{Steps: d.steps, Notices: notices(desired, lb)}
}

func orElse(a, b *model.FloatingIP) *model.FloatingIP {
	if a != nil {
		return a
	}
	return b
}

func inError(lb *model.LoadBalancer) string {
	return fmt.Sprintf("load balancer %s (%s) is in ERROR; it may still serve traffic, so it is left alone: "+
		"ask the cloud's operator for a failover, let a new one take its place with the annotation %s, or delete the Service to start anew",
		lb.Name, lb.ID, allowReplace)
}

// allowReplace is how a Service permits it.
const allowReplace = `loadbalancer.openstack.org/allow-replace: "true"`
