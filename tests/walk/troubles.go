package walk

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/sweep"
)

func (r *run) kill(int, int) {
	if r.mayKill() {
		r.env.Kill()
	}
}

// mayKill reports whether the process may end: not between a change of the state of
// cloud-provider-openstack and the next rest. Then nothing is changed until the rest.
func (r *run) mayKill() bool {
	if !r.start.Inherited {
		return true
	}
	r.adopted = r.adopted && r.changed
	return !r.changed
}

// restart ends the process, as an upgrade does.
func (r *run) restart(int, int) {
	if !r.mayKill() {
		return
	}
	if err := r.env.Restart(r.ctx); err != nil {
		r.fail("restart: %v", err)
	}
}

const (
	lbaas   = "/load-balancer/v2.0/lbaas"
	network = "/network/v2.0"
)

// victims returns the requests that faults hit.
func victims() []sweep.Request {
	var all []sweep.Request
	for _, word := range strings.Fields(`
		POST/loadbalancers PUT/loadbalancers/* DELETE/loadbalancers/* GET/loadbalancers GET/loadbalancers/* GET/loadbalancers/*/status
		POST/listeners PUT/listeners/* DELETE/listeners/* GET/listeners POST/pools PUT/pools/* DELETE/pools/* GET/pools
		POST/pools/*/members PUT/pools/*/members DELETE/pools/*/members/* GET/pools/*/members
		POST/healthmonitors PUT/healthmonitors/* DELETE/healthmonitors/* GET/healthmonitors`) {
		method, route, _ := strings.Cut(word, "/")
		all = append(all, sweep.Request{Method: method, Route: lbaas + "/" + route, Bytes: 200})
	}
	for _, word := range strings.Fields(`
		POST/floatingips PUT/floatingips/* DELETE/floatingips/* GET/floatingips GET/ports PUT/ports/* GET/networks GET/subnets
		POST/security-groups DELETE/security-groups/* GET/security-groups POST/security-group-rules DELETE/security-group-rules/*`) {
		method, route, _ := strings.Cut(word, "/")
		all = append(all, sweep.Request{Method: method, Route: network + "/" + route, Bytes: 200})
	}
	return all
}

// fault makes one of the next requests fail in one of the ways of the sweep: a request of any kind,
// or one of a given kind.
func (r *run) fault(a, b int) {
	all := sweep.Faults()
	of := append(victims(), sweep.Request{Route: lbaas + "/**", Bytes: 200}, sweep.Request{Route: network + "/**", Bytes: 200})
	request := of[(a*Choices+b)%len(of)]
	request.Nth = 1 + b%3
	if request.Route == lbaas+"/healthmonitors/*" && request.Method == http.MethodDelete && r.oldOVN() {
		return // a monitor that only seems to be gone would make the load balancer hang for ever
	}
	chosen := all[a%len(all)]
	if chosen.Kills() && !r.mayKill() {
		return
	}
	chosen.Plant(r.env, request)
}

// service returns the affected part of the cloud.
func service(b int) string { return []string{"/load-balancer/**", "/network/**", ""}[b%3] }

// outage makes all requests to a service fail for a while.
func (r *run) outage(a, b int) {
	rules := []faults.Rule{
		{Status: http.StatusServiceUnavailable, Worded: true}, {Reset: true}, {Drop: true},
		{Status: http.StatusInternalServerError, Worded: true}, {Status: http.StatusUnauthorized, Worded: true}, {AnswerDelay: 10 * time.Minute},
	}
	r.lasting(rules[a%len(rules)], service(b), time.Duration(1+b)*20*time.Second)
}

// flaky makes some requests to a service fail for a while, before or after their work.
func (r *run) flaky(a, b int) {
	rules := []faults.Rule{
		{Status: http.StatusInternalServerError, Worded: true}, {Status: http.StatusConflict, Worded: true}, {Reset: true, AfterWork: true},
		{Status: http.StatusBadGateway, AfterWork: true}, {Status: http.StatusTooManyRequests, Worded: true}, {Lag: 10 * time.Second},
		{Delay: 20 * time.Second},
	}
	rule := rules[a%len(rules)]
	rule.Probability, rule.Seed = 0.3, uint64(a*Choices+b)
	r.lasting(rule, service(b), time.Duration(1+b)*30*time.Second)
}

// lasting applies a rule for a while.
func (r *run) lasting(rule faults.Rule, route string, d time.Duration) {
	rule.Route = route
	id := r.env.Cloud.Faults.Plant(rule)
	go func() {
		r.pass(d)
		r.env.Cloud.Faults.Remove(id)
	}()
}

// other makes another client change a load balancer, or the Neutron objects of its Service.
func (r *run) other(a, b int) {
	if r.start.Routed && b%2 == 0 {
		r.otherOnRouter(a, b)
		return
	}
	var own []octavia.LoadBalancer
	for _, lb := range r.env.Cloud.Octavia.Snapshot() {
		if r.atHome(lb) {
			own = append(own, lb)
		}
	}
	if len(own) == 0 {
		return
	}
	lb := own[a%len(own)]
	r.mu.Lock()
	for _, l := range lb.Listeners {
		r.touched[portOf(l)] = true
	}
	r.mu.Unlock()
	if b >= 16 {
		r.otherInNeutron(lb, b)
		return
	}
	r.otherInOctavia(lb, a, b)
}

