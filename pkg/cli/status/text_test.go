package status

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/screen"
)

// A list has one hint at rollouts that lose connections; a tree has the event.
func TestWriteText_HintsInListAtRolloutsThatLoseConnections(t *testing.T) {
	t.Parallel()
	loses := []Event{
		{Reason: "LoadBalancerRolloutLosesConnections", Message: "removing takes 9s", Last: now.Add(-4 * time.Minute)},
		{Reason: "LoadBalancerNodeSkipped", Message: "no address", Last: now.Add(-time.Minute)},
	}
	problems := []Problem{{State: Degraded, Text: "TCP/80 has no members"}, {State: Degraded, Text: "TCP/81 has no members"}}
	report := &Report{At: now, Services: []Service{
		{Name: "good", State: Good, Warnings: loses},
		{Name: "other", State: Good, Warnings: loses[1:]},
		{Name: "degraded", State: Degraded, Problems: problems, Warnings: loses},
	}}
	var out bytes.Buffer
	if err := report.WriteText(screen.New(&out, nil)); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	for i, want := range []string{
		"-        rollouts lose connections (4m ago)", "-", "-        TCP/80 has no members (and 1 more); rollouts lose connections (4m ago)",
	} {
		if !strings.HasSuffix(lines[i+1], want) {
			t.Errorf("line %q, want the end %q", lines[i+1], want)
		}
	}
}

// A pod is shown with its name and address; no node has that.
func TestWriteText_MissesNoNodeOfMembersThatArePods(t *testing.T) {
	t.Parallel()
	for _, pods := range []bool{false, true} {
		pool := &Pool{Members: []Member{{Name: "web-1", Address: "10.244.1.5", Port: 8080}}}
		report := &Report{At: now, detailed: true, Services: []Service{{State: Good, Pods: pods, LoadBalancer: &LoadBalancer{Listeners: []Listener{{Pool: pool}}}}}}
		var out bytes.Buffer
		if err := report.WriteText(screen.New(&out, nil)); err != nil {
			t.Fatal(err)
		}
		if misses := strings.Contains(out.String(), "10.244.1.5:8080, no node has the address"); misses == pods {
			t.Errorf("pods %v:\n%s", pods, out.String())
		}
	}
}
