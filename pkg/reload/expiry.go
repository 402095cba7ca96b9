package reload

import (
	"context"
	"fmt"
	"time"

	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/auth"
	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
)

const (
	// noticePeriod is how long before credentials expire the first warning is emitted;
	// reminderPeriod is the interval of the warnings.
	noticePeriod, reminderPeriod = 14 * 24 * time.Hour, 24 * time.Hour
)

// notice is the last expiry warning.
type notice struct {
	of auth.Expiry
	at time.Time
}

// warnOfExpiry reports once a day that the credentials in force expire soon, or have expired.
func (w *Watcher) warnOfExpiry(ctx context.Context) {
	expiry, now := w.options.Session.Expiry(ctx), w.options.Clock.Now()
	w.options.Metrics.expire(expiry)
	rest := expiry.At.Sub(now)
	if expiry.At.IsZero() || rest > noticePeriod {
		return
	}
	same := expiry.Kind == w.notice.of.Kind && expiry.ID == w.notice.of.ID && expiry.At.Sub(w.notice.of.At).Abs() < time.Minute
	if same && now.Before(w.notice.at.Add(reminderPeriod)) {
		return
	}
	w.notice = notice{of: expiry, at: now}
	text := expiring(expiry, rest)
	klog.FromContext(ctx).Error(nil, text)
	reason.CredentialsExpire.Emit(w.options.Recorder, w.options.About, text)
}

// expiring returns the text of a notice.
func expiring(expiry auth.Expiry, rest time.Duration) string {
	what := "The token of the configuration"
	switch expiry.Kind {
	case auth.ExpiringPassword:
		what = "The password of user " + expiry.ID
	case auth.ExpiringApplicationCredential:
		what = "Application credential " + expiry.ID
	}
	at := expiry.At.UTC().Format(time.RFC3339)
	if rest <= 0 {
		return fmt.Sprintf("%s has expired at %s: no request to OpenStack works until the configuration has another one", what, at)
	}
	in := fmt.Sprintf("%d days", int(rest/(24*time.Hour)))
	if rest < 48*time.Hour {
		in = rest.Round(time.Minute).String()
	}
	return fmt.Sprintf("%s expires at %s, in %s: no request to OpenStack works from then on. Put another one into the configuration before, which needs no restart", what, at, in)
}
