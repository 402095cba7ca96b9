package reason_test

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
	"github.com/openstack-ccm/openstack-ccm/tests/golden"
)

// TestReference_OfEventsIsUpToDate compares docs/events.md with the table of reasons.
func TestReference_OfEventsIsUpToDate(t *testing.T) {
	t.Parallel()
	introduction, err := os.ReadFile("testdata/introduction.md")
	if err != nil {
		t.Fatal(err)
	}
	golden.File(t, "../../docs/events.md", string(introduction)+reference())
}

func reference() string {
	var b strings.Builder
	b.WriteString("\n### Reasons of conditions\n\n| reason | condition | when | what to do |\n|---|---|---|---|\n")
	for _, entry := range sorted() {
		if len(entry.States) > 0 {
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", entry.Reason, states(entry), entry.Since(), entry.Do)
		}
	}
	b.WriteString(`
## Events on Services

Each names the ID of the load balancer and the address, at its end unless its text has them, as far as they are known by then.
`)
	events(&b, reason.Service)
	b.WriteString(upstream + `
## Events on Nodes
`)
	events(&b, reason.Node)
	fmt.Fprintf(&b, "\n## Events for the cluster's operator\n\nThey are on %s. `kubectl --namespace kube-system get events --field-selector involvedObject.name=openstack-cloud` lists them.\n", reason.ConfigMap)
	events(&b, reason.ConfigMap)
	return b.String()
}

// upstream are the events of Kubernetes' service controller, which runs in the same process.
const upstream = `
## Events of Kubernetes' service controller

It is a part of the program, and emits these on Services as it does with every cloud. It emits no ` + "`UpdatedLoadBalancer`:\nof a change of nodes `ChangingLoadBalancer` tells. Nor does it say again and again that it begins, or that a load\nbalancer is not there yet, as long as work on it goes on; nor, after a restart, that it has looked at a Service for which\nnothing was to be done." + `

| reason | type | when | what to do |
|---|---|---|---|
` + "| `DeletedLoadBalancer` | Normal | all that was made for the Service is removed | nothing |\n" +
	"| `DeleteLoadBalancerFailed` | Warning | what a Service had that went without its finalizer could not be removed: the error | it is tried again by itself; what is left in the end is reported as [garbage](garbage.md) |\n" +
	"| `DeletingLoadBalancer` | Normal | it begins to remove that | nothing |\n" +
	"| `EnsuredLoadBalancer` | Normal | the Service has what it asks for | nothing |\n" +
	"| `EnsuringLoadBalancer` | Normal | it begins to look at a Service that is new or has changed | nothing |\n" +
	"| `SyncLoadBalancerFailed` | Warning | an attempt has failed, or the Service is refused: the error of the controller | the error names the field, or the step and the ID of the request; the condition `Refused` tells the two apart. It is tried again by itself |\n" +
	"| `UnAvailableLoadBalancer` | Warning | the cluster has no node that could be a member | look at the nodes (`kubectl get nodes`), and at labels that [exclude them](services.md#members) |\n"

// sorted returns all reasons, sorted by name.
func sorted() []reason.Entry {
	return slices.SortedFunc(slices.Values(reason.Table()), func(a, b reason.Entry) int { return cmp.Compare(a.Reason, b.Reason) })
}

// events writes the table of the events on one kind of object.
func events(b *strings.Builder, on reason.Object) {
	b.WriteString("\n| reason | type | when | what to do |\n|---|---|---|---|\n")
	for _, entry := range sorted() {
		if entry.On == on && entry.Type != "" {
			fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", entry.Reason, entry.Type, entry.When, entry.Do)
		}
	}
}

// states names the conditions that can have a reason.
func states(entry reason.Entry) string {
	var texts []string
	for _, s := range entry.States {
		_, name, _ := strings.Cut(string(s.Condition), "/")
		texts = append(texts, fmt.Sprintf("%s is %t", name, s.Is))
	}
	return strings.Join(texts, "; ")
}
