package keystone

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"
)

// The request of POST /v3/auth/tokens.
type (
	authRequest struct {
		Auth *auth `json:"auth"`
	}
	auth struct {
		Identity struct {
			Methods  []string `json:"methods"`
			Password *struct {
				User userReference `json:"user"`
			} `json:"password"`
			ApplicationCredential *credentialReference `json:"application_credential"`
			Token                 *reference           `json:"token"`
		} `json:"identity"`
		Scope *scope `json:"scope"`
	}
	projectReference struct {
		reference
		Domain *reference `json:"domain"`
	}
	reference struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	}
	userReference struct {
		reference
		Domain   *reference `json:"domain"`
		Password string     `json:"password"`
	}
	credentialReference struct {
		reference
		Secret string         `json:"secret"`
		User   *userReference `json:"user"`
	}
	scope struct {
		Project *projectReference `json:"project"`
		Domain  *reference        `json:"domain"`
		System  map[string]bool   `json:"system"`
		Trust   *reference        `json:"OS-TRUST:trust"`
		// unscoped is set if the request explicitly has no scope; then the default project is not
		// used.
		unscoped bool
	}
)

// signIn checks a request and issues a token. The caller holds the lock.
func (k *Keystone) signIn(request auth) (*token, *apiError) {
	if len(request.Identity.Methods) == 0 {
		return nil, unauthorized()
	}
	if refusal := check(request); refusal != nil {
		return nil, refusal
	}
	draft := token{methods: slices.Clone(request.Identity.Methods)}
	for _, method := range request.Identity.Methods {
		user, refusal := k.authenticate(method, request, &draft)
		if refusal != nil {
			return nil, refusal
		}
		if user.Disabled || (draft.userID != "" && draft.userID != user.ID) {
			return nil, unauthorized()
		}
		draft.userID = user.ID
	}
	if draft.credentialID == "" {
		if refusal := k.scope(request.Scope, &draft); refusal != nil {
			return nil, refusal
		}
	}
	return k.issue(draft), nil
}

// authenticate checks one method and returns the user.
func (k *Keystone) authenticate(method string, request auth, draft *token) (User, *apiError) {
	identity := request.Identity
	switch {
	case method == "password" && identity.Password != nil:
		user, ok := k.findUser(identity.Password.User)
		if !ok || user.Password == "" || user.Password != identity.Password.User.Password {
			return User{}, unauthorized()
		}
		if expires := user.PasswordExpiresAt; !expires.IsZero() && !k.options.Clock.Now().Before(expires) {
			return User{}, unauthorized()
		}
		return user, nil
	case method == "application_credential" && identity.ApplicationCredential != nil:
		return k.authenticateCredential(*identity.ApplicationCredential, draft)
	case method == "token" && identity.Token != nil:
		previous, ok := k.valid(identity.Token.ID)
		if !ok {
			return User{}, noToken(identity.Token.ID)
		}
		draft.methods = slices.Compact(append(slices.Clone(previous.methods), draft.methods...))
		draft.expires = previous.expires // a token from a token lives no longer than it
		draft.auditIDs = []string{previous.auditIDs[len(previous.auditIDs)-1]}
		return k.users[previous.userID], nil
	}
	return User{}, unauthorized()
}

// check returns the refusal of an incomplete request.
func check(request auth) *apiError {
	identity := request.Identity
	given := map[string]bool{
		"password": identity.Password != nil, "token": identity.Token != nil,
		"application_credential": identity.ApplicationCredential != nil,
	}
	for _, method := range identity.Methods {
		if !given[method] {
			return expecting(method, "identity")
		}
	}
	if password := identity.Password; password != nil && password.User.ID == "" && password.User.Domain == nil {
		return expecting("domain", "user")
	}
	if scope := request.Scope; scope != nil && scope.Project != nil && scope.Project.ID == "" && scope.Project.Domain == nil {
		return expecting("domain", "project")
	}
	return nil
}

// UnmarshalJSON implements json.Unmarshaler: the scope may also be the word
// "unscoped".
func (s *scope) UnmarshalJSON(encoded []byte) error {
	if string(encoded) == `"unscoped"` {
		s.unscoped = true
		return nil
	}
	type plain scope
	return json.Unmarshal(encoded, (*plain)(s))
}

func (k *Keystone) findUser(wanted userReference) (User, bool) {
	if wanted.ID != "" {
		user, ok := k.users[wanted.ID]
		return user, ok
	}
	domainID, ok := k.findDomain(wanted.Domain)
	if !ok {
		return User{}, false
	}
	for _, user := range k.users {
		if user.Name == wanted.Name && user.DomainID == domainID {
			return user, true
		}
	}
	return User{}, false
}

