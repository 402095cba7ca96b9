package cloudprovider

import (
	"context"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/openstack-ccm/openstack-ccm/pkg/cluster"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/garbage"
	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
)

// servicesPage is how many Services are listed at a time.
const servicesPage = 500

// garbageCluster returns the cluster for the collector of garbage. Its Services are those of the API server at one
// moment; it is an error if the session works in a project or region other than the cluster's.
func garbageCluster(options Options, scope *cluster.Guard) garbage.Cluster {
	return garbage.Cluster{
		Services: func(ctx context.Context, each func(*v1.Service)) error {
			if err := scope.Check(ctx); err != nil {
				return err
			}
			return eachService(ctx, options.Client, each)
		},
		Event: func(why reason.Reason, text string) {
			why.Emit(options.Recorder, operatorEvents(), text)
		},
		Count:   options.Metrics.garbageFound,
		Removed: options.Metrics.garbageRemoved,
	}
}

// eachService calls each for all Services of the API server at one moment.
func eachService(ctx context.Context, client kubernetes.Interface, each func(*v1.Service)) error {
	options := metav1.ListOptions{Limit: servicesPage}
	for {
		page, err := client.CoreV1().Services(metav1.NamespaceAll).List(ctx, options)
		if err != nil {
			return err
		}
		for i := range page.Items {
			each(&page.Items[i])
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return nil
		}
	}
}

// operatorEvents returns the object of events for the cluster's operator.
func operatorEvents() *v1.ConfigMap {
	return &v1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: cluster.ScopeRecord},
	}
}
