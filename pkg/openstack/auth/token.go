package auth

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

// token is a token of Keystone with its project and catalog.
type token struct {
	id        string
	projectID string
	catalog   []tokens.CatalogEntry
	renewable bool
	asked     time.Time // on our own clock
	// expires is on our own clock, regardless of the service's; zero if unknown.
	expires time.Time
	// renewAt is the time of the renewal, after most of the token's life.
	renewAt time.Time
	who     Identity
	// passwordExpires is zero if the password does not expire, or the expiry is unknown.
	passwordExpires time.Time
	// replaced is the number of consecutive tokens before this one that were replaced while young.
	replaced int
}

// expired reports whether the token has certainly expired.
func (t *token) expired(now time.Time) bool {
	return !t.expires.IsZero() && !now.Before(t.expires)
}

// young reports whether the token was issued recently.
func (t *token) young(now time.Time) bool { return now.Sub(t.asked) < youngToken }

// due returns the time to request the next token.
func (t *token) due() time.Time {
	switch {
	case t.renewable:
		return t.renewAt
	case t.expires.IsZero():
		return t.asked.Add(forever)
	}
	return t.expires
}

// cannotBeRenewed returns the error of a configured token.
func (t *token) cannotBeRenewed(now time.Time) error {
	reason := &apierror.TokenExpiredError{}
	if t.expired(now) {
		reason.At = t.expires
	}
	return &apierror.AuthenticationError{Err: reason}
}

// renewAfter is the part of a token's life after which it is renewed. The rest bridges outages of
// Keystone.
const renewAfter = 0.85

const (
	// unknownLife is the assumed life of a token if Keystone does not report it.
	unknownLife = time.Hour
	// forever exceeds the life of any process.
	forever = 100 * 365 * 24 * time.Hour
)

// named is an object of Keystone in a token.
type named struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

func readToken(result interface {
	ExtractInto(any) error
	ExtractTokenID() (string, error)
}, asked time.Time) (*token, error) {
	var body struct {
		IssuedAt  time.Time             `json:"issued_at"`
		ExpiresAt time.Time             `json:"expires_at"`
		Catalog   []tokens.CatalogEntry `json:"catalog"`
		Project   named                 `json:"project"`
		User      struct {
			named
			PasswordExpires json.RawMessage `json:"password_expires_at"`
		} `json:"user"`
		Roles      []named   `json:"roles"`
		Credential named     `json:"application_credential"`
		Trust      *struct{} `json:"OS-TRUST:trust"`
	}
	if err := result.ExtractInto(&body); err != nil {
		return nil, err
	}
	id, err := result.ExtractTokenID()
	if err != nil {
		return nil, err
	}
	if id == "" {
		return nil, errors.New("the answer of Keystone has no X-Subject-Token")
	}
	if body.Project.ID == "" {
		return nil, errors.New("the token is for no project: set tenant-id, or tenant-name and its domain")
	}
	t := &token{id: id, projectID: body.Project.ID, catalog: body.Catalog, asked: asked}
	t.who = Identity{
		UserID: body.User.ID, UserName: body.User.Name, ProjectID: body.Project.ID, ProjectName: body.Project.Name,
		ApplicationCredentialID: body.Credential.ID,
	}
	for _, role := range body.Roles {
		t.who.Roles = append(t.who.Roles, role.Name)
	}
	slices.Sort(t.who.Roles)
	if body.Trust == nil { // otherwise it may be the trustor's, who does not sign in
		t.passwordExpires = keystoneTime(body.User.PasswordExpires)
	}
	if body.ExpiresAt.IsZero() {
		t.renewAt = asked.Add(part(unknownLife))
	} else {
		t.setLife(asked, body.IssuedAt, body.ExpiresAt)
	}
	return t, nil
}

// setLife computes the times on our clock from the length of the token's life, so that a difference
// from Keystone's clock does no harm.
func (t *token) setLife(asked, issued, expires time.Time) {
	life := expires.Sub(issued)
	if issued.IsZero() {
		life = expires.Sub(asked)
	}
	t.expires = asked.Add(life)
	t.renewAt = asked.Add(max(minRenewal, part(life)))
}

// part returns the part of a life before the renewal.
func part(life time.Duration) time.Duration { return time.Duration(float64(life) * renewAfter) }
