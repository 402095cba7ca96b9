package annotation

import (
	"cmp"
	"maps"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Record holds the annotations that the controller writes to a Service in sync.
type Record struct {
	// Service is the UID of the Service.
	Service types.UID
	// LoadBalancerID and Address are the annotations that cloud-provider-openstack writes too, for
	// other tools and for people.
	LoadBalancerID, Address string
	// Named is the load-balancer-id that the Service had at the sync. If a user has changed it
	// since, the user's value is kept.
	Named string
}

// Changes returns the annotations to write, by name: none for the zero Record. It removes none.
func (r Record) Changes(current map[string]string) map[string]string {
	if r == (Record{}) {
		return nil
	}
	changes := map[string]string{LoadBalancerAddress: r.Address, WrittenFor: WrittenForText(r.LoadBalancerID, r.Service)}
	if id := current[LoadBalancerID]; id == r.Named || IsCopied(current, id, r.Service) {
		changes[LoadBalancerID] = r.LoadBalancerID
	}
	maps.DeleteFunc(changes, func(name, value string) bool { return value == "" || current[name] == value })
	return changes
}

// IsWritten reports whether the annotations of a Service differ only by the controller's own record
// of its load balancer. If the Service itself names that load balancer, its request is unchanged.
func IsWritten(before, now map[string]string, service types.UID, loadBalancerID string) bool {
	record := WrittenForText(loadBalancerID, service)
	if now[WrittenFor] != record || before[WrittenFor] == record || now[LoadBalancerID] != loadBalancerID {
		return false
	}
	return maps.Equal(withoutRecord(before), withoutRecord(now))
}

// withoutRecord returns annotations without those of a Record.
func withoutRecord(all map[string]string) map[string]string {
	rest := maps.Clone(all)
	maps.DeleteFunc(rest, func(name, _ string) bool {
		return name == WrittenFor || name == LoadBalancerID || name == LoadBalancerAddress
	})
	return rest
}

// WrittenForText returns the value of WrittenFor for a load balancer that is written for a Service.
func WrittenForText(loadBalancerID string, service types.UID) string {
	return loadBalancerID + " " + string(service)
}

// IsCopied reports whether the load balancer in the annotations of a Service was written for
// another Service, of which this one is a copy.
func IsCopied(annotations map[string]string, loadBalancerID string, service types.UID) bool {
	id, of, ok := strings.Cut(annotations[WrittenFor], " ")
	return ok && id == loadBalancerID && of != string(service)
}

// PlaceOf returns the load balancer and the published address that the controller has written to
// the annotations of a Service; the ID is "" if it was not written for this Service.
func PlaceOf(svc *v1.Service) (loadBalancerID, address string) {
	if id, of, ok := strings.Cut(svc.Annotations[WrittenFor], " "); ok && of == string(svc.UID) {
		loadBalancerID = id
	}
	for _, ingress := range svc.Status.LoadBalancer.Ingress {
		return loadBalancerID, cmp.Or(ingress.IP, ingress.Hostname)
	}
	return loadBalancerID, ""
}
