package keystone

import (
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// The answer of POST and GET /v3/auth/tokens.
type (
	tokenBody struct {
		Methods               []string        `json:"methods"`
		User                  userBody        `json:"user"`
		AuditIDs              []string        `json:"audit_ids"`
		ExpiresAt             string          `json:"expires_at"`
		IssuedAt              string          `json:"issued_at"`
		Project               *projectBody    `json:"project,omitempty"`
		IsDomain              *bool           `json:"is_domain,omitempty"`
		Roles                 []named         `json:"roles,omitempty"`
		Catalog               []catalogEntry  `json:"catalog,omitempty"`
		ApplicationCredential *credentialBody `json:"application_credential,omitempty"`
		Trust                 *trustBody      `json:"OS-TRUST:trust,omitempty"`
	}
	named struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	}
	userBody struct {
		named
		Domain            named   `json:"domain"`
		PasswordExpiresAt *string `json:"password_expires_at"`
	}
	projectBody struct {
		named
		Domain named `json:"domain"`
	}
	credentialBody struct {
		named
		Restricted bool `json:"restricted"`
	}
	trustBody struct {
		ID            string `json:"id"`
		Impersonation bool   `json:"impersonation"`
		TrustorUser   onlyID `json:"trustor_user"`
		TrusteeUser   onlyID `json:"trustee_user"`
	}
	onlyID struct {
		ID string `json:"id"`
	}
	catalogEntry struct {
		named
		Type      string     `json:"type"`
		Endpoints []endpoint `json:"endpoints"`
	}
	endpoint struct {
		ID        string `json:"id"`
		Interface string `json:"interface"`
		RegionID  string `json:"region_id"`
		Region    string `json:"region"`
		URL       string `json:"url"`
	}
)

// tokenBody describes a token without its catalog. The caller holds the lock.
func (k *Keystone) tokenBody(t *token) tokenBody {
	user := k.users[t.userID]
	body := tokenBody{
		Methods: t.methods, AuditIDs: t.auditIDs, ExpiresAt: formatTime(t.expires), IssuedAt: formatTime(t.issued),
		User: userBody{named: named{ID: user.ID, Name: user.Name}, Domain: k.domain(user.DomainID)},
	}
	if !user.PasswordExpiresAt.IsZero() { // Keystone has no zone here
		expires := strings.TrimSuffix(formatTime(user.PasswordExpiresAt), "Z")
		body.User.PasswordExpiresAt = &expires
	}
	if project, ok := k.projects[t.projectID]; ok {
		body.Project = &projectBody{named: named{ID: project.ID, Name: project.Name}, Domain: k.domain(project.DomainID)}
		body.IsDomain = new(bool)
		for _, role := range t.roles {
			body.Roles = append(body.Roles, named{ID: stableID("role", role), Name: role})
		}
	}
	if credential, ok := k.credentials[t.credentialID]; ok {
		body.ApplicationCredential = &credentialBody{named: named{ID: credential.ID, Name: credential.Name}, Restricted: true}
	}
	if trust, ok := k.trusts[t.trustID]; ok {
		body.Trust = &trustBody{
			ID: trust.ID, Impersonation: trust.Impersonation,
			TrustorUser: onlyID{trust.TrustorUserID}, TrusteeUser: onlyID{trust.TrusteeUserID},
		}
	}
	return body
}

func (k *Keystone) domain(id string) named { return named{ID: id, Name: k.domains[id].Name} }

// catalog returns every service with its endpoints. The caller holds the lock.
func (k *Keystone) catalog(r *http.Request) []catalogEntry {
	base := k.baseLocked(r)
	entries := make([]catalogEntry, 0, len(k.options.Services))
	for _, service := range k.options.Services {
		url := service.Path
		if !strings.Contains(url, "://") {
			url = base + service.Path
		}
		entry := catalogEntry{
			named: named{ID: stableID("service", service.Type), Name: service.Name},
			Type:  service.Type, Endpoints: []endpoint{},
		}
		for _, region := range k.options.Regions {
			if service.Regions != nil && !slices.Contains(service.Regions, region) {
				continue
			}
			for _, kind := range []string{"admin", "internal", "public"} {
				entry.Endpoints = append(entry.Endpoints, endpoint{
					ID: stableID("endpoint", service.Type, region, kind), Interface: kind,
					RegionID: region, Region: region, URL: url,
				})
			}
		}
		entries = append(entries, entry)
	}
	return entries
}

// stableID returns an ID in Keystone's form that is the same for the same parts.
func stableID(parts ...string) string {
	id := uuid.NewSHA1(uuid.NameSpaceURL, []byte(strings.Join(parts, "/")))
	return strings.ReplaceAll(id.String(), "-", "")
}
