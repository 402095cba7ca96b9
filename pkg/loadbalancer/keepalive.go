package loadbalancer

import (
	"context"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/build"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/facts"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
)

// A Service that asks for what cannot be has no less need of its nodes: what it has is
// kept alive, with what it asked for when that was last done, or, where nobody knows
// that (after a restart), as it is in the cloud with other members. Only what it newly
// asks for waits.

// refused reports whether an error says that a Service asks for what cannot be.
func refused(err error) bool {
	var invalid *field.Error
	var impossible *facts.Error
	return errors.As(err, &invalid) || errors.As(err, &impossible)
}

// keptAlive is added to the refusal of a Service whose load balancer goes on.
const keptAlive = "the load balancer stays as it was, and follows the nodes"

// keepAlive brings what a refused Service has to its nodes. It is false where the
// Service has nothing.
func (r *Reconciler) keepAlive(ctx context.Context, svc *v1.Service, nodes []*v1.Node) (bool, error) {
	if good, ok := r.good.get(svc.UID); ok {
		good = good.DeepCopy()
		good.Status = svc.Status
		if _, err := r.round(ctx, good, nodes, call{mayCreate: never}); !refused(err) {
			return err == nil, err
		}
	}
	if len(svc.Status.LoadBalancer.Ingress) == 0 && len(r.before(svc)) == 0 {
		return false, nil
	}
	return r.keepMembers(ctx, svc, nodes)
}

// keepMembers changes nothing but the members of what a Service has in the cloud. It is
// false where the Service has no load balancer.
func (r *Reconciler) keepMembers(ctx context.Context, svc *v1.Service, nodes []*v1.Node) (bool, error) {
	settings, _, errs := build.Read(svc, r.options.Config)
	version, err := r.facts.Version(ctx)
	if err != nil {
		return false, err
	}
	var held holder
	defer held.letGo()
	id := r.identity(svc, version)
	observed, as, err := r.observe(ctx, svc, id, settings, &held)
	if err != nil || observed.LoadBalancer == nil {
		return false, err
	}
	backends, _, err := build.Backends(settings, nodes)
	if err != nil {
		return false, err
	}
	// Of a node selector that cannot be read, only who was chosen before is known.
	more := !slices.ContainsFunc(errs, func(e *field.Error) bool { return e.Field == annotation.Path(annotation.NodeSelector).String() })
	subnets := map[string]string{}
	if settings.MemberSubnetID == "" && settings.SubnetID == "" {
		if subnets, err = r.facts.MemberSubnets(ctx, backends); err != nil {
			return false, err
		}
	}
	desired := build.Members(svc, observed.LoadBalancer, backends, subnets, more)
	todo := plan.Diff(desired, model.Observed{LoadBalancer: observed.LoadBalancer}, plan.Options{
		Published: true,
		NoBatches: !build.CapabilitiesOf(observed.LoadBalancer.Provider, version).Can(build.MemberBatches),
	}).OnlyMembers()
	r.tellPlan(svc, todo)
	r.memory.forget(svc.UID)
	return true, r.applier.Run(ctx, as, observed, todo)
}

// explainRefusal gives the error of a refused Service, whose load balancer was to be
// kept alive.
func explainRefusal(refusal error, kept bool, err error) error {
	switch {
	case err != nil:
		return fmt.Errorf("%w; and its load balancer cannot be brought to the nodes: %w", refusal, err)
	case kept:
		return fmt.Errorf("%w; %s", refusal, keptAlive)
	}
	return refusal
}

// settledService gives what is kept of a Service all of which was done: what it asks for, and
// who it is.
func settledService(svc *v1.Service) *v1.Service {
	return &v1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: svc.Namespace, Name: svc.Name, UID: svc.UID, ResourceVersion: svc.ResourceVersion,
			CreationTimestamp: svc.CreationTimestamp, Annotations: svc.Annotations, Finalizers: svc.Finalizers,
		},
		Spec: svc.Spec,
	}
}