func (r *run) otherInOctavia(lb octavia.LoadBalancer, a, b int) {
	switch b {
	case 0:
		_ = r.env.Cloud.Octavia.Remove(lb.ID) // the member exists
	case 1:
		r.act(http.MethodDelete, lbaas+"/loadbalancers/"+lb.ID+"?cascade=true", nil)
	case 2:
		r.act(http.MethodPut, lbaas+"/loadbalancers/"+lb.ID, object{"loadbalancer": object{"admin_state_up": false}})
	case 3, 4, 5:
		if len(lb.Listeners) > 0 {
			listener := lbaas + "/listeners/" + lb.Listeners[a%len(lb.Listeners)].ID
			switch b {
			case 3:
				r.act(http.MethodDelete, listener, nil)
			case 4:
				r.act(http.MethodPut, listener, object{"listener": object{"admin_state_up": false}})
			case 5:
				r.act(http.MethodPut, listener, object{"listener": object{"allowed_cidrs": []string{"9.9.9.0/24"}}})
			}
		}
	default:
		if len(lb.Pools) > 0 {
			r.otherInPool(lb.Pools[a%len(lb.Pools)], b)
		}
	}
}

func (r *run) otherInPool(pool *octavia.Pool, b int) {
	path := lbaas + "/pools/" + pool.ID
	switch {
	case b == 6 && r.oldOVN():
		// A check outlives the pool, invisibly: the next listener makes the load balancer hang.
	case b == 6:
		r.act(http.MethodDelete, path, nil)
	case b == 7:
		r.act(http.MethodPut, path, object{"pool": object{"admin_state_up": false}})
	case b == 8 || b == 9:
		r.act(http.MethodPost, path+"/members", object{"member": object{"address": "127.100.9.9", "protocol_port": 9}})
	case b < 13 && len(pool.Members) > 0:
		r.act(http.MethodDelete, path+"/members/"+pool.Members[b%len(pool.Members)].ID, nil)
	case pool.Monitor == nil:
	case b == 13:
		r.act(http.MethodDelete, lbaas+"/healthmonitors/"+pool.Monitor.ID, nil)
	case b == 14:
		r.act(http.MethodPut, lbaas+"/healthmonitors/"+pool.Monitor.ID, object{"healthmonitor": object{"delay": 99}})
	case b == 15:
		r.act(http.MethodPut, lbaas+"/healthmonitors/"+pool.Monitor.ID, object{"healthmonitor": object{"admin_state_up": false}})
	}
}

func (r *run) otherInNeutron(lb octavia.LoadBalancer, b int) {
	for _, ip := range r.env.Cloud.Neutron.FloatingIPs() {
		if ip.PortID != lb.VIP.PortID || ip.PortID == "" {
			continue
		}
		switch b {
		case 16, 17:
			r.act(http.MethodDelete, network+"/floatingips/"+ip.ID, nil)
		case 18, 19:
			r.act(http.MethodPut, network+"/floatingips/"+ip.ID, object{"floatingip": object{"port_id": nil}})
		}
	}
	if b >= 20 {
		r.otherInGroups(b)
	}
}

// otherInGroups changes a security group of a Service.
func (r *run) otherInGroups(b int) {
	for _, group := range r.env.Cloud.Neutron.SecurityGroups() {
		if !strings.HasPrefix(group.Name, "lb-sg-") {
			continue
		}
		r.mu.Lock()
		r.foreign = true
		r.mu.Unlock()
		if b == 20 {
			r.act(http.MethodPost, network+"/security-group-rules", object{"security_group_rule": object{
				"security_group_id": group.ID, "direction": "ingress", "ethertype": "IPv4", "protocol": "tcp", "port_range_min": 31999, "port_range_max": 31999,
			}})
			return
		}
		for _, rule := range group.Rules {
			if rule.Direction == "ingress" {
				r.act(http.MethodDelete, network+"/security-group-rules/"+rule.ID, nil)
				return
			}
		}
	}
}

// otherOnRouter removes the routes to a VIP, or its floating IP, or a port forwarding.
func (r *run) otherOnRouter(a, b int) {
	if r.start.Forwarding {
		r.otherForwarding(a)
		return
	}
	router := r.env.Cloud.Neutron.Routers()[0]
	if len(router.Routes) == 0 {
		return
	}
	at := router.Routes[a%len(router.Routes)]
	if b%4 == 0 {
		r.act(http.MethodPut, network+"/routers/"+router.ID+"/remove_extraroutes", object{"router": object{
			"routes": []object{{"destination": at.Destination, "nexthop": at.NextHop}},
		}})
		return
	}
	for _, ip := range r.env.Cloud.Neutron.FloatingIPs() {
		if ip.FixedAddress+"/32" == at.Destination {
			r.act(http.MethodPut, network+"/floatingips/"+ip.ID, object{"floatingip": object{"port_id": nil}})
		}
	}
}

// otherForwarding deletes a port forwarding.
func (r *run) otherForwarding(a int) {
	for _, ip := range r.env.Cloud.Neutron.FloatingIPs() {
		if all := r.env.Cloud.Neutron.Forwardings(ip.ID); len(all) > 0 {
			r.act(http.MethodDelete, network+"/floatingips/"+ip.ID+"/port_forwardings/"+all[a%len(all)].ID, nil)
			return
		}
	}
}

type object map[string]any

// act sends a request of an administrator. If it is refused, nothing has happened.
func (r *run) act(method, path string, body object) {
	foreign := simulator.Foreign{Method: method, Path: path}
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			r.fail("body of %s %s: %v", method, path, err)
		}
		foreign.Body = text
	}
	if _, _, _, err := r.env.Cloud.Act(foreign); err != nil {
		r.fail("%s %s by another client: %v", method, path, err)
	}
}
