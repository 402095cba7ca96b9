package octavia

// fill builds everything below a new load balancer from the body of its POST:
// first the pools with members and monitors, then the listeners. Quotas are
// looked at as it goes along.
func (o *Octavia) fill(c *call, lb *LoadBalancer, given body) *apiError {
	listeners := given.objects("listeners")
	definitions, failure := poolDefinitions(given.objects("pools"), listeners)
	if failure != nil {
		return failure
	}
	if failure := o.checkNested(c, lb, quotaPool, len(definitions)); failure != nil {
		return failure
	}
	byName := map[string]*Pool{}
	for _, definition := range definitions {
		pool, failure := o.nestedPool(c, lb, definition)
		if failure != nil {
			return failure
		}
		byName[pool.Name] = pool
	}
	if failure := o.checkNested(c, lb, quotaListener, len(listeners)); failure != nil {
		return failure
	}
	for _, definition := range listeners {
		if failure := o.nestedListener(lb, definition, byName); failure != nil {
			return failure
		}
	}
	return nil
}

// checkNested is checkQuota for what a load balancer in the making gets.
func (o *Octavia) checkNested(c *call, lb *LoadBalancer, class string, more int) *apiError {
	if more == 0 {
		return nil
	}
	return o.checkQuota(c, lb.ProjectID, class, countOf(lb, class)+more)
}

// poolDefinitions collects the pools of a full create. A pool of a listener or
// a policy with a name and little else refers to one that is defined elsewhere
// in the body.
func poolDefinitions(pools, listeners []body) ([]body, *apiError) {
	definitions := append([]body{}, pools...)
	var references []string
	for _, listener := range listeners {
		candidates := []body{listener.object("default_pool")}
		for _, policy := range listener.objects("l7policies") {
			candidates = append(candidates, policy.object("redirect_pool"))
		}
		for _, candidate := range candidates {
			switch {
			case len(candidate) == 0:
			case candidate.text("name") == "":
				return nil, invalid("Pools must be named when creating a fully populated loadbalancer.")
			case isReference(candidate):
				references = append(references, candidate.text("name"))
			default:
				definitions = append(definitions, candidate)
			}
		}
	}
	defined := map[string]bool{}
	for _, definition := range definitions {
		name := definition.text("name")
		if defined[name] {
			return nil, invalid("Pool names must be unique when creating a fully populated loadbalancer.")
		}
		defined[name] = true
	}
	for _, name := range references {
		if !defined[name] {
			return nil, invalid("Pool '%s' was referenced but no full definition was found.", name)
		}
	}
	return definitions, nil
}

// isReference goes by the number of attributes, of which two have defaults.
func isReference(pool body) bool {
	given := 0
	for key := range pool {
		if key != "admin_state_up" && key != "tls_enabled" {
			given++
		}
	}
	return given <= 1
}

// nestedPool skips the rules about session persistence and algorithms that a
// POST of a single pool obeys.
func (o *Octavia) nestedPool(c *call, lb *LoadBalancer, given body) (*Pool, *apiError) {
	for _, required := range []string{"protocol", "lb_algorithm"} {
		if !given.has(required) {
			return nil, invalid("Pool definition for '%s' missing required attribute: %s", given.text("name"), required)
		}
	}
	if failure := o.checkPoolTLS(&Pool{}, given); failure != nil {
		return nil, failure
	}
	if failure := uniqueTags(given); failure != nil {
		return nil, failure
	}
	pool := o.newPool(lb, given)
	if monitor := given.object("healthmonitor"); monitor != nil {
		if failure := o.nestedMonitor(c, lb, pool, monitor); failure != nil {
			return nil, failure
		}
	}
	lb.Pools = append(lb.Pools, pool)
	definitions := given.objects("members")
	if failure := o.checkNested(c, lb, quotaMember, len(definitions)); failure != nil {
		return nil, failure
	}
	for _, definition := range definitions {
		if failure := o.nestedMember(lb, pool, definition); failure != nil {
			return nil, failure
		}
	}
	return pool, nil
}

func (o *Octavia) nestedMonitor(c *call, lb *LoadBalancer, pool *Pool, given body) *apiError {
	if failure := o.checkNested(c, lb, quotaMonitor, 1); failure != nil {
		return failure
	}
	if failure := checkNewMonitor(given); failure != nil {
		return failure
	}
	if failure := checkMonitor(given, given.text("type"), pool.Protocol, nestedPoolText); failure != nil {
		return failure
	}
	pool.Monitor = o.newMonitor(lb, pool, given)
	return nil
}

func (o *Octavia) nestedMember(lb *LoadBalancer, pool *Pool, given body) *apiError {
	if failure := notReserved(given.text("address")); failure != nil {
		return failure
	}
	if failure := pool.admit(given); failure != nil {
		return failure
	}
	member := o.newMember(lb, pool, given)
	if len(lb.Pools) == 1 && lb.Provider != ProviderOVN {
		// Recorded from every release: the members of the first pool do
		// not know about its monitor yet.
		member.OperatingStatus = NoMonitor
	}
	pool.Members = append(pool.Members, member)
	return nil
}

func (o *Octavia) nestedListener(lb *LoadBalancer, given body, pools map[string]*Pool) *apiError {
	var pool *Pool
	if reference := given.object("default_pool"); len(reference) > 0 {
		pool = pools[reference.text("name")]
	} else if id := given.text("default_pool_id"); id != "" {
		return notFound("Pool", id)
	}
	if pool != nil {
		if failure := noChildren(given.text("protocol")); failure != nil {
			return failure
		}
		if failure := checkPoolProtocol(given.text("protocol"), pool.Protocol); failure != nil {
			return failure
		}
	}
	if o.options.Quirks.AllowedCIDRsFail && len(given.texts("allowed_cidrs")) > 0 {
		return cidrCrash()
	}
	if failure := o.checkListener(lb, given, true); failure != nil {
		return failure
	}
	listener := o.newListener(lb, given)
	o.serve(listener, pool)
	listener.peerPort = lb.nextPeerPort()
	lb.Listeners = append(lb.Listeners, listener)
	return o.nestedPolicies(lb, listener, given.objects("l7policies"), pools)
}

func (o *Octavia) nestedPolicies(lb *LoadBalancer, listener *Listener, definitions []body, pools map[string]*Pool) *apiError {
	if len(definitions) == 0 {
		return nil
	}
	if failure := noChildren(listener.Protocol); failure != nil {
		return failure
	}
	for _, given := range definitions {
		definition := given.and()
		if reference := given.object("redirect_pool"); len(reference) > 0 {
			definition["redirect_pool_id"] = pools[reference.text("name")].ID
		}
		settings, failure := sanitize(definition, true)
		if failure != nil {
			return failure
		}
		rules := given.objects("rules")
		if len(rules) > mostRules {
			return tooManyRules(randomID())
		}
		for _, rule := range rules {
			if failure := o.release.checkRule(rule); failure != nil {
				return failure
			}
		}
		if failure := uniqueTags(given); failure != nil {
			return failure
		}
		policy := o.newPolicy(lb, listener, given, settings)
		for _, rule := range rules {
			if failure := uniqueTags(rule); failure != nil {
				return failure
			}
			o.newRule(lb, policy, rule)
		}
	}
	return nil
}
