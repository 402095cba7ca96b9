package replay

import (
	"fmt"
	"strings"
)

// happen does what the recording did behind Octavia's back.
func (m *machine) happen(step Step) error {
	switch step.Event {
	case "activate":
		m.octavia.Activate()
		return nil
	case "status":
		id := m.translate(step.LoadBalancer)
		return m.octavia.Execute("update load_balancer set provisioning_status = ? where id = ?", step.ProvisioningStatus, id)
	case "database":
		return m.octavia.Execute(m.translate(step.Statement), m.parameters(step.Parameters)...)
	default:
		return fmt.Errorf("event %q is unknown", step.Event)
	}
}

// parameters reads the elements of a Python tuple or a JSON array of simple
// values.
func (m *machine) parameters(text string) []string {
	text = strings.TrimSpace(text)
	if len(text) < 2 {
		return nil
	}
	var values []string
	for _, part := range strings.Split(text[1:len(text)-1], ",") {
		if part = strings.TrimSpace(part); part != "" {
			values = append(values, m.translate(strings.Trim(part, `'"`)))
		}
	}
	return values
}
