package auth

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

// The kinds of credentials that expire.
const (
	// ExpiringPassword is the password of a user for which Keystone has an expiry.
	ExpiringPassword = "password"
	// ExpiringApplicationCredential was created with an expiration.
	ExpiringApplicationCredential = "application_credential"
	// ExpiringToken is a configured token.
	ExpiringToken = "token"
)

// Expiry is the expiry of credentials.
type Expiry struct {
	// Kind is one of the constants above.
	Kind string
	// ID is the ID of the application credential or of the user, "" for a token.
	ID string
	// At is zero if the credentials do not expire, or Keystone does not report it.
	At time.Time
}

// retryExpiry is the delay after which an application credential that could not be read is read
// again.
const retryExpiry = time.Hour

// credentialExpiry caches the expiry of an application credential, which never changes.
type credentialExpiry struct {
	mu    sync.Mutex
	of    string // its ID
	at    time.Time
	known bool
	again time.Time
}

// Expiry returns the expiry of the credentials behind the current token. A password's is part of
// the token; an application credential is read once, which costs one request.
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

// credentialEnd returns the expiry of the application credential of a token, zero if it is unknown.
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
		klog.FromContext(ctx).Info("The expiry of the application credential is unknown", "err", apierror.Wrap(err, "read application credential"), "again", c.again)
		return time.Time{}
	}
	c.at, c.known = keystoneTime(answer.Credential.ExpiresAt), true
	return c.at
}

// keystoneTime parses a time with or without a zone, since Keystone uses both. Anything else, such
// as null, is zero: an unreadable time must not prevent the sign-in.
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
