package keystone

import (
	"strings"
	"time"

	"github.com/google/uuid"
)

// DefaultDomain is the ID of the domain that every Keystone starts with; its
// name is "Default".
const DefaultDomain = "default"

// Domain holds users and projects.
type Domain struct{ ID, Name string }

// Project is the usual scope of tokens.
type Project struct {
	// ID; empty: made up.
	ID   string
	Name string
	// DomainID; empty: the default domain.
	DomainID string
}

// User can sign in with a password, as the trustee of a trust, or through
// application credentials.
type User struct {
	// ID; empty: made up.
	ID       string
	Name     string
	Password string
	// DomainID; empty: the default domain.
	DomainID string
	// DefaultProjectID is the scope of a sign-in without a scope; empty: such a token is unscoped.
	DefaultProjectID string
	// Roles by project ID. A user without a role on a project cannot scope to it.
	Roles map[string][]string
	// PasswordExpiresAt; zero: never.
	PasswordExpiresAt time.Time
	// Disabled users cannot sign in, and their tokens are invalid.
	Disabled bool
}

// ApplicationCredential signs its user in to one project.
type ApplicationCredential struct {
	// ID and Secret; empty: made up.
	ID, Secret string
	Name       string
	UserID     string
	ProjectID  string
	// Roles; nil: all that the user has on the project.
	Roles []string
	// ExpiresAt; zero: never.
	ExpiresAt time.Time
}

// Trust lets the trustee act with roles of the trustor on a project.
type Trust struct {
	// ID; empty: made up.
	ID                           string
	TrustorUserID, TrusteeUserID string
	ProjectID                    string
	// Impersonation makes the trustor the user of the token, as Magnum's trusts do.
	Impersonation bool
	// Roles; nil: all that the trustor has on the project.
	Roles []string
	// ExpiresAt; zero: never.
	ExpiresAt time.Time
}

// AddDomain adds or replaces a domain.
func (k *Keystone) AddDomain(domain Domain) Domain {
	k.mu.Lock()
	defer k.mu.Unlock()
	orNew(&domain.ID)
	k.domains[domain.ID] = domain
	return domain
}

// AddProject adds or replaces a project and returns it with its ID.
func (k *Keystone) AddProject(project Project) Project {
	k.mu.Lock()
	defer k.mu.Unlock()
	orNew(&project.ID)
	orDefault(&project.DomainID)
	k.projects[project.ID] = project
	return project
}

// AddUser adds or replaces a user and returns it with its ID.
func (k *Keystone) AddUser(user User) User {
	k.mu.Lock()
	defer k.mu.Unlock()
	orNew(&user.ID)
	orDefault(&user.DomainID)
	k.users[user.ID] = user
	return user
}

// AddApplicationCredential adds or replaces a credential and returns it with
// its ID and secret.
func (k *Keystone) AddApplicationCredential(credential ApplicationCredential) ApplicationCredential {
	k.mu.Lock()
	defer k.mu.Unlock()
	orNew(&credential.ID)
	orNew(&credential.Secret)
	k.credentials[credential.ID] = credential
	return credential
}

// DeleteApplicationCredential removes a credential; its tokens become invalid.
func (k *Keystone) DeleteApplicationCredential(id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.credentials, id)
	for value, t := range k.tokens {
		if t.credentialID == id {
			delete(k.tokens, value)
		}
	}
}

// AddTrust adds or replaces a trust and returns it with its ID.
func (k *Keystone) AddTrust(trust Trust) Trust {
	k.mu.Lock()
	defer k.mu.Unlock()
	orNew(&trust.ID)
	k.trusts[trust.ID] = trust
	return trust
}

func orNew(id *string) {
	if *id == "" {
		*id = newID()
	}
}

func orDefault(domainID *string) {
	if *domainID == "" {
		*domainID = DefaultDomain
	}
}

// newID returns an ID in Keystone's form: a UUID without dashes.
func newID() string {
	return strings.ReplaceAll(uuid.NewString(), "-", "")
}
