package cluster

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
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

	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
)

// ScopeRecord is the ConfigMap in kube-system that records the Scope of the cluster. An operator
// confirms a move of the cluster by deleting it or, with other controllers, by setting the keys of
// this one.
const ScopeRecord = "openstack-cloud"

const (
	// projectKey and regionKey are those of the only controller of a cluster. Those of one among
	// several, such as one for each region, have its name after a dot.
	projectKey = "project"
	regionKey  = "region"
	// confirmationPeriod is the time between two checks for a confirmation.
	confirmationPeriod = 10 * time.Second
	// reminderPeriod is the time between two events about a missing confirmation.
	reminderPeriod = time.Hour
)

// Scope is the part of a cloud that a cluster works in.
type Scope struct {
	ProjectID, Region string
}

// keys are those of one controller in the record.
type keys struct{ project, region string }

// noKey matches characters that a key of a ConfigMap cannot have.
var noKey = regexp.MustCompile(`[^-._a-zA-Z0-9]`)

// maxName is the maximum length of a controller's name in a key of at most 253 characters.
const maxName = 240

// keysOf returns the keys of the controller of a name, "" for the only one.
func keysOf(controller string) keys {
	if controller == "" {
		return keys{projectKey, regionKey}
	}
	name := noKey.ReplaceAllString(controller, "_")
	name = "." + name[:min(len(name), maxName)]
	return keys{projectKey + name, regionKey + name}
}

// scope returns the controller's Scope in a record.
func (k keys) scope(record *v1.ConfigMap) Scope {
	return Scope{record.Data[k.project], record.Data[k.region]}
}

// Controller is one of the controllers of a cluster.
type Controller struct {
	// Name distinguishes it from the others, which have Scopes of their own; "" is the name of the
	// only one.
	Name string
	// Regional is set if each region may have its own controller.
	Regional bool
}

// confirmation returns the command that confirms that the controller is now in a Scope. It keeps
// the records of others.
func (k keys) confirmation(record *v1.ConfigMap, current Scope) string {
	command := "kubectl --namespace " + metav1.NamespaceSystem
	if others := controllersIn(record); len(others) == 1 && others[0] == k {
		return command + " delete configmap " + ScopeRecord
	}
	patch := fmt.Sprintf(`{"data":{%q:%q,%q:%q}}`, k.project, current.ProjectID, k.region, current.Region)
	return fmt.Sprintf("%s patch configmap %s --type=merge --patch='%s'", command, ScopeRecord, strings.ReplaceAll(patch, "'", `'\''`))
}

// controllersIn returns the keys of the controllers in a record.
func controllersIn(record *v1.ConfigMap) []keys {
	var all []keys
	for key := range record.Data {
		for _, of := range []string{projectKey, regionKey} {
			if name, ok := strings.CutPrefix(key, of); ok && (name == "" || name[0] == '.') && !slices.Contains(all, keysOf(strings.TrimPrefix(name, "."))) {
				all = append(all, keysOf(strings.TrimPrefix(name, ".")))
			}
		}
	}
	return all
}

// ErrMoved is returned while the credentials are of another Scope than the cluster's.
var ErrMoved = errors.New("cloud.conf has another project or region than before")

// Guard compares the Scope of the session with the recorded one. Without the right to write the
// record it only knows that of this process. A nil Guard permits everything.
type Guard struct {
	maps     corev1.ConfigMapInterface
	keys     keys
	regional bool
	current  func() Scope
	recorder record.EventRecorder
	clock    clock.PassiveClock

	mu sync.Mutex
	// confirmed is the Scope that is permitted, nil before the record is read.
	confirmed *Scope
	// forbidden is set if this process may not write the record.
	forbidden bool
	// refusal is the error of the last comparison, which is valid until a time.
	refusal error
	until   time.Time
	// reported is the time of the last event.
	reported time.Time
}

// NewGuard returns a Guard with its record among the ConfigMaps, those of kube-system, for a
// session of a controller. current returns the Scope of the session.
func NewGuard(maps corev1.ConfigMapInterface, controller Controller, current func() Scope, recorder record.EventRecorder, clock clock.PassiveClock) *Guard {
	return &Guard{maps: maps, keys: keysOf(controller.Name), regional: controller.Regional, current: current, recorder: recorder, clock: clock}
}

// Check returns an error that wraps ErrMoved if the session is in another Scope than the cluster
// and this is not confirmed, and other errors if the record cannot be read. Without an error it
// usually sends no request.
func (g *Guard) Check(ctx context.Context) error {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	current := g.current()
	if g.confirmed != nil && *g.confirmed == current {
		return nil
	}
	if g.refusal != nil && g.clock.Now().Before(g.until) {
		return g.refusal
	}
	err := g.compare(ctx, current)
	if errors.Is(err, ErrMoved) {
		g.refusal, g.until = err, g.clock.Now().Add(confirmationPeriod)
		return err
	}
	if g.refusal = nil; err == nil {
		g.confirmed = &current
	}
	return err
}

// Unrecorded reports whether this process may not write the record: a restart with credentials of
// another project or region would not be noticed.
func (g *Guard) Unrecorded() bool {
	if g == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.forbidden
}

