package securitygroup

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// refusal returns an error of Neutron.
func refusal(status int, kind, text string) error {
	body, err := json.Marshal(map[string]any{"NeutronError": map[string]string{"type": kind, "message": text, "detail": ""}})
	if err != nil {
		panic(err)
	}
	return gophercloud.ErrUnexpectedResponseCode{Method: http.MethodPut, URL: "http://127.0.0.1/v2.0/ports/p", Actual: status, Body: body}
}

var (
	errStale   = refusal(http.StatusPreconditionFailed, "RevisionNumberConstraintFailed", "revision_number")
	errNoPort  = refusal(http.StatusNotFound, "PortNotFound", "Port p could not be found")
	errServer  = refusal(http.StatusInternalServerError, "HTTPInternalServerError", "Request failed")
	errInUse   = refusal(http.StatusConflict, "SecurityGroupInUse", "Security Group g in use.")
	errNoOther = refusal(http.StatusNotFound, "SecurityGroupNotFound", "Security group theirs does not exist")
	errNoOurs  = refusal(http.StatusNotFound, "SecurityGroupNotFound", "Security group ours does not exist")
)

// portNetwork is a Neutron with some ports, and Facts that cache them.
type portNetwork struct {
	Neutron
	Facts
	mu    sync.Mutex
	ports map[string]*neutron.Port
	// denied are ports that only lists have.
	denied map[string]bool
	// refusals are the errors of the next writes; nil is none.
	refusals []error
	// unreadable fails reads of a port.
	unreadable error
	// slow is the duration of a write.
	slow          time.Duration
	known         map[string]neutron.Port
	reads, writes int
	// deletions are the errors of the next deletions of a group.
	deletions []error
	deleted   int
}

func (n *portNetwork) Port(_ context.Context, id string) (*neutron.Port, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.reads++
	if n.unreadable != nil {
		return nil, n.unreadable
	}
	port, there := n.ports[id]
	if !there || n.denied[id] {
		return nil, errNoPort
	}
	read := *port
	return &read, nil
}

func (n *portNetwork) PortsInGroup(_ context.Context, group string) (using []neutron.Port, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, port := range n.ports {
		if port.UsesGroup(group) {
			using = append(using, *port)
		}
	}
	return using, nil
}

func (n *portNetwork) SetPortGroups(_ context.Context, read neutron.Port, groups []string) (*neutron.Port, error) {
	time.Sleep(n.slow)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.writes++
	if len(n.refusals) > 0 {
		err := n.refusals[0]
		if n.refusals = n.refusals[1:]; err != nil {
			return nil, err
		}
	}
	port := n.ports[read.ID]
	if read.Revision != nil && *read.Revision != *port.Revision {
		return nil, errStale
	}
	revision := *port.Revision + 1
	port.SecurityGroups, port.Revision = groups, &revision
	changed := *port
	return &changed, nil
}

func (n *portNetwork) DeleteSecurityGroup(context.Context, string) error {
	n.deleted++
	if len(n.deletions) == 0 {
		return nil
	}
	err := n.deletions[0]
	n.deletions = n.deletions[1:]
	return err
}

func (n *portNetwork) KnownPort(id string) (neutron.Port, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	port, there := n.known[id]
	return port, there
}

func (n *portNetwork) KeepPort(port neutron.Port) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.known[port.ID] = port
}

// withPort returns a network that has port p in groups.
func withPort(groups ...string) *portNetwork {
	revision := 7
	return &portNetwork{ports: map[string]*neutron.Port{"p": {ID: "p", SecurityGroups: groups, Revision: &revision}}, known: map[string]neutron.Port{}}
}

// knows makes the cache have port p in groups, in its present revision or another one.
func (n *portNetwork) knows(revised bool, groups ...string) {
	port := *n.ports["p"]
	port.SecurityGroups = groups
	if !revised {
		port.Revision = nil
	}
	n.known["p"] = port
}

