package garbage

import (
	"fmt"
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// Service is what tells of a Service what is its own in the cloud.
type Service struct {
	// UID and Name, "namespace/name", are the Service's.
	UID, Name string
	// Wanting tells that it wants a load balancer, or that it is being deleted and that the
	// service controller is to remove what it has.
	Wanting bool
	// LoadBalancerID is the load balancer that it names, and Copied tells that it came to do
	// so as the copy of another Service.
	LoadBalancerID string
	Copied         bool
	// Addresses are those that it has published.
	Addresses []string
}

// Services are all Services of a cluster that lives, at one moment.
type Services struct {
	byUID, byName map[string]Service
	// using are those that want one and use a load balancer, by its ID, or by its address.
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

// standing is how it stands with the Services that an object was made for.
type standing int

const (
	// unknown: the object does not say for which Service it was made.
	unknown standing = iota
	// gone: none of them is there.
	gone
	// indifferent: one is there, and none that wants a load balancer.
	indifferent
	// wanting: one is there and wants a load balancer, or is being deleted.
	wanting
)

// standing returns how it stands with the Services of an object: by their UIDs or, where it
// carries none, by their names.
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

// judgeLiving returns whose an object is in the project of a cluster that lives, and why it
// is left alone where that is to be told.
//
//	ID of the object      name of its cluster   its Services                     it is
//	this cluster's        any                   one is there and wants           theirs
//	this cluster's        any                   one is there and wants none      unclear
//	this cluster's        any                   gone                             ours
//	this cluster's        any                   not told                         theirs: the cluster's
//	this and another's    any                   gone                             unclear
//	another's             any                   any                              theirs
//	none                  this cluster's        gone, or there and wanting none  unclear: it may be of another cluster
//	none                  this cluster's        one is there and wants, not told theirs
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
		return unclear, fmt.Sprintf("it carries the IDs of several clusters: %q", s.ClusterIDs)
	case standing == indifferent:
		return unclear, "its Service is there and wants no load balancer"
	default:
		return ours, ""
	}
}

// users returns the Services that want a load balancer and name this one, or have published
// its address or one of those of its floating IPs.
func (s *Services) users(lb octavia.LoadBalancer, addresses []string) []Service {
	var found []Service
	for _, by := range append([]string{lb.ID, lb.VipAddress}, addresses...) {
		if by != "" {
			found = append(found, s.using[by]...)
		}
	}
	return found
}

// used returns whose a load balancer is that has users, whomever it was made for.
//
//	its users                                            it is
//	one names it, or has published its address           theirs
//	name it in annotations of which they have a copy     unclear
func used(users []Service, whose claim, why string) (claim, string) {
	for _, service := range users {
		if whose == theirs || !service.Copied {
			return theirs, ""
		}
		whose, why = unclear, fmt.Sprintf("Service %s names it in annotations that were copied from another Service", service.Name)
	}
	return whose, why
}

// recreated reports whether a part of a load balancer bears the name of one of the users: what
// an earlier Service of that name had there has clients.
func recreated(users []Service, part ownership.Signs) bool {
	return slices.ContainsFunc(users, func(service Service) bool { return slices.Contains(part.Services, service.Name) })
}
