package octavia

import (
	"context"
	"net/url"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

// monitorAPI reads and writes health monitors.
type monitorAPI struct{ requests }

// Monitor reads one health monitor.
func (c monitorAPI) Monitor(ctx context.Context, id string) (*HealthMonitor, error) {
	var answer struct {
		Monitor HealthMonitor `json:"healthmonitor"`
	}
	if err := c.object(ctx, "healthmonitors", id, "", &answer, func() string { return answer.Monitor.ID }); err != nil {
		return nil, apierror.Wrap(err, "read health monitor "+id)
	}
	return &answer.Monitor, nil
}

// MonitorsTagged lists the health monitors with one of these tags. Octavia cannot list
// them by load balancer.
func (c monitorAPI) MonitorsTagged(ctx context.Context, tags ...string) ([]HealthMonitor, error) {
	return listAll(ctx, c.requests, "healthmonitors", tagged(tags), func(m HealthMonitor) string { return m.ID })
}

// AllMonitors lists the health monitors of all load balancers.
func (c monitorAPI) AllMonitors(ctx context.Context) ([]HealthMonitor, error) {
	return listAll(ctx, c.requests, "healthmonitors", url.Values{}, func(m HealthMonitor) string { return m.ID })
}

// CreateMonitor creates the health monitor of a pool.
func (c monitorAPI) CreateMonitor(ctx context.Context, monitor HealthMonitor) (*HealthMonitor, error) {
	return create(ctx, c.requests, "healthmonitors", "healthmonitor", monitor, "create health monitor "+monitor.Name)
}

// UpdateMonitor changes settings of a health monitor.
func (c monitorAPI) UpdateMonitor(ctx context.Context, id string, changes Changes) error {
	_, err := update[ObjectID](ctx, c.requests, "healthmonitors", id, "healthmonitor", changes, "update health monitor "+id)
	return err
}

// DeleteMonitor deletes a health monitor. After a 404 it reads the monitor, which is a second
// request: if another one were created beside it, ovn of Zed would stay in PENDING_UPDATE for ever.
func (c monitorAPI) DeleteMonitor(ctx context.Context, id string) error {
	return c.removeSurely(ctx, "healthmonitors", id, "health monitor "+id)
}
