package features

import (
	"fmt"
	"strings"
)

// Page is the document, from the root.
const Page = "docs/internals/features.md"

// Document returns the page. The verdict of a row follows from the results of its tests in a run.
func Document(rows []Row, proofs []Proof, results Results) string {
	var b strings.Builder
	b.WriteString(`# Features

Features that users of Kubernetes on OpenStack have, miss or ask for, and whether this project has them. A
row is "yes" if its tests ran and passed, "partly" with the missing parts, and "on a real OpenStack only" if
its tests were skipped because there was none. ` + "`make features`" + ` generates this page from the results of
` + "`make test`, which fails if they differ; `make prove`" + ` shows for each row with "yes" that its tests fail
without the feature ([testing.md](testing.md)). Rows with "no" are the known limitations; some are [not planned](#not-planned).

| n | feature | yes / partly / no | tests |
|---|---|---|---|
`)
	for _, row := range rows {
		tests := testsOf(row.N, proofs)
		var names []string
		for _, test := range tests {
			names = append(names, fmt.Sprintf("`%s` %s", test.Folder, test.Name))
		}
		fmt.Fprintf(&b, "| %d | %s | %s | %s |\n", row.N, row.Feature, row.verdict(tests, results), strings.Join(names, "<br>"))
	}
	b.WriteString(notPlanned)
	return b.String()
}

// notPlanned is the end of the page.
const notPlanned = `
## Not planned

- **Re-encryption to members and client authentication (10).** Members are NodePorts, behind which kube-proxy forwards to pods with
  certificates of their own. With a TCP listener TLS is end to end, and the pods, an ingress controller or a Gateway check clients.
- **DNS names of addresses (16).** external-dns reads the address or host name of a Service and writes it into Designate or another
  DNS. A second writer of the same records would be in its way.
- **A load balancer per zone (41).** A Service has one address. ` + "`" + `availability-zone` + "`" + ` sets the zone of its load balancer, and
  ` + "`" + `node-selector` + "`" + ` which nodes are its members; a Service for each zone has a load balancer in each.
- **Services of type ClusterIP by load balancers.** kube-proxy serves them on each node, at once and without a quota of OpenStack.
`

func testsOf(row int, proofs []Proof) []Test {
	var tests []Test
	for _, proof := range proofs {
		if proof.Row == row {
			tests = append(tests, proof.Test)
		}
	}
	return tests
}

const yes = "yes"

func (r Row) verdict(tests []Test, results Results) string {
	skipped := false
	for _, test := range tests {
		switch results[test] {
		case Passed:
		case Skipped:
			skipped = true
		case Failed:
			return fmt.Sprintf("no: %s failed", test.Name)
		default:
			return fmt.Sprintf("no: %s did not run", test.Name)
		}
	}
	switch {
	case len(tests) == 0:
		return "no"
	case skipped:
		return "on a real OpenStack only"
	case r.Partly != "":
		return "partly: " + r.Partly
	default:
		return yes
	}
}

// Kept returns the numbers of the rows with "yes" on a page.
func Kept(page string) map[int]bool {
	kept := map[int]bool{}
	for line := range strings.Lines(page) {
		var n int
		if cells := strings.Split(line, " | "); len(cells) == 4 && cells[2] == yes {
			if _, err := fmt.Sscanf(cells[0], "| %d", &n); err == nil {
				kept[n] = true
			}
		}
	}
	return kept
}
