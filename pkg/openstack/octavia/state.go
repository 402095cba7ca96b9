package octavia

import (
	"context"
	"net/url"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/rest"
)

// LoadBalancerState has the fields of a load balancer that change while an operation works on it.
// Only these are read to wait for an operation.
type LoadBalancerState struct {
	ID                 string
	ProvisioningStatus string
	OperatingStatus    string
	UpdatedAt          time.Time
}

// DecodeFrom reads one of a list.
func (s *LoadBalancerState) DecodeFrom(r *rest.Reader) error {
	return r.Object(func(name []byte) error {
		switch string(name) {
		case "id":
			return r.Text(&s.ID)
		case "provisioning_status":
			return r.Text(&s.ProvisioningStatus, model.ProvisioningStatuses()...)
		case "operating_status":
			return r.Text(&s.OperatingStatus, model.OperatingStatuses()...)
		case "updated_at":
			var text string
			if err := r.Text(&text); err != nil {
				return err
			}
			at, err := parseTime(text)
			s.UpdatedAt = at
			return err
		}
		return r.Skip()
	})
}

// stateAnswer is an answer with one.
type stateAnswer struct{ state LoadBalancerState }

// DecodeFrom reads the answer.
func (a *stateAnswer) DecodeFrom(r *rest.Reader) error {
	return onlyField(r, "loadbalancer", func() error { return a.state.DecodeFrom(r) })
}

// stateFields are the attributes of a LoadBalancerState.
func stateFields() []string {
	return []string{"id", "provisioning_status", "operating_status", "updated_at"}
}

// LoadBalancerStates lists the states of the load balancers of the session's project: those with a
// provisioning status, or all if it is empty. It sends a request for each page.
func (c loadBalancerAPI) LoadBalancerStates(ctx context.Context, provisioningStatus string) ([]LoadBalancerState, error) {
	filter := LoadBalancerFilter{Fields: stateFields(), ProvisioningStatus: provisioningStatus}
	return listAll(ctx, c.requests, "loadbalancers", filter.query(), func(s LoadBalancerState) string { return s.ID })
}

// LoadBalancerState reads the state of one load balancer.
func (c loadBalancerAPI) LoadBalancerState(ctx context.Context, id string) (LoadBalancerState, error) {
	var answer stateAnswer
	fields := "?" + url.Values{"fields": stateFields()}.Encode()
	if err := c.object(ctx, "loadbalancers", id, fields, &answer, func() string { return answer.state.ID }); err != nil {
		return LoadBalancerState{}, apierror.Wrap(err, "read load balancer "+id)
	}
	return answer.state, nil
}