func (k *Keystone) findDomain(wanted *reference) (string, bool) {
	if wanted == nil {
		return "", false
	}
	for _, domain := range k.domains {
		if (wanted.ID != "" && domain.ID == wanted.ID) || (wanted.ID == "" && domain.Name == wanted.Name) {
			return domain.ID, true
		}
	}
	return "", false
}

// authenticateCredential checks an application credential, named by ID or by
// name and user. An unknown ID answers 404, as Keystone does.
func (k *Keystone) authenticateCredential(wanted credentialReference, draft *token) (User, *apiError) {
	credential, refusal := k.findCredential(wanted)
	if refusal != nil {
		return User{}, refusal
	}
	expired := !credential.ExpiresAt.IsZero() && !k.options.Clock.Now().Before(credential.ExpiresAt)
	user, ok := k.users[credential.UserID]
	if !ok || expired || credential.Secret != wanted.Secret {
		return User{}, unauthorized()
	}
	roles := credential.Roles
	if roles == nil {
		roles = user.Roles[credential.ProjectID]
	}
	if len(roles) == 0 {
		return User{}, unauthorized()
	}
	draft.credentialID, draft.projectID, draft.roles = credential.ID, credential.ProjectID, slices.Clone(roles)
	return user, nil
}

func (k *Keystone) findCredential(wanted credentialReference) (ApplicationCredential, *apiError) {
	if wanted.ID != "" {
		credential, ok := k.credentials[wanted.ID]
		if !ok {
			return ApplicationCredential{}, notFound("Could not find Application Credential: %s.", wanted.ID)
		}
		return credential, nil
	}
	if wanted.User == nil {
		return ApplicationCredential{}, expecting("user", "application credential")
	}
	user, ok := k.findUser(*wanted.User)
	if !ok {
		return ApplicationCredential{}, unauthorized()
	}
	for _, credential := range k.credentials {
		if credential.Name == wanted.Name && credential.UserID == user.ID {
			return credential, nil
		}
	}
	return ApplicationCredential{}, unauthorized()
}

// scope sets the scope of a token: a project, a trust, or none.
func (k *Keystone) scope(wanted *scope, draft *token) *apiError {
	switch {
	case wanted != nil && wanted.Trust != nil:
		return k.scopeToTrust(wanted.Trust.ID, draft)
	case wanted != nil && (wanted.Domain != nil || wanted.System != nil):
		return unauthorized() // no user has a role on a domain or the system
	case wanted != nil && wanted.Project != nil:
		project, ok := k.findProject(wanted.Project.reference, wanted.Project.Domain)
		roles := k.users[draft.userID].Roles[project.ID]
		if !ok || len(roles) == 0 {
			return unauthorized()
		}
		draft.projectID, draft.roles = project.ID, slices.Clone(roles)
		return nil
	}
	user := k.users[draft.userID]
	if roles := user.Roles[user.DefaultProjectID]; wanted == nil && len(roles) > 0 {
		draft.projectID, draft.roles = user.DefaultProjectID, slices.Clone(roles)
	}
	return nil
}

func (k *Keystone) findProject(wanted reference, domain *reference) (Project, bool) {
	if wanted.ID != "" {
		project, ok := k.projects[wanted.ID]
		return project, ok
	}
	domainID, ok := k.findDomain(domain)
	if !ok {
		return Project{}, false
	}
	for _, project := range k.projects {
		if project.Name == wanted.Name && project.DomainID == domainID {
			return project, true
		}
	}
	return Project{}, false
}

func (k *Keystone) scopeToTrust(id string, draft *token) *apiError {
	trust, ok := k.trusts[id]
	if !ok || (!trust.ExpiresAt.IsZero() && !k.options.Clock.Now().Before(trust.ExpiresAt)) {
		return unauthorized()
	}
	if trust.TrusteeUserID != draft.userID {
		return &apiError{status: http.StatusForbidden, message: "You are not authorized to perform the requested action."}
	}
	trustor, ok := k.users[trust.TrustorUserID]
	roles := trust.Roles
	if roles == nil {
		roles = trustor.Roles[trust.ProjectID]
	}
	if !ok || trustor.Disabled || len(roles) == 0 {
		return unauthorized()
	}
	draft.trustID, draft.projectID, draft.roles = trust.ID, trust.ProjectID, slices.Clone(roles)
	if trust.Impersonation {
		draft.userID = trust.TrustorUserID
	}
	return nil
}

// timeFormat is how Keystone writes times.
const timeFormat = "2006-01-02T15:04:05.000000Z"

func formatTime(t time.Time) string { return t.UTC().Format(timeFormat) }
