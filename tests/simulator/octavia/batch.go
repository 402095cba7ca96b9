package octavia

import (
	"net/http"
	"slices"
	"time"
)

// batch is what a PUT of all members of a pool comes to.
type batch struct {
	created []body
	kept    []keptMember
	gone    []*Member
	hangs   bool // the worker of this release never finishes it
}

type keptMember struct {
	member *Member
	given  body
}

// batchMembers is PUT pools/{id}/members: everything or nothing, in one lock.
func (o *Octavia) batchMembers(c *call) (response, *apiError) {
	if len(c.body) == 0 {
		return response{}, crash("'NoneType' object has no attribute 'members'")
	}
	value, failure := o.parse(c, "members_", "members", memberPOST())
	if failure != nil {
		return response{}, failure
	}
	members := value.([]body)
	lb, pool, failure := o.memberPool(c)
	if failure != nil {
		return response{}, failure
	}
	additive := isTrue(c.query.Get("additive_only"))
	if failure := mutablePool(lb, pool); failure != nil {
		return response{}, failure
	}
	plan, failure := o.planBatch(pool, members, additive)
	if failure != nil {
		return response{}, failure
	}
	if failure := o.checkQuota(c, lb.ProjectID, quotaMember, len(plan.created)-len(plan.gone)); failure != nil {
		return response{}, failure
	}
	if failure := o.checkNewMembers(plan.created); failure != nil {
		return response{}, failure
	}
	if failure := o.driverBatch(lb, pool, members, plan); failure != nil {
		return response{}, failure
	}
	if len(members) > 0 || len(pool.Members) > 0 {
		o.applyBatch(lb, pool, plan)
	}
	return response{status: http.StatusAccepted}, nil
}

func (o *Octavia) planBatch(pool *Pool, members []body, additive bool) (batch, *apiError) {
	plan := batch{}
	existing := map[memberKey]*Member{}
	for _, member := range pool.Members {
		existing[memberKey{member.Address, member.ProtocolPort}] = member
	}
	seen := map[memberKey]bool{}
	for _, given := range members {
		key := keyOf(given)
		member := existing[key]
		if failure := o.checkRepeated(&plan, seen[key], member != nil); failure != nil {
			return batch{}, failure
		}
		seen[key] = true
		if member == nil {
			if failure := notReserved(given.text("address")); failure != nil {
				return batch{}, failure
			}
			plan.created = append(plan.created, given)
		} else {
			plan.kept = append(plan.kept, keptMember{member, given})
		}
	}
	for _, member := range pool.Members {
		if !additive && !seen[memberKey{member.Address, member.ProtocolPort}] {
			plan.gone = append(plan.gone, member)
		}
	}
	return plan, nil
}

// checkRepeated is about an existing member that is twice in one batch, which
// breaks the worker of old releases.
func (o *Octavia) checkRepeated(plan *batch, repeated, exists bool) *apiError {
	switch {
	case !repeated || !exists:
		return nil
	case !o.release.DuplicateMemberHangs:
		return invalid("Member must be updated only once in the same request.")
	}
	plan.hangs = true
	return nil
}

// checkNewMembers is about those that the batch adds: their subnets, and the
// database's uniqueness.
func (o *Octavia) checkNewMembers(created []body) *apiError {
	seen := map[memberKey]bool{}
	for _, given := range created {
		if failure := o.subnetExists(given.text("subnet_id")); failure != nil {
			return failure
		}
		if key := keyOf(given); seen[key] || hasTwice(given.texts("tags")) {
			return duplicateMember(key)
		}
		seen[keyOf(given)] = true
	}
	return nil
}

func (o *Octavia) applyBatch(lb *LoadBalancer, pool *Pool, plan batch) {
	var created []object
	var added, stay []*Member
	for _, given := range plan.created {
		member := o.newMember(lb, pool, given)
		pool.Members = append(pool.Members, member)
		lb.added(pool, member)
		created, added = append(created, member), append(added, member)
	}
	touched := poolAndListeners(lb, pool)
	for _, kept := range plan.kept {
		kept.member.overwrite(kept.given)
		lb.drive(pool, kept.member)
		if !slices.Contains(touched, object(kept.member)) {
			touched, stay = append(touched, kept.member), append(stay, kept.member)
		}
	}
	for _, member := range plan.gone {
		o.leave(member)
	}
	if o.queued(lb) {
		o.queuedMembers(lb, pool, added, stay, plan.gone)
		return
	}
	if each := o.delays(lb.Provider).Members; each > 0 && lb.Provider == ProviderOVN && len(created)+len(plan.kept)+len(plan.gone) > 0 {
		o.oneByOne(lb, pool, each, slices.Concat(created, touched), plan.gone)
	} else {
		o.update(lb, touched, created, func() { pool.drop(plan.gone...) })
	}
	if plan.hangs {
		o.forget(lb)
	}
}

// oneByOne is what ovn makes of a batch: a request for each member. Each of them reports
// the load balancer, the pool and its listeners ACTIVE, whatever else is still to be done.
func (o *Octavia) oneByOne(lb *LoadBalancer, pool *Pool, each time.Duration, written []object, gone []*Member) {
	o.lock(lb, PendingUpdate)
	reported := append(poolAndListeners(lb, pool), lb)
	var requests []func()
	for _, thing := range written {
		if thing.meta().ProvisioningStatus != PendingCreate {
			o.set(thing, PendingUpdate)
		}
		if !slices.Contains(reported, thing) {
			requests = append(requests, func() { o.activate(thing) })
		}
	}
	for _, member := range gone {
		requests = append(requests, func() { pool.drop(member) })
	}
	for i, request := range requests {
		o.after(lb, o.delays(lb.Provider).Update+time.Duration(i)*each, func() {
			request()
			for _, thing := range reported {
				o.activate(thing)
			}
			o.operate(lb)
		})
	}
}

// leave removes a member, unless its removal has already begun.
func (o *Octavia) leave(member *Member) {
	if member.ProvisioningStatus == PendingDelete {
		o.removedTwice = append(o.removedTwice, member.ID)
	}
	o.set(member, PendingDelete)
}

// overwrite applies a batch to a member that stays: missing values get their default,
// except name, subnet and tags.
func (m *Member) overwrite(given body) {
	m.Meta.edit(given)
	m.AdminStateUp = given.boolean("admin_state_up", true)
	m.Weight = given.integer("weight", 1)
	m.Backup = given.boolean("backup", false)
	m.MonitorAddress = given.text("monitor_address")
	m.MonitorPort = given.integer("monitor_port", 0)
	if given.has("subnet_id") {
		m.SubnetID = given.text("subnet_id")
	}
}
