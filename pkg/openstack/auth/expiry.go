package auth

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

// The kinds of credentials that end.
const (
	// ExpiringPassword is that of a user whose password Keystone has expire.
	ExpiringPassword = "password"
	// ExpiringApplicationCredential was created with an expiration.
	ExpiringApplicationCredential = "application_credential"
	// ExpiringToken was given instead of something that yields tokens.
	ExpiringToken = "token"
)

// Expiry says when credentials end.
type Expiry struct {
	// Kind is one of those above.
	Kind string
	// ID is that of the application credential, or of the user, "" for a token.
	ID string
	// At is zero where the credentials do not end, or Keystone does not tell.
	At time.Time
}

// retryExpiry is after how long an application credential that could not be read is read
// again.
const retryExpiry = time.Hour

// credentialExpiry knows when an application credential ends, which never changes.
type credentialExpiry struct {
	mu    sync.Mutex
	of    string // its ID
	at    time.Time
	known bool
	again time.Time
}

// Expiry returns when the credentials end that yielded the token in use. That of a password
// is in the token; an application credential is read once, which costs a request.
func (s *Session) Expiry(ctx context.Context) Expiry {
	t := s.tokens.current.Load()
	switch {
	case !t.renewable:
		return Expiry{Kind: ExpiringToken, At: t.expires}
	case t.who.ApplicationCredentialID != "":
		return Expiry{Kind: ExpiringApplicationCredential, ID: t.who.ApplicationCredentialID, At: s.credentialEnd(ctx, t)}
	}
	return Expiry{Kind: ExpiringPassword, ID: t.who.UserID, At: t.passwordExpires}
}

// credentialEnd returns when the application credential of a token ends, zero where that is
// not known.
func (s *Session) credentialEnd(ctx context.Context, t *token) time.Time {
	c := &s.credential
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of != t.who.ApplicationCredentialID {
		c.of, c.at, c.known, c.again = t.who.ApplicationCredentialID, time.Time{}, false, time.Time{}
	}
	now := s.options.Clock.Now()
	if c.known || now.Before(c.again) {
		return c.at
	}
	c.again = now.Add(retryExpiry)
	var answer struct {
		Credential struct {
			ExpiresAt json.RawMessage `json:"expires_at"`
		} `json:"application_credential"`
	}
	client := s.Keystone()
	_, err := client.Get(ctx, client.ServiceURL("users", t.who.UserID, "application_credentials", t.who.ApplicationCredentialID), &answer, nil)
	if err != nil {
		klog.FromContext(ctx).Info("Keystone does not tell when the application credential expires", "err", apierror.Wrap(err, "read application credential"), "again", c.again)
		return time.Time{}
	}
	c.at, c.known = keystoneTime(answer.Credential.ExpiresAt), true
	return c.at
}

// keystoneTime reads a time, with or without a zone, as Keystone has both. Anything else, as
// null, is zero: that these times cannot be read must keep nobody from signing in.
func keystoneTime(value json.RawMessage) time.Time {
	var text string
	if json.Unmarshal(value, &text) != nil {
		return time.Time{}
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05"} {
		if parsed, err := time.Parse(layout, text); err == nil {
			return parsed
		}
	}
	return time.Time{}
}