// A write replaces the list of a port's groups: it must be based on the list that the port has.
func TestPorts_ChangeOnlyTheOneGroupWhateverNeutronAnswers(t *testing.T) {
	t.Parallel()
	repeated := func(n int, err error) []error { return slices.Repeat([]error{err}, n) }
	for name, c := range map[string]struct {
		groups        []string
		leave         bool
		prepare       func(*portNetwork)
		want          []string
		reads, writes int
		gone          bool
		failed        func(error) bool
	}{
		"joins":                         {groups: []string{"theirs"}, want: []string{"theirs", "ours"}, reads: 1, writes: 1},
		"leaves":                        {groups: []string{"theirs", "ours", "more"}, leave: true, want: []string{"theirs", "more"}, reads: 1, writes: 1},
		"is in it":                      {groups: []string{"ours", "theirs"}, want: []string{"ours", "theirs"}, reads: 1},
		"is not in it":                  {groups: []string{"theirs"}, leave: true, want: []string{"theirs"}, reads: 1},
		"joins as known":                {groups: []string{"theirs"}, prepare: func(n *portNetwork) { n.knows(true, "theirs") }, want: []string{"theirs", "ours"}, writes: 1},
		"known without revision":        {groups: []string{"theirs"}, prepare: func(n *portNetwork) { n.knows(false) }, want: []string{"theirs", "ours"}, reads: 1, writes: 1},
		"is known to be in it, wrongly": {groups: []string{"theirs"}, prepare: func(n *portNetwork) { n.knows(true, "ours") }, want: []string{"theirs", "ours"}, reads: 1, writes: 1},
		"known from before a change": {
			groups: []string{"theirs"}, want: []string{"theirs", "ours"}, reads: 1, writes: 2,
			prepare: func(n *portNetwork) {
				n.knows(true, "gone")
				later := 8
				n.ports["p"].Revision = &later
			},
		},
		"changes four times meanwhile": {groups: []string{"theirs"}, prepare: func(n *portNetwork) { n.refusals = repeated(4, errStale) }, want: []string{"theirs", "ours"}, reads: 5, writes: 5},
		"changes again and again":      {groups: []string{"theirs"}, prepare: func(n *portNetwork) { n.refusals = repeated(5, errStale) }, want: []string{"theirs"}, reads: 5, writes: 5, failed: apierror.IsStale},
		"another group is deleted":     {groups: []string{"theirs"}, prepare: func(n *portNetwork) { n.refusals = repeated(1, errNoOther) }, want: []string{"theirs", "ours"}, reads: 2, writes: 2},
		"our group is deleted":         {groups: []string{"theirs"}, prepare: func(n *portNetwork) { n.refusals = repeated(1, errNoOurs) }, want: []string{"theirs"}, reads: 1, writes: 1, failed: apierror.IsUnknownGroup},
		"is deleted meanwhile":         {groups: []string{"theirs"}, prepare: func(n *portNetwork) { n.refusals = repeated(1, errNoPort) }, want: []string{"theirs"}, reads: 1, writes: 1, gone: true},
		"cannot be written":            {groups: []string{"theirs"}, prepare: func(n *portNetwork) { n.refusals = repeated(1, errServer) }, want: []string{"theirs"}, reads: 1, writes: 1, failed: isServerError},
		"cannot be read":               {groups: []string{"theirs"}, prepare: func(n *portNetwork) { n.unreadable = errServer }, want: []string{"theirs"}, reads: 1, failed: isServerError},
		"is gone before it joins":      {prepare: func(n *portNetwork) { n.denied = map[string]bool{"p": true} }, reads: 1, gone: true},
		"is gone before it leaves":     {leave: true, prepare: func(n *portNetwork) { n.denied = map[string]bool{"p": true} }, reads: 1, gone: true},
		"is denied, but listed":        {groups: []string{"theirs", "ours"}, leave: true, prepare: func(n *portNetwork) { n.denied = map[string]bool{"p": true} }, want: []string{"theirs"}, reads: 1, writes: 1},
		"has no list of groups": {reads: 1, failed: func(err error) bool {
			return strings.HasSuffix(err.Error(), "does not report the security groups of port p")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := withPort(c.groups...)
			if c.prepare != nil {
				c.prepare(n)
			}
			ports := portGroups{neutron: n, facts: n, shared: &sharedGroup{}}
			there, err := ports.change(t.Context(), "p", nil, "ours", !c.leave, nil)
			if (err != nil) != (c.failed != nil) || err != nil && !c.failed(err) {
				t.Fatalf("error %v", err)
			}
			if there != (!c.gone && err == nil) {
				t.Errorf("the port exists: %v", there)
			}
			if got := n.ports["p"].SecurityGroups; !slices.Equal(got, c.want) {
				t.Errorf("it uses %v, want %v", got, c.want)
			}
			if n.reads != c.reads || n.writes != c.writes {
				t.Errorf("%d reads and %d writes, want %d and %d", n.reads, n.writes, c.reads, c.writes)
			}
			if known := n.known["p"]; there && !slices.Equal(known.SecurityGroups, c.want) {
				t.Errorf("the cache has %v", known.SecurityGroups)
			}
		})
	}
}

func isServerError(err error) bool { return apierror.StatusCode(err) == http.StatusInternalServerError }

