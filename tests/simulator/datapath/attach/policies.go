package attach

import (
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/datapath"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

func policies(given []*octavia.L7Policy) []datapath.Policy {
	var translated []datapath.Policy
	for _, p := range given {
		if present(p.Meta) {
			translated = append(translated, policy(p))
		}
	}
	return translated
}

func policy(p *octavia.L7Policy) datapath.Policy {
	translated := datapath.Policy{
		ID:             p.ID,
		Action:         p.Action,
		Position:       p.Position,
		AdminUp:        p.AdminStateUp,
		RedirectPoolID: p.RedirectPoolID,
		RedirectURL:    p.RedirectURL,
		RedirectPrefix: p.RedirectPrefix,
		RedirectCode:   p.RedirectHTTPCode,
	}
	for _, r := range p.Rules {
		if present(r.Meta) {
			translated.Rules = append(translated.Rules, datapath.Rule{
				Type: r.Type, Compare: r.CompareType, Key: r.Key, Value: r.Value, Invert: r.Invert, AdminUp: r.AdminStateUp,
			})
		}
	}
	return translated
}
