package loadbalancer_test

import (
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/golden"
)

// The page compares the messages with those of cloud-provider-openstack. Each is an error, which the
// service controller reports as an event, or an event of ours.
func TestWrongInput_MessagesMatchReference(t *testing.T) {
	t.Parallel()
	const unknown = "67a0ff86-2ca7-4b22-8e9e-5a0b4a5b1d2f"
	annotate := func(name, value string) func(*v1.Service) {
		return func(svc *v1.Service) { svc.Annotations[name] = value }
	}
	var table strings.Builder
	table.WriteString("| input | message here | cloud-provider-openstack |\n|---|---|---|\n")
	for _, row := range []struct {
		input, theirs string
		spoil         func(*v1.Service)
	}{
		{"name of an annotation misspelled", "none", annotate(annotation.Prefix+"subnetid", "x")},
		{`x-forwarded-for: "True"`, "a line in the log; the default applies", annotate(annotation.ForwardedFor, "True")},
		{"unknown subnet", "an error with the whole request; retried", annotate(annotation.SubnetID, unknown)},
		{"unknown floating network", "the load balancer is created, then an error of the floating IP at each sync", annotate(annotation.FloatingNetID, unknown)},
		{"loadBalancerIP that is not free", "the load balancer is created, then a 403 without the name of the field", func(svc *v1.Service) { svc.Spec.LoadBalancerIP = "203.0.113.80" }},
		{"unknown class", `invalid loadbalancer class "gold"`, annotate(annotation.Class, "gold")},
		{"no NodePorts", "a pool without members, without an event", func(svc *v1.Service) { svc.Spec.Ports[0].NodePort = 0 }},
	} {
		env := newEnvironment(t, environmentOptions{})
		svc, nodes := service("web", 1), env.nodes(2)
		row.spoil(svc)
		_, err := env.engine.Ensure(env.ctx, svc, nodes)
		message := fmt.Sprint(err)
		if err == nil {
			message, _, _ = strings.Cut(env.emitted(), "\n")
		}
		message, _, _ = strings.Cut(message, "; create floating IP") // the answer of Neutron
		fmt.Fprintf(&table, "| %s | `%s` | %s |\n", row.input, message, row.theirs)
	}
	golden.Part(t, "../../docs/internals/wrong-input.md", "messages", table.String())
}