// Rounds of many Services find the same ports without the shared group. Only one of them writes, and none takes it off a
// port that a later node may use.
func TestPorts_ChangeTheSharedGroupOnce(t *testing.T) {
	t.Parallel()
	yes, no := func() bool { return true }, func() bool { return false }
	for name, c := range map[string]struct {
		before  []string
		leave   bool
		current func() bool
		writes  int
		after   bool
	}{
		"another round has put it on":    {before: []string{"p"}, after: true},
		"another round has taken it off": {leave: true},
		"it is the first to put it on":   {writes: 1},
		"it is the first to take it off": {before: []string{"p"}, leave: true, writes: 1},
		"its nodes are current":          {before: []string{"p"}, leave: true, current: yes, writes: 1},
		"there are later nodes":          {before: []string{"p"}, leave: true, current: no, after: true},
		"later nodes, and it joins":      {current: no, writes: 1},
	} {
		n := withPort("theirs")
		if len(c.before) > 0 {
			n = withPort("theirs", "ours")
		}
		shared := &sharedGroup{}
		shared.set("ours", c.before)
		ports := portGroups{neutron: n, facts: n, shared: shared}
		if there, err := ports.change(t.Context(), "p", nil, "ours", !c.leave, c.current); err != nil || !there {
			t.Errorf("%s: the port exists: %v, error %v", name, there, err)
		}
		if n.writes != c.writes {
			t.Errorf("%s: %d writes, want %d", name, n.writes, c.writes)
		}
		if c.leave && shared.has("ours", "p") != c.after {
			t.Errorf("%s: the next round takes the group to be on the port: %v", name, !c.after)
		}
	}
}

// Neutron refuses to delete a group as long as ports use it, and other clients may add some meanwhile.
func TestDelete_TakesGroupOffAllPortsAndRepeatsWhileOneUsesIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		deletions []error
		deleted   int
		failed    func(error) bool
	}{
		"at once":           {deleted: 1},
		"in use twice":      {deletions: []error{errInUse, errInUse}, deleted: 3},
		"always in use":     {deletions: []error{errInUse, errInUse, errInUse, errInUse}, deleted: 3, failed: apierror.IsInUse},
		"cannot be deleted": {deletions: []error{errServer, nil}, deleted: 1, failed: isServerError},
	} {
		n := withPort("theirs", "ours")
		n.deletions = c.deletions
		err := Delete(t.Context(), n, "ours")
		if (err != nil) != (c.failed != nil) || err != nil && !c.failed(err) {
			t.Errorf("%s: error %v", name, err)
		}
		if got := n.ports["p"].SecurityGroups; n.deleted != c.deleted || !slices.Equal(got, []string{"theirs"}) {
			t.Errorf("%s: %d deletions, want %d; the port uses %v", name, n.deleted, c.deleted, got)
		}
		if n.reads > 0 {
			t.Errorf("%s: the port was read again: its list has it", name)
		}
	}
	n := withPort("theirs", "ours")
	n.refusals = []error{errServer}
	if err := Delete(t.Context(), n, "ours"); !isServerError(err) || n.deleted > 0 {
		t.Errorf("the port keeps the group, and %d deletions are sent: %v", n.deleted, err)
	}
}

func TestChange_FailsForAStepThatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	if err := (change{}).do(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "this is a bug of the controller") {
		t.Errorf("error %v", err)
	}
}

// A cluster of many nodes must not wait for one port after the other, nor flood Neutron.
func TestPorts_ChangeEightAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := withPort("ours")
		n.slow = time.Second
		for _, id := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o"} {
			revision := 1
			n.ports[id] = &neutron.Port{ID: id, SecurityGroups: []string{"ours"}, Revision: &revision}
		}
		start := time.Now()
		if err := Delete(t.Context(), n, "ours"); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took != 2*time.Second || n.writes != 16 {
			t.Errorf("%d ports have taken %s, want 16 in two seconds", n.writes, took)
		}
		var all []NodePort
		for id := range n.ports {
			n.ports[id].SecurityGroups = []string{}
			all = append(all, NodePort{ID: id})
		}
		shared := &sharedGroup{}
		c := change{&common{shared: shared, ports: &portGroups{neutron: n, facts: n, shared: shared}}, &Task{state: &State{GroupID: "ours"}}}
		start = time.Now()
		if err := c.do(t.Context(), JoinPorts{Ports: all}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took != 2*time.Second || len(c.state.Ports) != 16 || !slices.IsSorted(c.state.Ports) {
			t.Errorf("ports %v have taken %s, want 16 in two seconds", c.state.Ports, took)
		}
	})
}
