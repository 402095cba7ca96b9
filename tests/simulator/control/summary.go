package control

import (
	"net/http"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// summary is the answer of GET summary: figures that cost little however big the cloud
// is.
type summary struct {
	LoadBalancers int `json:"load_balancers"`
	// Pending load balancers are in a PENDING state, Failed ones in ERROR.
	Pending   int `json:"pending"`
	Failed    int `json:"failed"`
	Listeners int `json:"listeners"`
	Pools     int `json:"pools"`
	Members   int `json:"members"`
	// PoolsWith is how many pools have a member at each address of the query,
	// ListenersAllowing how many listeners allow its cidr.
	PoolsWith         map[string]int `json:"pools_with"`
	ListenersAllowing int            `json:"listeners_allowing"`

	// Of the request log.
	Requests     int `json:"requests"`
	Writes       int `json:"writes"`
	TotalCycles  int `json:"total_cycles"`
	RequestBytes int `json:"request_bytes"`
	Bytes        int `json:"bytes"`
}

// showSummary counts, with the query address=… (which may be repeated) and cidr=… also
// what has them.
func (c *control) showSummary(r *http.Request) (answer, error) {
	query := r.URL.Query()
	tally := c.parts.Octavia.Tally(query.Get("cidr"), query["address"]...)
	total := c.parts.RequestLog.Total()
	return answer{http.StatusOK, summary{
		LoadBalancers: tally.LoadBalancers, Pending: tally.Pending, Failed: tally.Failed,
		Listeners: tally.Listeners, Pools: tally.Pools, Members: tally.Members,
		PoolsWith: tally.PoolsWith, ListenersAllowing: tally.Allowing,
		Requests: total.Count, Writes: c.parts.RequestLog.Total(requestlog.Writes()).Count,
		TotalCycles:  c.parts.RequestLog.TotalCycles(),
		RequestBytes: total.RequestBytes, Bytes: total.Bytes,
	}}, nil
}
