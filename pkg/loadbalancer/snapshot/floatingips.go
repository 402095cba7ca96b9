package snapshot

import (
	"context"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
)

// FloatingIPs are floating IPs, to be found by what their descriptions say.
type FloatingIPs struct {
	byWord map[string][]FloatingIP
}

// newFloatingIPs indexes floating IPs by the words of their descriptions.
func newFloatingIPs(all map[string]FloatingIP) *FloatingIPs {
	index := &FloatingIPs{byWord: make(map[string][]FloatingIP, 3*len(all))}
	for _, fip := range all {
		for _, word := range words(fip.Description) {
			if word == "" {
				continue
			}
			index.byWord[word] = append(index.byWord[word], fip)
		}
	}
	return index
}

// Saying returns the floating IPs whose description is the given one, begins with it
// where the proof of an owner follows, or has the given UID in such a proof. One that is found
// by several comes as often.
func (f *FloatingIPs) Saying(given ...string) []FloatingIP {
	var found []FloatingIP
	for _, word := range given {
		if word != "" {
			found = append(found, f.byWord[word]...)
		}
	}
	return found
}

// words returns what a floating IP of a description is found by.
func words(description string) []string {
	head, owners := ownership.CutProof(description)
	if len(owners) == 0 {
		return []string{description}
	}
	return append(owners, description, head)
}

// FirstFloatingIPs returns the floating IPs that there were at the first snapshot of this
// process, or, when it has taken none, at the first call.
func (r *Reader) FirstFloatingIPs(ctx context.Context) (*FloatingIPs, error) {
	r.mu.Lock()
	first := r.firstFloatingIPs
	r.mu.Unlock()
	if first != nil {
		return first, nil
	}
	return r.floatingIPs.Do(ctx, "", r.takeFloatingIPs)
}

func (r *Reader) takeFloatingIPs(ctx context.Context) (*FloatingIPs, error) {
	all, err := r.listFloatingIPs(ctx)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.firstFloatingIPs == nil {
		r.firstFloatingIPs = newFloatingIPs(Of(time.Time{}, nil, all).FloatingIPs)
	}
	return r.firstFloatingIPs, nil
}
