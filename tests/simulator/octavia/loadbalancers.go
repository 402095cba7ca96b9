package octavia

import (
	"net/http"
	"slices"

	"github.com/google/uuid"
)

// createBalancer is POST loadbalancers, with everything below it in one body.
func (o *Octavia) createBalancer(c *call) (response, *apiError) {
	given, failure := o.parseObject(c, "load_balancer", "loadbalancer", loadBalancerPOST())
	if failure != nil {
		return response{}, failure
	}
	project := given.text("project_id")
	if project == "" {
		project = c.caller.ProjectID
	}
	if failure := o.mayWrite(c.caller, project); failure != nil {
		return response{}, failure
	}
	vip, failure := o.checkVIP(given)
	if failure != nil {
		return response{}, failure
	}
	if failure := o.checkAdditional(given, vip); failure != nil {
		return response{}, failure
	}
	placed, failure := o.checkPlacement(given)
	if failure != nil {
		return response{}, failure
	}
	provider, failure := o.chooseProvider(placed.provider)
	if failure != nil {
		return response{}, failure
	}
	if failure := o.checkQuota(c, project, quotaLoadBalancer, 1); failure != nil {
		return response{}, failure
	}
	if failure := o.checkZone(provider, placed.zone); failure != nil {
		return response{}, failure
	}
	if failure := uniqueTags(given); failure != nil {
		return response{}, failure
	}
	lb := o.newBalancer(given, project, provider)
	lb.FlavorID, lb.AvailabilityZone = placed.flavorID, placed.zone
	if failure := o.plugVIP(lb, vip); failure != nil {
		return response{}, failure
	}
	// From here on a refusal leaves the VIP port behind, as the real one does.
	if failure := o.fill(c, lb, given); failure != nil {
		return response{}, failure
	}
	if failure := o.driverCreate(lb); failure != nil {
		return response{}, failure
	}
	o.register(lb, append(children(lb), lb)...)
	o.balancers = append(o.balancers, lb)
	o.countCycle(lb)
	o.dirty = true
	o.built(lb)
	return response{http.StatusCreated, view{"loadbalancer": o.release.fullLoadBalancer(lb)}}, nil
}

// checkAdditional wants all VIPs in one network, each in a subnet of its own.
func (o *Octavia) checkAdditional(given body, first vipRequest) *apiError {
	if value, present := given["additional_vips"]; present && value == nil {
		return crash("'NoneType' object is not iterable")
	}
	used := map[string]bool{given.text("vip_subnet_id"): true, first.subnetID: true}
	for _, additional := range given.objects("additional_vips") {
		id := additional.text("subnet_id")
		if used[id] {
			return invalid("Duplicate VIP subnet(s) specified. Only one IP can be bound per subnet.")
		}
		used[id] = true
		if o.options.Network == nil {
			continue
		}
		subnet, err := o.options.Network.Subnet(id)
		if err != nil {
			return refuse(http.StatusBadRequest, "Subnet %s not found.", id)
		}
		if subnet.NetworkID != first.networkID {
			return invalid("All VIP subnets must belong to the same network.")
		}
	}
	return nil
}

func (o *Octavia) newBalancer(given body, project, provider string) *LoadBalancer {
	lb := &LoadBalancer{
		Meta:        o.newMeta("loadbalancer", given, project),
		Description: given.text("description"),
		Provider:    provider,
		described:   given["description"] != nil,
	}
	lb.VIP.QoSPolicyID = given.text("vip_qos_policy_id")
	lb.VIP.SecurityGroupIDs = given.texts("vip_sg_ids")
	for _, additional := range given.objects("additional_vips") {
		lb.AdditionalVIPs = append(lb.AdditionalVIPs, AdditionalVIP{
			SubnetID: additional.text("subnet_id"), Address: additional.text("ip_address"),
		})
	}
	return lb
}

func (o *Octavia) chooseProvider(name string) (string, *apiError) {
	if name == "" {
		return o.options.Providers[0], nil
	}
	if !slices.Contains(o.options.Providers, name) {
		return "", refuse(http.StatusBadRequest, "Provider '%s' is not enabled.", name)
	}
	return name, nil
}

func (o *Octavia) showBalancer(c *call) (response, *apiError) {
	lb, failure := o.readableBalancer(c)
	if failure != nil {
		return response{}, failure
	}
	return response{http.StatusOK, view{"loadbalancer": o.release.loadBalancer(lb).only(c.fields)}}, nil
}

