package octavia

import (
	"net/http"
	"slices"
)

func (o *Octavia) createMember(c *call) (response, *apiError) {
	given, failure := o.parseObject(c, "member_", "member", memberPOST())
	if failure != nil {
		return response{}, failure
	}
	lb, pool, failure := o.memberPool(c)
	if failure != nil {
		return response{}, failure
	}
	if given["address"] == nil {
		return response{}, crash("None does not appear to be an IPv4 or IPv6 address")
	}
	if failure := notReserved(given.text("address")); failure != nil {
		return response{}, failure
	}
	if failure := o.subnetExists(given.text("subnet_id")); failure != nil {
		return response{}, failure
	}
	if failure := o.checkQuota(c, lb.ProjectID, quotaMember, 1); failure != nil {
		return response{}, failure
	}
	if failure := mutablePool(lb, pool); failure != nil {
		return response{}, failure
	}
	if failure := pool.admit(given); failure != nil {
		return response{}, failure
	}
	if failure := o.driverMember(lb, pool, given); failure != nil {
		return response{}, failure
	}
	member := o.newMember(lb, pool, given)
	pool.Members = append(pool.Members, member)
	lb.added(pool, member)
	if o.queued(lb) {
		o.queuedMembers(lb, pool, []*Member{member}, nil, nil)
	} else {
		o.update(lb, poolAndListeners(lb, pool), []object{member}, nil)
	}
	return response{http.StatusCreated, view{"member": o.release.member(member)}}, nil
}

// admit refuses a member with an address and port that the pool already has. Octavia reports any
// duplicate as that, also of a tag.
func (p *Pool) admit(given body) *apiError {
	if p.memberAt(keyOf(given)) == nil && !hasTwice(given.texts("tags")) {
		return nil
	}
	return duplicateMember(keyOf(given))
}

func duplicateMember(key memberKey) *apiError {
	return refuse(http.StatusConflict, "Another member on this pool is already using ip %s on protocol_port %d", key.address, key.port)
}

// memberKey identifies a member within its pool. The address counts as it was
// written: another spelling of an IPv6 address is another member.
type memberKey struct {
	address string
	port    int
}

func keyOf(given body) memberKey {
	return memberKey{given.text("address"), given.integer("protocol_port", 0)}
}

func (p *Pool) memberAt(key memberKey) *Member {
	for _, member := range p.Members {
		if member.Address == key.address && member.ProtocolPort == key.port {
			return member
		}
	}
	return nil
}

func (o *Octavia) newMember(lb *LoadBalancer, pool *Pool, given body) *Member {
	member := &Member{
		Meta:           o.newMeta("member", given, lb.ProjectID),
		PoolID:         pool.ID,
		LoadBalancerID: lb.ID,
		Address:        given.text("address"),
		ProtocolPort:   given.integer("protocol_port", 0),
		SubnetID:       given.text("subnet_id"),
		Weight:         given.integer("weight", 1),
		Backup:         given.boolean("backup", false),
		MonitorAddress: given.text("monitor_address"),
		MonitorPort:    given.integer("monitor_port", 0),
	}
	if pool.Monitor == nil {
		member.OperatingStatus = NoMonitor
	}
	return member
}

func (o *Octavia) showMember(c *call) (response, *apiError) {
	_, _, member, failure := o.memberOf(c, o.mayRead)
	if failure != nil {
		return response{}, failure
	}
	return response{http.StatusOK, view{"member": o.release.member(member).only(c.fields)}}, nil
}

func (o *Octavia) updateMember(c *call) (response, *apiError) {
	given, failure := o.parseObject(c, "member_", "member", memberPUT())
	if failure != nil {
		return response{}, failure
	}
	lb, pool, member, failure := o.memberOf(c, o.mayWrite)
	if failure != nil {
		return response{}, failure
	}
	if failure := mutablePool(lb, pool); failure != nil {
		return response{}, failure
	}
	if failure := o.tagsInUpdate(given); failure != nil {
		return response{}, failure
	}
	if failure := o.driverMemberUpdate(lb, member, given); failure != nil {
		return response{}, failure
	}
	member.Meta.edit(given)
	if given.has("admin_state_up") {
		lb.drive(pool, member)
	}
	member.Weight = given.integer("weight", member.Weight)
	member.Backup = given.boolean("backup", member.Backup)
	if given.has("monitor_address") {
		member.MonitorAddress = given.text("monitor_address")
	}
	if given.has("monitor_port") {
		member.MonitorPort = given.integer("monitor_port", 0)
	}
	if o.queued(lb) {
		o.queuedMembers(lb, pool, nil, []*Member{member}, nil)
	} else {
		o.update(lb, append(poolAndListeners(lb, pool), member), nil, nil)
	}
	return response{http.StatusOK, view{"member": o.release.member(member)}}, nil
}

// and returns the body with further string values.
func (b body) and(pairs ...string) body {
	more := body{}
	for key, value := range b {
		more[key] = value
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		more[pairs[i]] = pairs[i+1]
	}
	return more
}

func (o *Octavia) deleteMember(c *call) (response, *apiError) {
	lb, pool, member, failure := o.memberOf(c, o.mayWrite)
	if failure != nil {
		return response{}, failure
	}
	if failure := mutablePool(lb, pool); failure != nil {
		return response{}, failure
	}
	o.leave(member)
	if o.queued(lb) {
		o.queuedMembers(lb, pool, nil, nil, []*Member{member})
	} else {
		o.update(lb, poolAndListeners(lb, pool), nil, func() { pool.drop(member) })
	}
	return response{status: http.StatusNoContent}, nil
}

func (p *Pool) drop(members ...*Member) {
	p.Members = slices.DeleteFunc(p.Members, func(m *Member) bool { return slices.Contains(members, m) })
}

// memberPool finds the pool in the path of a member call that writes.
func (o *Octavia) memberPool(c *call) (*LoadBalancer, *Pool, *apiError) {
	lb, pool, failure := o.pool(c.id)
	if failure != nil {
		return nil, nil, rawError(failure.status, failure.text)
	}
	return lb, pool, o.mayWrite(c.caller, lb.ProjectID)
}

func (o *Octavia) memberOf(c *call, may permission) (*LoadBalancer, *Pool, *Member, *apiError) {
	lb, pool, failure := o.pool(c.id)
	if failure != nil {
		return nil, nil, nil, rawError(failure.status, failure.text)
	}
	for _, member := range pool.Members {
		if member.ID == c.child {
			return lb, pool, member, may(c.caller, lb.ProjectID)
		}
	}
	return nil, nil, nil, notFound("Member", c.child)
}
