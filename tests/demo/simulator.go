package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// cloudTimeout bounds one request to the simulator's control API.
const cloudTimeout = 10 * time.Second

// cloud is the control API of a running openstack-sim: what an operator of the
// cloud knows and can do, but no client.
type cloud struct{ url string }

// server is a virtual machine.
type server struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Address string `json:"address"`
}

// requestCounts counts the requests of clients since the log was last reset.
type requestCounts struct {
	Total    int `json:"total"`
	Writes   int `json:"writes"`
	Requests []struct {
		Method string `json:"method"`
		Route  string `json:"route"`
		Count  int    `json:"count"`
	} `json:"requests"`
	// TotalCycles is how often a load balancer went into a PENDING state.
	TotalCycles int `json:"total_cycles"`
}

// loadBalancer is the operator's view of one.
type loadBalancer struct {
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

// members counts the members of all pools by operating status.
func (lb loadBalancer) members() map[string]int {
	count := map[string]int{}
	for _, pool := range lb.Pools {
		for _, member := range pool.Members {
			count[member.OperatingStatus]++
		}
	}
	return count
}

// leftover is an object that somebody made and nobody removed.
type leftover struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Detail string `json:"detail"`
}

// leftovers are all of them, by kind.
type leftovers struct {
	Count          int        `json:"count"`
	LoadBalancers  []leftover `json:"load_balancers"`
	FloatingIPs    []leftover `json:"floating_ips"`
	Ports          []leftover `json:"ports"`
	SecurityGroups []leftover `json:"security_groups"`
}

// addServer boots a server; the cloud chooses its address.
func (c cloud) addServer(ctx context.Context, name string) (server, error) {
	var added server
	err := c.call(ctx, http.MethodPost, "servers", map[string]string{"name": name}, &added)
	return added, err
}

// openBooks starts counting anew.
func (c cloud) openBooks(ctx context.Context) error {
	return c.call(ctx, http.MethodPost, "requests/reset", nil, nil)
}

func (c cloud) requests(ctx context.Context) (requestCounts, error) {
	var b requestCounts
	err := c.call(ctx, http.MethodGet, "requests", nil, &b)
	return b, err
}

func (c cloud) loadBalancers(ctx context.Context) ([]loadBalancer, error) {
	var answer struct {
		LoadBalancers []loadBalancer `json:"loadbalancers"`
	}
	err := c.call(ctx, http.MethodGet, "loadbalancers", nil, &answer)
	return answer.LoadBalancers, err
}

func (c cloud) leftovers(ctx context.Context) (leftovers, error) {
	var left leftovers
	err := c.call(ctx, http.MethodGet, "leftovers", nil, &left)
	return left, err
}

// call sends the body, if there is one, and reads the answer, if one is wanted.
func (c cloud) call(ctx context.Context, method, path string, body, answer any) error {
	var sent io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		sent = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.url+"/_sim/"+path, sent)
	if err != nil {
		return err
	}
	client := http.Client{Timeout: cloudTimeout}
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
