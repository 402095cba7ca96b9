package reason_test

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/golden"
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
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", entry.Reason, states(entry), cmp.Or(entry.Stands, entry.When), entry.Do)
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

It is a part of the program, and emits these on Services as it does with every cloud. It emits no ` + "`UpdatedLoadBalancer`:\n`ChangingLoadBalancer` reports a change of nodes. While work on a load balancer continues, it emits its beginning only\nonce, and no failure because of a missing load balancer; and after a restart, it emits nothing for a Service without\nchanges." + `

| reason | type | when | what to do |
|---|---|---|---|
` + "| `DeletedLoadBalancer` | Normal | all objects of the Service are removed | nothing |\n" +
	"| `DeleteLoadBalancerFailed` | Warning | the objects of a Service that was deleted without its finalizer could not be removed: the error | the controller retries; remaining objects are reported as [garbage](cleanup.md#deleted-services-of-a-running-cluster) |\n" +
	"| `DeletingLoadBalancer` | Normal | the removal begins | nothing |\n" +
	"| `EnsuredLoadBalancer` | Normal | the Service has its desired state | nothing |\n" +
	"| `EnsuringLoadBalancer` | Normal | a Service is new or has changed | nothing |\n" +
	"| `SyncLoadBalancerFailed` | Warning | an attempt has failed, or the Service is refused: the error of the controller | the error names the field, or the step and the ID of the request; the condition `Refused` distinguishes the two. The controller retries |\n" +
	"| `UnAvailableLoadBalancer` | Warning | the cluster has no node that could be a member | check the nodes (`kubectl get nodes`), and labels that [exclude them](services.md#members) |\n"

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
