package octavia

import (
	"net/http"
	"slices"
)

// Actions of L7 policies.
const (
	actionReject = "REJECT"
	actionPool   = "REDIRECT_TO_POOL"
	actionURL    = "REDIRECT_TO_URL"
	actionPrefix = "REDIRECT_PREFIX"
)

func (o *Octavia) createPolicy(c *call) (response, *apiError) {
	given, failure := o.parseObject(c, "l7policy_", "l7policy", policyPOST())
	if failure != nil {
		return response{}, failure
	}
	lb, listener, failure := o.listener(given.text("listener_id"))
	if failure != nil {
		return response{}, failure
	}
	if failure := o.mayWrite(c.caller, lb.ProjectID); failure != nil {
		return response{}, failure
	}
	if failure := noChildren(listener.Protocol); failure != nil {
		return response{}, failure
	}
	if failure := o.checkRedirectPool(listener, given); failure != nil {
		return response{}, failure
	}
	if failure := o.checkQuota(c, lb.ProjectID, quotaPolicy, 1); failure != nil {
		return response{}, failure
	}
	settings, failure := sanitize(given, true)
	if failure != nil {
		return response{}, failure
	}
	if failure := mutable(lb); failure != nil {
		return response{}, failure
	}
	if failure := o.checkRedirectOwner(lb, settings); failure != nil {
		return response{}, failure
	}
	if len(given.objects("rules")) > 0 {
		return response{}, nestedInSingle()
	}
	if failure := uniqueTags(given); failure != nil {
		return response{}, failure
	}
	if failure := o.driverL7(lb, "creating", "l7policies"); failure != nil {
		return response{}, failure
	}
	if failure := amphoraPolicy(lb, listener); failure != nil {
		return response{}, failure
	}
	policy := o.newPolicy(lb, listener, given, settings)
	o.register(lb, policy)
	o.update(lb, []object{listener}, []object{policy}, nil)
	return response{http.StatusCreated, view{"l7policy": policy.view()}}, nil
}

// noChildren refuses what would belong to a listener that serves metrics.
func noChildren(protocol string) *apiError {
	if protocol == "PROMETHEUS" {
		return refuse(http.StatusBadRequest, "Protocol PROMETHEUS listeners cannot have child objects.")
	}
	return nil
}

// checkRedirectPool wants the pool that is named to exist and to fit.
func (o *Octavia) checkRedirectPool(listener *Listener, given body) *apiError {
	id := given.text("redirect_pool_id")
	if id == "" {
		return nil
	}
	_, pool, failure := o.pool(id)
	if failure != nil {
		return failure
	}
	if failure := checkPoolProtocol(listener.Protocol, pool.Protocol); failure != nil {
		return failure
	}
	return nil
}

// checkRedirectOwner wants the pool that the policy leads to to be on the same
// load balancer. Octavia looks at that last.
func (o *Octavia) checkRedirectOwner(lb *LoadBalancer, settings body) *apiError {
	id := settings.text("redirect_pool_id")
	if id == "" || settings.text("action") != actionPool {
		return nil
	}
	if owner, _, failure := o.pool(id); failure != nil || owner != lb {
		return notFound("Pool", id)
	}
	return nil
}

// newPolicy adds a policy to its listener at the position that was asked for,
// at the end by default.
func (o *Octavia) newPolicy(lb *LoadBalancer, listener *Listener, given, settings body) *L7Policy {
	policy := &L7Policy{
		Meta: o.newMeta("l7policy", given, lb.ProjectID), ListenerID: listener.ID, LoadBalancerID: lb.ID,
		Description: given.text("description"),
	}
	policy.redirect(settings)
	listener.Policies = append(listener.Policies, policy)
	for _, moved := range listener.move(policy, given.integer("position", lastPosition)) {
		o.touch(moved)
	}
	return policy
}

// lastPosition is the default, and the greatest that can be asked for.
const lastPosition = 2147483647

// move puts a policy at a position and numbers all anew. It returns the others
// that have another number now.
func (l *Listener) move(policy *L7Policy, position int) (moved []*L7Policy) {
	others := slices.DeleteFunc(slices.Clone(l.Policies), func(other *L7Policy) bool { return other == policy })
	l.Policies = slices.Insert(others, min(position-1, len(others)), policy)
	for i, other := range l.Policies {
		if other != policy && other.Position != i+1 {
			moved = append(moved, other)
		}
		other.Position = i + 1
	}
	return moved
}

// redirect stores the settings of the action in a request.
func (p *L7Policy) redirect(settings body) {
	for key, target := range map[string]*string{
		"action": &p.Action, "redirect_pool_id": &p.RedirectPoolID,
		"redirect_url": &p.RedirectURL, "redirect_prefix": &p.RedirectPrefix,
	} {
		if settings.has(key) {
			*target = settings.text(key)
		}
	}
	if settings.has("redirect_http_code") {
		p.RedirectHTTPCode = settings.integer("redirect_http_code", 0)
	}
}

