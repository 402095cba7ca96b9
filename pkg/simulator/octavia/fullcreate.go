package octavia

// fill builds everything below a new load balancer from the body of its POST:
// first the pools with members and monitors, then the listeners.
func (o *Octavia) fill(lb *LoadBalancer, given body) *apiError {
	listeners := given.objects("listeners")
	definitions, failure := poolDefinitions(given.objects("pools"), listeners)
	if failure != nil {
		return failure
	}
	if failure := o.checkGraphQuota(lb.ProjectID, definitions, len(listeners)); failure != nil {
		return failure
	}
	byName := map[string]*Pool{}
	for _, definition := range definitions {
		pool, failure := o.nestedPool(lb, definition)
		if failure != nil {
			return failure
		}
		byName[pool.Name] = pool
	}
	for _, definition := range listeners {
		if failure := o.nestedListener(lb, definition, byName); failure != nil {
			return failure
		}
	}
	return nil
}

// poolDefinitions collects the pools of a full create. A pool object with a
// name and little else refers to one that is defined elsewhere in the body.
func poolDefinitions(pools, listeners []body) ([]body, *apiError) {
	candidates := append([]body{}, pools...)
	for _, listener := range listeners {
		if pool := listener.object("default_pool"); pool != nil {
			candidates = append(candidates, pool)
		}
	}
	var definitions []body
	defined := map[string]bool{}
	for _, candidate := range candidates {
		name := candidate.text("name")
		if name == "" {
			return nil, invalid("Pools must be named when creating a fully populated loadbalancer.")
		}
		if isReference(candidate) {
			continue
		}
		if defined[name] {
			return nil, invalid("Pool names must be unique when creating a fully populated loadbalancer.")
		}
		for _, required := range []string{"protocol", "lb_algorithm"} {
			if candidate.text(required) == "" {
				return nil, invalid("Pool definition for '%s' missing required attribute: %s", name, required)
			}
		}
		defined[name] = true
		definitions = append(definitions, candidate)
	}
	for _, candidate := range candidates {
		if name := candidate.text("name"); !defined[name] {
			return nil, invalid("Pool '%s' was referenced but no full definition was found.", name)
		}
	}
	return definitions, nil
}

func isReference(pool body) bool { return len(pool) == 1 }

func (o *Octavia) checkGraphQuota(project string, pools []body, listeners int) *apiError {
	if failure := o.checkQuota(project, quotaPool, len(pools)); failure != nil {
		return failure
	}
	if failure := o.checkQuota(project, quotaListener, listeners); failure != nil {
		return failure
	}
	members, monitors := 0, 0
	for _, pool := range pools {
		members += len(pool.objects("members"))
		if pool.object("healthmonitor") != nil {
			monitors++
		}
	}
	if failure := o.checkQuota(project, quotaMonitor, monitors); failure != nil {
		return failure
	}
	return o.checkQuota(project, quotaMember, members)
}

// nestedPool skips the rules about session persistence and algorithms that a
// POST of a single pool obeys.
func (o *Octavia) nestedPool(lb *LoadBalancer, given body) (*Pool, *apiError) {
	if failure := uniqueTags(given); failure != nil {
		return nil, failure
	}
	pool := o.newPool(lb, given)
	lb.Pools = append(lb.Pools, pool)
	if monitor := given.object("healthmonitor"); monitor != nil {
		if failure := checkMonitor(monitor, pool.Protocol, nestedPoolText); failure != nil {
			return nil, failure
		}
		pool.Monitor = o.newMonitor(lb, pool, monitor)
	}
	for _, definition := range given.objects("members") {
		if failure := o.checkMemberBody(definition); failure != nil {
			return nil, failure
		}
		if failure := pool.admit(definition); failure != nil {
			return nil, failure
		}
		member := o.newMember(lb, pool, definition)
		if len(lb.Pools) == 1 && lb.Provider != ProviderOVN {
			// Recorded from every release: the members of the first pool do
			// not know about its monitor yet.
			member.OperatingStatus = NoMonitor
		}
		pool.Members = append(pool.Members, member)
	}
	return pool, nil
}

func (o *Octavia) nestedListener(lb *LoadBalancer, given body, pools map[string]*Pool) *apiError {
	if len(given.objects("l7policies")) > 0 {
		return unsupportedAction(lb.Provider, "The simulator has no L7 policies.")
	}
	if given.text("default_pool_id") != "" {
		return notFound("Pool", given.text("default_pool_id"))
	}
	if o.options.Quirks.AllowedCIDRsFail && len(given.texts("allowed_cidrs")) > 0 {
		return cidrCrash()
	}
	if failure := o.checkListener(lb, given, true); failure != nil {
		return failure
	}
	listener := o.newListener(lb, given)
	if reference := given.object("default_pool"); reference != nil {
		pool := pools[reference.text("name")]
		if failure := checkPoolProtocol(listener.Protocol, pool.Protocol); failure != nil {
			return failure
		}
		listener.DefaultPoolID = pool.ID
		if o.release.ListenerUpdatedAtOnce {
			o.touch(listener)
		}
	}
	lb.Listeners = append(lb.Listeners, listener)
	return nil
}
