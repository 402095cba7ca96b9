package simulator

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// Conditions are failures of the whole cloud, not of single requests. Faults lists each one. It
// lasts until its end function is called or it is removed from Faults by its ID.

// RefuseConnections closes the cloud's port: new connections are refused, and open ones are lost.
// The control API has the same port. The port opens again after the duration on the cloud's clock;
// 0 means that only the removal of the condition opens it.
func (c *Cloud) RefuseConnections(duration time.Duration) (id string) {
	c.door.shut()
	id = c.Faults.Stand("connections are refused", func() {
		if err := c.door.open(); err != nil {
			c.options.Report(fmt.Errorf("open the port again: %w", err))
		}
	})
	c.endAfter(id, duration)
	return id
}

// ExhaustSubnet removes all free addresses of a subnet. Allocated ones stay.
func (c *Cloud) ExhaustSubnet(subnetID string) (id string, err error) {
	if err := c.Neutron.SetExhausted(subnetID, true); err != nil {
		return "", fmt.Errorf("exhaust subnet: %w", err)
	}
	return c.Faults.Stand("subnet "+subnetID+" is exhausted", func() {
		_ = c.Neutron.SetExhausted(subnetID, false) // subnets stay
	}), nil
}

// LimitQuota sets a quota of Neutron for the first account: "port",
// "floatingip", "security_group" and the like. The end function restores the previous quota.
func (c *Cloud) LimitQuota(resource string, limit int) (id string) {
	project := c.Account.ProjectID
	before := c.Neutron.Quota(project, resource)
	c.Neutron.SetQuota(project, resource, limit)
	return c.Faults.Stand(fmt.Sprintf("quota of %s is %d", resource, limit), func() {
		c.Neutron.SetQuota(project, resource, before)
	})
}

// MoveEndpoints changes the base URL of the endpoints in the catalogs of later tokens.
func (c *Cloud) MoveEndpoints(baseURL string) (id string) {
	c.Keystone.SetBaseURL(baseURL)
	return c.Faults.Stand("the catalog leads to "+baseURL, func() { c.Keystone.SetBaseURL(c.URL()) })
}

// BreakCell makes the database of a Nova cell unreachable.
func (c *Cloud) BreakCell(cell string) (id string) {
	c.Nova.SetCellDown(cell, true)
	return c.Faults.Stand("cell "+cell+" is down", func() { c.Nova.SetCellDown(cell, false) })
}

// Hold keeps a load balancer in a provisioning status, PENDING_UPDATE for example; unfinished work
// on it is dropped. At the end it becomes ACTIVE unless its status has changed meanwhile. The
// duration is on the cloud's clock; 0 means that only the removal of the condition ends it.
func (c *Cloud) Hold(loadBalancerID, status string, duration time.Duration) (id string, err error) {
	if err := c.Octavia.SetProvisioningStatus(loadBalancerID, status); err != nil {
		return "", fmt.Errorf("hold load balancer: %w", err)
	}
	id = c.Faults.Stand(fmt.Sprintf("load balancer %s stays in %s", loadBalancerID, status), func() {
		for _, lb := range c.Octavia.Snapshot() {
			if lb.ID == loadBalancerID && lb.ProvisioningStatus == status {
				_ = c.Octavia.SetProvisioningStatus(loadBalancerID, octavia.Active) // a deleted one needs no status
			}
		}
	})
	c.endAfter(id, duration)
	return id, nil
}

// Foreign is another client of the cloud: an administrator with the API.
type Foreign struct {
	// Method and Path of the request, such as PUT and
	// /load-balancer/v2.0/lbaas/listeners/{id}.
	Method, Path string
	// Body of the request; nil: none.
	Body json.RawMessage
	// Every is how often it is sent, by the cloud's own clock; 0: once.
	Every time.Duration
}

// Act sends a request of another client, without the request log and faults, and returns the answer
// to the first one. With Every it is a condition; otherwise its ID is empty.
func (c *Cloud) Act(actor Foreign) (id string, status int, answer []byte, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	status, answer, err = c.sendForeign(ctx, actor)
	if err != nil || actor.Every <= 0 {
		cancel()
		return "", status, answer, err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			timer := c.options.Clock.NewTimer(actor.Every)
			select {
			case <-ctx.Done():
				timer.Stop()
				return
			case <-timer.C():
				_, _, _ = c.sendForeign(ctx, actor) // a refusal is ignored: the next one may succeed
			}
		}
	}()
	id = c.Faults.Stand(fmt.Sprintf("another client sends %s %s every %s", actor.Method, actor.Path, actor.Every), func() {
		cancel()
		<-done
	})
	return id, status, answer, nil
}

func (c *Cloud) sendForeign(ctx context.Context, actor Foreign) (int, []byte, error) {
	token, err := c.Keystone.IssueToken(c.Admin.UserID, c.Admin.ProjectID)
	if err != nil {
		return 0, nil, fmt.Errorf("sign another client in: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, actor.Method, actor.Path, bytes.NewReader(actor.Body))
	if err != nil {
		return 0, nil, fmt.Errorf("request of another client: %w", err)
	}
	request.RequestURI, request.Host = actor.Path, c.listener.Addr().String()
	request.Header.Set("X-Auth-Token", token)
	answer := httptest.NewRecorder()
	c.api.ServeHTTP(answer, request)
	return answer.Code, answer.Body.Bytes(), nil
}

// endAfter removes a condition after a duration.
func (c *Cloud) endAfter(id string, duration time.Duration) {
	if duration <= 0 {
		return
	}
	timer := c.options.Clock.AfterFunc(duration, func() { go c.Faults.Remove(id) })
	c.atClose(func() { timer.Stop() })
}