func (o *Octavia) showPolicy(c *call) (response, *apiError) {
	_, policy, failure := o.policyInPath(c)
	if failure != nil {
		return response{}, failure
	}
	if failure := o.mayRead(c.caller, policy.ProjectID); failure != nil {
		return response{}, failure
	}
	return response{http.StatusOK, view{"l7policy": policy.view().only(c.fields)}}, nil
}

func (o *Octavia) updatePolicy(c *call) (response, *apiError) {
	given, failure := o.parseObject(c, "l7policy_", "l7policy", policyPUT())
	if failure != nil {
		return response{}, failure
	}
	lb, policy, failure := o.policyInPath(c)
	if failure != nil {
		return response{}, failure
	}
	if failure := o.mayWrite(c.caller, lb.ProjectID); failure != nil {
		return response{}, failure
	}
	settings, failure := sanitize(given, false)
	if failure != nil {
		return response{}, failure
	}
	_, listener, failure := o.listener(policy.ListenerID)
	if failure != nil {
		return response{}, failure
	}
	if failure := o.checkRedirectPool(listener, given); failure != nil {
		return response{}, failure
	}
	if failure := mutable(lb); failure != nil {
		return response{}, failure
	}
	if failure := o.checkRedirectOwner(lb, settings); failure != nil {
		return response{}, failure
	}
	if failure := o.tagsInUpdate(given); failure != nil {
		return response{}, failure
	}
	if failure := o.driverL7(lb, "updating", "l7policies"); failure != nil {
		return response{}, failure
	}
	policy.Meta.edit(given)
	if given.has("description") {
		policy.Description = given.text("description")
	}
	policy.redirect(settings)
	policy.forgetOthers(settings)
	if position, is := given["position"].(int); is && position != policy.Position {
		for _, moved := range listener.move(policy, position) {
			o.touch(moved)
		}
	}
	o.update(lb, []object{listener, policy}, nil, nil)
	return response{http.StatusOK, view{"l7policy": policy.view()}}, nil
}

// forgetOthers clears what an action that was just set does not use.
func (p *L7Policy) forgetOthers(settings body) {
	if !settings.has("action") {
		return
	}
	if p.Action != actionPool {
		p.RedirectPoolID = ""
	}
	if p.Action != actionURL {
		p.RedirectURL = ""
	}
	if p.Action != actionPrefix {
		p.RedirectPrefix = ""
	}
	if p.Action == actionReject || p.Action == actionPool {
		p.RedirectHTTPCode = 0
	}
}

func (o *Octavia) deletePolicy(c *call) (response, *apiError) {
	lb, policy, failure := o.policyInPath(c)
	if failure != nil {
		return response{}, failure
	}
	if failure := o.mayWrite(c.caller, lb.ProjectID); failure != nil {
		return response{}, failure
	}
	if failure := mutable(lb); failure != nil {
		return response{}, failure
	}
	if failure := o.driverL7(lb, "deleting", "l7policies"); failure != nil {
		return response{}, failure
	}
	_, listener, failure := o.listener(policy.ListenerID)
	if failure != nil {
		return response{}, failure
	}
	o.set(policy, PendingDelete)
	o.update(lb, []object{listener}, nil, func() {
		o.dropPolicy(listener, policy)
		for i, other := range listener.Policies {
			other.Position = i + 1
		}
	})
	return response{status: http.StatusNoContent}, nil
}

func (o *Octavia) dropPolicy(listener *Listener, policy *L7Policy) {
	listener.Policies = slices.DeleteFunc(listener.Policies, func(other *L7Policy) bool { return other == policy })
	o.unregister(policy)
	for _, rule := range policy.Rules {
		o.unregister(rule)
	}
}

func (o *Octavia) policy(id string) (*LoadBalancer, *L7Policy, *apiError) {
	if lb, policy, known := find[*L7Policy](o, id); known {
		return lb, policy, nil
	}
	return nil, nil, notFound("L7 Policy", id)
}

func (o *Octavia) policyInPath(c *call) (*LoadBalancer, *L7Policy, *apiError) { return o.policy(c.id) }

// serves reports whether the policy redirects requests to a pool: Octavia counts its pool as one of
// the listener's only then.
func (p *L7Policy) serves() bool { return p.RedirectPoolID != "" && p.AdminStateUp && len(p.Rules) > 0 }

func (p *L7Policy) view() view {
	shown := p.Meta.view().with(view{
		"description": p.Description, "action": p.Action, "listener_id": p.ListenerID, "position": p.Position,
		"redirect_pool_id": orNull(p.RedirectPoolID), "redirect_url": orNull(p.RedirectURL),
		"redirect_prefix": orNull(p.RedirectPrefix), "redirect_http_code": orNullNumber(p.RedirectHTTPCode),
		"rules": ids(p.Rules),
	})
	return shown
}

// fullView has the rules in full, as the answer of a full create.
func (p *L7Policy) fullView() view {
	rules := make([]view, len(p.Rules))
	for i, rule := range p.Rules {
		rules[i] = rule.view()
	}
	return p.view().with(view{"rules": rules})
}
