package securitygroup

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// UnenforcedError reports that the security groups of some nodes cannot enforce the Service's
// source ranges.
type UnenforcedError struct {
	// Nodes are empty if that applies to all nodes.
	Nodes []string
	why   string
}

// Error implements error.
func (e *UnenforcedError) Error() string {
	const unenforced = "spec.loadBalancerSourceRanges cannot be enforced: with this provider the security groups of the nodes do it, but "
	return unenforced + strings.TrimSpace(e.why+" "+names(e.Nodes))
}

// enforceable returns an error for source ranges that a node would not enforce.
func enforceable(w *Spec, t *Task) error {
	switch {
	case !w.Restricted():
		return nil
	case len(t.Unfiltered) > 0:
		return &UnenforcedError{t.Unfiltered, "port security is off at the ports of"}
	case len(t.Unfound) > 0:
		return &UnenforcedError{t.Unfound, "no port of this project has the address of"}
	case len(t.Taken) > 0:
		return &UnenforcedError{t.Taken, "a port that is not of their server has the address of"}
	case len(t.Strayed) > 0:
		return &UnenforcedError{t.Strayed, "their servers are unknown, and no port in the members' subnets has the address of"}
	}
	return nil
}

// keepClients returns a spec with the clients that are admitted now, and with KeepPorts only with ports
// that are open now. If there are no rules, it uses the clients of the spec, or returns an error if they
// are unknown.
func (g *Groups) keepClients(ctx context.Context, r Request) (*Spec, error) {
	s, err := g.observe(ctx, r)
	if err != nil {
		return nil, err
	}
	kept := *r.Spec
	if r.KeepPorts {
		kept.NodePorts = slices.DeleteFunc(slices.Clone(kept.NodePorts), func(port Opening) bool {
			return len(clients(s.Rules, []Opening{port}, kept.everybody())) == 0
		})
	}
	seen := clients(s.Rules, kept.NodePorts, kept.everybody())
	switch {
	case slices.Equal(seen, kept.everybody()):
		kept.Clients = nil
	case len(seen) > 0:
		kept.Clients = seen
	case r.Unread && len(kept.NodePorts) > 0:
		return nil, fmt.Errorf("the security group of the Service is gone, and its source ranges cannot be read, so that the clients to admit are unknown")
	}
	return &kept, nil
}

// clients returns the prefixes that rules admit to any of some ports, or only those of all addresses if
// rules admit all.
func clients(rules []Held, ports []Opening, all []string) []string {
	var seen []string
	for _, h := range rules {
		if h.Text == "" && !h.Common && slices.Contains(ports, h.Rule.Opening) {
			seen = append(seen, h.Rule.Prefix)
		}
	}
	if !slices.ContainsFunc(all, func(prefix string) bool { return !slices.Contains(seen, prefix) }) {
		return all
	}
	slices.Sort(seen)
	return slices.Compact(seen)
}
