package project

import (
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
)

// FloatingIPs indexes floating IPs by the contents of their descriptions.
type FloatingIPs struct {
	byWord map[string][]FloatingIP
}

// newFloatingIPs indexes floating IPs by the words of their descriptions.
func newFloatingIPs(all []FloatingIP) *FloatingIPs {
	index := &FloatingIPs{byWord: make(map[string][]FloatingIP, 3*len(all))}
	for _, fip := range all {
		keys := words(fip.Description)
		if fip.Forwards() {
			keys = append(keys, fip.Address)
		}
		for _, word := range keys {
			if word == "" {
				continue
			}
			index.byWord[word] = append(index.byWord[word], fip)
		}
	}
	return index
}

// WithWords returns the floating IPs with the given description, with the given one before the proof
// of an owner, or with the given UID in such a proof, and those with the given address and port forwardings. A floating IP may occur several times in the
// result.
func (f *FloatingIPs) WithWords(given ...string) []FloatingIP {
	var found []FloatingIP
	for _, word := range given {
		if word != "" {
			found = append(found, f.byWord[word]...)
		}
	}
	return found
}

// words returns the index keys of a floating IP's description.
func words(description string) []string {
	head, owners := ownership.CutProof(description)
	if len(owners) == 0 {
		return []string{description}
	}
	return append(owners, description, head)
}
