package loadbalancer_test

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
)

// persistence returns the session persistence of the pool at a port, such as "APP_COOKIE sid".
func (env *environment) persistence(number int) string {
	env.T.Helper()
	p := env.pool(number).Persistence
	if p == nil {
		return ""
	}
	return strings.TrimSpace(p.Type + " " + p.CookieName)
}

// Ports with HTTP listeners keep clients by a cookie, others by sessionAffinity. A change is one
// request for each pool.
//
//proves:131
func TestPersistence_IsByCookieOnPortsOfHTTP(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(2), service("web", 2)
	svc.Spec.SessionAffinity = v1.ServiceAffinityClientIP
	annotate(annotation.Protocols, "80=HTTP", annotation.Persistence, "HTTP_COOKIE")(svc)
	env.Cloud.RequestLog.Reset()
	env.ensure(svc, nodes)
	env.writes(2) // load balancer and floating IP
	for _, step := range []struct {
		annotations []string
		steps, http string
	}{
		{nil, "", "HTTP_COOKIE"},
		{[]string{annotation.Persistence, "APP_COOKIE", annotation.CookieName, "JSESSIONID"}, "PUT pools", "APP_COOKIE JSESSIONID"},
		{[]string{annotation.CookieName, "sid"}, "PUT pools", "APP_COOKIE sid"},
		{[]string{annotation.Persistence, "", annotation.CookieName, "", annotation.Persistence + ".80", "HTTP_COOKIE"}, "PUT pools", "HTTP_COOKIE"},
		{[]string{annotation.Persistence + ".80", ""}, "PUT pools", "SOURCE_IP"},
	} {
		env.Cloud.RequestLog.Reset()
		annotate(step.annotations...)(svc)
		env.ensure(svc, nodes)
		if steps := childWrites(env); steps != step.steps || env.persistence(80) != step.http || env.persistence(81) != "SOURCE_IP" {
			t.Errorf("%v: %q, port 80 by %q, port 81 by %q", step.annotations, steps, env.persistence(80), env.persistence(81))
		}
		env.unchanged(svc, nodes)
	}
}

// Octavia accepts any persistence in a request that creates a whole load balancer, so the
// controller refuses wrong ones itself.
//
//proves:131
func TestPersistence_RefusesWrongCookies(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		annotations []string
		reason      string
	}{
		"no name":                {[]string{annotation.Protocols, "80=HTTP", annotation.Persistence, "APP_COOKIE"}, "the name of the application's cookie"},
		"name without APP":       {[]string{annotation.Protocols, "80=HTTP", annotation.Persistence, "HTTP_COOKIE", annotation.CookieName, "sid"}, "is only for"},
		"a name that is config":  {[]string{annotation.Protocols, "80=HTTP", annotation.Persistence, "APP_COOKIE", annotation.CookieName, "sid insert"}, "of letters, digits"},
		"no port of HTTP":        {[]string{annotation.Persistence, "HTTP_COOKIE"}, "needs a port with a listener of HTTP"},
		"not a port of HTTP":     {[]string{annotation.Persistence + ".80", "HTTP_COOKIE"}, annotation.Persistence + ".80"},
		"the address of clients": {[]string{annotation.Persistence, "SOURCE_IP"}, "allowed: HTTP_COOKIE, APP_COOKIE"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{})
			svc := service("web", 1)
			annotate(c.annotations...)(svc)
			env.refused(svc, env.nodes(2), c.reason)
			env.writes(0)
		})
	}
}
