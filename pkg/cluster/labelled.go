package cluster

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// Listable are the objects of a kind in the API, such as those that Pods of a client returns.
type Listable[List runtime.Object] interface {
	List(ctx context.Context, options metav1.ListOptions) (List, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

// Labelled lists and watches the objects of a client that a label selector matches.
func Labelled[List runtime.Object](client kubernetes.Interface, objects Listable[List], selector string) cache.ListerWatcher {
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.LabelSelector = selector
			return objects.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.LabelSelector = selector
			return objects.Watch(ctx, options)
		},
	}, client)
}
