package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/keystone"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// begin creates the objects that existed before the exchange, and removes the
// load balancers that had been removed by then.
func (s *site) begin(m *machine, recording Recording) error {
	m.settle()
	for id := range s.present {
		if !s.needed(id, recording.Steps) {
			// It may be gone already, which is just as well.
			_ = m.octavia.Remove(m.translate(id))
			delete(s.present, id)
		}
	}
	s.freeAddresses(m)
	for _, step := range recording.Steps {
		for _, id := range referredTo(step) {
			if s.made[id] || s.present[id] || step.Status == http.StatusNotFound {
				continue
			}
			if err := s.makeBefore(m, id); err != nil {
				return err
			}
		}
	}
	return nil
}

// freeAddresses forgets the addresses of load balancers that are gone: others get
// them.
func (s *site) freeAddresses(m *machine) {
	kept := map[string]bool{}
	for _, facts := range s.facts {
		kept[facts.Address] = kept[facts.Address] || s.present[facts.ID]
	}
	for address, inUse := range kept {
		if !inUse {
			delete(m.ids, address)
		}
	}
}

// needed reports whether these steps or later ones are about the load balancer.
func (s *site) needed(id string, steps []Step) bool {
	for _, step := range steps {
		if mentions(step, id) {
			return true
		}
	}
	return false
}

// referredTo are the load balancers that a request names.
func referredTo(step Step) []string {
	var ids []string
	target, err := url.Parse(step.Path)
	if err != nil {
		return nil
	}
	if _, after, found := strings.Cut(target.Path, "/loadbalancers/"); found {
		id, _, _ := strings.Cut(after, "/")
		ids = append(ids, id)
	}
	if id := target.Query().Get("loadbalancer_id"); id != "" {
		ids = append(ids, id)
	}
	var body map[string]struct {
		ID string `json:"loadbalancer_id"`
	}
	if json.Unmarshal([]byte(step.Body), &body) == nil {
		for _, object := range body {
			if object.ID != "" {
				ids = append(ids, object.ID)
			}
		}
	}
	return ids
}

// makeBefore makes a load balancer that the exchange only uses.
func (s *site) makeBefore(m *machine, id string) error {
	facts, known := s.factsOf(id)
	if !known {
		if len(s.facts) == 0 {
			return fmt.Errorf("load balancer %s is in no recorded answer", id)
		}
		facts = s.facts[0]
		facts.ID, facts.PortID, facts.Address, facts.Name = id, "", "", s.nameOf(id)
	}
	body, err := json.Marshal(map[string]any{"loadbalancer": map[string]any{
		"name": facts.Name, "provider": s.provider, "vip_subnet_id": facts.SubnetID, "description": facts.Description,
	}})
	if err != nil {
		return err
	}
	m.next.set(map[string]string{"loadbalancer": id, "port": facts.PortID})
	request := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/v2.0/lbaas/loadbalancers", strings.NewReader(m.translate(string(body))))
	answer := httptest.NewRecorder()
	m.octavia.ServeHTTP(answer, request.WithContext(keystone.WithCaller(request.Context(), s.callers["k8s"])))
	m.next.set(nil)
	if answer.Code != http.StatusCreated {
		return fmt.Errorf("make load balancer %s: %d %s", id, answer.Code, answer.Body)
	}
	s.present[id] = true
	m.settle()
	return nil
}

// nameOf finds the name in a status tree.
func (s *site) nameOf(id string) string {
	for _, step := range s.steps {
		var answer struct {
			Statuses struct{ LoadBalancer struct{ ID, Name string } }
		}
		if json.Unmarshal([]byte(step.Response), &answer) == nil && answer.Statuses.LoadBalancer.ID == id {
			return answer.Statuses.LoadBalancer.Name
		}
	}
	return ""
}

// prepare performs what the recording implies before a request: waits, failures of the
// provider, unrecorded changes, and a port that another client created.
func (s *site) prepare(m *machine, step Step, rest []Step) error {
	if implied(step) {
		m.settle()
	}
	if err := s.unseen(m, step); err != nil {
		return err
	}
	s.plug(m, step)
	succeeded := step.Method != http.MethodGet && step.Status < http.StatusBadRequest
	if operation := operationOf(step); succeeded && fails(rest) {
		m.octavia.FailNext(operation, 1)
	}
	if succeeded && step.Method == http.MethodPost {
		for _, facts := range s.facts {
			if strings.Contains(step.Response, `"id": "`+facts.ID+`"`) || strings.Contains(step.Response, `"id":"`+facts.ID+`"`) {
				s.present[facts.ID] = true
			}
		}
	}
	return nil
}

// implied reports whether all objects had settled before a step: its answer shows no pending
// object, and is no refusal because of one.
func implied(step Step) bool {
	if step.Method == http.MethodGet {
		return !strings.Contains(step.Response, `"PENDING_`)
	}
	locked := strings.Contains(step.Response, "is immutable") || strings.Contains(step.Response, "Invalid state PENDING_")
	return !locked
}

// fails reports whether an answer shows an object in ERROR before the next change.
func fails(rest []Step) bool {
	for _, step := range rest {
		if step.Method != http.MethodGet && step.Status < http.StatusBadRequest {
			return false
		}
		if step.Method == http.MethodGet && strings.Contains(step.Response, `"provisioning_status": "ERROR"`) {
			return true
		}
	}
	return false
}

func operationOf(step Step) octavia.Operation {
	switch {
	case step.Method == http.MethodPost && strings.HasSuffix(step.Path, "/loadbalancers"):
		return octavia.OperationCreate
	case step.Method == http.MethodDelete && strings.Contains(step.Path, "/loadbalancers/"):
		return octavia.OperationDelete
	default:
		return octavia.OperationUpdate
	}
}

// plug makes the port that a request brings along.
func (s *site) plug(m *machine, step Step) {
	var body struct {
		LoadBalancer struct {
			PortID string `json:"vip_port_id"`
		}
	}
	portID := ""
	if json.Unmarshal([]byte(step.Body), &body) == nil {
		portID = body.LoadBalancer.PortID
	}
	if portID == "" || m.ids[portID] != "" || len(s.facts) == 0 {
		return
	}
	port, err := s.network.CreatePort(neutron.PortSpec{
		ProjectID: s.project, SubnetID: s.facts[0].SubnetID, Name: "user-port",
	})
	if err != nil {
		return // the request will be refused, which shows
	}
	m.ids[portID] = port.ID
	if address := portAddress(s, portID, step); address != "" {
		m.ids[address] = port.FixedIPs[0].Address
	}
}

// portAddress is what the recording calls the port's address.
func portAddress(s *site, portID string, step Step) string {
	for _, facts := range s.facts {
		if facts.PortID == portID {
			return facts.Address
		}
	}
	_, after, _ := strings.Cut(step.Response, "IP address ")
	address, _, _ := strings.Cut(after, " ")
	return address
}

// settle lets everything that is under way finish.
func (m *machine) settle() {
	m.clock.Step(2 * never)
	m.octavia.Settle()
}
