package config

// AuthMethod is a method of authentication.
type AuthMethod string

// The methods, in order of precedence: if a Global has settings for several of them, the first one
// is used.
const (
	// AuthTrust authenticates as the trustee of a trust.
	AuthTrust AuthMethod = "trust"
	// AuthToken uses an existing token, which cannot be renewed.
	AuthToken AuthMethod = "token"
	// AuthApplicationCredential uses an application credential.
	AuthApplicationCredential AuthMethod = "application credential"
	// AuthPassword uses a user's password and a project.
	AuthPassword AuthMethod = "password"
	// AuthNone is for a Global without credentials.
	AuthNone AuthMethod = ""
)

// AuthMethod returns the method that the fields select.
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

// User returns the user and the password: those of the trustee for a trust that names one. If id is
// set, name is empty.
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

// UserDomain returns the domain of the user, else the common one. If id is set, name is empty.
func (g Global) UserDomain() (id, name string) {
	return g.domain(g.UserDomainID, g.UserDomainName)
}

// TenantDomain returns the domain of the project, else the common one. If id is set, name is empty.
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

// hasSecret reports whether the fields select a method.
func (g Global) hasSecret() bool {
	return g.TrustID != "" || g.Token != "" || g.ApplicationCredentialSecret != "" || g.Password != ""
}

// only returns a copy without the settings of other methods. AuthNone keeps all settings.
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

// methodOfAuthType parses auth_type of clouds.yaml and OS_AUTH_TYPE. A trust is a password with a
// trust_id. The empty text selects no method.
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

// setting is a required setting, as the keys any of which provides it.
type setting []string

// missing returns the settings that the method requires and that are not given.
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

// missingCertificate returns the file that a client certificate lacks, nil if it has both or none.
func missingCertificate(certFile, keyFile string) setting {
	switch {
	case certFile != "" && keyFile == "":
		return setting{"key-file"}
	case certFile == "" && keyFile != "":
		return setting{"cert-file"}
	}
	return nil
}

func (g Global) missingPassword(keys setting) []setting {
	if _, _, password := g.User(); password == "" {
		return []setting{keys}
	}
	return nil
}

// missingUser requires an ID, or a name and its domain.
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

// missingTenant requires an ID, a name and its domain, or nothing, which means the user's default
// project.
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

// missingApplicationCredential requires the secret, and the ID or else the name and its user.
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
