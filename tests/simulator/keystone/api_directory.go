package keystone

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/internal/wire"
)

// The rest of the identity API, as far as an ordinary user may read it: itself and its projects. An
// administrator sees all users.

// look serves a GET of a client with a token. It is called with the lock held.
type look func(r *http.Request, t *token) (any, *apiError)

func (k *Keystone) handleDirectory(mux *http.ServeMux) {
	for pattern, answer := range map[string]look{
		"/v3/auth/catalog":  func(r *http.Request, _ *token) (any, *apiError) { return k.showCatalog(r), nil },
		"/v3/auth/projects": k.listOwnProjects,
		"/v3/auth/domains": func(r *http.Request, _ *token) (any, *apiError) {
			return collection(r, "domains", []any{}), nil
		},
		"/v3/projects":                           k.listProjects,
		"/v3/projects/{id}":                      k.showProject,
		"/v3/users":                              k.listUsers,
		"/v3/users/{id}":                         k.showUser,
		"/v3/users/{id}/projects":                k.listProjectsOfUser,
		"/v3/users/{id}/application_credentials": k.listCredentials,
		"/v3/users/{id}/application_credentials/{credential}": k.showCredential,
		"/v3/domains":          k.listDomains,
		"/v3/domains/{id}":     k.showDomain,
		"/v3/regions":          k.listRegions,
		"/v3/roles":            forbids("list_roles"),
		"/v3/role_assignments": forbids("list_role_assignments"),
		"/v3/services":         forbids("list_services"),
		"/v3/endpoints":        forbids("list_endpoints"),
	} {
		mux.Handle("GET "+pattern, k.lookUp(answer))
	}
}

func forbids(action string) look {
	return func(*http.Request, *token) (any, *apiError) { return nil, forbidden(action) }
}

func (k *Keystone) lookUp(answer look) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		k.mu.Lock()
		defer k.mu.Unlock()
		t, ok := k.valid(r.Header.Get("X-Auth-Token"))
		if !ok {
			k.writeError(w, r, unauthorized())
			return
		}
		body, refusal := answer(r, t)
		if refusal != nil {
			k.writeError(w, r, refusal)
			return
		}
		wire.WriteJSON(w, http.StatusOK, body)
	})
}

func (t *token) isAdmin() bool { return slices.Contains(t.roles, "admin") }

// collection is a list with the links that Keystone gives every list.
func collection(r *http.Request, name string, members any) map[string]any {
	return map[string]any{
		name: members, "links": map[string]any{"next": nil, "previous": nil, "self": wire.Self(r)},
	}
}

func selfLink(r *http.Request, path string) map[string]string {
	return map[string]string{"self": wire.Base(r) + path}
}

func (k *Keystone) showCatalog(r *http.Request) any {
	return map[string]any{"catalog": k.catalog(r), "links": map[string]string{"self": wire.Self(r)}}
}

func projectRecord(r *http.Request, project Project) map[string]any {
	return map[string]any{
		"id": project.ID, "name": project.Name, "domain_id": project.DomainID, "description": "", "enabled": true,
		"parent_id": project.DomainID, "is_domain": false, "tags": []any{}, "options": map[string]any{},
		"links": selfLink(r, "/v3/projects/"+project.ID),
	}
}

// projectsOf returns the projects on which a user has a role, in the order of their names.
func (k *Keystone) projectsOf(r *http.Request, userID string) []any {
	var projects []Project
	for id, roles := range k.users[userID].Roles {
		if project, known := k.projects[id]; known && len(roles) > 0 {
			projects = append(projects, project)
		}
	}
	return sortedProjects(r, projects)
}

func sortedProjects(r *http.Request, projects []Project) []any {
	slices.SortFunc(projects, func(a, b Project) int { return cmp.Compare(a.Name, b.Name) })
	shown := []any{}
	for _, project := range projects {
		shown = append(shown, projectRecord(r, project))
	}
	return shown
}

func (k *Keystone) listOwnProjects(r *http.Request, t *token) (any, *apiError) {
	return collection(r, "projects", k.projectsOf(r, t.userID)), nil
}

func (k *Keystone) listProjectsOfUser(r *http.Request, t *token) (any, *apiError) {
	if r.PathValue("id") != t.userID && !t.isAdmin() {
		return nil, forbidden("list_user_projects")
	}
	return collection(r, "projects", k.projectsOf(r, r.PathValue("id"))), nil
}

func (k *Keystone) listProjects(r *http.Request, t *token) (any, *apiError) {
	if !t.isAdmin() {
		return nil, forbidden("list_projects")
	}
	var projects []Project
	for _, project := range k.projects {
		if name := r.URL.Query().Get("name"); name == "" || name == project.Name {
			projects = append(projects, project)
		}
	}
	return collection(r, "projects", sortedProjects(r, projects)), nil
}

