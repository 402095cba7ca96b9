package octavia

import (
	"net/http"
	"slices"
)

// Quota classes by the key of Options.Quota.
const (
	quotaLoadBalancer = "loadbalancer"
	quotaListener     = "listener"
	quotaPool         = "pool"
	quotaMember       = "member"
	quotaMonitor      = "healthmonitor"
	quotaPolicy       = "l7policy"
	quotaRule         = "l7rule"
)

// quotaClass is a kind of object that is counted: how it is called here, in
// the API's database, and in errors.
type quotaClass struct{ name, database, title string }

func quotaClasses() []quotaClass {
	return []quotaClass{
		{quotaLoadBalancer, "load_balancer", "Load Balancer"}, {quotaListener, "listener", "Listener"},
		{quotaMember, "member", "Member"}, {quotaPool, "pool", "Pool"},
		{quotaMonitor, "health_monitor", "Health Monitor"},
		{quotaPolicy, "l7policy", "L7 Policy"}, {quotaRule, "l7rule", "L7 Rule"},
	}
}

// limit is a project's own, else the default; -1 when there is none.
func (o *Octavia) limit(project, class string) int {
	if limit, own := o.quotas[project][class]; own {
		return limit
	}
	if limit, is := o.options.Quota[class]; is {
		return max(limit, -1)
	}
	return -1
}

// checkQuota refuses to go above the project's limit by more objects. What it
// counts is created while the project's quota row is locked.
func (o *Octavia) checkQuota(c *call, project, class string, more int) *apiError {
	if more <= 0 {
		return nil
	}
	if failure := o.needRow(c, project, class == quotaLoadBalancer); failure != nil {
		return failure
	}
	o.setQuota(project, nil) // a row to lock
	limit := o.limit(project, class)
	if limit < 0 {
		return nil
	}
	used := 0
	for _, lb := range o.balancers {
		if lb.ProjectID == project {
			used += countOf(lb, class)
		}
	}
	if used+more <= limit {
		return nil
	}
	at := slices.IndexFunc(quotaClasses(), func(q quotaClass) bool { return q.name == class })
	return refuse(http.StatusForbidden, "Quota has been met for resources: %s", quotaClasses()[at].title)
}

func countOf(lb *LoadBalancer, class string) int {
	count := 0
	switch class {
	case quotaLoadBalancer:
		return 1
	case quotaListener:
		return len(lb.Listeners)
	case quotaPool:
		return len(lb.Pools)
	case quotaPolicy, quotaRule:
		for _, listener := range lb.Listeners {
			for _, policy := range listener.Policies {
				count += map[bool]int{true: 1, false: len(policy.Rules)}[class == quotaPolicy]
			}
		}
		return count
	}
	for _, pool := range lb.Pools {
		switch {
		case class == quotaMember:
			count += len(pool.Members)
		case pool.Monitor != nil:
			count++
		}
	}
	return count
}

// SetQuota gives a project a limit of its own for a class of objects; negative
// means none.
func (o *Octavia) SetQuota(project, class string, limit int) {
	o.locked(func() { o.setQuota(project, map[string]int{class: limit}) })
}

func (o *Octavia) setQuota(project string, limits map[string]int) {
	if o.quotas[project] == nil {
		o.quotas[project] = map[string]int{}
		o.quotaOrder = append(o.quotaOrder, project)
	}
	for class, limit := range limits {
		o.quotas[project][class] = limit
	}
}

func (o *Octavia) quotaView(project string) view {
	shown := view{}
	for _, class := range quotaClasses() {
		shown[class.database] = o.limit(project, class.name)
		if o.release.WholeQuota {
			shown[class.name] = shown[class.database]
		}
	}
	if o.release.WholeQuota {
		shown["project_id"], shown["tenant_id"] = project, project
	}
	return view{"quota": shown}
}

func (o *Octavia) showQuota(c *call) (response, *apiError) {
	if failure := strict(c); failure != nil {
		return response{}, failure
	}
	if failure := o.mayReadQuota(c.caller, c.id); failure != nil {
		return response{}, failure
	}
	return response{http.StatusOK, o.quotaView(c.id)}, nil
}

func (o *Octavia) defaultQuota(c *call) (response, *apiError) {
	if failure := o.mayReadQuota(c.caller, c.id); failure != nil {
		return response{}, failure
	}
	shown := view{}
	for _, class := range quotaClasses() {
		shown[class.database] = o.limit("", class.name)
	}
	return response{http.StatusOK, view{"quota": shown}}, nil
}

func (o *Octavia) updateQuota(c *call) (response, *apiError) {
	given, failure := o.parseObject(c, "quotas", "quota", quotaPUT())
	if failure != nil {
		return response{}, failure
	}
	if failure := mayWriteQuota(c.caller); failure != nil {
		return response{}, failure
	}
	limits := map[string]int{}
	for _, class := range quotaClasses() {
		for _, key := range []string{class.database, class.name} {
			if given.has(key) {
				limits[class.name] = given.integer(key, o.limit("", class.name))
			}
		}
	}
	o.setQuota(c.id, limits)
	for _, class := range quotaClasses() {
		for _, key := range []string{class.database, class.name} {
			if value, present := given[key]; present && value == nil {
				delete(o.quotas[c.id], class.name)
			}
		}
	}
	return response{http.StatusAccepted, o.quotaView(c.id)}, nil
}

// deleteQuota leaves the row behind, with nothing in it.
func (o *Octavia) deleteQuota(c *call) (response, *apiError) {
	if failure := mayWriteQuota(c.caller); failure != nil {
		return response{}, failure
	}
	if o.quotas[c.id] == nil {
		return response{}, notFound("Quotas", c.id)
	}
	o.quotas[c.id] = map[string]int{}
	return response{status: http.StatusAccepted}, nil
}

func (o *Octavia) listQuotas(c *call) (response, *apiError) {
	// The project of the query is a filter only, unlike in other lists.
	project, all := c.caller.ProjectID, seesAll(c.caller) || c.caller.HasRole("load-balancer_quota_admin")
	if failure := o.mayReadQuota(c.caller, project); failure != nil {
		return response{}, failure
	}
	var rows []row
	for _, owner := range o.quotaOrder {
		if !all && owner != project {
			continue
		}
		one := quotaRow{owner, o.quotas[owner]}
		rows = append(rows, row{thing: one, show: one.view})
	}
	c.fields = nil // a list of quotas takes no fields
	return o.list(c, o.tables["quotas"], rows)
}

func (q quotaRow) view() view {
	shown := view{"project_id": q.project, "tenant_id": q.project}
	for _, class := range quotaClasses() {
		var limit any
		if number, given := q.limits[class.name]; given {
			limit = number
		}
		shown[class.name], shown[class.database] = limit, limit
	}
	return shown
}
