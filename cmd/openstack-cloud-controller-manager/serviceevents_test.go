package main

import (
	"context"
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
)

const (
	begins, ended      = "EnsuringLoadBalancer", "EnsuredLoadBalancer"
	failed             = "SyncLoadBalancerFailed"
	deleting, deleted  = "DeletingLoadBalancer", "DeletedLoadBalancer"
	notDeleted         = "DeleteLoadBalancerFailed"
	untouched, touched = types.UID("untouched"), types.UID("touched")
)

// said is an event of the service controller.
type said struct {
	reason, message string
	repeats         bool
	// hidden is set if it is not written.
	hidden bool
}

func (s said) event(service types.UID) *v1.Event {
	return &v1.Event{InvolvedObject: v1.ObjectReference{UID: service}, Reason: s.reason, Message: s.message, Count: 1}
}

func TestServiceEvents_TellWhatBecomesOfAService(t *testing.T) {
	t.Parallel()
	waiting := fmt.Sprintf("Error syncing load balancer: failed to ensure load balancer: the load balancer is being created, %s: looking again in 2m", reason.GoesOn)
	for name, test := range map[string]struct {
		service types.UID
		events  []said
	}{
		"one that is new waits for its load balancer": {touched, []said{
			{reason: begins}, {reason: failed, message: waiting, hidden: true}, {reason: begins, repeats: true, hidden: true},
			{reason: failed, message: waiting, repeats: true, hidden: true}, {reason: ended}, {reason: ended, repeats: true},
		}},
		"one of more than the broadcaster remembers waits": {touched, []said{
			{reason: begins}, {reason: failed, message: waiting, hidden: true}, {reason: begins, hidden: true},
			{reason: failed, message: waiting, hidden: true}, {reason: begins, hidden: true}, {reason: ended},
		}},
		"such a one fails": {touched, []said{
			{reason: begins}, {reason: failed, message: "port 80"}, {reason: begins, hidden: true}, {reason: ended}, {reason: begins}, {reason: ended},
		}},
		"such a one is deleted while it waits": {touched, []said{
			{reason: begins}, {reason: deleting}, {reason: notDeleted, message: waiting, hidden: true}, {reason: deleting, hidden: true},
			{reason: notDeleted, message: "port 80"}, {reason: deleting, hidden: true}, {reason: deleted},
		}},
		"one fails": {touched, []said{
			{reason: begins}, {reason: failed, message: "port 80"}, {reason: begins, repeats: true, hidden: true},
			{reason: failed, message: "port 80", repeats: true}, {reason: ended},
		}},
		"one waits for its deletion": {touched, []said{
			{reason: deleting}, {reason: notDeleted, message: waiting, hidden: true}, {reason: deleting, repeats: true, hidden: true},
			{reason: notDeleted, message: "port 80"}, {reason: deleted},
		}},
		"after a restart nothing is to be done": {untouched, []said{
			{reason: begins, hidden: true}, {reason: ended, hidden: true}, {reason: begins, hidden: true}, {reason: ended, hidden: true},
		}},
		"after a restart the cloud does not answer at first": {untouched, []said{
			{reason: begins, hidden: true}, {reason: failed, message: "503"}, {reason: begins}, {reason: ended},
			{reason: begins, hidden: true}, {reason: ended, hidden: true},
		}},
		"after a restart one is deleted": {untouched, []said{
			{reason: begins, hidden: true}, {reason: ended, hidden: true}, {reason: deleting}, {reason: deleted},
		}},
		"something else": {untouched, []said{{reason: "UnAvailableLoadBalancer"}, {reason: "UnAvailableLoadBalancer", repeats: true}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			events := serviceEvents{untouched: func(service types.UID) bool { return service == untouched }}
			for i, s := range test.events {
				if emits := events.emits(s.event(test.service), s.repeats); emits == s.hidden {
					t.Errorf("event %d, %s, repeats %t: emitted: %t, want otherwise", i+1, s.reason, s.repeats, emits)
				}
			}
		})
	}
}

// The end of a takeover without a record at its beginning is reported.
func TestServiceEvents_EmitTheEndOfATakeover(t *testing.T) {
	t.Parallel()
	recorded := false
	events := serviceEvents{untouched: func(types.UID) bool { return recorded }}
	if !events.emits(said{reason: begins}.event(untouched), false) {
		t.Error("no event for the beginning of a takeover")
	}
	recorded = true
	if !events.emits(said{reason: ended}.event(untouched), false) {
		t.Error("no event for the end of a takeover")
	}
	if len(events.begun) > 0 {
		t.Errorf("%v are remembered", events.begun)
	}
}

// oneClient implements the part of cloudprovider.ControllerClientBuilder that the service
// controller uses.
type oneClient struct {
	cloudprovider.ControllerClientBuilder
	client kubernetes.Interface
}

func (b oneClient) ClientOrDie(string) kubernetes.Interface { return b.client }

func TestEventBuilder_WritesWhatIsToBeTold(t *testing.T) {
	t.Parallel()
	client := fake.NewClientset()
	queue := newEventQueue(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	go queue.run(t.Context(), nil)
	builder := eventBuilder{
		oneClient{client: client}, &serviceEvents{untouched: func(service types.UID) bool { return service == untouched }}, queue,
	}
	// Like the service controller's broadcaster.
	sink := &typedcorev1.EventSinkImpl{Interface: builder.ClientOrDie("service-controller").CoreV1().Events("")}
	write := func(service types.UID, s said) {
		t.Helper()
		event, put := s.event(service), sink.Create
		event.Namespace, event.Name = "default", fmt.Sprint(service, ".", s.reason)
		if s.repeats {
			put = func(event *v1.Event) (*v1.Event, error) { return sink.Patch(event, []byte(`{"count":2}`)) }
		}
		if written, err := put(event); err != nil || written == nil {
			t.Fatal(written, err)
		}
	}
	write(untouched, said{reason: begins})
	write(touched, said{reason: begins})
	write(touched, said{reason: failed, message: "port 80"})
	write(touched, said{reason: failed, message: "port 80", repeats: true})
	write(untouched, said{reason: ended})
	write(touched, said{reason: ended})
	events := client.CoreV1().Events("default")
	await.Eventually(t, "the last event", func(ctx context.Context) error {
		_, err := events.Get(ctx, fmt.Sprint(touched, ".", ended), metav1.GetOptions{})
		return err
	})
	all, err := events.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(all.Items) != 3 {
		t.Errorf("%d events, %v, want three of the Service that has changed", len(all.Items), err)
	}
	if repeated, err := events.Get(t.Context(), fmt.Sprint(touched, ".", failed), metav1.GetOptions{}); err != nil || repeated.Count != 2 {
		t.Errorf("%v, %v, want one that is counted twice", repeated, err)
	}
}
