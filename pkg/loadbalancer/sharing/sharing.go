package sharing

import (
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
)

// Policy is the set of permissions by the operator and the owners.
type Policy struct {
	Config config.LoadBalancer
	// Namespace reads a namespace, which may permit sharing; nil means that none does.
	Namespace func(ctx context.Context, name string) (*v1.Namespace, error)
}

// Request is what a Service requests of a load balancer that it shares.
type Request struct {
	// Address is the requested address, "" for none.
	Address string
	// Share is the name by which it shares the load balancer, "" if it names its ID.
	Share string
}

// Authorize returns an error if a Service may not share a load balancer. of is the Service's
// identity there. A Service that already has listeners there is permitted; a published address
// alone is not sufficient. The error is a *field.Error, or that of reading the owner's namespace.
func (p Policy) Authorize(ctx context.Context, of ownership.Identity, asked Request, lb *model.LoadBalancer) error {
	if lb == nil || lb.Shared == nil {
		return nil
	}
	if asked.Address != "" && !lb.HasAddress(asked.Address) {
		return field.Invalid(field.NewPath("spec", "loadBalancerIP"), asked.Address,
			fmt.Sprintf("the Service shares load balancer %s, which has another address: clear the field", lb.ID))
	}
	if len(lb.Listeners) > 0 {
		return nil
	}
	why, err := p.refuses(ctx, of)
	if err != nil {
		return fmt.Errorf("load balancer %s: %w", lb.ID, err)
	}
	if why == "" {
		why = p.full(asked.Share, len(Sharers(lb)))
	}
	if why == "" {
		return nil
	}
	// The user may know only the ID of the load balancer. The log names its owner for the operator.
	klog.FromContext(ctx).Info("Refused to share a load balancer", "loadBalancer", lb.ID, "owner", lb.Shared.Owner, "others", message.JoinLimited(Sharers(lb)), "why", why)
	by := annotation.LoadBalancerID
	if asked.Share != "" {
		by = annotation.Share
	}
	return field.Forbidden(annotation.Path(by), "the load balancer cannot be shared: "+why)
}

// defaultServices is the default of max-shared-lb for Services that name the ID of a load balancer.
const defaultServices = 2

// full returns the reason why a load balancer takes no further Service besides others, "" if it does. The
// Services of a share have agreed on it, so that only a value in cloud.conf limits their number.
func (p Policy) full(share string, others int) (why string) {
	limit := ptr.Deref(p.Config.MaxSharedLB, defaultServices)
	if others < limit || share != "" && p.Config.MaxSharedLB == nil {
		return ""
	}
	return fmt.Sprintf("it serves %d others, and max-shared-lb of cloud.conf allows %d Services: choose another load balancer, or ask the cluster's operator for more", others, limit)
}

// Sharers returns the names of the other Services with listeners on a load balancer, sorted.
func Sharers(lb *model.LoadBalancer) []string {
	var names []string
	for _, foreign := range lb.Foreign {
		if foreign.Service != "" {
			names = append(names, foreign.Service)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// refuses returns the reason why the owner does not share its load balancer with a Service, "" if
// it does.
//
//	created for                    allowed
//	no cluster                     unless shared-lb-unmanaged=false
//	a Service of its namespace     yes
//	a Service of another one       with shared-lb-scope=cluster, or where that namespace allows it
//	another cluster                with shared-lb-scope=project
func (p Policy) refuses(ctx context.Context, of ownership.Identity) (why string, err error) {
	owner := of.Sharing.Owner
	if !owner.Kubernetes {
		if !p.Config.SharedLBUnmanaged {
			return "no cluster created it, and cloud.conf has shared-lb-unmanaged=false: ask the cluster's operator", nil
		}
		return "", nil
	}
	allowed, err := p.Allows(ctx, of, owner)
	switch {
	case err != nil || allowed:
		return "", err
	case !owner.InClusterOf(of):
		return "it belongs to another cluster, and sharing it requires shared-lb-scope=project in cloud.conf: ask the cluster's operator", nil
	case owner.Namespace == "":
		return "the namespace of its owner is unknown, and sharing it requires shared-lb-scope=cluster in cloud.conf: ask the cluster's operator", nil
	default:
		return fmt.Sprintf("it belongs to another namespace, which does not allow %s to share it: "+
			"that Namespace needs the annotation %s: %q", of.Namespace, annotation.SharingFrom, of.Namespace), nil
	}
}

// Allows reports whether an owner in Kubernetes permits a Service to use its objects. The error is
// that of reading the owner's namespace.
func (p Policy) Allows(ctx context.Context, of ownership.Identity, owner ownership.Owner) (bool, error) {
	scope := p.Config.SharedLBScope
	switch {
	case scope == config.SharedLBScopeProject:
		return true, nil
	case !owner.InClusterOf(of):
		return false, nil
	case owner.Namespace == of.Namespace || scope == config.SharedLBScopeCluster:
		return true, nil
	case owner.Namespace == "":
		return false, nil
	}
	allowed, err := p.allowedBy(ctx, owner.Namespace)
	return slices.Contains(allowed, "*") || slices.Contains(allowed, of.Namespace), err
}

// allowedBy returns the namespaces that may use the objects of a namespace.
func (p Policy) allowedBy(ctx context.Context, namespace string) ([]string, error) {
	if p.Namespace == nil {
		return nil, nil
	}
	found, err := p.Namespace(ctx, namespace)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the sharing permissions of the owner's namespace: %w", err)
	}
	var allowed []string
	for name := range strings.SplitSeq(found.Annotations[annotation.SharingFrom], ",") {
		allowed = append(allowed, strings.TrimSpace(name))
	}
	return allowed, nil
}
