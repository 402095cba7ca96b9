package lookup

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/request"
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
	if short.Service == "" {
		network := "the network that the address is to come from"
		if short.Network != "" {
			network = "network " + short.Network
		}
		return network + " has no free address: ask the cloud's operator for more, or release some"
	}
	var parts []string
	for _, name := range short.Resources {
		parts = append(parts, fmt.Sprintf("the project's quota of %s is used up%s", plural(name), r.quotaText(ctx, short.Service, name)))
	}
	if len(parts) == 0 {
		parts = []string{"a quota of the project is used up"}
	}
	return strings.Join(parts, ", and ") + ": ask the cloud's operator to raise it, or delete what is not needed"
}

// quotaText returns the numbers of a quota in parentheses, "" where the cloud does not say.
func (r *Reader) quotaText(ctx context.Context, service, name string) string {
	var err error
	if service == request.Octavia {
		var limits map[string]int
		limits, err = r.limits.get(ctx, service, func(ctx context.Context, _ string) (map[string]int, error) { return r.octavia.QuotaLimits(ctx) })
		if limit, known := limits[octaviaKey(name)]; known {
			return fmt.Sprintf(" (%d)", limit) // Octavia does not tell how much of it is used
		}
	} else {
		var quotas map[string]neutron.Quota
		quotas, err = r.quotas.get(ctx, service, func(ctx context.Context, _ string) (map[string]neutron.Quota, error) { return r.neutron.Quotas(ctx) })
		if quota, known := quotas[name]; known {
			return fmt.Sprintf(" (%d of %d)", quota.Used+quota.Reserved, quota.Limit)
		}
	}
	if err != nil {
		klog.FromContext(ctx).V(2).Info("Cannot read the quotas of the project", "service", service, "err", err)
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
