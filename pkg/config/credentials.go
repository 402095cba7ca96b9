package config

// AuthMethod is a way to sign in.
type AuthMethod string

// The ways to sign in, the strongest first: when a Global has what several of
// them need, the first one is used.
const (
	// AuthTrust acts for the user who gave a trust, as the trustee.
	AuthTrust AuthMethod = "trust"
	// AuthToken uses a token made elsewhere, which cannot be renewed.
	AuthToken AuthMethod = "token"
	// AuthApplicationCredential uses an application credential.
	AuthApplicationCredential AuthMethod = "application credential"
	// AuthPassword uses a user's password and a project to work in.
	AuthPassword AuthMethod = "password"
	// AuthNone is for a Global without credentials.
	AuthNone AuthMethod = ""
)

// AuthMethod is the way to sign in that the fields stand for.
func (g Global) AuthMethod() AuthMethod {
	switch {
	case g.TrustID != "":
		return AuthTrust
	case g.Token != "":
		return AuthToken
	case g.ApplicationCredentialID != "", g.ApplicationCredentialName != "", g.ApplicationCredentialSecret != "":
		return AuthApplicationCredential
	case g.Password != "", g.UserID != "", g.Username != "":
		return AuthPassword
	default:
		return AuthNone
	}
}

// User is the user who signs in, and the password: the trustee for a trust
// that names one. With an id the name is empty.
func (g Global) User() (id, name, password string) {
	id, name, password = g.UserID, g.Username, g.Password
	if g.TrustID != "" {
		if g.TrusteeID != "" {
			id = g.TrusteeID
		}
		if g.TrusteePassword != "" {
			password = g.TrusteePassword
		}
	}
	if id != "" {
		name = ""
	}
	return id, name, password
}

// UserDomain is the domain of the user: its own, else the common one. With an
// id the name is empty.
func (g Global) UserDomain() (id, name string) {
	return g.domain(g.UserDomainID, g.UserDomainName)
}

// TenantDomain is the domain of the project: its own, else the common one.
// With an id the name is empty.
func (g Global) TenantDomain() (id, name string) {
	return g.domain(g.TenantDomainID, g.TenantDomainName)
}

func (g Global) domain(ownID, ownName string) (id, name string) {
	switch {
	case ownID != "":
		return ownID, ""
	case ownName != "":
		return "", ownName
	case g.DomainID != "":
		return g.DomainID, ""
	default:
		return "", g.DomainName
	}
}

// hasSecret says whether the fields decide the way to sign in.
func (g Global) hasSecret() bool {
	return g.TrustID != "" || g.Token != "" || g.ApplicationCredentialSecret != "" || g.Password != ""
}

// only is a copy without what belongs to other ways to sign in. AuthNone
// leaves all as it is.
func (g Global) only(method AuthMethod) Global {
	if method == AuthNone {
		return g
	}
	if method != AuthToken {
		g.Token = ""
	}
	if method != AuthApplicationCredential {
		g.ApplicationCredentialID, g.ApplicationCredentialName, g.ApplicationCredentialSecret = "", "", ""
	}
	if method == AuthToken || method == AuthApplicationCredential {
		g.Password, g.TrustID = "", ""
	}
	return g
}

// methodOfAuthType reads auth_type of clouds.yaml and OS_AUTH_TYPE. A trust is
// a password with a trust_id. The empty text leaves the way to sign in open.
func methodOfAuthType(text string, at place) (AuthMethod, error) {
	switch text {
	case "":
		return AuthNone, nil
	case "password", "v3password":
		return AuthPassword, nil
	case "token", "v3token":
		return AuthToken, nil
	case "applicationcredential", "v3applicationcredential":
		return AuthApplicationCredential, nil
	default:
		return AuthNone, &ValueError{
			Place: string(at), Value: text,
			Allowed: "password, token or applicationcredential, each with or without v3 before it",
		}
	}
}

// setting is what is needed, as the keys any of which gives it.
type setting []string

// missing lists what the way to sign in needs and is not there.
func (g Global) missing() []setting {
	switch g.AuthMethod() {
	case AuthTrust:
		return append(g.missingUser(setting{"trustee-id", "user-id", "username"}), g.missingPassword(setting{"trustee-password", "password"})...)
	case AuthApplicationCredential:
		return g.missingApplicationCredential()
	case AuthPassword:
		missing := append(g.missingUser(setting{"user-id", "username"}), g.missingPassword(setting{"password"})...)
		return append(missing, g.missingTenant()...)
	default:
		return nil
	}
}

func (g Global) missingPassword(keys setting) []setting {
	if _, _, password := g.User(); password == "" {
		return []setting{keys}
	}
	return nil
}

// missingUser wants an id, or a name and its domain.
func (g Global) missingUser(keys setting) []setting {
	id, name, _ := g.User()
	domainID, domainName := g.UserDomain()
	switch {
	case id != "":
		return nil
	case name == "":
		return []setting{keys}
	case domainID == "" && domainName == "":
		return []setting{{"user-domain-id", "user-domain-name", "domain-id", "domain-name"}}
	}
	return nil
}

// missingTenant wants an id, a name and its domain, or nothing: then the user's
// default project counts.
func (g Global) missingTenant() []setting {
	domainID, domainName := g.TenantDomain()
	switch {
	case g.TenantID != "", g.TenantName == "":
		return nil
	case domainID == "" && domainName == "":
		return []setting{{"tenant-domain-id", "tenant-domain-name", "domain-id", "domain-name"}}
	}
	return nil
}

// missingApplicationCredential wants the secret, and the id or else the name
// and its user.
func (g Global) missingApplicationCredential() []setting {
	var missing []setting
	if g.ApplicationCredentialSecret == "" {
		missing = append(missing, setting{"application-credential-secret"})
	}
	if g.ApplicationCredentialID != "" {
		return missing
	}
	if g.ApplicationCredentialName == "" {
		return append(missing, setting{"application-credential-id", "application-credential-name"})
	}
	return append(missing, g.missingUser(setting{"user-id", "username"})...)
}
