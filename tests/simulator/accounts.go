package simulator

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/keystone"
)

// Account is a user in a project.
type Account struct {
	ProjectID, ProjectName     string
	UserID, UserName, Password string
}

// AddAccount adds a project and a user with the roles of an ordinary tenant
// in it.
func (c *Cloud) AddAccount(project, user string) Account {
	return c.addAccount(project, user, tenantRoles())
}

func (c *Cloud) addAccount(project, user string, roles []string) Account {
	added := c.Keystone.AddProject(keystone.Project{Name: project})
	return c.addUser(Account{ProjectID: added.ID, ProjectName: project}, user, roles)
}

// AddUser adds another user to the account's project.
func (c *Cloud) AddUser(account Account, user string) Account {
	return c.addUser(account, user, tenantRoles())
}

// AddReader adds a user to the account's project who may read load balancers, but not change them.
func (c *Cloud) AddReader(account Account, user string) Account {
	return c.addUser(account, user, []string{"load-balancer_observer", "reader"})
}

func (c *Cloud) addUser(account Account, user string, roles []string) Account {
	account.UserName, account.Password = user, user+"-secret"
	account.UserID = c.Keystone.AddUser(keystone.User{
		Name: user, Password: account.Password, Roles: map[string][]string{account.ProjectID: roles},
	}).ID
	return account
}

// tenantRoles let a user work with load balancers of every release.
func tenantRoles() []string { return []string{"load-balancer_member", "member", "reader"} }

// CloudConf returns a working cloud.conf for the first account.
func (c *Cloud) CloudConf() string { return c.CloudConfFor(c.Account, c.options.Config) }

// CloudConfFor returns a working cloud.conf for an account.
func (c *Cloud) CloudConfFor(account Account, config Config) string {
	text := &strings.Builder{}
	fmt.Fprintln(text, "[Global]")
	for _, pair := range [][2]string{
		{"auth-url", c.AuthURL()}, {"username", account.UserName}, {"password", account.Password},
		{"tenant-name", account.ProjectName}, {"domain-name", "Default"}, {"region", c.options.Region},
	} {
		fmt.Fprintf(text, "%s=%s\n", pair[0], pair[1])
	}
	fmt.Fprintln(text, "\n[LoadBalancer]")
	keys := map[string]string{}
	if !config.OmitSubnet {
		keys["subnet-id"] = c.Subnet.ID
	}
	if !config.OmitFloatingNetwork {
		keys["floating-network-id"] = c.ExternalNetwork.ID
	}
	if c.RouterVIPs.ID != "" {
		keys["router-vip-network-id"] = c.RouterVIPs.ID
	}
	maps.Copy(keys, config.LoadBalancer)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		fmt.Fprintf(text, "%s=%s\n", key, keys[key])
	}
	return text.String()
}
