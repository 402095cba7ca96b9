package lookup

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// quotaAge is how long quotas are taken to be as they were read: many Services meet the same
// one at the same time.
const quotaAge = 30 * time.Second

// Exhausted returns what a refused write shows to be used up, how much of it there is as far
// as the cloud says, and what helps. It reads quotas, of which nobody knows anything before: at
// most one request to each service within half a minute. Where they cannot be read, it does
// without.
func (r *Reader) Exhausted(ctx context.Context, refused error) string {
	short := apierror.ShortageOf(refused)
	var parts []string
	if short.Octavia != "" {
		parts = append(parts, usedUp(short.Octavia, r.octaviaQuota(ctx, short.Octavia)))
	}
	for _, name := range short.Neutron {
		parts = append(parts, usedUp(name, r.neutronQuota(ctx, name)))
	}
	switch {
	case len(parts) > 0:
		return strings.Join(parts, ", and ") + ": ask the cloud's operator to raise it, or delete what is not needed"
	case short.Network != "":
		return "network " + short.Network + " has no free address: ask the cloud's operator for more, or release some"
	}
	return "the network that the address is to come from has no free one: ask the cloud's operator for more, or release some"
}

func usedUp(name, numbers string) string {
	return fmt.Sprintf("the project's quota of %s is used up%s", plural(name), numbers)
}

// octaviaQuota returns the limit in parentheses, "" where Octavia does not say. How much of it
// is used it never says.
func (r *Reader) octaviaQuota(ctx context.Context, name string) string {
	limits, err := r.limits.get(ctx, "", func(ctx context.Context, _ string) (map[string]int, error) { return r.octavia.QuotaLimits(ctx) })
	if err != nil {
		klog.FromContext(ctx).V(2).Info("Cannot read the quotas of the project", "err", err)
	}
	if limit, known := limits[octaviaKey(name)]; known {
		return fmt.Sprintf(" (%d)", limit)
	}
	return ""
}

// neutronQuota returns use and limit in parentheses, "" where Neutron does not say.
func (r *Reader) neutronQuota(ctx context.Context, name string) string {
	quotas, err := r.quotas.get(ctx, "", func(ctx context.Context, _ string) (map[string]neutron.Quota, error) { return r.neutron.Quotas(ctx) })
	if err != nil {
		klog.FromContext(ctx).V(2).Info("Cannot read the quotas of the project", "err", err)
	}
	if quota, known := quotas[name]; known {
		return fmt.Sprintf(" (%d of %d)", quota.Used+quota.Reserved, quota.Limit)
	}
	return ""
}

// octaviaKey returns the key under which Octavia shows the quota of what its errors name in
// words: "Health Monitor".
func octaviaKey(name string) string {
	return strings.ToLower(strings.ReplaceAll(name, " ", "_"))
}

// plural returns how users call what a quota limits.
func plural(name string) string {
	switch name {
	case "floatingip":
		return "floating IPs"
	case "L7 Policy":
		return "L7 policies"
	}
	words := strings.ReplaceAll(name, "_", " ")
	if !strings.HasPrefix(words, "L7") {
		words = strings.ToLower(words)
	}
	return words + "s"
}
