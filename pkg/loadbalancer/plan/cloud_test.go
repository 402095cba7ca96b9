package plan_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

// cloud carries out steps on a model and refuses what OpenStack would refuse.
type cloud struct {
	observed model.Observed
	made     int
	// driver is that of Options.
	driver driver.Driver
	// stale are the transports of which a monitor went with its pool.
	stale map[model.Protocol]bool
}

// run carries out steps one after another.
func (c *cloud) run(steps []plan.Step) error {
	for i, step := range steps {
		if err := c.do(step); err != nil {
			return fmt.Errorf("step %d of %d, %q: %w", i+1, len(steps), step, err)
		}
	}
	return nil
}

func (c *cloud) do(step plan.Step) error {
	if text := step.String(); text == "" || strings.Contains(text, "\n") {
		return fmt.Errorf("it prints as %q", text)
	}
	if err := c.check(step); err != nil {
		return err
	}
	plan.Advance(&c.observed, step)
	c.makeStale(step)
	c.identify()
	return nil
}

// check returns an error for steps on missing objects, or for objects that already exist.
func (c *cloud) check(step plan.Step) error {
	lb := c.observed.LoadBalancer
	switch s := step.(type) {
	case plan.CreateLoadBalancer:
		return refuse(lb != nil || !c.driver.Supports(driver.FullCreate) && len(s.LoadBalancer.Listeners) > 0, "there is one already, or it is not empty")
	case plan.DeleteLoadBalancer:
		return c.checkDelete(s)
	case plan.DeleteFloatingIP:
		attached := lb != nil && lb.FloatingIP != nil && lb.FloatingIP.ID == s.ID
		return refuse(!attached && !c.unattached(s.ID), "no such floating IP")
	}
	if s, creates := step.(plan.CreateFloatingIP); creates && s.Beside {
		return nil
	}
	if lb == nil {
		return fmt.Errorf("there is no load balancer")
	}
	switch s := step.(type) {
	case plan.CreateFloatingIP:
		return refuse(lb.FloatingIP != nil, "the VIP has a floating IP")
	case plan.AssociateFloatingIP:
		return refuse(lb.FloatingIP != nil || s.Find(c.observed.UnattachedFloatingIPs) < 0, "the VIP has a floating IP, or this one is not unattached")
	case plan.MoveFloatingIP:
		return refuse(lb.FloatingIP != nil || !c.onAnother(s.ID), "the VIP has a floating IP, or no other load balancer has this one")
	case plan.DisassociateFloatingIP:
		return refuse((lb.FloatingIP == nil || lb.FloatingIP.ID != s.ID) && !c.unattached(s.ID), "it is not on the VIP")
	}
	if lb.Status.Failed() {
		return fmt.Errorf("the load balancer is immutable")
	}
	return c.checkChild(lb, step)
}

func (c *cloud) checkDelete(s plan.DeleteLoadBalancer) error {
	for _, surplus := range c.observed.Duplicates {
		if surplus.ID == s.ID {
			return nil
		}
	}
	lb := c.observed.LoadBalancer
	switch {
	case lb == nil || lb.ID != s.ID:
		return fmt.Errorf("no such load balancer")
	case len(lb.Foreign) > 0:
		return fmt.Errorf("it holds what is not ours")
	}
	return refuse(!s.Cascade && len(lb.Listeners)+len(lb.Orphans) > 0, "it has children")
}

// onAnother reports whether a floating IP is on a load balancer that is deleted.
func (c *cloud) onAnother(id string) bool {
	others := c.observed.Duplicates
	if old := c.observed.Outgoing; old != nil {
		others = append([]model.LoadBalancer{*old}, others...)
	}
	return slices.ContainsFunc(others, func(lb model.LoadBalancer) bool { return lb.FloatingIP != nil && lb.FloatingIP.ID == id })
}

func (c *cloud) unattached(id string) bool {
	for _, fip := range c.observed.UnattachedFloatingIPs {
		if fip.ID == id {
			return true
		}
	}
	return false
}