// CompareScope returns an error that wraps ErrMoved if the record has Scopes of controllers, but
// not the given one. It writes nothing: without a record, or the right to read it, it compares
// nothing.
func CompareScope(ctx context.Context, maps corev1.ConfigMapInterface, current Scope) error {
	stored, err := maps.Get(ctx, ScopeRecord, metav1.GetOptions{})
	switch {
	case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("read the cluster's project and region: %w", err)
	}
	var refusal error
	for _, of := range controllersIn(stored) {
		before := of.scope(of.withScope(stored, current))
		if before == current {
			return nil
		}
		if refusal == nil || of == keysOf("") {
			refusal = of.changed(stored, before, current)
		}
	}
	return refusal
}

// changed returns ErrMoved with the remedy.
func (k keys) changed(record *v1.ConfigMap, before, current Scope) error {
	return fmt.Errorf("%w: project %s in region %q, and the cluster is in project %s in region %q. "+
		"The controller creates and deletes nothing until this is fixed, or confirmed with: %s",
		ErrMoved, current.ProjectID, current.Region, before.ProjectID, before.Region, k.confirmation(record, current))
}

// compare reads the record, and adds its missing parts.
func (g *Guard) compare(ctx context.Context, current Scope) error {
	if g.forbidden {
		return fmt.Errorf("%w: project %s in region %q, before project %s in region %q. If this is intended, restart the cloud-controller-manager",
			ErrMoved, current.ProjectID, current.Region, g.confirmed.ProjectID, g.confirmed.Region)
	}
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		stored, err := g.maps.Get(ctx, ScopeRecord, metav1.GetOptions{})
		switch {
		case apierrors.IsForbidden(err):
			return g.withoutRecord(ctx, err)
		case apierrors.IsNotFound(err):
			stored = nil
		case err != nil:
			return fmt.Errorf("read the cluster's project and region: %w", err)
		}
		if before, known := g.elsewhere(stored, current); known {
			return g.refuse(ctx, stored, before, current)
		}
		record := g.keys.withScope(stored, current)
		if stored != nil && len(stored.Data) == len(record.Data) {
			return nil
		}
		return g.store(ctx, stored == nil, record)
	})
}

// elsewhere returns the Scope of the cluster in a record, and true if this controller is in another
// one. Without a record of this controller, those of others count: its name may be new, but not the
// cluster.
//
//	recorded                                            elsewhere
//	of this controller                                  if it differs
//	of none                                             no
//	of others only, one of them in the same Scope       no: it was renamed
//	of others only, in no Scope of this one's region    no if regional: it is that of a further region
//	of others only                                      yes
func (g *Guard) elsewhere(record *v1.ConfigMap, current Scope) (before Scope, is bool) {
	if record == nil {
		return Scope{}, false
	}
	all := controllersIn(record)
	if slices.Contains(all, g.keys) {
		before = g.keys.scope(g.keys.withScope(record, current))
		return before, before != current
	}
	sameRegion := false
	for _, of := range all {
		scope := of.scope(of.withScope(record, current))
		switch {
		case scope == current:
			return Scope{}, false
		case scope.Region == current.Region:
			before, sameRegion = scope, true
		case before == (Scope{}):
			before = scope
		}
	}
	return before, len(all) > 0 && (sameRegion || !g.regional)
}

// withScope returns the record with the missing keys of the controller.
func (k keys) withScope(stored *v1.ConfigMap, current Scope) *v1.ConfigMap {
	changed := &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: ScopeRecord}}
	if stored != nil {
		changed = stored.DeepCopy()
	}
	if changed.Data == nil {
		changed.Data = map[string]string{}
	}
	for key, value := range map[string]string{k.project: current.ProjectID, k.region: current.Region} {
		if _, there := changed.Data[key]; !there {
			changed.Data[key] = value
		}
	}
	return changed
}

// store writes the record. After a conflict it is read again.
func (g *Guard) store(ctx context.Context, create bool, changed *v1.ConfigMap) (err error) {
	if create {
		_, err = g.maps.Create(ctx, changed, metav1.CreateOptions{})
	} else {
		_, err = g.maps.Update(ctx, changed, metav1.UpdateOptions{})
	}
	switch {
	case err == nil:
		klog.FromContext(ctx).Info("Recorded the cluster's project and region", "configMap", ScopeRecord,
			"project", changed.Data[g.keys.project], "region", changed.Data[g.keys.region])
		return nil
	case apierrors.IsForbidden(err):
		return g.withoutRecord(ctx, err)
	case apierrors.IsAlreadyExists(err), apierrors.IsNotFound(err): // another client was faster
		return apierrors.NewConflict(v1.Resource("configmaps"), ScopeRecord, errors.New("it was created or deleted meanwhile"))
	case apierrors.IsConflict(err):
		return err
	}
	return fmt.Errorf("record the cluster's project and region: %w", err)
}

// refuse returns ErrMoved with the remedy, and reports it in intervals.
func (g *Guard) refuse(ctx context.Context, stored *v1.ConfigMap, before, current Scope) error {
	err := g.keys.changed(stored, before, current)
	if now := g.clock.Now(); g.reported.IsZero() || !now.Before(g.reported.Add(reminderPeriod)) {
		g.reported = now
		klog.FromContext(ctx).Error(err, "Refusing to change the cloud")
		reason.CloudChanged.Emit(g.recorder, stored, err.Error())
	}
	return err
}

// withoutRecord continues without a record, which this process may not write.
func (g *Guard) withoutRecord(ctx context.Context, err error) error {
	g.forbidden = true
	klog.FromContext(ctx).Error(err, "This service account may not write the ConfigMap "+ScopeRecord+": a restart with credentials of another project will not be noticed. "+
		"Apply manifests/additional-rights/rbac.yaml, which replaces no role")
	return nil
}
