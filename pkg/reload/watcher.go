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
	// lookPeriod is the interval of reads. A change counts when two consecutive reads agree,
	// because files that are written one after the other may not match in between.
	lookPeriod = 5 * time.Second
	// retryPeriod is the delay after which a sign-in without an answer is retried. rejectedPeriod
	// is the delay after a rejection by Keystone: it counts failures and locks out users with many
	// of them, even with the right password.
	retryPeriod, rejectedPeriod = time.Minute, 15 * time.Minute
)

// Session is a session with the cloud.
type Session interface {
	// Replace switches to other credentials and connections. After an error the old ones are in
	// use.
	Replace(ctx context.Context, cfg config.Global, files transport.TLS) error
	// Expiry returns when the credentials in force expire.
	Expiry(ctx context.Context) auth.Expiry
}

// Options configure a Watcher.
type Options struct {
	// Read returns the current configuration of the files.
	Read func() (*config.Config, []config.Warning, error)
	// Config and Files are in force at the start.
	Config *config.Config
	Files  transport.TLS
	// Session uses the settings of [Global].
	Session Session
	// Apply applies the other sections. After an error the old ones are in force.
	Apply func(*config.Config) error
	// About is the object of the events.
	About    runtime.Object
	Recorder record.EventRecorder
	// Metrics may be nil.
	Metrics *Metrics
	Clock   clock.WithTicker
}

// Watcher applies changes of the configuration.
type Watcher struct {
	options Options
	// global, files and settings are in force: settings for all sections but [Global].
	global   config.Global
	files    transport.TLS
	settings *config.Config
	// last is the previous look, judged the last one that was applied or refused.
	last, judged look
	// again is the time of the next attempt of a refused sign-in; zero if there is none.
	again time.Time
	// refusing is set while a part of the judged look is refused.
	refusing bool
	notice   notice
}

// New returns a Watcher. It reads nothing before Run.
func New(options Options) *Watcher {
	start := look{conf: options.Config, files: options.Files}
	return &Watcher{options: options, global: options.Config.Global, files: options.Files, settings: options.Config, judged: start}
}

// Run applies changes until the context ends.
func (w *Watcher) Run(ctx context.Context) {
	ticker := w.options.Clock.NewTicker(lookPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C():
			w.step(ctx)
			w.warnOfExpiry(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// step reads the files, and judges a change that is stable.
//
//	the look is like    the one before    the judged one
//	                    no                any               it may still change: wait
//	                    yes               no                judge
//	                    yes               yes               judge if a sign-in is due for a retry
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

// judge applies the changes of [Global] and those of the other sections independently: new
// credentials do not wait for the correction of a setting. It returns the applied changes, and the
// errors of the others.
func (w *Watcher) judge(ctx context.Context, now look) (taken []config.Change, err error) {
	if now.err != nil {
		return nil, now.err
	}
	credentials, refusal := w.signIn(ctx, now)
	settings, err := w.apply(now)
	return append(credentials, settings...), errors.Join(refusal, err)
}

// signIn applies [Global] to the session. A key that needs a restart keeps its value, without
// delaying the others: the old password may no longer be valid.
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

// apply applies the other sections.
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
	if len(changes) == 0 { // refused at the start, and now equal to the settings used instead
		changes = []config.Change{{Setting: "[LoadBalancer] or a class, which was refused"}}
	}
	return changes, nil
}

// needRestart returns an error that names the settings that need a restart.
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

// applied reports the changes that were applied.
func (w *Watcher) applied(ctx context.Context, now look, taken []config.Change) {
	logger := klog.FromContext(ctx)
	for _, warning := range now.warnings {
		logger.Info(warning.String())
	}
	logger.Info("The configuration has changed and is in force", "changed", list(taken))
	w.options.Metrics.count(resultApplied)
	reason.ConfigurationChanged.Emit(w.options.Recorder, w.options.About, "The configuration has changed and is in force: "+list(taken))
}

// restored reports that a refused change of the files was reverted.
func (w *Watcher) restored(ctx context.Context) {
	const text = "The configuration is equal to the one in force again: the refused change was reverted"
	klog.FromContext(ctx).Info(text)
	reason.ConfigurationChanged.Emit(w.options.Recorder, w.options.About, text)
}

// refused reports the errors of a change, with an event if news is set. A nil error means that no
// change is refused any more.
func (w *Watcher) refused(ctx context.Context, err error, news bool) {
	w.refusing = err != nil
	w.options.Metrics.pending(w.refusing)
	if err == nil {
		return
	}
	klog.FromContext(ctx).Error(err, "A change of the configuration is refused: the previous settings stay in force")
	if !news {
		return
	}
	w.options.Metrics.count(resultRefused)
	reason.ConfigurationRefused.Emit(w.options.Recorder, w.options.About,
		"A change of the configuration is refused, and the previous settings stay in force: "+strings.ReplaceAll(err.Error(), "\n", "; "))
}
