package routes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/util/retry"
	"k8s.io/klog/v2"
)

// RecordName is the ConfigMap in kube-system that records our routes.
const RecordName = "openstack-routes"

// clusterKey holds the owner of the record: a record that was restored in another cluster proves
// nothing there. It is empty if the cluster's identity could not be read; such a record is trusted,
// and gets the identity as soon as it is known.
const clusterKey = "cluster"

// record is the proof that a route is ours when its Node is gone. It is written before the router,
// and may have too many routes but never too few. Without the right to write it, it is kept in
// memory only.
type record struct {
	maps            corev1.ConfigMapInterface
	cluster, router string

	mu     sync.Mutex
	loaded bool
	// stored is nil until the ConfigMap exists.
	stored *v1.ConfigMap
	// denied is set if the ConfigMap may not be written; foreign if it belongs to another cluster
	// ID while our own cannot be read.
	denied, foreign bool
	// ports holds the ports of our routes; "" for an unknown port.
	ports map[hop]string
}

// read returns all recorded routes with the IDs of their ports.
func (r *record) read(ctx context.Context) (map[hop]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.loaded {
		if err := r.load(ctx); err != nil {
			return nil, err
		}
	}
	return maps.Clone(r.ports), nil
}

// load replaces the state by the stored record.
func (r *record) load(ctx context.Context) error {
	if r.maps == nil { // the Table has no routes to pods
		r.loaded, r.denied, r.ports = true, true, map[hop]string{}
		return nil
	}
	stored, err := r.maps.Get(ctx, RecordName, metav1.GetOptions{})
	switch {
	case apierrors.IsForbidden(err):
		r.deny(ctx, err)
		return nil
	case apierrors.IsNotFound(err):
		stored = nil
	case err != nil:
		return fmt.Errorf("read which routes are ours: %w", err)
	}
	r.stored, r.loaded, r.foreign, r.ports = stored, true, false, map[hop]string{}
	if stored == nil {
		return nil
	}
	if owner := stored.Data[clusterKey]; owner != "" && owner != r.cluster {
		if r.foreign = r.cluster == ""; r.foreign {
			klog.FromContext(ctx).Info("The record of routes is not changed: it has the ID of a cluster, and the ID of this cluster cannot be read. "+
				"Routes of deleted nodes are kept until then", "configMap", RecordName, "cluster", owner)
		}
		return nil
	}
	for line := range strings.Lines(stored.Data[r.router]) {
		text, port, _ := strings.Cut(strings.TrimSpace(line), portWord)
		if h, err := parseHop(text); err == nil {
			r.ports[h] = port
		}
	}
	return nil
}

const portWord = " port "

// write adds and removes routes, and stores the record if it has changed.
func (r *record) write(ctx context.Context, add map[hop]string, remove []hop) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if !r.loaded {
			if err := r.load(ctx); err != nil {
				return err
			}
		}
		before := maps.Clone(r.ports)
		maps.Copy(r.ports, add)
		for _, h := range remove {
			delete(r.ports, h)
		}
		if maps.Equal(before, r.ports) {
			return nil
		}
		err := r.store(ctx)
		if err != nil {
			r.loaded = r.denied // read the stored record again
		}
		return err
	})
}

func (r *record) store(ctx context.Context) (err error) {
	if r.denied || r.foreign {
		return nil
	}
	changed := &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: RecordName}}
	if r.stored != nil {
		changed = r.stored.DeepCopy()
	}
	if owner := changed.Data[clusterKey]; owner != "" && owner != r.cluster || changed.Data == nil {
		changed.Data = map[string]string{}
	}
	changed.Data[clusterKey] = r.cluster
	changed.Data[r.router] = r.text()
	if r.stored == nil {
		changed, err = r.maps.Create(ctx, changed, metav1.CreateOptions{})
	} else {
		changed, err = r.maps.Update(ctx, changed, metav1.UpdateOptions{})
	}
	switch {
	case err == nil:
		r.stored = changed
		return nil
	case apierrors.IsForbidden(err):
		r.deny(ctx, err)
		return nil
	case apierrors.IsAlreadyExists(err), apierrors.IsNotFound(err): // another client was faster
		return apierrors.NewConflict(v1.Resource("configmaps"), RecordName, errors.New("it was created or deleted meanwhile"))
	case apierrors.IsConflict(err):
		return err
	}
	return fmt.Errorf("record which routes are ours: %w", err)
}

func (r *record) text() string {
	lines := make([]string, 0, len(r.ports))
	for h, port := range r.ports {
		lines = append(lines, h.String()+portWord+port+"\n")
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

func (r *record) deny(ctx context.Context, err error) {
	klog.FromContext(ctx).Error(err, "Cannot write the ConfigMap "+RecordName+": routes of nodes that are deleted while no cloud-controller-manager runs will be kept. "+
		"Apply manifests/additional-rights/rbac.yaml, which replaces no role")
	r.denied, r.loaded = true, true
	if r.ports == nil {
		r.ports = map[hop]string{}
	}
}
