// Package reload follows cloud.conf and the files that it names while the process runs.
// What changes there, in clouds.yaml, certificates and keys too, is taken over without a
// restart, or refused with an event while what was in force stays in force.
//
// It reads the files every few seconds and compares what they mean. A notification of the
// kernel would tell nothing of the symlinks that a mounted Secret is replaced by, and a
// look costs less than a millisecond.
package reload

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/auth"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/transport"
	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
)

const (
	// lookPeriod is the time between two looks. A change counts when two of them agree:
	// files that are written one after the other may not fit together in between.
	lookPeriod = 5 * time.Second
	// retryPeriod is after how long a sign-in that had no answer is tried again;
	// rejectedPeriod is for one that Keystone has rejected, which it counts: it locks out
	// users who do that often, also where they have another password.
	retryPeriod, rejectedPeriod = time.Minute, 15 * time.Minute
)

// Session is signed in to the cloud.
type Session interface {
	// Replace goes on with other credentials and connections. After an error nothing has
	// changed.
	Replace(ctx context.Context, cfg config.Global, files transport.TLS) error
	// Expiry returns when the credentials in force end.
	Expiry(ctx context.Context) auth.Expiry
}

// Options are what a Watcher needs.
type Options struct {
	// Read returns the configuration as the files have it now.
	Read func() (*config.Config, []config.Warning, error)
	// Config and Files are in force at the start.
	Config *config.Config
	Files  transport.TLS
	// Session takes what [Global] has.
	Session Session
	// Apply takes the other sections. After an error nothing has changed.
	Apply func(*config.Config) error
	// About is the object of the events.
	About    runtime.Object
	Recorder record.EventRecorder
	// Metrics; nil: none are kept.
	Metrics *Metrics
	Clock   clock.WithTicker
}

// Watcher follows the configuration.
type Watcher struct {
	options Options
	// global, files and settings are in force: settings for all sections but [Global].
	global   config.Global
	files    transport.TLS
	settings *config.Config
	// last is the look before, judged the one that was applied or refused last.
	last, judged look
	// again is when a refused sign-in is tried again; zero: none is.
	again time.Time
	// refusing is set while something of the judged look is refused.
	refusing bool
	notice   notice
}

// New returns a Watcher that looks at nothing before Run.
func New(options Options) *Watcher {
	start := look{conf: options.Config, files: options.Files}
	return &Watcher{options: options, global: options.Config.Global, files: options.Files, settings: options.Config, judged: start}
}

// Run follows the configuration until the context ends.
func (w *Watcher) Run(ctx context.Context) {
	ticker := w.options.Clock.NewTicker(lookPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C():
			w.step(ctx)
			w.tellExpiry(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// step looks, and judges what has changed and stays.
//
//	the look is like    the one before    the judged one
//	                    no                any               it may be changing: wait
//	                    yes               no                judge
//	                    yes               yes               judge where a sign-in is to be tried again
func (w *Watcher) step(ctx context.Context) {
	now := w.look()
	settled := now.same(w.last)
	w.last = now
	retry := !w.again.IsZero() && !w.options.Clock.Now().Before(w.again)
	if !settled || now.same(w.judged) && !retry {
		return
	}
	news := !now.same(w.judged)
	w.judged, w.again = now, time.Time{}
	taken, err := w.judge(ctx, now)
	if ctx.Err() != nil {
		return
	}
	switch {
	case len(taken) > 0:
		w.applied(ctx, now, taken)
	case err == nil && w.refusing:
		w.restored(ctx)
	}
	w.refused(ctx, err, news)
}

// judge takes over what has changed, [Global] and the other sections each for itself: new
// credentials do not wait for a setting to be corrected. It returns what it has taken, and
// why not the rest.
func (w *Watcher) judge(ctx context.Context, now look) (taken []config.Change, err error) {
	if now.err != nil {
		return nil, now.err
	}
	credentials, refusal := w.signIn(ctx, now)
	settings, err := w.apply(now)
	return append(credentials, settings...), errors.Join(refusal, err)
}

// signIn has the session use what [Global] has. A key that needs a restart keeps its value, and
// the others do not wait for it: the old password may not be worth anything any more.
func (w *Watcher) signIn(ctx context.Context, now look) ([]config.Change, error) {
	changes := now.credentials(w.global, w.files)
	fixed := needRestart(changes)
	changes = slices.DeleteFunc(changes, func(c config.Change) bool { return c.Restart })
	if len(changes) == 0 {
		return nil, fixed
	}
	global := now.conf.Global.Fixed(w.global)
	if err := w.options.Session.Replace(ctx, global, now.files); err != nil {
		pause := retryPeriod
		if apierror.IsCredentialsRefused(err) {
			pause = rejectedPeriod
		}
		w.again = w.options.Clock.Now().Add(pause)
		return nil, errors.Join(fixed, fmt.Errorf("%s: %w", list(changes), err))
	}
	w.global, w.files = global, now.files
	return changes, fixed
}

// apply has load balancers follow the other sections.
func (w *Watcher) apply(now look) ([]config.Change, error) {
	changes, differ := now.settings(w.settings)
	if !differ {
		return nil, nil
	}
	if err := needRestart(changes); err != nil {
		return nil, err
	}
	if err := w.options.Apply(now.conf); err != nil {
		return nil, err
	}
	w.settings = now.conf
	if len(changes) == 0 { // what was refused at the start is now what stood for it
		changes = []config.Change{{Setting: "[LoadBalancer] or a class, which was refused"}}
	}
	return changes, nil
}

// needRestart returns an error that names the settings which cannot be changed.
func needRestart(changes []config.Change) error {
	var fixed []config.Change
	for _, change := range changes {
		if change.Restart {
			fixed = append(fixed, change)
		}
	}
	if len(fixed) == 0 {
		return nil
	}
	return fmt.Errorf("%s: a change needs a restart of the cloud-controller-manager", list(fixed))
}

func list(changes []config.Change) string {
	names := make([]string, 0, len(changes))
	for _, change := range changes {
		names = append(names, change.Setting)
	}
	return strings.Join(names, ", ")
}

// applied reports what was taken over.
func (w *Watcher) applied(ctx context.Context, now look, taken []config.Change) {
	logger := klog.FromContext(ctx)
	for _, warning := range now.warnings {
		logger.Info(warning.String())
	}
	logger.Info("The configuration has changed and is in force", "changed", list(taken))
	w.options.Metrics.count(resultApplied)
	reason.ConfigurationChanged.Emit(w.options.Recorder, w.options.About, "The configuration has changed and is in force: "+list(taken))
}

// restored reports that the files have again what is in force, after a change of them was refused.
func (w *Watcher) restored(ctx context.Context) {
	const text = "The configuration is again as it is in force: nothing of it is refused any more"
	klog.FromContext(ctx).Info(text)
	reason.ConfigurationChanged.Emit(w.options.Recorder, w.options.About, text)
}

// refused reports why something was not taken over, with an event where that is news; nil:
// nothing is refused any more.
func (w *Watcher) refused(ctx context.Context, err error, news bool) {
	w.refusing = err != nil
	w.options.Metrics.pending(w.refusing)
	if err == nil {
		return
	}
	klog.FromContext(ctx).Error(err, "A change of the configuration is refused: what was in force stays in force")
	if !news {
		return
	}
	w.options.Metrics.count(resultRefused)
	reason.ConfigurationRefused.Emit(w.options.Recorder, w.options.About,
		"A change of the configuration is refused, and what was in force stays in force: "+strings.ReplaceAll(err.Error(), "\n", "; "))
}
