package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// Place is a real control plane on which exchanges are repeated.
type Place interface {
	// Send sends a request to Octavia. The caller is k8s for the tenant, other for a tenant of another
	// project, admin for an administrator, and anything else for an invalid token.
	Send(ctx context.Context, caller, method, path, body string, header map[string]string) (*httptest.ResponseRecorder, error)
	// Port makes a port in the tenant's subnet of IPv4, and returns its ID and its address.
	Port(ctx context.Context) (id, address string, err error)
	// Provide sets how long each change of the provider amphora takes, and whether it fails.
	Provide(ctx context.Context, delay time.Duration, fail bool) error
	// Known returns the IDs of the tenant's project, its network, and its subnets of IPv4 and IPv6.
	Known() (project, network, subnet, subnet6 string)
}

// Repeated is an exchange with the answers of another control plane.
type Repeated struct {
	// Name is that of the recording; Text has the new one, in the same format.
	Name string
	Text []byte
	// Differences describe how answers differ from the recorded ones, for a person.
	Differences []string
}

// repeater repeats exchanges.
type repeater struct {
	*machine
	place Place
	// changed is set from a change until everything was at rest.
	changed bool
}

// Repeat sends the requests of exchanges, which were recorded one after another on one cloud, to
// another control plane, and returns the exchanges with its answers. Before a request it waits until
// nothing is pending, unless the recorded answer depends on that.
func Repeat(ctx context.Context, place Place, files ...string) ([]Repeated, error) {
	r := repeater{machine: newMachine(), place: place}
	r.site = &site{made: map[string]bool{}, present: map[string]bool{}}
	recordings := make([]Recording, len(files))
	for i, file := range files {
		var err error
		if recordings[i], err = Read(file); err != nil {
			return nil, err
		}
		r.site.steps = append(r.site.steps, recordings[i].Steps...)
	}
	r.site.gather()
	r.seed()
	if err := r.offer(ctx); err != nil {
		return nil, err
	}
	var all []Repeated
	for _, recording := range recordings {
		repeated, err := r.repeat(ctx, recording)
		if err != nil {
			return nil, fmt.Errorf("repeat %s: %w", recording.Name, err)
		}
		all = append(all, repeated)
	}
	return all, nil
}

func (r *repeater) repeat(ctx context.Context, recording Recording) (Repeated, error) {
	repeated := Repeated{Name: filepath.Base(recording.File)}
	if err := r.begin(ctx, recording); err != nil {
		return repeated, err
	}
	var entries []any
	for i, step := range recording.Steps {
		entry, difference, err := r.again(ctx, recording, i)
		if err != nil {
			return repeated, fmt.Errorf("%s %s: %w", step.Method, step.Path, err)
		}
		entries = append(entries, entry)
		if difference != "" {
			repeated.Differences = append(repeated.Differences, fmt.Sprintf("%s:%d: %s %s: %s", recording.Name, step.Line, step.Method, step.Path, difference))
		}
	}
	text, err := json.MarshalIndent(entries, "", " ")
	repeated.Text = append(text, '\n')
	return repeated, err
}

// again sends one request, and returns it with its answer as an entry of an exchange.
func (r *repeater) again(ctx context.Context, recording Recording, i int) (entry any, difference string, err error) {
	step, rest := recording.Steps[i], recording.Steps[i+1:]
	amphora := r.site.provider != octavia.ProviderOVN
	if !amphora || implied(step) {
		r.settled(ctx)
	}
	if err := r.unseen(ctx, step); err != nil {
		return nil, "", err
	}
	if err := r.plug(ctx, step); err != nil {
		return nil, "", err
	}
	changes := step.Method != http.MethodGet && step.Status < http.StatusBadRequest
	if amphora && changes {
		if err := r.place.Provide(ctx, delayFor(rest), fails(rest)); err != nil {
			return nil, "", err
		}
	}
	path, body := r.translate(step.Path), r.translate(step.Body)
	r.asked = step.Path + step.Body
	got, err := r.place.Send(ctx, step.As, step.Method, path, body, step.Header)
	if err != nil {
		return nil, "", err
	}
	request := map[string]any{"method": step.Method, "path": path, "as": step.As}
	if body != "" {
		request["json"] = json.RawMessage(body)
	}
	if len(step.Header) > 0 {
		request["headers"] = step.Header
	}
	response := map[string]any{"status": got.Code, "headers": map[string]string{"Content-Type": got.Header().Get("Content-Type")}}
	switch text := got.Body.String(); {
	case json.Valid([]byte(text)):
		response["json"] = json.RawMessage(text)
	case text != "":
		response["text"] = text
	}
	r.notePresent(step)
	r.changed = r.changed || changes
	if got.Code != step.Status {
		difference = fmt.Sprintf("status %d, recorded %d: %.300s, recorded %.300s", got.Code, step.Status, got.Body, step.Response)
	}
	text := r.compareContent(step, got)
	if exception, is := excepted(recording, step); difference == "" && (!is || !exception.StatusOnly) {
		difference = text
	}
	return map[string]any{"request": request, "response": response}, difference, nil
}

// decodes reports whether a text is JSON that fits.
func decodes(text []byte, into any) bool { return json.Unmarshal(text, into) == nil }

