package records

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/util/retry"
	"k8s.io/klog/v2"
)

// dataKey is the key of a ConfigMap with a line for each Service: its UID and its text.
const dataKey = "load-balancers"

// shard is one of the ConfigMaps. Its first fields belong to Run, or are constant after Load; the
// mutex of ConfigMaps guards texts and changes.
type shard struct {
	maps corev1.ConfigMapInterface
	name string
	// stored is the ConfigMap without its data, nil if it does not exist; denied is set if this
	// process may not write it.
	stored *v1.ConfigMap
	denied bool
	// written is the value of changes at the last write.
	written int

	texts map[types.UID]string
	// changes counts them.
	changes int
}

// parse parses the value of dataKey. Records have at most one line, whatever the value contains.
func parse(data string) map[types.UID]string {
	texts := map[types.UID]string{}
	for line := range strings.Lines(data) {
		if service, text, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			texts[types.UID(service)] = text
		}
	}
	return texts
}

// data returns the value of dataKey with as many records as the ConfigMap can hold.
func (s *shard) data(ctx context.Context) string {
	var data strings.Builder
	left := 0
	for _, service := range slices.Sorted(maps.Keys(s.texts)) {
		text := s.texts[service]
		if data.Len()+len(service)+len(text)+len(" \n") > maxBytes {
			left++
			continue
		}
		data.WriteString(string(service) + " " + text + "\n")
	}
	if left > 0 {
		klog.FromContext(ctx).Info("Not all load balancers can be recorded: the others are read again after a restart", "configMap", s.name, "notRecorded", left)
	}
	return data.String()
}

// store writes the ConfigMap. After a conflict it is read and overwritten, because this process is
// the leader.
func (s *shard) store(ctx context.Context, data string) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if s.denied {
			return nil
		}
		err := s.put(ctx, data)
		switch {
		case apierrors.IsForbidden(err):
			s.deny(ctx, err)
			return nil
		case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err), apierrors.IsNotFound(err):
			return s.reread(ctx)
		}
		return err
	})
}

func (s *shard) put(ctx context.Context, data string) (err error) {
	next := &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: s.name}}
	if s.stored != nil {
		next = s.stored.DeepCopy()
	}
	next.Data = map[string]string{dataKey: data}
	if s.stored == nil {
		next, err = s.maps.Create(ctx, next, metav1.CreateOptions{})
	} else {
		next, err = s.maps.Update(ctx, next, metav1.UpdateOptions{})
	}
	if err == nil {
		s.keep(next)
	}
	return err
}

// reread reads the ConfigMap after a conflict with another client, and returns an error that causes
// another write.
func (s *shard) reread(ctx context.Context) error {
	stored, err := s.maps.Get(ctx, s.name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		s.stored = nil
	case err != nil:
		return fmt.Errorf("read it again: %w", err)
	default:
		s.keep(stored)
	}
	return apierrors.NewConflict(v1.Resource("configmaps"), s.name, errors.New("another client has changed it"))
}

// keep stores a ConfigMap without its data and managed fields.
func (s *shard) keep(stored *v1.ConfigMap) {
	kept := *stored
	kept.Data, kept.BinaryData, kept.ManagedFields = nil, nil, nil
	s.stored = &kept
}

func (s *shard) deny(ctx context.Context, err error) {
	klog.FromContext(ctx).Error(err, "Cannot write the ConfigMap "+s.name+": after a restart every load balancer is read again. "+
		"Apply manifests/additional-rights/rbac.yaml, which replaces no role")
	s.denied = true
}
