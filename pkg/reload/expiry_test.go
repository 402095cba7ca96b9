package reload

import (
	"strings"
	"testing"
	"time"

	"k8s.io/component-base/metrics/testutil"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/auth"
)

// Expiring credentials are reported from two weeks before, once a day, until they are replaced.
//
//proves:94,137
func TestWatcher_TellsThatCredentialsExpire(t *testing.T) {
	t.Parallel()
	f := follow(t, map[string]string{"cloud.conf": sound})
	f.looks(1)
	f.wantEvents()
	end := f.clock.Now().Add(15*24*time.Hour + time.Minute)
	f.session.expiry = auth.Expiry{Kind: auth.ExpiringApplicationCredential, ID: "ac1", At: end}
	f.looks(1)
	f.wantEvents() // it is early enough
	if got, err := testutil.GetGaugeMetricValue(f.options.Metrics.expiry.WithLabelValues(auth.ExpiringApplicationCredential)); err != nil || got != float64(end.Unix()) {
		t.Errorf("the metric is %v, want %d (%v)", got, end.Unix(), err)
	}
	f.clock.Step(24 * time.Hour)
	f.looks(100)
	f.wantEvents("Warning CredentialsExpire Application credential ac1 expires at " + end.UTC().Format(time.RFC3339) + ", in 14 days: no request to OpenStack works from then on")
	f.clock.Step(24 * time.Hour)
	f.looks(10)
	f.wantEvents("in 12 days")
	f.clock.Step(12 * 24 * time.Hour)
	f.looks(1)
	f.wantEvents("in 23h5")
	f.clock.Step(24 * time.Hour)
	f.looks(1)
	f.wantEvents("ac1 has expired at")

	f.session.expiry = auth.Expiry{Kind: auth.ExpiringPassword, ID: "u1", At: f.clock.Now().Add(30 * time.Hour)}
	f.looks(1)
	f.wantEvents("The password of user u1 expires at")
	f.session.expiry.At = time.Time{}
	f.clock.Step(48 * time.Hour)
	f.looks(1)
	f.wantEvents()
}

func TestExpiring_SaysWhatAndWhen(t *testing.T) {
	t.Parallel()
	at := time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)
	for want, expiry := range map[string]auth.Expiry{
		"The token of the configuration expires at 2027-01-02T03:04:05Z, in 47h0m0s:": {Kind: auth.ExpiringToken, At: at},
		"The password of user u expires at 2027-01-02T03:04:05Z, in 47h0m0s:":         {Kind: auth.ExpiringPassword, ID: "u", At: at},
	} {
		if got := expiring(expiry, 47*time.Hour); !strings.HasPrefix(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
