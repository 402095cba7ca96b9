package reason_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
)

var update = flag.Bool("update", false, "write docs/events.md anew")

// TestReference_OfEventsIsUpToDate keeps docs/events.md like the list of reasons.
func TestReference_OfEventsIsUpToDate(t *testing.T) {
	t.Parallel()
	const page = "../../docs/events.md"
	introduction, err := os.ReadFile("testdata/introduction.md")
	if err != nil {
		t.Fatal(err)
	}
	want := string(introduction) + reference()
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Fatalf("%s is not like the code: run make generate (-want +got):\n%s", page, diff)
	}
}

func reference() string {
	var b strings.Builder
	b.WriteString("\n### Reasons of conditions\n\n| reason | condition | when | what to do |\n|---|---|---|---|\n")
	for _, entry := range reason.Table() {
		if len(entry.States) > 0 {
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", entry.Reason, states(entry), entry.When, entry.Do)
		}
	}
	b.WriteString(`
## Events on Services

Each names the ID of the load balancer and the address, at its end unless its text has them, as far as they are known by then.
`)
	events(&b, reason.Service)
	b.WriteString(`
Beside these there are those of Kubernetes' service controller: ` + "`EnsuringLoadBalancer`, `EnsuredLoadBalancer`, `DeletingLoadBalancer`, `DeletedLoadBalancer`, " +
		"and `SyncLoadBalancerFailed` with the error of the controller. There is no `UpdatedLoadBalancer`: of a change of nodes `ChangingLoadBalancer` tells." + `

## Events on Nodes
`)
	events(&b, reason.Node)
	fmt.Fprintf(&b, "\n## Events for the cluster's operator\n\nThey are on %s. `kubectl --namespace kube-system get events --field-selector involvedObject.name=openstack-cloud` lists them.\n", reason.ConfigMap)
	events(&b, reason.ConfigMap)
	return b.String()
}

// events writes the table of the events on one kind of object.
func events(b *strings.Builder, on reason.Object) {
	b.WriteString("\n| reason | type | when | what to do |\n|---|---|---|---|\n")
	for _, entry := range reason.Table() {
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
