package control

import (
	"net/http"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/control/client"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// showSummary returns the totals. With the query address=… (which may be repeated) and cidr=…, it
// also counts the pools and listeners with these values.
func (c *control) showSummary(r *http.Request) (answer, error) {
	query := r.URL.Query()
	tally := c.parts.Octavia.Tally(query.Get("cidr"), query["address"]...)
	total := c.parts.RequestLog.Total()
	return answer{http.StatusOK, client.Summary{
		LoadBalancers: tally.LoadBalancers, Pending: tally.Pending, Failed: tally.Failed,
		Listeners: tally.Listeners, Pools: tally.Pools, Members: tally.Members,
		PoolsWith: tally.PoolsWith, ListenersAllowing: tally.Allowing, Quiet: tally.Quiet.Seconds(),
		Requests: total.Count, Writes: c.parts.RequestLog.Total(requestlog.Writes()).Count,
		TotalCycles:  c.parts.RequestLog.TotalCycles(),
		RequestBytes: total.RequestBytes, Bytes: total.Bytes,
	}}, nil
}
