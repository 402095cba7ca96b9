// Package client is a client of the control API, for programs that run openstack-sim as a separate
// process. It has the knowledge and the abilities of the cloud's operator, which tenants do not
// have.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// timeout bounds one request. A cloud with millions of members is slow to count.
const timeout = time.Minute

// Cloud is the control API of the openstack-sim at URL.
type Cloud struct{ URL string }

// Server is a virtual machine.
type Server struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Address string `json:"address"`
}

// RequestCounts counts the requests of clients since the log was last reset.
type RequestCounts struct {
	Total    int `json:"total"`
	Writes   int `json:"writes"`
	Requests []struct {
		Method string `json:"method"`
		Route  string `json:"route"`
		Count  int    `json:"count"`
	} `json:"requests"`
	// TotalCycles is the number of times that a load balancer became PENDING.
	TotalCycles int `json:"total_cycles"`
}

// LoadBalancer is the operator's view of one.
type LoadBalancer struct {
	ID                 string `json:"id"`
	Name               string `json:"name"`
	ProvisioningStatus string `json:"provisioning_status"`
	Pools              []struct {
		Members []struct {
			Name            string `json:"name"`
			OperatingStatus string `json:"operating_status"`
		} `json:"members"`
	} `json:"pools"`
}

// MembersByStatus counts the members of all pools by operating status.
func (lb LoadBalancer) MembersByStatus() map[string]int {
	count := map[string]int{}
	for _, pool := range lb.Pools {
		for _, member := range pool.Members {
			count[member.OperatingStatus]++
		}
	}
	return count
}

// Leftover is an object that was created and not removed.
type Leftover struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
	// Detail is a further property of the object: an address, an owner, a description.
	Detail string `json:"detail,omitempty"`
}

// Leftovers are the objects of a project that belong to neither its servers nor its network.
type Leftovers struct {
	// Count of all of them; 0 means that the cloud is clean.
	Count          int        `json:"count"`
	LoadBalancers  []Leftover `json:"load_balancers"`
	FloatingIPs    []Leftover `json:"floating_ips"`
	Ports          []Leftover `json:"ports"`
	SecurityGroups []Leftover `json:"security_groups"`
}

// AddServer adds a running server; the cloud chooses its address.
func (c Cloud) AddServer(ctx context.Context, name string) (Server, error) {
	var added Server
	err := c.call(ctx, http.MethodPost, "servers", map[string]string{"name": name}, &added)
	return added, err
}

// DeleteServer deletes a server and its port.
func (c Cloud) DeleteServer(ctx context.Context, id string) error {
	return c.call(ctx, http.MethodDelete, "servers/"+id, nil, nil)
}

// SetQuota sets the project's quota for a resource of Neutron; -1 is no limit.
func (c Cloud) SetQuota(ctx context.Context, resource string, limit int) error {
	return c.call(ctx, http.MethodPost, "conditions", map[string]any{"kind": "quota", "resource": resource, "limit": limit}, nil)
}

// ResetRequests sets the counts of requests to zero.
func (c Cloud) ResetRequests(ctx context.Context) error {
	return c.call(ctx, http.MethodPost, "requests/reset", nil, nil)
}

// Requests returns the counts since ResetRequests.
func (c Cloud) Requests(ctx context.Context) (RequestCounts, error) {
	var b RequestCounts
	err := c.call(ctx, http.MethodGet, "requests", nil, &b)
	return b, err
}

// LoadBalancers returns all of them.
func (c Cloud) LoadBalancers(ctx context.Context) ([]LoadBalancer, error) {
	var answer struct {
		LoadBalancers []LoadBalancer `json:"loadbalancers"`
	}
	err := c.call(ctx, http.MethodGet, "loadbalancers", nil, &answer)
	return answer.LoadBalancers, err
}

// Leftovers returns the objects that belong to neither the servers nor the network.
func (c Cloud) Leftovers(ctx context.Context) (Leftovers, error) {
	var left Leftovers
	err := c.call(ctx, http.MethodGet, "leftovers", nil, &left)
	return left, err
}

// Summary has the totals of a cloud, which cost little for a cloud of any size, and of its request
// log.
type Summary struct {
	LoadBalancers int `json:"load_balancers"`
	// Pending load balancers are in a PENDING state, Failed ones in ERROR.
	Pending   int `json:"pending"`
	Failed    int `json:"failed"`
	Listeners int `json:"listeners"`
	Pools     int `json:"pools"`
	Members   int `json:"members"`
	// PoolsWith is the number of pools with a member at each address of the query, and
	// ListenersAllowing the number of listeners that allow its cidr.
	PoolsWith         map[string]int `json:"pools_with"`
	ListenersAllowing int            `json:"listeners_allowing"`
	// Quiet is the time since work of Octavia last ended, in seconds of the cloud's time.
	Quiet float64 `json:"quiet_s"`

	// Of the request log.
	Requests     int `json:"requests"`
	Writes       int `json:"writes"`
	TotalCycles  int `json:"total_cycles"`
	RequestBytes int `json:"request_bytes"`
	Bytes        int `json:"bytes"`
}

// Summary returns the totals. It also counts the pools with members at the addresses, and the
// listeners that allow the CIDR.
func (c Cloud) Summary(ctx context.Context, cidr string, addresses ...string) (Summary, error) {
	var found Summary
	query := url.Values{"cidr": {cidr}, "address": addresses}
	err := c.call(ctx, http.MethodGet, "summary?"+query.Encode(), nil, &found)
	return found, err
}

// call sends the body, if there is one, and reads the answer, if one is wanted.
func (c Cloud) call(ctx context.Context, method, path string, body, answer any) error {
	var sent io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		sent = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.URL+"/_sim/"+path, sent)
	if err != nil {
		return err
	}
	client := http.Client{Timeout: timeout}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("ask the simulator: %w", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("%s %s of the simulator: %w", method, path, err)
	}
	if response.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("%s %s of the simulator: %s: %s", method, path, response.Status, text)
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(text, answer)
}
