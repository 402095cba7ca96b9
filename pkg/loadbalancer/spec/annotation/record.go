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
	// Share is the name by which the Service shares the load balancer, "" for none. Such a Service
	// gets no load-balancer-id: with it, it would stay on the load balancer when it leaves the share.
	Share string
	// Left is set for a Service with provider router, and only Service with it: the annotations that were written
	// while it had another provider are removed.
	Left bool
}

// Changes returns the annotations to write, by name, with nil for those to remove: none for the zero Record.
func (r Record) Changes(current map[string]string) map[string]*string {
	changes := map[string]*string{}
	if r.Left {
		place, _ := place(current, r.Service)
		for name, value := range current {
			if place != "" && isRecord(name) && (name != LoadBalancerID || value == place) {
				changes[name] = nil
			}
		}
		return changes
	}
	if r == (Record{}) {
		return nil
	}
	set := func(name, value string) {
		if value != "" && current[name] != value {
			changes[name] = &value
		}
	}
	set(LoadBalancerAddress, r.Address)
	set(WrittenFor, WrittenForText(r.LoadBalancerID, r.Service, r.Share))
	if id := current[LoadBalancerID]; r.Share == "" && (id == r.Named || IsCopied(current, id, r.Service)) {
		set(LoadBalancerID, r.LoadBalancerID)
	}
	return changes
}

// isRecord reports whether an annotation is one of a Record.
func isRecord(name string) bool {
	return name == WrittenFor || name == LoadBalancerID || name == LoadBalancerAddress
}

// IsWritten reports whether the annotations of a Service differ only by the controller's own record
// of its load balancer. If the Service itself names that load balancer, its request is unchanged.
func IsWritten(before, now map[string]string, service types.UID, loadBalancerID string) bool {
	id, share := place(now, service)
	if id == "" || id != loadBalancerID || before[WrittenFor] == now[WrittenFor] {
		return false
	}
	if share == "" && now[LoadBalancerID] != id || share != "" && now[LoadBalancerID] != before[LoadBalancerID] {
		return false
	}
	return maps.Equal(withoutRecord(before), withoutRecord(now))
}

// withoutRecord returns annotations without those of a Record.
func withoutRecord(all map[string]string) map[string]string {
	rest := maps.Clone(all)
	maps.DeleteFunc(rest, func(name, _ string) bool { return isRecord(name) })
	return rest
}

// WrittenForText returns the value of WrittenFor for a load balancer that is written for a Service,
// which shares it by a name, "" for none.
func WrittenForText(loadBalancerID string, service types.UID, share string) string {
	return strings.TrimSpace(loadBalancerID + " " + string(service) + " " + share)
}

// writtenFor returns the words of WrittenFor. It is false if there are none.
func writtenFor(annotations map[string]string) (loadBalancerID string, service types.UID, share string, ok bool) {
	words := strings.Split(annotations[WrittenFor], " ")
	if len(words) < 2 || len(words) > 3 {
		return "", "", "", false
	}
	return words[0], types.UID(words[1]), strings.Join(words[2:], ""), true
}

// place returns the load balancer that the controller has written for a Service, and the name by
// which the Service shared it then. Both are "" if there is none.
func place(annotations map[string]string, service types.UID) (loadBalancerID, share string) {
	id, of, share, ok := writtenFor(annotations)
	if !ok || of != service {
		return "", ""
	}
	return id, share
}

// WrittenPlace returns the load balancer that the controller has written for a Service, and the
// name by which the Service shared it then. Both are "" if there is none.
func WrittenPlace(svc *v1.Service) (loadBalancerID, share string) {
	return place(svc.Annotations, svc.UID)
}

// IsCopied reports whether the load balancer in the annotations of a Service was written for
// another Service, of which this one is a copy.
func IsCopied(annotations map[string]string, loadBalancerID string, service types.UID) bool {
	id, of, _, ok := writtenFor(annotations)
	return ok && id == loadBalancerID && of != service
}

// PlaceOf returns the load balancer and the published address that the controller has written to
// the annotations of a Service; the ID is "" if it was not written for this Service.
func PlaceOf(svc *v1.Service) (loadBalancerID, address string) {
	loadBalancerID, _ = WrittenPlace(svc)
	for _, ingress := range svc.Status.LoadBalancer.Ingress {
		return loadBalancerID, cmp.Or(ingress.IP, ingress.Hostname)
	}
	return loadBalancerID, ""
}
