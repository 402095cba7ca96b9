// Package sharing decides whether a Service may be on a load balancer, or have a floating
// IP, that was made for another owner.
//
// Several Services can be on one load balancer: the one that it was made for, its owner,
// and others that name it in their annotation. Each has its own listeners and pools there,
// marked with its UID; the rest, the floating IP above all, is the owner's business. The
// last Service to leave takes the load balancer with it, if a Service of this cluster had
// it made.
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

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
)

// Policy is what the operator and the owners allow.
type Policy struct {
	Config config.LoadBalancer
	// Namespace reads a namespace, which says whom it lets share what it has; nil: none
	// lets anybody.
	Namespace func(ctx context.Context, name string) (*v1.Namespace, error)
}

// Authorize refuses to put a Service on a load balancer that it may not share. Of is who
// the Service is there, asked the address that it asks for, "" for none. A Service that has
// listeners there already stays, whoever put it there; that it has published the address
// says nothing of that. The error is a *field.Error, or that of reading the owner's
// namespace.
func (p Policy) Authorize(ctx context.Context, of ownership.Identity, asked string, lb *model.LoadBalancer) error {
	if lb == nil || lb.Shared == nil {
		return nil
	}
	if asked != "" && asked != lb.VIP.Address && (lb.FloatingIP == nil || asked != lb.FloatingIP.Address) {
		return field.Invalid(field.NewPath("spec", "loadBalancerIP"), asked,
			fmt.Sprintf("the Service shares load balancer %s, which has another address: leave the field empty", lb.ID))
	}
	if len(lb.Listeners) > 0 {
		return nil
	}
	why, err := p.refuses(ctx, of)
	if err != nil {
		return fmt.Errorf("load balancer %s: %w", lb.ID, err)
	}
	if others := Sharers(lb); why == "" && len(others) >= p.Config.MaxSharedLB {
		why = fmt.Sprintf("it serves %d others, and max-shared-lb of cloud.conf allows %d Services: name another load balancer, or ask the cluster's operator for more",
			len(others), p.Config.MaxSharedLB)
	}
	if why == "" {
		return nil
	}
	// Who named it may know no more of it than its ID. Whom it was made for, the operator
	// finds in the log.
	klog.FromContext(ctx).Info("Refused to share a load balancer", "loadBalancer", lb.ID, "owner", lb.Shared.Owner, "others", message.JoinLimited(Sharers(lb)), "why", why)
	return field.Forbidden(annotation.Path(annotation.LoadBalancerID), "the load balancer cannot be shared: "+why)
}

// Sharers returns the names of the Services that have listeners on a load balancer, other
// than ours, sorted.
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

// refuses returns why the owner does not let a Service onto its load balancer, "" where it
// does.
//
//	made for                       allowed
//	nobody in Kubernetes           unless shared-lb-unmanaged=false: who made it by hand gave its ID away
//	a Service of its namespace     yes
//	a Service of another one       with shared-lb-scope=cluster, or where that namespace allows it
//	another cluster                with shared-lb-scope=project
func (p Policy) refuses(ctx context.Context, of ownership.Identity) (why string, err error) {
	owner := of.Sharing.Owner
	if !owner.Kubernetes {
		if !p.Config.SharedLBUnmanaged {
			return "it was made by hand, and cloud.conf says shared-lb-unmanaged=false: ask the cluster's operator", nil
		}
		return "", nil
	}
	allowed, err := p.Allows(ctx, of, owner)
	switch {
	case err != nil || allowed:
		return "", err
	case !of.InThisCluster(owner):
		return "it was made for another cluster, which only shared-lb-scope=project in cloud.conf allows to share: ask the cluster's operator", nil
	case owner.Namespace == "":
		return "the namespace that it was made for cannot be told: shared-lb-scope=cluster in cloud.conf allows all to share it: ask the cluster's operator", nil
	default:
		return fmt.Sprintf("it was made for another namespace, which does not allow %s to share it: "+
			"only that Namespace's annotation %s: %q does", of.Namespace, annotation.SharingFrom, of.Namespace), nil
	}
}

// Allows reports whether an owner in Kubernetes lets a Service have what was made for it.
// The error is that of reading the owner's namespace.
func (p Policy) Allows(ctx context.Context, of ownership.Identity, owner ownership.Owner) (bool, error) {
	scope := p.Config.SharedLBScope
	switch {
	case scope == config.SharedLBScopeProject:
		return true, nil
	case !of.InThisCluster(owner):
		return false, nil
	case owner.Namespace == of.Namespace || scope == config.SharedLBScopeCluster:
		return true, nil
	case owner.Namespace == "":
		return false, nil
	}
	allowed, err := p.allowedBy(ctx, owner.Namespace)
	return slices.Contains(allowed, "*") || slices.Contains(allowed, of.Namespace), err
}

// allowedBy returns the namespaces that may have what was made for a namespace.
func (p Policy) allowedBy(ctx context.Context, namespace string) ([]string, error) {
	if p.Namespace == nil {
		return nil, nil
	}
	found, err := p.Namespace(ctx, namespace)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read whom the owner's namespace lets share what it has: %w", err)
	}
	var allowed []string
	for name := range strings.SplitSeq(found.Annotations[annotation.SharingFrom], ",") {
		allowed = append(allowed, strings.TrimSpace(name))
	}
	return allowed, nil
}
