package auth

import (
	"fmt"
	"testing"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fakecloud"
)

// The life of a token is a matter of Keystone's clock alone.
func TestToken_LivesByClockOfKeystone(t *testing.T) {
	t.Parallel()
	asked := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for _, skew := range []time.Duration{0, 3 * time.Hour, -3 * time.Hour} {
		var fresh token
		fresh.setLife(asked, asked.Add(skew), asked.Add(skew+time.Hour))
		if !fresh.expires.Equal(asked.Add(time.Hour)) || !fresh.renewAt.Equal(asked.Add(51*time.Minute)) {
			t.Errorf("skew %s: renewed at %s, expires %s", skew, fresh.renewAt, fresh.expires)
		}
	}
	var fresh token
	fresh.setLife(asked, time.Time{}, asked.Add(time.Hour))
	if !fresh.expires.Equal(asked.Add(time.Hour)) {
		t.Errorf("without issued_at it expires %s", fresh.expires)
	}
}

// A token without an end, once, does not stop the renewals.
func TestRenewal_ComesForTokenWithoutExpiry(t *testing.T) {
	t.Parallel()
	cloud := fakecloud.New(t)
	cloud.Keystone = onlyPassword(cloud, "pa55word", "project-1")
	s, clk := renewedInTime(t, cloud)
	for n := range 3 {
		clk.Step(unknownLife)
		await.Condition(t, "the next token", func() bool { return s.tokens.current.Load().id == fmt.Sprintf("token-%d", n+2) && clk.HasWaiters() })
	}
}

// The tokens of an application credential live no longer than it does.
func TestRenewal_HasMinimumInterval(t *testing.T) {
	t.Parallel()
	asked := time.Now()
	var short token
	short.setLife(asked, asked, asked.Add(2*time.Second))
	if age := short.renewAt.Sub(asked); age != minRenewal {
		t.Errorf("renewed in the background after %s, want %s", age, minRenewal)
	}
}