// unseen repeats the actions without a record that site.unseen infers.
func (r *repeater) unseen(ctx context.Context, step Step) error {
	path, _, _ := strings.Cut(step.Path, "?")
	post := func(collection string) bool {
		return step.Method == http.MethodPost && strings.HasSuffix(path, collection)
	}
	switch {
	case strings.Contains(path, "/quotas/") && step.Method == http.MethodPut:
		r.site.limited = true
	case post("/healthmonitors") && !strings.Contains(step.Response, "already has a health monitor") && implied(step):
		return r.removeMonitor(ctx, step)
	case post("/loadbalancers") && r.site.limited && !strings.Contains(step.Response, "resources: Load Balancer"):
		_, err := r.place.Send(ctx, "admin", http.MethodPut, r.translate("/v2.0/lbaas/quotas/"+r.site.project), `{"quota": {"load_balancer": -1}}`, nil)
		return err
	}
	return nil
}

// removeMonitor deletes the monitor of the pool that is to get one.
func (r *repeater) removeMonitor(ctx context.Context, step Step) error {
	var body struct {
		HealthMonitor struct {
			PoolID string `json:"pool_id"`
		}
	}
	if !decodes([]byte(step.Body), &body) || body.HealthMonitor.PoolID == "" {
		return nil
	}
	got, err := r.place.Send(ctx, "k8s", http.MethodGet, r.translate("/v2.0/lbaas/pools/"+body.HealthMonitor.PoolID), "", nil)
	if err != nil {
		return err
	}
	var answer struct {
		Pool struct {
			Monitor string `json:"healthmonitor_id"`
		}
	}
	if !decodes(got.Body.Bytes(), &answer) || answer.Pool.Monitor == "" {
		return nil
	}
	_, err = r.place.Send(ctx, "k8s", http.MethodDelete, "/v2.0/lbaas/healthmonitors/"+answer.Pool.Monitor, "", nil)
	r.settled(ctx)
	return err
}

// notePresent notes the load balancer that a recorded request made.
func (r *repeater) notePresent(step Step) {
	if step.Method != http.MethodPost || step.Status >= http.StatusBadRequest {
		return
	}
	for _, facts := range r.site.facts {
		if strings.Contains(step.Response, `"id": "`+facts.ID+`"`) {
			r.site.present[facts.ID] = true
		}
	}
}

// delayFor returns how long a change takes, so that the following requests find it pending if the
// recorded ones did.
func delayFor(rest []Step) time.Duration {
	var delay time.Duration
	for _, step := range rest {
		if implied(step) {
			break
		}
		delay += 2 * time.Second
	}
	return delay
}

// plug makes the port that a request names.
func (r *repeater) plug(ctx context.Context, step Step) error {
	var body struct {
		LoadBalancer struct {
			PortID string `json:"vip_port_id"`
		}
	}
	if !decodes([]byte(step.Body), &body) {
		return nil
	}
	recorded := body.LoadBalancer.PortID
	if recorded == "" || r.ids[recorded] != "" {
		return nil
	}
	id, address, err := r.place.Port(ctx)
	if err != nil {
		return err
	}
	r.ids[recorded] = id
	if was := portAddress(r.site, recorded, step); was != "" {
		r.ids[was] = address
	}
	return nil
}

// patience is how long a load balancer may be pending, staleness how long its children may be while it
// is not: some drivers leave children pending for ever. Quiet is how long nothing changes after the end
// of a change: the driver ovn reports its end before that.
const (
	patience  = 2 * time.Minute
	staleness = 5 * time.Second
	quiet     = 4 * time.Second
)

// settled waits until nothing of the tenant is pending or changes.
func (r *repeater) settled(ctx context.Context) {
	var clock clock.RealClock
	start, last := clock.Now(), ""
	since := start
	for ctx.Err() == nil && clock.Since(start) < patience {
		now := ""
		list, err := r.place.Send(ctx, "k8s", http.MethodGet, "/v2.0/lbaas/loadbalancers?fields=id&fields=provisioning_status&fields=updated_at", "", nil)
		if err == nil && !strings.Contains(list.Body.String(), `"PENDING_`) {
			now = list.Body.String()
		}
		var rest time.Duration
		switch {
		case now == "":
		case r.childrenPending(ctx, list.Body.Bytes()):
			rest = staleness
		case r.changed && r.site.provider == octavia.ProviderOVN:
			rest = quiet
		}
		if now != last {
			since, last = clock.Now(), now
		}
		if now != "" && clock.Since(since) >= rest {
			r.changed = false
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// childrenPending reports whether anything below one of the load balancers is pending.
func (r *repeater) childrenPending(ctx context.Context, list []byte) bool {
	var balancers struct{ LoadBalancers []struct{ ID string } }
	if json.Unmarshal(list, &balancers) != nil {
		return true
	}
	for _, lb := range balancers.LoadBalancers {
		tree, err := r.place.Send(ctx, "k8s", http.MethodGet, "/v2.0/lbaas/loadbalancers/"+lb.ID+"/status", "", nil)
		if err != nil || strings.Contains(tree.Body.String(), `"PENDING_`) {
			return true
		}
	}
	return false
}