func (k *Keystone) showProject(r *http.Request, t *token) (any, *apiError) {
	project, known := k.projects[r.PathValue("id")]
	if (!known || project.ID != t.projectID) && !t.isAdmin() {
		return nil, forbidden("get_project")
	}
	if !known {
		return nil, notFound("Could not find project: %s.", r.PathValue("id"))
	}
	return map[string]any{"project": projectRecord(r, project)}, nil
}

func userRecord(r *http.Request, user User) map[string]any {
	record := map[string]any{
		"id": user.ID, "name": user.Name, "domain_id": user.DomainID, "enabled": !user.Disabled,
		"password_expires_at": nil, "options": map[string]any{}, "links": selfLink(r, "/v3/users/"+user.ID),
	}
	if user.DefaultProjectID != "" {
		record["default_project_id"] = user.DefaultProjectID
	}
	return record
}

func (k *Keystone) listUsers(r *http.Request, t *token) (any, *apiError) {
	if !t.isAdmin() {
		return nil, forbidden("list_users")
	}
	shown := []any{}
	for _, user := range k.users {
		if name := r.URL.Query().Get("name"); name == "" || name == user.Name {
			shown = append(shown, userRecord(r, user))
		}
	}
	return collection(r, "users", shown), nil
}

func (k *Keystone) showUser(r *http.Request, t *token) (any, *apiError) {
	id := r.PathValue("id")
	if id != t.userID && !t.isAdmin() {
		return nil, forbidden("get_user")
	}
	user, known := k.users[id]
	if !known {
		return nil, notFound("Could not find user: %s.", id)
	}
	return map[string]any{"user": userRecord(r, user)}, nil
}

func (k *Keystone) listCredentials(r *http.Request, t *token) (any, *apiError) {
	id := r.PathValue("id")
	if id != t.userID && !t.isAdmin() {
		return nil, forbidden("list_application_credentials")
	}
	shown := []any{}
	for _, credential := range k.credentials {
		if credential.UserID == id {
			shown = append(shown, k.credentialRecord(r, credential))
		}
	}
	return collection(r, "application_credentials", shown), nil
}

func (k *Keystone) showCredential(r *http.Request, t *token) (any, *apiError) {
	id := r.PathValue("id")
	if id != t.userID && !t.isAdmin() {
		return nil, forbidden("get_application_credential")
	}
	credential, known := k.credentials[r.PathValue("credential")]
	if !known || credential.UserID != id {
		return nil, notFound("Could not find Application Credential: %s.", r.PathValue("credential"))
	}
	return map[string]any{"application_credential": k.credentialRecord(r, credential)}, nil
}

func (k *Keystone) credentialRecord(r *http.Request, credential ApplicationCredential) map[string]any {
	roles := credential.Roles
	if roles == nil {
		roles = k.users[credential.UserID].Roles[credential.ProjectID]
	}
	shown := []any{}
	for _, role := range roles {
		shown = append(shown, map[string]any{
			"id": stableID("role", role), "name": role, "domain_id": nil, "description": nil, "options": map[string]any{},
		})
	}
	record := map[string]any{
		"id": credential.ID, "name": credential.Name, "description": nil, "user_id": credential.UserID,
		"project_id": credential.ProjectID, "system": nil, "expires_at": nil, "unrestricted": false, "roles": shown,
		"links": selfLink(r, "/v3/application_credentials/"+credential.ID),
	}
	if !credential.ExpiresAt.IsZero() {
		record["expires_at"] = formatTime(credential.ExpiresAt)
	}
	return record
}

func domainRecord(r *http.Request, domain Domain) map[string]any {
	description := ""
	if domain.ID == DefaultDomain {
		description = "The default domain"
	}
	return map[string]any{
		"id": domain.ID, "name": domain.Name, "description": description, "enabled": true, "tags": []any{},
		"options": map[string]any{}, "links": selfLink(r, "/v3/domains/"+domain.ID),
	}
}

func (k *Keystone) listDomains(r *http.Request, t *token) (any, *apiError) {
	if !t.isAdmin() {
		return nil, forbidden("list_domains")
	}
	shown := []any{}
	for _, domain := range k.domains {
		shown = append(shown, domainRecord(r, domain))
	}
	return collection(r, "domains", shown), nil
}

// showDomain returns the domain of the user.
func (k *Keystone) showDomain(r *http.Request, t *token) (any, *apiError) {
	domain, known := k.domains[r.PathValue("id")]
	if (!known || k.users[t.userID].DomainID != domain.ID) && !t.isAdmin() {
		return nil, forbidden("get_domain")
	}
	if !known {
		return nil, notFound("Could not find domain: %s.", r.PathValue("id"))
	}
	return map[string]any{"domain": domainRecord(r, domain)}, nil
}

func (k *Keystone) listRegions(r *http.Request, _ *token) (any, *apiError) {
	shown := []any{}
	for _, region := range k.options.Regions {
		shown = append(shown, map[string]any{
			"id": region, "description": "", "parent_region_id": nil, "links": selfLink(r, "/v3/regions/"+region),
		})
	}
	return collection(r, "regions", shown), nil
}
