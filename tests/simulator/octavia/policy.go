package octavia

import "github.com/openstack-ccm/openstack-ccm/tests/simulator/keystone"

// Who may do what. Octavia's own roles are all that counts before 16.0; from
// then on Keystone's default roles do as well.

func isAdmin(caller keystone.Caller) bool { return caller.HasRole("admin", "load-balancer_admin") }

// seesAll is about the objects of all projects.
func seesAll(caller keystone.Caller) bool {
	return isAdmin(caller) || caller.HasRole("load-balancer_global_observer")
}

func (o *Octavia) mayWrite(caller keystone.Caller, project string) *apiError {
	if isAdmin(caller) || caller.HasRole(o.release.roles("load-balancer_member", "member", "manager")...) && caller.ProjectID == project {
		return nil
	}
	return forbidden()
}

func (o *Octavia) mayRead(caller keystone.Caller, project string) *apiError {
	if seesAll(caller) || o.isReader(caller) && caller.ProjectID == project {
		return nil
	}
	return forbidden()
}

func (o *Octavia) isReader(caller keystone.Caller) bool {
	return caller.HasRole(o.release.roles("load-balancer_observer", "reader")...) ||
		caller.HasRole(o.release.roles("load-balancer_member", "member", "manager")...)
}

// roles are the one of Octavia with those of Keystone that count as well.
func (r Release) roles(own string, keystone ...string) []string {
	if r.KeystoneRoles {
		return append(keystone, own)
	}
	return []string{own}
}

// mayReadShared is about what belongs to no project: providers, flavors and
// availability zones.
func (o *Octavia) mayReadShared(caller keystone.Caller) *apiError {
	return o.mayRead(caller, caller.ProjectID)
}

// OpenFailover permits failovers to all users who may write a load balancer, as an operator's
// policy file can; otherwise only administrators may do that.
func (o *Octavia) OpenFailover(open bool) {
	o.locked(func() { o.openFailover = open })
}

func mayAdminister(caller keystone.Caller) *apiError {
	if isAdmin(caller) {
		return nil
	}
	return forbidden()
}

func (o *Octavia) mayReadQuota(caller keystone.Caller, project string) *apiError {
	if caller.HasRole("load-balancer_quota_admin") {
		return nil
	}
	return o.mayRead(caller, project)
}

func mayWriteQuota(caller keystone.Caller) *apiError {
	if caller.HasRole("load-balancer_quota_admin") {
		return nil
	}
	return mayAdminister(caller)
}
