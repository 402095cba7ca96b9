package main

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
)

// oneClient implements cloudprovider.ControllerClientBuilder as far as the service controller uses it.
type oneClient struct {
	cloudprovider.ControllerClientBuilder
	client kubernetes.Interface
}

func (b oneClient) ClientOrDie(string) kubernetes.Interface { return b.client }

func TestPatientClient_WritesNoEventThatSaysOnlyThatAServiceWaits(t *testing.T) {
	t.Parallel()
	client := fake.NewClientset()
	// As the service controller's broadcaster does.
	sink := &typedcorev1.EventSinkImpl{Interface: patientBuilder{oneClient{client: client}}.ClientOrDie("service-controller").CoreV1().Events("")}
	waiting := fmt.Sprintf("Error syncing load balancer: failed to ensure load balancer: the load balancer is being created, %s: looking again in 2m", reason.GoesOn)
	for i, test := range []struct {
		reason, message string
		repeats, want   bool
	}{
		{reason: "EnsuringLoadBalancer", want: true},
		{reason: "SyncLoadBalancerFailed", message: waiting},
		{reason: "EnsuringLoadBalancer", repeats: true},
		{reason: "SyncLoadBalancerFailed", message: waiting, repeats: true},
		{reason: "SyncLoadBalancerFailed", message: "Error syncing load balancer: failed to ensure load balancer: port 80", want: true},
		{reason: "SyncLoadBalancerFailed", message: "Error syncing load balancer: failed to ensure load balancer: port 80", repeats: true, want: true},
		{reason: "DeletingLoadBalancer", want: true},
		{reason: "DeleteLoadBalancerFailed", message: waiting},
		{reason: "DeletingLoadBalancer", repeats: true},
		{reason: "DeleteLoadBalancerFailed", message: "Error deleting load balancer: port 80", want: true},
		{reason: "EnsuredLoadBalancer", want: true},
		{reason: "EnsuredLoadBalancer", repeats: true, want: true},
	} {
		event := &v1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint("web.", i)}, Reason: test.reason, Message: test.message, Count: 1}
		client.ClearActions()
		write := sink.Create
		if test.repeats {
			if err := client.Tracker().Add(event.DeepCopy()); err != nil {
				t.Fatal(err)
			}
			write = func(event *v1.Event) (*v1.Event, error) { return sink.Patch(event, []byte(`{"count":2}`)) }
		}
		written, err := write(event)
		if err != nil || written == nil || len(client.Actions()) > 0 != test.want {
			t.Errorf("%s, %q, repeats %t: %v, %v, %d requests, want %t", test.reason, test.message, test.repeats, written, err, len(client.Actions()), test.want)
		}
	}
}
