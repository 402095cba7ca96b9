package cloudprovider

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/retry"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// CloudRecordName is the ConfigMap in kube-system that says in which project and
// region of OpenStack the cluster is. Who deletes it, or one of its keys, confirms
// that the cluster has moved.
const CloudRecordName = "openstack-cloud"

const (
	projectKey = "project"
	regionKey  = "region"
	// confirmationPeriod is how often a confirmation is looked for.
	confirmationPeriod = 10 * time.Second
	// cloudReminder is how often an event tells that one is needed.
	cloudReminder = time.Hour
	// cloudChanged is the reason of that event, on the ConfigMap.
	cloudChanged = "CloudChanged"
)

// CloudIdentity says which part of which cloud is worked in.
type CloudIdentity struct {
	ProjectID, Region string
}

// ErrCloudChanged says that the credentials are of another project or region than the
// cluster was in before. What is missing there was perhaps never there: nothing may be
// taken for gone, deleted or made anew for it.
var ErrCloudChanged = errors.New("cloud.conf leads to another project or region than before")

// cloudCheck compares the project and region of the session with what was written down
// at an earlier start. Without the right to keep the record it only knows those of this
// process. Nil allows everything.
type cloudCheck struct {
	maps     corev1.ConfigMapInterface
	current  func() CloudIdentity
	recorder record.EventRecorder
	clock    clock.Clock

	mu sync.Mutex
	// known is what was last confirmed, nil before the record is read.
	known *CloudIdentity
	// denied says that no record may be kept.
	denied bool
	// refused is why nothing is allowed, and until when that is believed.
	refused error
	until   time.Time
	told    time.Time
}

// allow gives an error that wraps ErrCloudChanged while the session is elsewhere than
// the cluster was and nobody has confirmed it, and others while that cannot be read. It
// costs nothing while all is well.
func (c *cloudCheck) allow(ctx context.Context) error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	current := c.current()
	if c.known != nil && *c.known == current {
		return nil
	}
	if c.refused != nil && c.clock.Now().Before(c.until) {
		return c.refused
	}
	err := c.compare(ctx, current)
	if errors.Is(err, ErrCloudChanged) {
		c.refused, c.until = err, c.clock.Now().Add(confirmationPeriod)
		return err
	}
	if c.refused = nil; err == nil {
		c.known = &current
	}
	return err
}

// compare reads the record, and writes down what it does not say yet.
func (c *cloudCheck) compare(ctx context.Context, current CloudIdentity) error {
	if c.denied {
		return fmt.Errorf("%w: project %s in region %q, before project %s in region %q. If that is meant, restart the cloud-controller-manager",
			ErrCloudChanged, current.ProjectID, current.Region, c.known.ProjectID, c.known.Region)
	}
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		stored, err := c.maps.Get(ctx, CloudRecordName, metav1.GetOptions{})
		switch {
		case apierrors.IsForbidden(err):
			return c.deny(ctx, err)
		case apierrors.IsNotFound(err):
			stored = nil
		case err != nil:
			return fmt.Errorf("read in which project and region of OpenStack the cluster is: %w", err)
		}
		changed := withCloud(stored, current)
		if before := (CloudIdentity{changed.Data[projectKey], changed.Data[regionKey]}); before != current {
			return c.refuse(ctx, changed, before, current)
		}
		if stored != nil && len(stored.Data) == len(changed.Data) {
			return nil
		}
		return c.store(ctx, stored == nil, changed)
	})
}

// withCloud adds to a record the keys that it lacks.
func withCloud(stored *v1.ConfigMap, current CloudIdentity) *v1.ConfigMap {
	changed := &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: CloudRecordName}}
	if stored != nil {
		changed = stored.DeepCopy()
	}
	if changed.Data == nil {
		changed.Data = map[string]string{}
	}
	for key, value := range map[string]string{projectKey: current.ProjectID, regionKey: current.Region} {
		if _, there := changed.Data[key]; !there {
			changed.Data[key] = value
		}
	}
	return changed
}

func (c *cloudCheck) store(ctx context.Context, create bool, changed *v1.ConfigMap) (err error) {
	if create {
		_, err = c.maps.Create(ctx, changed, metav1.CreateOptions{})
	} else {
		_, err = c.maps.Update(ctx, changed, metav1.UpdateOptions{})
	}
	switch {
	case err == nil:
		klog.FromContext(ctx).Info("Wrote down where in OpenStack the cluster is", "configMap", CloudRecordName,
			"project", changed.Data[projectKey], "region", changed.Data[regionKey])
		return nil
	case apierrors.IsForbidden(err):
		return c.deny(ctx, err)
	case apierrors.IsAlreadyExists(err), apierrors.IsNotFound(err): // somebody was quicker
		return apierrors.NewConflict(v1.Resource("configmaps"), CloudRecordName, errors.New("it came or went meanwhile"))
	case apierrors.IsConflict(err):
		return err
	}
	return fmt.Errorf("write down in which project and region of OpenStack the cluster is: %w", err)
}

func (c *cloudCheck) refuse(ctx context.Context, stored *v1.ConfigMap, before, current CloudIdentity) error {
	err := fmt.Errorf("%w: project %s in region %q, and the cluster is in project %s in region %q. "+
		"Nothing is made, deleted or taken for gone until that is mended, or confirmed with: kubectl --namespace %s delete configmap %s",
		ErrCloudChanged, current.ProjectID, current.Region, before.ProjectID, before.Region, metav1.NamespaceSystem, CloudRecordName)
	if now := c.clock.Now(); c.told.IsZero() || !now.Before(c.told.Add(cloudReminder)) {
		c.told = now
		klog.FromContext(ctx).Error(err, "Refusing to work")
		c.recorder.Event(stored, v1.EventTypeWarning, cloudChanged, err.Error())
	}
	return err
}

// deny goes on without a record.
func (c *cloudCheck) deny(ctx context.Context, err error) error {
	c.denied = true
	klog.FromContext(ctx).Error(err, "May not keep the ConfigMap "+CloudRecordName+": a restart with credentials of another project will not be noticed. "+
		"Grant the Role of manifests/static/rbac.yaml")
	return nil
}
