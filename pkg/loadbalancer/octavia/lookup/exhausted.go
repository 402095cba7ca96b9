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

// quotaAge is how long quotas are cached: many Services exceed the same one at the same time.
const quotaAge = 30 * time.Second

// Exhausted returns the exhausted resource of a refused write, with its use and limit if the cloud
// reports them, and the remedy. It reads the quotas, with at most one request to each service
// within quotaAge. If they cannot be read, it omits the numbers.
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
		return strings.Join(parts, ", and ") + ": ask the cloud's operator to raise it, or delete unused objects"
	case short.Network != "":
		return "network " + short.Network + " has no free address: ask the cloud's operator for more, or release some"
	}
	return "the network of the address has no free one: ask the cloud's operator for more, or release some"
}

func usedUp(name, numbers string) string {
	return fmt.Sprintf("the project's quota of %s is used up%s", plural(name), numbers)
}

// octaviaQuota returns the limit in parentheses, "" if Octavia does not report it. Octavia never
// reports the use.
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

// neutronQuota returns use and limit in parentheses, "" if Neutron does not report them.
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

// octaviaKey returns the key of a quota in Octavia's API for its name in error messages, such as
// "Health Monitor".
func octaviaKey(name string) string {
	return strings.ToLower(strings.ReplaceAll(name, " ", "_"))
}

// plural returns the usual plural name of the limited objects.
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