func (c *cloud) checkChild(lb *model.LoadBalancer, step plan.Step) error {
	if err := c.checkStaleMonitors(lb, step); err != nil {
		return err
	}
	switch s := step.(type) {
	case plan.UpdateLoadBalancer:
		restricted := len(s.To.SecurityGroupIDs) > 0 && slices.ContainsFunc(lb.Listeners, func(l model.Listener) bool { return len(l.AllowedCIDRs) > 0 })
		return refuse(lb.ID != s.ID || lb.Shared != nil || !s.From.Equal(lb.VIP.VIPSettings) || restricted, "not ours, or beside source ranges")
	case plan.CreateListener:
		return checkCreateListener(lb, s)
	case plan.UpdateListener:
		return checkUpdateListener(lb, s)
	case plan.DeleteListener:
		l := lb.Listener(s.Key)
		return refuse(l == nil || l.ID != s.ID, "no such listener")
	case plan.CreatePool:
		return refuse(orphans(lb, s.Pool) > 0, "its name would be there twice, and the next steps ambiguous")
	case plan.DeletePool:
		for _, pool := range lb.Orphans {
			if pool.ID == s.ID {
				return nil
			}
		}
		return fmt.Errorf("no such pool, or a listener uses it")
	}
	if _, is := step.(plan.SetMembers); is && !c.driver.Supports(driver.MemberBatches) {
		return fmt.Errorf("the provider has no batches")
	}
	if set, is := step.(plan.SetMembers); is && !c.driver.Quirks.AlwaysSendSubnet {
		if pool := set.Pool.Find(lb); pool != nil && guesses(pool, set) {
			return fmt.Errorf("a member that nobody has read is told a subnet")
		}
	}
	return checkInPool(lb, step)
}

// guesses reports whether a batch sets a subnet for a member with an unknown one.
func guesses(pool *model.Pool, set plan.SetMembers) bool {
	there := membersOf(pool)
	for _, m := range set.Members.All() {
		if there[m.Key()].SubnetUnknown && m.SubnetID != "" {
			return true
		}
	}
	return false
}

func checkCreateListener(lb *model.LoadBalancer, s plan.CreateListener) error {
	l := s.Listener
	if len(l.AllowedCIDRs) > 0 && len(lb.VIP.SecurityGroupIDs) > 0 {
		return fmt.Errorf("source ranges beside security groups of the VIP")
	}
	for _, foreign := range lb.Foreign {
		if foreign.Key == l.Key() {
			return fmt.Errorf("the port is taken by another's listener")
		}
	}
	if lb.Listener(l.Key()) != nil || l.Pool.ID == "" && orphans(lb, l.Pool) != 1 {
		return fmt.Errorf("the port is taken, or there is not exactly one pool for it")
	}
	pool := s.Pool().Find(lb)
	if pool == nil || pool.Protocol != l.Pool.Protocol {
		return fmt.Errorf("no such pool, or of another protocol")
	}
	return refuse(pool.Members.Len() != l.Pool.Members.Len(), "clients would be sent to a pool without all its members")
}

func checkUpdateListener(lb *model.LoadBalancer, s plan.UpdateListener) error {
	l := lb.Listener(s.Key)
	if l == nil || l.ID != s.ID || l.Protocol != s.To.Protocol {
		return fmt.Errorf("no such listener, or of another protocol")
	}
	if len(s.To.AllowedCIDRs) > 0 && len(lb.VIP.SecurityGroupIDs) > 0 {
		return fmt.Errorf("source ranges beside security groups of the VIP")
	}
	if !s.SwitchesPool() {
		return nil
	}
	pool := s.NewPool().Find(lb)
	return refuse(pool == nil || pool.Members.Len() != s.To.Pool.Members.Len(), "clients would be sent to no pool, or one without all its members")
}

