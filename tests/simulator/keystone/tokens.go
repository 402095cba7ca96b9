package keystone

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/internal/wire"
)

// token is an issued token that has not been revoked.
type token struct {
	value             string
	userID, projectID string
	credentialID      string
	trustID           string
	roles             []string
	methods           []string
	auditIDs          []string
	issued, expires   time.Time
}

// IssueToken issues a token for a user without a sign-in. It is scoped to a project, with the
// user's roles there.
func (k *Keystone) IssueToken(userID, projectID string) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	user, ok := k.users[userID]
	if !ok {
		return "", fmt.Errorf("issue token: no user %q", userID)
	}
	roles := user.Roles[projectID]
	if len(roles) == 0 {
		return "", fmt.Errorf("issue token: user %q has no role on project %q", userID, projectID)
	}
	t := k.issue(token{userID: userID, projectID: projectID, roles: slices.Clone(roles), methods: []string{"password"}})
	return t.value, nil
}

// issue stores a token with a fresh value and life. The caller holds the lock.
func (k *Keystone) issue(t token) *token {
	now := k.options.Clock.Now().UTC()
	t.value, t.issued = newID(), now
	if t.expires.IsZero() {
		t.expires = now.Add(k.options.TokenLifetime)
	}
	t.auditIDs = append([]string{newID()[:22]}, t.auditIDs...)
	k.tokens[t.value] = &t
	return &t
}

// Tokens returns all issued tokens that have not been revoked.
func (k *Keystone) Tokens() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Collect(maps.Keys(k.tokens))
}

// ProjectOf returns the project of a token; empty if the token is invalid or unscoped.
func (k *Keystone) ProjectOf(value string) string {
	caller, _ := k.caller(value)
	return caller.ProjectID
}

// RevokeAll makes every token invalid at once; the next request of each client
// gets a 401. So does one with a token of the rest of this second: the time of issue
// in a token has no fractions of it.
func (k *Keystone) RevokeAll() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.revoked = k.options.Clock.Now()
}

// valid returns the token behind a value unless it is unknown, revoked or
// expired. The caller holds the lock.
func (k *Keystone) valid(value string) (*token, bool) {
	t, ok := k.tokens[value]
	if !ok || !k.options.Clock.Now().Before(t.expires) || !t.issued.Truncate(time.Second).After(k.revoked) || k.users[t.userID].Disabled {
		return nil, false
	}
	return t, true
}

// Authenticate passes requests with a valid X-Auth-Token to next, with their Caller in the context,
// and answers all others as keystonemiddleware does. A request for which one of the skip functions
// returns true (the version documents at service roots) passes without a caller.
func (k *Keystone) Authenticate(next http.Handler, skip ...func(*http.Request) bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if slices.ContainsFunc(skip, func(picks func(*http.Request) bool) bool { return picks(r) }) {
			next.ServeHTTP(w, r)
			return
		}
		caller, ok := k.caller(r.Header.Get("X-Auth-Token"))
		if !ok {
			k.refuse(w, r)
			return
		}
		next.ServeHTTP(w, r.WithContext(WithCaller(r.Context(), caller)))
	})
}

func (k *Keystone) caller(value string) (Caller, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	t, ok := k.valid(value)
	if !ok {
		return Caller{}, false
	}
	return Caller{UserID: t.userID, ProjectID: t.projectID, Roles: slices.Clone(t.roles)}, true
}

// refuse answers as keystonemiddleware's auth_token does.
func (k *Keystone) refuse(w http.ResponseWriter, r *http.Request) {
	k.mu.Lock()
	uri := k.baseLocked(r) + "/identity/v3"
	k.mu.Unlock()
	w.Header().Set("WWW-Authenticate", fmt.Sprintf("Keystone uri=%q", uri))
	wire.WriteJSON(w, http.StatusUnauthorized, map[string]any{"error": map[string]any{
		"code": http.StatusUnauthorized, "title": "Unauthorized", "message": unauthorizedMessage,
	}})
}

// baseLocked returns the scheme and host of the cloud. The caller holds the lock.
func (k *Keystone) baseLocked(r *http.Request) string {
	if k.baseURL != "" {
		return k.baseURL
	}
	return wire.Origin(r)
}
