package plan

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// A load balancer cannot change its provider, flavor, availability zone and VIP. With the Service's
// permission, another one replaces it:
//
//	observed                                plan
//	the old one                             create the replacement beside it
//	both, the replacement is being created  (waited for before any plan)
//	both, the replacement is in ERROR, or   delete the replacement
//	outdated, and
//	has no floating IP yet
//	both, the replacement is ACTIVE         its remaining differences, move the floating IP, delete the old one
//
// A replacement with the same VIP port or address cannot be created beside the old one, which is
// deleted first, after the requested floating IP is attached to it. A tag marks the replacement, so that
// this continues after an interruption at any point.

// mismatch is a setting that cannot change on an existing load balancer.
type mismatch struct{ name, want, have string }

// mismatches returns the settings that cannot be changed to the desired values.
func mismatches(desired, observed *model.LoadBalancer) []mismatch {
	var found []mismatch
	for _, m := range []mismatch{
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
	if !sameAdditional(desired.VIP.Additional, observed.VIP) && observed.Shared == nil {
		found = append(found, mismatch{"additional VIPs", printVIPs(desired.VIP.Additional), printVIPs(observed.VIP.Additional)})
	}
	return found
}

// sameAdditional reports whether a load balancer has the desired VIPs besides the first. Of a desired VIP
// without a subnet, only the IP family is compared.
func sameAdditional(desired []model.AdditionalVIP, there model.VIP) bool {
	return len(desired) == len(there.Additional) && !slices.ContainsFunc(desired, func(want model.AdditionalVIP) bool {
		return !slices.ContainsFunc(there.Additional, func(have model.AdditionalVIP) bool {
			return (want.SubnetID == "" && there.DualStack() || want.SubnetID == have.SubnetID) && (want.Address == "" || want.Address == have.Address)
		})
	})
}

// printVIPs returns VIPs besides the first as text.
func printVIPs(vips []model.AdditionalVIP) string {
	texts := make([]string, 0, len(vips))
	for _, vip := range vips {
		texts = append(texts, cmp.Or(vip.Address, vip.SubnetID, vip.Family))
	}
	return cmp.Or(strings.Join(texts, ", "), model.None)
}

// NeedsReplacement reports whether a load balancer cannot become the desired one and may be
// replaced: it has no other owner, it was created for the Service, and not as a replacement with
// the same desired settings.
func NeedsReplacement(desired, observed *model.LoadBalancer) bool {
	return replaceable(observed) && len(mismatches(desired, observed)) > 0 && !isReplacementFor(desired, observed)
}

func replaceable(lb *model.LoadBalancer) bool { return len(lb.Foreign) == 0 && lb.Shared == nil }

// isReplacementFor reports whether a load balancer was created as a replacement with the same
// desired settings: its differences would remain if it were created again.
func isReplacementFor(desired, observed *model.LoadBalancer) bool {
	return observed.ReplacementHash != "" && observed.ReplacementHash == ReplacementHash(desired)
}

// ReplacementHash returns a hash of the settings that cannot change on an existing load balancer.
func ReplacementHash(desired *model.LoadBalancer) string {
	vip := desired.VIP
	parts := []string{driver.Canonical(desired.Provider), desired.FlavorID, desired.AvailabilityZone, vip.PortID, vip.SubnetID, vip.NetworkID, vip.Address}
	if len(vip.Additional) > 0 {
		parts = append(parts, printVIPs(vip.Additional))
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\n")))
	return hex.EncodeToString(sum[:4])
}

// startReplacement returns the plan that creates the replacement of a load balancer.
func startReplacement(desired *model.LoadBalancer, observed model.Observed, opts Options) Plan {
	lb, next := observed.LoadBalancer, opts.Replacement.LoadBalancer
	why := "it is in ERROR"
	if found := mismatches(desired, lb); len(found) > 0 {
		why = fmt.Sprintf("its %s cannot change from %q to %q", found[0].name, found[0].have, found[0].want)
	}
	if sameVIP(next.VIP, lb.VIP) {
		first, unattached := floatingIPFirst(next, observed, opts)
		steps := append(first, DeleteLoadBalancer{ID: lb.ID, Name: lb.Name, Cascade: true, Why: why + ", and the new one takes its VIP"})
		return Plan{Steps: append(steps, create(next, unattached, opts.forReplacement())...)}
	}
	created, _ := atOnce(next, opts.forReplacement())
	return Plan{Steps: append(reserve(next, observed), CreateLoadBalancer{LoadBalancer: created, Replaces: lb.ID, Why: why})}
}

// floatingIPFirst returns the steps that put the wanted floating IP on a load balancer that is
// deleted before another one takes its VIP, and the floating IPs that the new one can have, that on
// the VIP first. Neutron may refuse the floating IP: then the old load balancer continues to serve. The
// old load balancer gets none where it serves nothing, where a floating IP may be possible on the new
// VIP only, and where a duplicate has the wanted one until it is deleted.
func floatingIPFirst(next *model.LoadBalancer, observed model.Observed, opts Options) ([]Step, []model.FloatingIP) {
	old := *observed.LoadBalancer
	observed.LoadBalancer = &old
	if old.Status.Failed() || movesVIP(next.VIP, old.VIP) || duplicateHas(next.FloatingIP, observed) {
		unattached := observed.UnattachedFloatingIPs
		if old.FloatingIP != nil {
			unattached = append([]model.FloatingIP{released(*old.FloatingIP)}, unattached...)
		}
		return nil, unattached
	}
	first := slices.DeleteFunc(attachFloatingIP(next, old.FloatingIP, observed.UnattachedFloatingIPs, opts), func(step Step) bool {
		_, deletes := step.(DeleteFloatingIP)
		return deletes
	})
	for _, step := range first {
		advanceFloatingIP(&observed, step)
	}
	unattached := observed.UnattachedFloatingIPs
	if old.FloatingIP != nil {
		fip := *old.FloatingIP
		fip.Revision = nil
		unattached = append([]model.FloatingIP{fip}, unattached...)
	}
	return first, unattached
}

// duplicateHas reports whether the wanted floating IP is on the VIP of a duplicate, from which it moves.
func duplicateHas(want *model.FloatingIP, observed model.Observed) bool {
	return want != nil && slices.ContainsFunc(observed.Duplicates, func(lb model.LoadBalancer) bool { return fits(want, lb.FloatingIP) })
}

// movesVIP reports whether a VIP of the same address or port is wanted in another subnet or network.
func movesVIP(next, old model.VIP) bool {
	return next.SubnetID != "" && next.SubnetID != old.SubnetID || next.NetworkID != "" && next.NetworkID != old.NetworkID
}

// reserve returns the step that creates a floating IP with an address that the Service asks for,
// beside the load balancer that is replaced, see create.
func reserve(next *model.LoadBalancer, observed model.Observed) []Step {
	want := next.FloatingIP
	if want == nil || want.Address == "" || fits(want, observed.LoadBalancer.FloatingIP) || choose(want, observed.UnattachedFloatingIPs) >= 0 ||
		duplicateHas(want, observed) {
		return nil
	}
	return []Step{CreateFloatingIP{FloatingIP: *want, Beside: true}}
}

// sameVIP reports whether two load balancers cannot coexist.
func sameVIP(a, b model.VIP) bool {
	return a.PortID != "" && a.PortID == b.PortID ||
		slices.ContainsFunc(a.Addresses(), func(address string) bool { return address != "" && slices.Contains(b.Addresses(), address) })
}

// finishReplacement returns the plan for the completion of a replacement.
func finishReplacement(desired *model.LoadBalancer, observed model.Observed, opts Options) Plan {
	lb, old := observed.LoadBalancer, observed.Outgoing
	inUse := lb.FloatingIP != nil
	switch {
	case !inUse && len(lb.Foreign) > 0 && lb.Status.Failed():
		return Plan{Blocked: failedWithForeign(lb)}
	case lb.Status.Failed() && !inUse:
		return Plan{Steps: []Step{DeleteLoadBalancer{ID: lb.ID, Name: lb.Name, Cascade: true, Why: "it is in ERROR and has never served"}}}
	case lb.Status.Failed():
		return recoverFailed(lb, opts)
	case len(lb.Foreign) == 0 && len(mismatches(desired, lb)) > 0 && !isReplacementFor(desired, lb) && !inUse && !old.Status.Failed():
		return Plan{Steps: []Step{DeleteLoadBalancer{ID: lb.ID, Name: lb.Name, Cascade: true, Why: "it is outdated"}}}
	case len(old.Foreign) > 0:
		return Plan{Blocked: fmt.Sprintf("load balancer %s (%s) was to be replaced, and is not deleted because it also holds %s: "+
			"remove that, or remove the annotation allow-replace", old.Name, old.ID, old.Foreign[0])}
	}
	if blocked := restrictionConflict(desired, lb); blocked != "" {
		return Plan{Blocked: blocked}
	}
	d := contents(desired, lb, opts)
	d.steps = append(detachFloatingIP(desired, cmp.Or(lb.FloatingIP, old.FloatingIP), observed.UnattachedFloatingIPs, opts), d.steps...)
	want := desired.FloatingIP
	if want != nil && !fits(want, lb.FloatingIP) && fits(want, old.FloatingIP) && lb.FloatingIP == nil {
		d.add(MoveFloatingIP(associate(want, *old.FloatingIP)))
	} else {
		d.add(attachFloatingIP(desired, lb.FloatingIP, observed.UnattachedFloatingIPs, opts)...)
	}
	d.add(DeleteLoadBalancer{ID: old.ID, Name: old.Name, Cascade: true, Why: "another one has taken its place", Replaced: true})
	return Plan{Steps: d.steps, Notices: notices(desired, lb)}
}

// allowReplace is the annotation that permits a replacement.
const allowReplace = `loadbalancer.openstack.org/allow-replace: "true"`