func checkInPool(lb *model.LoadBalancer, step plan.Step) error {
	var ref plan.PoolRef
	switch s := step.(type) {
	case plan.UpdatePool:
		ref = s.Pool
	case plan.SetMembers:
		ref = s.Pool
	case plan.AddMember:
		ref = s.Pool
	case plan.UpdateMember:
		ref = s.Pool
	case plan.RemoveMember:
		ref = s.Pool
	case plan.CreateMonitor:
		ref = s.Pool
	case plan.UpdateMonitor:
		ref = s.Pool
	case plan.DeleteMonitor:
		ref = s.Pool
	}
	pool := ref.Find(lb)
	if pool == nil {
		return fmt.Errorf("no such pool")
	}
	if _, repair := step.(plan.UpdatePool); !repair && !pool.Status.Sound() {
		return fmt.Errorf("pool %s is immutable", pool.Name)
	}
	switch s := step.(type) {
	case plan.SetMembers:
		there := membersOf(pool)
		for _, m := range s.Members.All() {
			if old := there[m.Key()]; old.SubnetID != "" && old.SubnetID != m.SubnetID {
				return fmt.Errorf("the subnet of member %v changes in the database only", m.Key())
			}
		}
		return checkUnique(s.Members)
	case plan.UpdateMember:
		m := member(pool, s.To.Key())
		return refuse(m == nil || m.ID != s.From.ID || m.SubnetID != s.To.SubnetID, "no such member, or in another subnet")
	case plan.AddMember:
		return refuse(member(pool, s.Member.Key()) != nil, "the member is there")
	case plan.RemoveMember:
		m := member(pool, s.Member.Key())
		return refuse(m == nil || m.ID != s.Member.ID, "no such member")
	case plan.CreateMonitor:
		return refuse(pool.Monitor != nil, "the pool has a monitor")
	case plan.UpdateMonitor:
		m := pool.Monitor
		return refuse(m == nil || m.ID != s.From.ID || m.Type != s.To.Type, "no such monitor, or of another type")
	case plan.DeleteMonitor:
		return refuse(pool.Monitor == nil || pool.Monitor.ID != s.Monitor.ID, "no such monitor")
	}
	return nil
}

// checkUnique finds the same member twice: Octavia up to 15.0 leaves the load
// balancer in PENDING_UPDATE for ever.
func checkUnique(members model.Members) error {
	seen := map[model.MemberKey]bool{}
	for _, m := range members.All() {
		if seen[m.Key()] {
			return fmt.Errorf("the member %v is in the batch twice", m.Key())
		}
		seen[m.Key()] = true
	}
	return nil
}

func refuse(when bool, why string) error {
	if when {
		return fmt.Errorf("%s", why)
	}
	return nil
}

// orphans counts the pools that the steps for a new one could mean.
func orphans(lb *model.LoadBalancer, like model.Pool) (n int) {
	for _, pool := range lb.Orphans {
		if pool.Name == like.Name && pool.Protocol == like.Protocol {
			n++
		}
	}
	return n
}

func membersOf(pool *model.Pool) map[model.MemberKey]model.Member {
	all := make(map[model.MemberKey]model.Member, pool.Members.Len())
	for _, m := range pool.Members.All() {
		all[m.Key()] = m
	}
	return all
}

func member(pool *model.Pool, key model.MemberKey) *model.Member {
	i, ok := pool.Members.Find(key)
	if !ok {
		return nil
	}
	m := pool.Members.At(i)
	return &m
}

// identify gives everything that has none an ID, and floating IP and VIP an
// address.
func (c *cloud) identify() {
	lb := c.observed.LoadBalancer
	if lb == nil {
		return
	}
	c.fill(&lb.ID, "lb")
	c.fill(&lb.VIP.PortID, "port")
	c.fill(&lb.VIP.Address, "vip")
	c.fill(&lb.VIP.SubnetID, "subnet")
	c.fill(&lb.VIP.NetworkID, "network")
	for i := range lb.Listeners {
		c.fill(&lb.Listeners[i].ID, "listener")
		if lb.Listeners[i].Pool.Name != "" {
			c.identifyPool(&lb.Listeners[i].Pool)
		}
	}
	for i := range lb.Orphans {
		c.identifyPool(&lb.Orphans[i])
	}
	for i := range c.observed.UnattachedFloatingIPs {
		c.fill(&c.observed.UnattachedFloatingIPs[i].ID, "fip")
		c.fill(&c.observed.UnattachedFloatingIPs[i].Address, "address")
	}
	if lb.FloatingIP != nil {
		c.fill(&lb.FloatingIP.ID, "fip")
		c.fill(&lb.FloatingIP.Address, "address")
		lb.FloatingIP.PortID = lb.VIP.PortID
	}
}

func (c *cloud) identifyPool(pool *model.Pool) {
	c.fill(&pool.ID, "pool")
	if pool.Monitor != nil {
		c.fill(&pool.Monitor.ID, "monitor")
	}
	fixture.EditMembers(pool, func(_ int, m *model.Member) { c.fill(&m.ID, "member") })
}

func (c *cloud) fill(at *string, kind string) {
	if *at == "" {
		c.made++
		*at = fmt.Sprintf("%s-%d", kind, c.made)
	}
}
