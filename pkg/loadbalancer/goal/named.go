package goal

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/lookup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/refusal"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

// Explain adds to an error of OpenStack, which has only IDs and addresses, the setting that they
// come from, and a remedy.
//
//	floating IP with a requested address         spec.loadBalancerIP
//	floating IP that no router leads to          the setting that requests it, else floating-network-id
//	any other with an ID of the settings         the setting
func Explain(in Inputs, err error) error {
	if err == nil {
		return nil
	}
	asked, askedBy := in.Settings.AskedFloatingIP()
	switch {
	case apierror.IsUnreachable(err) && asked.Asked():
		return &lookup.Error{Err: err, Message: fmt.Sprintf("%s: %v; ask for a floating IP of the external network that the router of the VIP leads to, "+
			"or connect the VIP's subnet to a router with a gateway on that network", askedBy, err)}
	case apierror.IsUnreachable(err):
		return &lookup.Error{Err: err, Message: fmt.Sprintf("%s: %v; connect the VIP's subnet to a router with a gateway on that network, or name the external network that its router "+
			"leads to with the annotation loadbalancer.openstack.org/floating-network-id, or with floating-network-id in cloud.conf", in.Settings.Origins().Of(annotation.FloatingNetID).Name, err)}
	case !refusal.ByCloud(err) && !apierror.IsNotFound(err) || apierror.IsQuota(err):
		return err
	case asked.Address != "" && apierror.IsForbidden(err) && apierror.NeutronType(err) != "":
		return &lookup.Error{Err: err, Message: fmt.Sprintf("%s: no floating IP of this project has the address %s, and the cloud does not let the controller create one with an address "+
			"of choice: have an administrator create it in this project, or leave the field out; %v", askedBy, asked.Address, err)}
	case asked.Address != "" && apierror.IsNoAddress(err):
		return &lookup.Error{Err: err, Message: fmt.Sprintf("%s: no floating IP of this project has the address %s, and none can be created with it: choose another address, "+
			"or leave the field out; %v", askedBy, asked.Address, err)}
	}
	if name := in.Settings.Origins().Naming(apierror.Message(err)); name != "" {
		return fmt.Errorf("%s: %w", name, err)
	}
	return err
}

// checkNamed refuses a named load balancer that does not exist. If the Service had it and another
// client has deleted it, it is created again.
func checkNamed(in Inputs, memory Memory) error {
	id := in.Settings.LoadBalancer.ID
	if id == "" || hadOne(in, memory) {
		return nil
	}
	missing := field.NotFound(annotation.Path(annotation.LoadBalancerID), id)
	missing.Detail = "there is no such load balancer, or this project cannot see it: correct the ID, or remove the annotation, and the Service gets a load balancer of its own"
	if in.Published.Place == id {
		return nil
	}
	return missing
}

// hadOne reports whether the Service is known to have had a load balancer.
func hadOne(in Inputs, memory Memory) bool {
	made := memory.Store.Get(in.Owner.UID).Made
	return in.Published.hasStatus() || made.Touched || made.LoadBalancerID != "" || len(memory.Previous(in.Owner.UID)) > 0
}

// missingNamed returns a notice if the Service has a load balancer, and names another one that does
// not exist.
func missingNamed(in Inputs, lb *model.LoadBalancer) []annotation.Notice {
	id := in.Settings.LoadBalancer.ID
	if id == "" || lb == nil || lb.ID == id || in.Published.Place == id || in.Settings.LoadBalancer.Share != "" {
		return nil
	}
	return []annotation.Notice{{Annotation: annotation.LoadBalancerID, Message: fmt.Sprintf("without effect: there is no load balancer %s, so the Service stays on %s", id, lb.ID)}}
}
