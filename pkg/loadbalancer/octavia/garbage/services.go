package garbage

import (
	"fmt"
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
)

// Service holds the data of a Service that identify its objects in the cloud.
type Service struct {
	// UID and Name, "namespace/name", identify the Service.
	UID, Name string
	// Wanting is set if it wants a load balancer, or if it is being deleted and the service
	// controller will remove its objects.
	Wanting bool
	// LoadBalancerID is the load balancer that it names; Copied is set if the annotation was copied
	// from another Service.
	LoadBalancerID string
	Copied         bool
	// Addresses are its published ones.
	Addresses []string
}

// Services are all Services of a live cluster, at one time.
type Services struct {
	byUID, byName map[string]Service
	// using are those that want and use a load balancer, by its ID, or by its address.
	using map[string][]Service
}

// NewServices returns these Services.
func NewServices(all []Service) *Services {
	s := &Services{
		byUID: make(map[string]Service, len(all)), byName: make(map[string]Service, len(all)),
		using: map[string][]Service{},
	}
	for _, service := range all {
		s.byUID[service.UID], s.byName[service.Name] = service, service
		if !service.Wanting {
			continue
		}
		s.using[service.LoadBalancerID] = append(s.using[service.LoadBalancerID], service)
		service.Copied = false
		for _, address := range service.Addresses {
			s.using[address] = append(s.using[address], service)
		}
	}
	return s
}

// standing is the state of the Services of an object.
type standing int

const (
	// unknown: the object does not identify its Service.
	unknown standing = iota
	// gone: none of them exists.
	gone
	// indifferent: one exists, and none wants a load balancer.
	indifferent
	// wanting: one exists and wants a load balancer, or is being deleted.
	wanting
)

// standing returns the state of the Services of an object: by their UIDs or, without any, by their
// names.
func (s *Services) standing(signs ownership.Signs) standing {
	found, ids, known := unknown, signs.ServiceUIDs, s.byUID
	if len(ids) == 0 {
		ids, known = signs.Services, s.byName
	}
	for _, id := range ids {
		service, there := known[id]
		switch {
		case there && service.Wanting:
			return wanting
		case there:
			found = indifferent
		case found == unknown:
			found = gone
		}
	}
	return found
}

// judgeLiving returns the owner of an object in the project of a live cluster, and the reason to
// leave it alone if that is reported.
//
//	ID of the object      name of its cluster   its Services                     it is
//	this cluster's        any                   one exists and wants             theirs
//	this cluster's        any                   one exists and wants none        unclear
//	this cluster's        any                   gone                             ours
//	this cluster's        any                   unknown                          theirs: the cluster's
//	this and another's    any                   gone                             unclear
//	another's             any                   any                              theirs
//	none                  this cluster's        gone, or none wants one          unclear: it may be another cluster's
//	none                  this cluster's        one exists and wants, or unknown theirs
//	none                  any other             any                              theirs
func (t Target) judgeLiving(services *Services, s ownership.Signs) (claim, string) {
	proven := t.ID != "" && slices.Contains(s.ClusterIDs, t.ID)
	named := t.Name != "" && s.ClusterName == t.Name && len(s.ClusterIDs) == 0
	if !proven && !named {
		return theirs, ""
	}
	switch standing := services.standing(s); {
	case standing == unknown || standing == wanting:
		return theirs, ""
	case named:
		return unclear, "it carries the name of this cluster and no ID, as what cloud-provider-openstack has created, and none of the Services of its name wants it: " +
			"only the cleanup command removes it, once no other cluster of the name is there"
	case len(s.ClusterIDs) > 1:
		return unclear, fmt.Sprintf("it has the IDs of several clusters: %q", s.ClusterIDs)
	case standing == indifferent:
		return unclear, "its Service is there and wants no load balancer"
	default:
		return ours, ""
	}
}

// users returns the Services that want a load balancer and name this one, or have published one of its VIPs or of
// the addresses of its floating IPs.
func (s *Services) users(id string, vips, addresses []string) []Service {
	var found []Service
	signs := slices.Concat([]string{id}, vips, addresses)
	for _, by := range signs {
		if by != "" {
			found = append(found, s.using[by]...)
		}
	}
	return found
}

// used returns the owner of a load balancer with users, regardless of its creator.
//
//	its users                                            it is
//	one names it, or has published its address           theirs
//	name it in copied annotations     unclear
func used(users []Service, owner claim, why string) (claim, string) {
	for _, service := range users {
		if owner == theirs || !service.Copied {
			return theirs, ""
		}
		owner, why = unclear, fmt.Sprintf("Service %s names it in annotations that were copied from another Service", service.Name)
	}
	return owner, why
}

// recreated reports whether a part of a load balancer has the name of one of the users: the part of
// an earlier Service of that name serves clients.
func recreated(users []Service, part ownership.Signs) bool {
	return slices.ContainsFunc(users, func(service Service) bool { return slices.Contains(part.Services, service.Name) })
}
