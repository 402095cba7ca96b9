package octavia

import (
	"context"
	"net/url"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

// LoadBalancerState is what moves while something works on a load balancer: all that is read of
// it while that is waited for.
type LoadBalancerState struct {
	ID                 string
	ProvisioningStatus string
	OperatingStatus    string
	UpdatedAt          time.Time
}

// stateAnswer is a LoadBalancerState in an answer.
type stateAnswer struct {
	ID                 string    `json:"id"`
	ProvisioningStatus string    `json:"provisioning_status"`
	OperatingStatus    string    `json:"operating_status"`
	UpdatedAt          timestamp `json:"updated_at"`
}

func (a stateAnswer) state() LoadBalancerState {
	return LoadBalancerState{a.ID, a.ProvisioningStatus, a.OperatingStatus, time.Time(a.UpdatedAt)}
}

// stateFields are the attributes of a stateAnswer.
func stateFields() []string {
	return []string{"id", "provisioning_status", "operating_status", "updated_at"}
}

// LoadBalancerStates lists the states of the load balancers of the session's project: those of
// a provisioning status, or all where it is empty. More than a page of them cost a request a page.
func (c *Client) LoadBalancerStates(ctx context.Context, provisioningStatus string) ([]LoadBalancerState, error) {
	filter := LoadBalancerFilter{Fields: stateFields(), ProvisioningStatus: provisioningStatus}
	answers, err := listAll(ctx, c, "loadbalancers", filter.query(), func(a stateAnswer) string { return a.ID })
	states := make([]LoadBalancerState, len(answers))
	for i, answer := range answers {
		states[i] = answer.state()
	}
	return states, err
}

// LoadBalancerState reads the state of one load balancer.
func (c *Client) LoadBalancerState(ctx context.Context, id string) (LoadBalancerState, error) {
	var answer struct {
		LoadBalancer stateAnswer `json:"loadbalancer"`
	}
	if err := c.get(ctx, "loadbalancers/"+url.PathEscape(id)+"?"+url.Values{"fields": stateFields()}.Encode(), &answer); err != nil {
		return LoadBalancerState{}, apierror.Wrap(err, "read load balancer "+id)
	}
	return answer.LoadBalancer.state(), nil
}
