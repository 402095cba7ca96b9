package status

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var now = time.Date(2027, 5, 1, 12, 0, 0, 0, time.UTC)

// ago is an event with its last occurrence that long ago.
func ago(age time.Duration, kind, reason, text string) v1.Event {
	return v1.Event{Type: kind, Reason: reason, Message: text, LastTimestamp: metav1.NewTime(now.Add(-age))}
}

func TestLastError_IsOverOnceThingsWentWellOrItCameNoMore(t *testing.T) {
	t.Parallel()
	failed := func(age time.Duration) v1.Event {
		return ago(age, v1.EventTypeWarning, "SyncLoadBalancerFailed", "Octavia answered 503 (request req-1)")
	}
	series := failed(0)
	series.LastTimestamp = metav1.Time{}
	series.Series = &v1.EventSeries{Count: 7, LastObservedTime: metav1.NewMicroTime(now.Add(-time.Minute))}
	for what, test := range map[string]struct {
		events      []v1.Event
		known, over bool
	}{
		"nothing":                   {nil, false, false},
		"a minute ago":              {[]v1.Event{failed(time.Minute)}, true, false},
		"counted as a series":       {[]v1.Event{series}, true, false},
		"too long ago":              {[]v1.Event{failed(11 * time.Minute)}, true, true},
		"then it went well":         {[]v1.Event{failed(2 * time.Minute), ago(time.Minute, v1.EventTypeNormal, "EnsuredLoadBalancer", "")}, true, true},
		"nodes, and it recovered":   {[]v1.Event{ago(2*time.Minute, v1.EventTypeWarning, "UpdateLoadBalancerFailed", "Octavia answered 503 (request req-1)"), ago(time.Minute, v1.EventTypeNormal, "UpdatedLoadBalancer", "")}, true, true},
		"before, it went well":      {[]v1.Event{ago(2*time.Minute, v1.EventTypeNormal, "EnsuredLoadBalancer", ""), failed(time.Minute)}, true, false},
		"only its worker was given": {[]v1.Event{ago(0, v1.EventTypeWarning, "SyncLoadBalancerFailed", "the load balancer is being created, which goes on by itself: looking again in 2m")}, false, false},
	} {
		failure, warnings := lastError(test.events, now)
		if (failure != nil) != test.known || failure != nil && (failure.Over != test.over || failure.RequestID != "req-1") || len(warnings) > 0 {
			t.Errorf("%s: %+v, warnings %v", what, failure, warnings)
		}
	}
}

func TestLastError_ComesWithTheNewestWarningOfEachReason(t *testing.T) {
	t.Parallel()
	_, warnings := lastError([]v1.Event{
		ago(3*time.Minute, v1.EventTypeWarning, "LoadBalancerDrifted", "first"), ago(time.Minute, v1.EventTypeWarning, "LoadBalancerDrifted", "second"),
		ago(2*time.Minute, v1.EventTypeWarning, "LoadBalancerNodeSkipped", "one"), ago(0, v1.EventTypeWarning, "LoadBalancerQuotaExceeded", "as the error says"),
		ago(0, v1.EventTypeNormal, "ChangingLoadBalancer", "listener"),
		ago(4*time.Minute, v1.EventTypeNormal, "LoadBalancerRolloutLosesConnections", "removing takes 9s"),
	}, now)
	if len(warnings) != 3 || warnings[2].Message != "removing takes 9s" || warnings[0].Message != "second" || warnings[1].Message != "one" {
		t.Errorf("warnings %+v", warnings)
	}
}

func TestEvent_MeansRefusedWhereItNamesWhatCannotBe(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]State{
		`metadata.annotations[loadbalancer.openstack.org/vip-subnet-id]: Invalid value: "x": there is no such subnet`: Refused,
		`spec.ports[0].protocol: Unsupported value: "SCTP"`:                                                           Refused,
		"Neutron answered 409 Quota exceeded; the project's quota of ports is used up (5 of 5)":                       Refused,
		"Octavia answered 503 Service Unavailable":                                                                    Degraded,
		"specification.x: nothing": Degraded,
	} {
		if got := (Event{Message: "Error syncing load balancer: failed to ensure load balancer: " + text}); got.stateOf() != want || got.text() != text {
			t.Errorf("%s: %s, %q", text, got.stateOf(), got.text())
		}
	}
	update := Event{Message: "Error updating load balancer with new hosts [node-0] [node names limited, total number of nodes: 1], error: away"}
	if got := update.text(); got != "away" {
		t.Errorf("a failed update says %q", got)
	}
}

func TestJudge_TellsWhatIsMissingOnTheLoadBalancer(t *testing.T) {
	t.Parallel()
	svc := &v1.Service{Spec: v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer, Ports: []v1.ServicePort{{Protocol: v1.ProtocolTCP, Port: 443}, {Protocol: v1.ProtocolUDP, Port: 53}}}}
	svc.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: "203.0.113.7"}}
	active := Status{Provisioning: "ACTIVE", Operating: "ONLINE"}
	lb := &LoadBalancer{Status: active, VIP: VIP{Address: "10.0.0.5"}, Listeners: []Listener{{Protocol: "TERMINATED_HTTPS", Port: 443, Status: Status{Provisioning: "ERROR", Down: true}}}}
	found := evidence{service: svc, balancer: lb, further: 2}.judge()
	var got []string
	for _, p := range found {
		got = append(got, string(p.State)+": "+p.Text)
	}
	want := []string{
		"error: listener TCP/443 is in ERROR",
		"degraded: listener TCP/443 is switched off (admin_state_up is false)",
		"degraded: the published address 203.0.113.7 is not on the load balancer",
		"pending: 2 further load balancers that should not exist: being removed",
		"pending: UDP/53 has no listener",
	}
	if len(got) != len(want) {
		t.Fatalf("problems %q, want %q", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("problem %d: %q, want %q", i, got[i], want[i])
		}
	}
}

func TestTraffic_IsInUnitsThatPeopleRead(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.0 kB", 1234567: "1.2 MB", 5e12: "5.0 TB"} {
		if got := size(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