func (o *Octavia) updateBalancer(c *call) (response, *apiError) {
	given, failure := o.parseObject(c, "load_balancer", "loadbalancer", loadBalancerPUT())
	if failure != nil {
		return response{}, failure
	}
	lb, failure := o.writableBalancer(c)
	if failure != nil {
		return response{}, failure
	}
	if lb.ProvisioningStatus != Active {
		return response{}, invalidState(lb)
	}
	if failure := o.tagsInUpdate(given); failure != nil {
		return response{}, failure
	}
	restricted := slices.ContainsFunc(lb.Listeners, func(l *Listener) bool { return len(l.AllowedCIDRs) > 0 })
	if restricted && len(given.texts("vip_sg_ids")) > 0 { // the specification wants it denied
		return response{}, refuse(http.StatusBadRequest, "Allowed CIDRs are not allowed when using custom VIP Security Groups.")
	}
	lb.Meta.edit(given)
	if given.has("description") {
		lb.Description, lb.described = given.text("description"), given["description"] != nil
	}
	if given.has("vip_qos_policy_id") {
		lb.VIP.QoSPolicyID = given.text("vip_qos_policy_id")
	}
	if given.has("vip_sg_ids") {
		lb.VIP.SecurityGroupIDs = given.texts("vip_sg_ids")
	}
	o.update(lb, nil, nil, nil)
	return response{http.StatusOK, view{"loadbalancer": o.release.loadBalancer(lb)}}, nil
}

// edit writes what every PUT may change.
func (m *Meta) edit(given body) {
	if given.has("name") {
		m.Name = given.text("name")
	}
	if given.has("admin_state_up") {
		m.AdminStateUp = given.boolean("admin_state_up", true)
	}
	if given.has("tags") {
		m.Tags = given.texts("tags")
	}
}

func (o *Octavia) deleteBalancer(c *call) (response, *apiError) {
	lb, failure := o.writableBalancer(c)
	if failure != nil {
		return response{}, failure
	}
	cascade := isTrue(c.query.Get("cascade"))
	if !cascade && len(lb.Listeners)+len(lb.Pools) > 0 {
		return response{}, invalid("Cannot delete Load Balancer %s - it has children", lb.ID)
	}
	if lb.ProvisioningStatus != Active && lb.ProvisioningStatus != Error {
		return response{}, invalidState(lb)
	}
	if o.queued(lb) {
		o.lock(lb, PendingDelete)
		o.queuedDelete(lb)
		return response{status: http.StatusNoContent}, nil
	}
	o.forget(lb)
	o.lock(lb, PendingDelete)
	o.after(lb, o.delays(lb.Provider).Delete, func() {
		if o.fails(OperationDelete) {
			o.set(lb, Error)
			return
		}
		o.remove(lb)
	})
	return response{status: http.StatusNoContent}, nil
}

// failover rebuilds the amphorae, which also leads out of ERROR.
func (o *Octavia) failover(c *call) (response, *apiError) {
	lb, failure := o.writableBalancer(c)
	if failure != nil {
		return response{}, failure
	}
	if !isAdmin(c.caller) && !o.openFailover {
		return response{}, forbidden()
	}
	if lb.Provider == ProviderOVN {
		return response{}, unsupportedOption(lb.Provider, "OVN provider does not support loadbalancer failover")
	}
	if lb.ProvisioningStatus != Active && lb.ProvisioningStatus != Error {
		return response{}, invalidState(lb)
	}
	o.lock(lb, PendingUpdate)
	o.rebuild(lb, OperationFailover)
	return response{status: http.StatusAccepted}, nil
}

// balancer finds a load balancer that is not deleted.
func (o *Octavia) balancer(id string) (*LoadBalancer, *apiError) {
	if lb, _, known := find[*LoadBalancer](o, id); known && lb.ProvisioningStatus != Deleted {
		return lb, nil
	}
	return nil, notFound("Load Balancer", id)
}

func (o *Octavia) readableBalancer(c *call) (*LoadBalancer, *apiError) {
	lb, failure := o.balancer(c.id)
	if failure != nil {
		return nil, failure
	}
	return lb, o.mayRead(c.caller, lb.ProjectID)
}

func (o *Octavia) writableBalancer(c *call) (*LoadBalancer, *apiError) {
	lb, failure := o.balancer(c.id)
	if failure != nil {
		return nil, failure
	}
	return lb, o.mayWrite(c.caller, lb.ProjectID)
}

func randomID() string { return uuid.NewString() }
