package replay

import (
	"encoding/json"
	"net/http"
	"strings"
)

// unseen repeats what a recorder did without writing it down, as far as an
// answer shows that it did: it took a monitor away, or raised a quota.
func (s *site) unseen(m *machine, step Step) error {
	path, _, _ := strings.Cut(step.Path, "?")
	posts := func(collection string) bool {
		return step.Method == http.MethodPost && strings.HasSuffix(path, collection)
	}
	switch {
	case strings.Contains(path, "/quotas/") && step.Method == http.MethodPut:
		s.limited = true
	case posts("/healthmonitors") && !strings.Contains(step.Response, "already has a health monitor"):
		return s.removeMonitor(m, step)
	case posts("/loadbalancers") && s.limited && !strings.Contains(step.Response, "resources: Load Balancer"):
		m.octavia.SetQuota(s.project, "loadbalancer", -1)
	}
	return nil
}

// removeMonitor takes away the monitor that would be in the way of a new one.
func (s *site) removeMonitor(m *machine, step Step) error {
	var body struct {
		HealthMonitor struct {
			PoolID string `json:"pool_id"`
		}
	}
	_ = json.Unmarshal([]byte(step.Body), &body) // a body that is not JSON names no pool
	if body.HealthMonitor.PoolID == "" {
		return nil
	}
	return m.octavia.Execute("delete from health_monitor where pool_id = ?", m.translate(body.HealthMonitor.PoolID))
}
