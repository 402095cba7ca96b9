package status

import (
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
)

// refusedBy is a Service with the condition that the cloud refused it 20 minutes ago.
func refusedBy(cloud string) *v1.Service {
	svc := &v1.Service{Spec: v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer}}
	svc.Finalizers = []string{"service.kubernetes.io/load-balancer-cleanup"}
	svc.Status.Conditions = []metav1.Condition{said(reason.IsRefused, reason.Unavailable, cloud+"; nothing serves the Service yet")}
	return svc
}

// said is a condition that is true for 20 minutes.
func said(kind reason.Condition, why reason.Reason, text string) metav1.Condition {
	return metav1.Condition{Type: string(kind), Status: metav1.ConditionTrue, Reason: string(why), Message: text, LastTransitionTime: metav1.NewTime(now.Add(-20 * time.Minute))}
}

// judged formats the problems of a Service.
func judged(e evidence) (words []string) {
	report := &Report{At: now}
	for _, p := range e.judge() {
		words = append(words, string(p.State)+": "+report.problem(p))
	}
	return words
}

func assertWords(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s: got\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestJudge_TellsWhyAndSinceWhenAConditionSaysRefused(t *testing.T) {
	t.Parallel()
	const why = "there is no subnet x"
	svc := refusedBy(why)
	e := evidence{service: svc, conditions: conditionsOf(svc, time.Time{})}
	const refusal = "refused: " + why + " (LoadBalancerRequestUnavailable, since 20m)"
	assertWords(t, "without events", judged(e), refusal)
	if kept := e.judge()[0].Kept; kept != "nothing serves the Service yet" {
		t.Errorf("kept: %q", kept)
	}

	e.lastError = &Event{Message: "Error syncing load balancer: failed to ensure load balancer: " + why + "; trying again in 5m0s"}
	assertWords(t, "an event of the same", judged(e), refusal)
	e.lastError.Message = "Octavia answered 503"
	assertWords(t, "an event of an outage", judged(e), refusal, "degraded: Octavia answered 503")

	e.lastError, e.refused = nil, []string{why}
	assertWords(t, "the rules say the same", judged(e), refusal)
	e.refused = []string{"spec.ports[0]: Forbidden"}
	assertWords(t, "the rules say something newer", judged(e), "refused: spec.ports[0]: Forbidden", refusal)

	e.refused, svc.DeletionTimestamp = nil, &metav1.Time{Time: now.Add(-time.Minute)}
	assertWords(t, "it leaves", judged(e), "pending: the Service is being deleted, and has no load balancer any more (since 60s)")
}

// A controller that writes no conditions, such as cloud-provider-openstack, keeps existing ones.
func TestConditions_OfARefusalAreOverOnceTheServiceIsServed(t *testing.T) {
	t.Parallel()
	for after, want := range map[time.Duration]bool{-time.Minute: false, time.Minute: true} {
		svc := refusedBy("no")
		success := now.Add(-20 * time.Minute).Add(after)
		all := conditionsOf(svc, success)
		if len(all) != 1 || all[0].Over != want || (stating(all, reason.IsRefused) == nil) != want {
			t.Errorf("served %v after it was refused: %+v", after, all)
		}
	}
}

func TestConditions_AreToldAsOldWhereTheServiceHasChangedSince(t *testing.T) {
	t.Parallel()
	const ours = `{"f:status":{"f:conditions":{"k:{\"type\":\"loadbalancer.openstack.org/Refused\"}":{}}}}`
	entry := func(manager, subresource string, age time.Duration, fields string) metav1.ManagedFieldsEntry {
		at := metav1.NewTime(now.Add(-age))
		return metav1.ManagedFieldsEntry{Manager: manager, Subresource: subresource, Time: &at, FieldsV1: metav1.NewFieldsV1(fields)}
	}
	written := entry("ccm", "status", 10*time.Minute, ours)
	for what, test := range map[string]struct {
		fields []metav1.ManagedFieldsEntry
		want   string
	}{
		"nothing is known":             {nil, ""},
		"it was changed before":        {[]metav1.ManagedFieldsEntry{entry("kubectl", "", 11*time.Minute, `{}`), written}, ""},
		"it was changed since":         {[]metav1.ManagedFieldsEntry{written, entry("kubectl", "", 2*time.Minute, `{}`), entry("helm", "", 3*time.Minute, `{}`)}, ", said before the Service was changed 2m ago"},
		"the controller has annotated": {[]metav1.ManagedFieldsEntry{written, entry("ccm", "", 2*time.Minute, `{}`)}, ""},
		"another wrote to the status":  {[]metav1.ManagedFieldsEntry{written, entry("other", "status", 2*time.Minute, `{}`)}, ""},
	} {
		svc := refusedBy("no")
		svc.ManagedFields = test.fields
		assertWords(t, what, judged(evidence{service: svc, conditions: conditionsOf(svc, time.Time{})}),
			"refused: no (LoadBalancerRequestUnavailable, since 20m"+test.want+")")
	}
}

func TestJudge_AddsWhatTheCloudDoesNotShow(t *testing.T) {
	t.Parallel()
	svc := &v1.Service{Spec: v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer}}
	svc.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: "203.0.113.7"}}
	svc.Status.Conditions = []metav1.Condition{said(reason.Degraded, reason.InError, "ask for a failover")}
	active := Status{Provisioning: "ACTIVE", Operating: "ONLINE"}
	lb := &LoadBalancer{Status: active, VIP: VIP{Address: "203.0.113.7"}}
	e := evidence{service: svc, balancer: lb, conditions: conditionsOf(svc, time.Time{})}
	assertWords(t, "Degraded, and nothing is", judged(e))
	lb.Provisioning = "ERROR"
	assertWords(t, "Degraded", judged(e), "error: the load balancer is in ERROR", "degraded: ask for a failover (LoadBalancerInError, since 20m)")

	lb.Provisioning = "ACTIVE"
	svc.Status.Conditions = []metav1.Condition{said(reason.IsDrifted, reason.Drifted, "somebody did")}
	e.conditions = conditionsOf(svc, now)
	assertWords(t, "Drifted", judged(e), "degraded: somebody did (LoadBalancerDrifted, since 20m)")
}

func TestReport_ShowsAWarningOnceWhereAConditionSaysItToo(t *testing.T) {
	t.Parallel()
	s := Service{Problems: []Problem{{State: Degraded, Reason: reason.Drifted}}}
	if !s.has(reason.Drifted) || s.has(reason.NodeSkipped) {
		t.Errorf("%+v", s)
	}
}
