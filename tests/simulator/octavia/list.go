package octavia

import (
	"net/http"
	"slices"
)

func (o *Octavia) listBalancers(c *call) (response, *apiError) {
	rows := make([]row, 0, len(o.balancers))
	for _, lb := range o.balancers {
		if lb.ProvisioningStatus != Deleted {
			rows = append(rows, row{lb, &lb.Meta, lb.ID, func() view { return o.release.loadBalancer(lb) }})
		}
	}
	return o.listScoped(c, o.tables["loadbalancers"], rows)
}

func (o *Octavia) listListeners(c *call) (response, *apiError) {
	var rows []row
	for _, lb := range o.asked(c) {
		for _, listener := range lb.Listeners {
			rows = append(rows, row{listener, &listener.Meta, listener.ID, func() view { return o.release.listener(listener) }})
		}
	}
	return o.listScoped(c, o.tables["listeners"], rows)
}

func (o *Octavia) listPools(c *call) (response, *apiError) {
	var rows []row
	for _, lb := range o.asked(c) {
		for _, pool := range lb.Pools {
			rows = append(rows, row{pool, &pool.Meta, pool.ID, func() view { return o.release.pool(lb, pool) }})
		}
	}
	return o.listScoped(c, o.tables["pools"], rows)
}

// asked returns the load balancers with parts that may pass the filters of a list: with thousands
// of them, a check of all parts would take milliseconds for each request.
func (o *Octavia) asked(c *call) []*LoadBalancer {
	if lb, _, ok := find[*LoadBalancer](o, c.query.Get("loadbalancer_id")); ok {
		return []*LoadBalancer{lb}
	}
	return o.balancers
}

func (o *Octavia) listMonitors(c *call) (response, *apiError) {
	var rows []row
	for _, lb := range o.balancers {
		for _, pool := range lb.Pools {
			if monitor := pool.Monitor; monitor != nil {
				rows = append(rows, row{monitor, &monitor.Meta, monitor.ID, func() view { return o.release.monitor(monitor) }})
			}
		}
	}
	return o.listScoped(c, o.tables["healthmonitors"], rows)
}

func (o *Octavia) listPolicies(c *call) (response, *apiError) {
	var rows []row
	for _, lb := range o.balancers {
		for _, listener := range lb.Listeners {
			for _, policy := range listener.Policies {
				rows = append(rows, row{policy, &policy.Meta, policy.ID, policy.view})
			}
		}
	}
	return o.listScoped(c, o.tables["l7policies"], rows)
}

// listMembers lists those of one pool.
func (o *Octavia) listMembers(c *call) (response, *apiError) {
	lb, pool, failure := o.pool(c.id)
	if failure != nil {
		return response{}, rawError(failure.status, failure.text)
	}
	if failure := o.mayRead(c.caller, lb.ProjectID); failure != nil {
		return response{}, failure
	}
	rows := make([]row, len(pool.Members))
	for i, member := range pool.Members {
		rows[i] = row{member, &member.Meta, member.ID, func() view { return o.release.member(member) }}
	}
	return o.list(c, o.tables["members"], rows)
}

// listRules lists those of one policy.
func (o *Octavia) listRules(c *call) (response, *apiError) {
	_, policy, failure := o.policyInPath(c)
	if failure != nil {
		return response{}, failure
	}
	if failure := o.mayRead(c.caller, policy.ProjectID); failure != nil {
		return response{}, failure
	}
	rows := make([]row, len(policy.Rules))
	for i, rule := range policy.Rules {
		rows[i] = row{rule, &rule.Meta, rule.ID, rule.view}
	}
	return o.list(c, o.tables["rules"], rows)
}

// listScoped lists what the caller may see of all projects.
func (o *Octavia) listScoped(c *call, t *table, rows []row) (response, *apiError) {
	project, all, failure := o.listProject(c)
	if failure != nil {
		return response{}, failure
	}
	if !all {
		rows = slices.DeleteFunc(rows, func(r row) bool { return r.meta.ProjectID != project })
	}
	return o.list(c, t, rows)
}

// listProject returns the project of the objects that the caller gets, or all.
func (o *Octavia) listProject(c *call) (project string, all bool, failure *apiError) {
	project = c.query.Get("project_id")
	if seesAll(c.caller) {
		return project, !c.query.Has("project_id"), nil
	}
	if !c.query.Has("project_id") {
		project = c.caller.ProjectID
	}
	return project, false, o.mayRead(c.caller, project)
}

// list answers GET of a collection: filters, order, page and links.
func (o *Octavia) list(c *call, t *table, rows []row) (response, *apiError) {
	filters, failure := t.filters(c.query)
	if failure != nil {
		return response{}, failure
	}
	marker, found := o.marker(c.page, t, rows)
	tags := t.tagFilter(c.query)
	if len(filters) > 0 || tags != nil {
		rows = slices.DeleteFunc(slices.Clone(rows), func(r row) bool {
			return slices.ContainsFunc(filters, func(f filter) bool { return !f.holds(r.thing) }) ||
				tags != nil && !tags.holds(r.meta.Tags)
		})
	}
	parts, failure := t.sortedBy(c.page.order)
	if failure != nil && failure.status == http.StatusBadRequest || failure != nil && len(parts) == 0 {
		return response{}, failure
	}
	remaining, marked := c.page.after(t, rows, marker, found, parts)
	switch {
	case marked != nil:
		return response{}, marked
	case failure != nil:
		return response{}, failure
	}
	rows = c.page.cut(sortRows(remaining, parts), tags)
	links, failure := o.links(c.page, t, c.url, rows)
	if failure != nil {
		return response{}, failure
	}
	shown := make([]view, len(rows))
	for i, one := range rows {
		shown[i] = one.show().only(c.fields)
	}
	return response{http.StatusOK, view{t.name: shown, t.links: links}}, nil
}

// marker finds the object that a page begins behind. It may be any of its
// kind, of another project or another parent just as well.
func (o *Octavia) marker(p page, t *table, rows []row) (thing any, found bool) {
	if !p.marked {
		return nil, false
	}
	if at := slices.IndexFunc(rows, func(r row) bool { return r.id == p.marker }); at >= 0 {
		return rows[at].thing, true
	}
	if t.name == "members" {
		for _, lb := range o.balancers {
			for _, pool := range lb.Pools {
				for _, member := range pool.Members {
					if member.ID == p.marker {
						return member, true
					}
				}
			}
		}
		return nil, false
	}
	indexed := o.index[p.marker].thing
	return indexed, indexed != nil && t.sql == tableOf(indexed)
}
