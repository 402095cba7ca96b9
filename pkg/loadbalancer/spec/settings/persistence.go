package settings

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
)

// Cookie returns the session persistence by a cookie.
func (p PoolSettings) Cookie() model.Persistence {
	by := model.Persistence{Type: p.Persistence}
	if by.Type == model.AppCookie {
		by.CookieName = p.CookieName
	}
	return by
}

// persistence validates the session persistence by a cookie, of the Service or of one of
// its ports. Octavia accepts it in a request that creates a whole load balancer, whatever it is.
func (v validation) persistence() field.ErrorList {
	kind, name := v.s.Pools.Persistence, v.s.Pools.CookieName
	reads := func(p v1.ServicePort) bool { return v.s.Listeners.Protocol(p).ReadsHTTP() }
	uses := func(p v1.ServicePort) bool { return v.s.OfPort(p).Pools.Persistence == model.AppCookie }
	unnamed := func(p v1.ServicePort) bool { return reads(p) && uses(p) && v.s.OfPort(p).Pools.CookieName == "" }
	switch {
	case name != "" && !slices.ContainsFunc(v.s.Traffic.Ports, uses):
		return field.ErrorList{field.Forbidden(v.s.own.at(annotation.CookieName), "is only for "+annotation.Persistence+": "+model.AppCookie)}
	case kind == "":
		return nil
	case !slices.ContainsFunc(v.s.Traffic.Ports, reads):
		return field.ErrorList{field.Invalid(v.s.own.at(annotation.Persistence), kind, "needs a port with a listener of HTTP or TERMINATED_HTTPS: see "+annotation.Protocols)}
	case kind == model.AppCookie && slices.ContainsFunc(v.s.Traffic.Ports, unnamed):
		return field.ErrorList{field.Required(v.s.own.at(annotation.CookieName), "the name of the application's cookie, for "+model.AppCookie)}
	}
	return nil
}
