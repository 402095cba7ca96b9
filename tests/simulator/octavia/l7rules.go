package octavia

import (
	"net/http"
	"slices"
)

// mostRules is how many rules a policy can have.
const mostRules = 50

func tooManyRules(policy string) *apiError {
	return refuse(http.StatusConflict, "Too many rules on L7 policy %s", policy)
}

func (o *Octavia) createRule(c *call) (response, *apiError) {
	given, failure := o.parseObject(c, "rule_", "rule", rulePOST())
	if failure != nil {
		return response{}, failure
	}
	lb, policy, failure := o.writablePolicy(c)
	if failure != nil {
		return response{}, failure
	}
	if failure := o.release.checkRule(given); failure != nil {
		return response{}, failure
	}
	if len(policy.Rules) >= mostRules {
		return response{}, tooManyRules(policy.ID)
	}
	if failure := o.checkQuota(c, lb.ProjectID, quotaRule, 1); failure != nil {
		return response{}, failure
	}
	if failure := mutablePolicy(lb, policy); failure != nil {
		return response{}, failure
	}
	if given.text("compare_type") == "" {
		return response{}, crash("Something unknown went wrong")
	}
	if failure := uniqueTags(given); failure != nil {
		return response{}, failure
	}
	if failure := o.driverL7(lb, "creating", "l7rules"); failure != nil {
		return response{}, failure
	}
	rule := o.newRule(lb, policy, given)
	o.register(lb, rule)
	o.update(lb, o.policyAndListener(policy), []object{rule}, nil)
	return response{http.StatusCreated, view{"rule": rule.view()}}, nil
}

func (o *Octavia) newRule(lb *LoadBalancer, policy *L7Policy, given body) *L7Rule {
	rule := &L7Rule{
		Meta: o.newMeta("rule", given, lb.ProjectID), PolicyID: policy.ID, LoadBalancerID: lb.ID,
	}
	rule.settings(given)
	policy.Rules = append(policy.Rules, rule)
	return rule
}

// settings writes what POST and PUT have in common, where it was given.
func (r *L7Rule) settings(given body) {
	for key, target := range map[string]*string{
		"type": &r.Type, "compare_type": &r.CompareType, "key": &r.Key, "value": &r.Value,
	} {
		if given.has(key) {
			*target = given.text(key)
		}
	}
	if given.has("key") {
		r.emptyKey = given["key"] == ""
	}
	r.Invert = given.boolean("invert", r.Invert)
}

// forgetKey clears the key of types that use none. Only updates do so.
func (r *L7Rule) forgetKey() {
	if slices.Contains([]string{"HOST_NAME", "PATH", "FILE_TYPE"}, r.Type) {
		r.Key, r.emptyKey = "", false
	}
}

// policyAndListener is what calls on a rule lock with it.
func (o *Octavia) policyAndListener(policy *L7Policy) []object {
	touched := []object{policy}
	if _, listener, failure := o.listener(policy.ListenerID); failure == nil {
		touched = append(touched, listener)
	}
	return touched
}

func mutablePolicy(lb *LoadBalancer, policy *L7Policy) *apiError {
	if policy.ProvisioningStatus != Active {
		return immutable("L7Policy", policy.ID)
	}
	return mutable(lb)
}

func (o *Octavia) showRule(c *call) (response, *apiError) {
	rule, failure := o.rule(c.child)
	if failure != nil {
		return response{}, failure
	}
	if failure := o.mayRead(c.caller, rule.ProjectID); failure != nil {
		return response{}, failure
	}
	return response{http.StatusOK, view{"rule": rule.view().only(c.fields)}}, nil
}

func (o *Octavia) updateRule(c *call) (response, *apiError) {
	given, failure := o.parseObject(c, "l7rule_", "rule", rulePUT())
	if failure != nil {
		return response{}, failure
	}
	rule, failure := o.rule(c.child)
	if failure != nil {
		return response{}, failure
	}
	lb, policy, failure := o.writablePolicy(c)
	if failure != nil {
		return response{}, failure
	}
	changed := *rule
	changed.settings(given)
	changed.forgetKey()
	if failure := o.release.checkRule(changed.body()); failure != nil {
		return response{}, failure
	}
	if failure := mutablePolicy(lb, policy); failure != nil {
		return response{}, failure
	}
	if failure := o.tagsInUpdate(given); failure != nil {
		return response{}, failure
	}
	if failure := o.driverL7(lb, "updating", "l7rules"); failure != nil {
		return response{}, failure
	}
	rule.Meta.edit(given)
	rule.settings(given)
	rule.forgetKey()
	o.update(lb, append(o.policyAndListener(policy), rule), nil, nil)
	return response{http.StatusOK, view{"rule": rule.view()}}, nil
}

func (o *Octavia) deleteRule(c *call) (response, *apiError) {
	rule, failure := o.rule(c.child)
	if failure != nil {
		return response{}, failure
	}
	lb, policy, failure := o.writablePolicy(c)
	if failure != nil {
		return response{}, failure
	}
	if failure := mutablePolicy(lb, policy); failure != nil {
		return response{}, failure
	}
	if failure := o.driverL7(lb, "deleting", "l7rules"); failure != nil {
		return response{}, failure
	}
	o.set(rule, PendingDelete)
	o.update(lb, o.policyAndListener(policy), nil, func() { o.dropRule(policy, rule) })
	return response{status: http.StatusNoContent}, nil
}

func (o *Octavia) dropRule(policy *L7Policy, rule *L7Rule) {
	policy.Rules = slices.DeleteFunc(policy.Rules, func(other *L7Rule) bool { return other == rule })
	o.unregister(rule)
}

// rule finds a rule, whatever policy the path names.
func (o *Octavia) rule(id string) (*L7Rule, *apiError) {
	if _, rule, known := find[*L7Rule](o, id); known {
		return rule, nil
	}
	return nil, notFound("L7 Rule", id)
}

func (o *Octavia) writablePolicy(c *call) (*LoadBalancer, *L7Policy, *apiError) {
	lb, policy, failure := o.policy(c.id)
	if failure != nil {
		return nil, nil, failure
	}
	return lb, policy, o.mayWrite(c.caller, lb.ProjectID)
}

// body is the rule as a request would give it.
func (r *L7Rule) body() body {
	return body{"type": r.Type, "compare_type": r.CompareType, "key": r.Key, "value": r.Value}
}

func (r *L7Rule) view() view {
	shown := r.Meta.view().with(view{
		"type": r.Type, "compare_type": r.CompareType, "key": orNull(r.Key), "value": r.Value, "invert": r.Invert,
	})
	if r.emptyKey {
		shown["key"] = ""
	}
	delete(shown, "name")
	return shown
}
