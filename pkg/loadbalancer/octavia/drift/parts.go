package drift

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

// partsOf returns a hash of the IDs of all listeners, pools, health monitors and members in a load
// balancer, of all owners. It is "" if one ID is unknown.
func partsOf(lb *model.LoadBalancer) string {
	ids := partIDs(lb)
	for i := range lb.Listeners {
		pool := &lb.Listeners[i].Pool
		if pool.Monitor != nil {
			ids = append(ids, pool.Monitor.ID)
		}
		for _, m := range pool.Members.All() {
			ids = append(ids, m.ID)
		}
	}
	slices.Sort(ids)
	if len(ids) > 0 && ids[0] == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(strings.Join(ids, " ")))
	return hex.EncodeToString(sum[:16])
}

// knownParts returns partsOf the knowledge of a load balancer, of this process or of the previous
// one.
func knownParts(applied *state.Applied) string {
	if applied.Depth == model.Listed {
		return applied.Parts
	}
	return partsOf(applied.Contents)
}
