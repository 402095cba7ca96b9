package status

import (
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	servicehelpers "k8s.io/cloud-provider/service/helpers"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/records"
)

// cluster has the objects of Kubernetes.
type cluster struct {
	id       string
	services []v1.Service
	nodes    []v1.Node
	// names are the names of nodes by address.
	names   map[string]string
	events  map[types.UID][]v1.Event
	records *records.ConfigMaps
	// notes are about missing read permissions.
	notes []string
}

// readCluster reads the Services, and other useful objects with read permission.
func (r *Reader) readCluster(ctx context.Context, query Query) (*cluster, error) {
	core := r.options.Kubernetes.CoreV1()
	c := &cluster{events: map[types.UID][]v1.Event{}, names: map[string]string{}}
	var err error
	if c.services, err = r.readServices(ctx, query); err != nil {
		return nil, err
	}
	system, err := core.Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err = c.note(err, "this user may not read namespace kube-system: load balancers are found without the cluster's identity"); err != nil {
		return nil, err
	}
	c.id = string(system.UID)
	nodes, err := core.Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err = c.note(err, "this user may not list nodes: members have the names of their creation"); err != nil {
		return nil, err
	}
	c.nodes = nodes.Items
	for _, node := range c.nodes {
		for _, address := range node.Status.Addresses {
			if address.Type == v1.NodeInternalIP || address.Type == v1.NodeExternalIP {
				c.names[address.Address] = node.Name
			}
		}
	}
	if err := r.readEvents(ctx, query, c); err != nil {
		return nil, err
	}
	c.records = records.New(core.ConfigMaps(metav1.NamespaceSystem), r.options.Clock)
	return c, c.records.Load(ctx)
}

// note adds a note about a missing read permission; it returns any other error.
func (c *cluster) note(err error, text string) error {
	if apierrors.IsForbidden(err) {
		c.notes = append(c.notes, text)
		return nil
	}
	return err
}

// readServices reads the selected Services; all are sorted by name.
func (r *Reader) readServices(ctx context.Context, query Query) ([]v1.Service, error) {
	core := r.options.Kubernetes.CoreV1()
	if len(query.Services) == 0 {
		all, err := core.Services(query.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		ours := slices.DeleteFunc(all.Items, func(svc v1.Service) bool { return notServed(&svc) != "" })
		slices.SortFunc(ours, func(a, b v1.Service) int { return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name) })
		return ours, nil
	}
	var found []v1.Service
	for _, name := range query.Services {
		namespace, name := split(name, query.Namespace)
		svc, err := core.Services(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		if why := notServed(svc); why != "" {
			return nil, fmt.Errorf("%s/%s %s", namespace, name, why)
		}
		found = append(found, *svc)
	}
	return found, nil
}

func split(name, otherwise string) (namespace, service string) {
	if namespace, name, has := strings.Cut(name, "/"); has {
		return namespace, name
	}
	return otherwise, name
}

// notServed returns the reason why this controller does not serve a Service, "" if it does, also
// for a deletion.
func notServed(svc *v1.Service) string {
	switch {
	case svc.Spec.LoadBalancerClass != nil:
		return fmt.Sprintf("has loadBalancerClass %s: another controller serves it", *svc.Spec.LoadBalancerClass)
	case svc.Spec.Type != v1.ServiceTypeLoadBalancer && !servicehelpers.HasLBFinalizer(svc):
		return fmt.Sprintf("is of type %s, not LoadBalancer", svc.Spec.Type)
	}
	return ""
}

func (r *Reader) readEvents(ctx context.Context, query Query, c *cluster) error {
	namespace, selector := query.Namespace, fields.Set{"involvedObject.kind": "Service"}
	for i, svc := range c.services {
		switch {
		case len(query.Services) == 0:
		case i == 0:
			namespace, selector["involvedObject.name"] = svc.Namespace, svc.Name
		default:
			delete(selector, "involvedObject.name")
			if namespace != svc.Namespace {
				namespace = metav1.NamespaceAll
			}
		}
	}
	found, err := r.options.Kubernetes.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: selector.String(), ResourceVersion: "0"})
	if err := c.note(err, "this user may not list events: the last failure is not known"); err != nil {
		return err
	}
	for _, event := range found.Items {
		uid := event.InvolvedObject.UID
		c.events[uid] = append(c.events[uid], event)
	}
	return nil
}
