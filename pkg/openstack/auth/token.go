package auth

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

// token is a token of Keystone with its project and its catalog.
type token struct {
	id        string
	projectID string
	catalog   []tokens.CatalogEntry
	renewable bool
	asked     time.Time // on our own clock
	// expires is on our own clock, whatever the service's says; zero when unknown.
	expires time.Time
	// renewAt is when most of its life is over.
	renewAt time.Time
	who     Identity
	// passwordExpires is zero where the password does not, or nobody knows.
	passwordExpires time.Time
	// replaced counts the tokens in a row before it that were replaced young.
	replaced int
}

// expired reports whether the token is certainly refused by now.
func (t *token) expired(now time.Time) bool {
	return !t.expires.IsZero() && !now.Before(t.expires)
}

// young reports whether the token was issued a short time ago.
func (t *token) young(now time.Time) bool { return now.Sub(t.asked) < youngToken }

// due returns when to ask for the next token.
func (t *token) due() time.Time {
	switch {
	case t.renewable:
		return t.renewAt
	case t.expires.IsZero():
		return t.asked.Add(forever)
	}
	return t.expires
}

// cannotBeRenewed returns the error of a token that the configuration gave.
func (t *token) cannotBeRenewed(now time.Time) error {
	reason := &apierror.TokenExpiredError{}
	if t.expired(now) {
		reason.At = t.expires
	}
	return &apierror.AuthenticationError{Err: reason}
}

// renewAfter is the part of a token's life after which we ask for the next one. The
// rest is for Keystone to be out of order in.
const renewAfter = 0.85

const (
	// unknownLife is what a token counts as living when Keystone does not say.
	unknownLife = time.Hour
	// forever is longer than any process.
	forever = 100 * 365 * 24 * time.Hour
)

// named is an object of Keystone's in a token.
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
	if body.Trust == nil { // else it may be the trustor's, who does not sign in
		t.passwordExpires = keystoneTime(body.User.PasswordExpires)
	}
	if body.ExpiresAt.IsZero() {
		t.renewAt = asked.Add(part(unknownLife))
	} else {
		t.setLife(asked, body.IssuedAt, body.ExpiresAt)
	}
	return t, nil
}

// setLife sets the times on our clock from the length of the life, so that a
// clock that differs from Keystone's does no harm.
func (t *token) setLife(asked, issued, expires time.Time) {
	life := expires.Sub(issued)
	if issued.IsZero() {
		life = expires.Sub(asked)
	}
	t.expires = asked.Add(life)
	t.renewAt = asked.Add(max(minRenewal, part(life)))
}

// part returns how much of a life goes by before a renewal.
func part(life time.Duration) time.Duration { return time.Duration(float64(life) * renewAfter) }
