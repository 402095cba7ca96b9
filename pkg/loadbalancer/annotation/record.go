package annotation

import (
	"cmp"
	"maps"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Record is what the controller writes into the annotations of a Service whose load balancer
// is in sync.
type Record struct {
	// Service is the UID of the Service.
	Service types.UID
	// LoadBalancerID and Address are what cloud-provider-openstack writes, for other tools
	// and for people.
	LoadBalancerID, Address string
	// Named is the load-balancer-id that the Service had when the load balancer was in
	// sync. If a user has changed it since, the user's value stays.
	Named string
}

// Changes returns the annotations that a Service with the current ones lacks, by name: none for
// the zero Record. Nothing is ever removed.
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

// IsWritten reports whether annotations of a Service have changed only in that it is written into
// them which load balancer, the given one, it has. Where the Service names that load balancer, it
// asks for what it has asked for before.
func IsWritten(before, now map[string]string, service types.UID, loadBalancerID string) bool {
	record := WrittenForText(loadBalancerID, service)
	if now[WrittenFor] != record || before[WrittenFor] == record || now[LoadBalancerID] != loadBalancerID {
		return false
	}
	return maps.Equal(withoutRecord(before), withoutRecord(now))
}

// withoutRecord returns annotations but for those of a Record.
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

// IsCopied reports whether the load balancer that the annotations of a Service name was
// written there for another Service, of which this one is a copy.
func IsCopied(annotations map[string]string, loadBalancerID string, service types.UID) bool {
	if id, of, ok := strings.Cut(annotations[WrittenFor], " "); ok && id == loadBalancerID {
		return of != string(service)
	}
	words := strings.Fields(annotations[Fingerprint]) // what earlier versions wrote
	return len(words) >= 4 && words[0] == loadBalancerID && words[3] != string(service)
}

// PlaceOf returns the load balancer that the controller has written into the annotations of a
// Service, "" where it has written none for it, and the address that it has published.
func PlaceOf(svc *v1.Service) (loadBalancerID, address string) {
	if id, of, ok := strings.Cut(svc.Annotations[WrittenFor], " "); ok && of == string(svc.UID) {
		loadBalancerID = id
	}
	for _, ingress := range svc.Status.LoadBalancer.Ingress {
		return loadBalancerID, cmp.Or(ingress.IP, ingress.Hostname)
	}
	return loadBalancerID, ""
}
