package lookup

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// quotaAge is how long quotas are cached: many Services exceed the same one at the same time.
const quotaAge = 30 * time.Second

// Quotas reports the limits of the project. It is safe for concurrent use.
type Quotas struct {
	neutron Neutron
	octavia Octavia
	// ofOctavia are the limits of Octavia, ofNeutron those of Neutron with their use.
	ofOctavia *cache[map[string]int]
	ofNeutron *cache[map[string]neutron.Quota]
}

func newQuotas(neutronAPI Neutron, octaviaAPI Octavia, clk clock.PassiveClock, age time.Duration) *Quotas {
	return &Quotas{
		neutron: neutronAPI, octavia: octaviaAPI,
		ofOctavia: newCache[map[string]int](clk, min(age, quotaAge)), ofNeutron: newCache[map[string]neutron.Quota](clk, min(age, quotaAge)),
	}
}

// Exhausted returns the exhausted resource of a refused write, with its use and limit if the cloud
// reports them, and the remedy. It reads the quotas, with at most one request to each service
// within quotaAge. If they cannot be read, it omits the numbers.
func (q *Quotas) Exhausted(ctx context.Context, refused error) string {
	short := apierror.ShortageOf(refused)
	var parts []string
	if short.Octavia != "" {
		parts = append(parts, usedUp(short.Octavia, q.octaviaQuota(ctx, short.Octavia)))
	}
	for _, name := range short.Neutron {
		parts = append(parts, usedUp(name, q.neutronQuota(ctx, name)))
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
func (q *Quotas) octaviaQuota(ctx context.Context, name string) string {
	limits, err := q.ofOctavia.get(ctx, "", func(ctx context.Context, _ string) (map[string]int, error) { return q.octavia.QuotaLimits(ctx) })
	if err != nil {
		klog.FromContext(ctx).V(2).Info("Cannot read the quotas of the project", "err", err)
	}
	if limit, known := limits[octaviaKey(name)]; known {
		return fmt.Sprintf(" (%d)", limit)
	}
	return ""
}

// neutronQuota returns use and limit in parentheses, "" if Neutron does not report them.
func (q *Quotas) neutronQuota(ctx context.Context, name string) string {
	quotas, err := q.ofNeutron.get(ctx, "", func(ctx context.Context, _ string) (map[string]neutron.Quota, error) { return q.neutron.Quotas(ctx) })
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
