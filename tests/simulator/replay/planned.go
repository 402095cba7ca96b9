package replay

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// planned are the IDs that the next objects get: those that the recording has
// for them, since lists are sorted by ID where times are the same.
type planned struct {
	mu       sync.Mutex
	ids      map[string]string // of the objects that the request itself creates, by kind
	expected []recordedObject  // objects created with it, or objects that only a later answer shows
	latest   string            // ID of the object that was made last and may hold others
}

// recordedObject is an object below a load balancer as an answer shows it.
type recordedObject struct {
	kind, id string
	within   string // ID of the object that holds it in the answer
	looks    map[string]string
}

// set plans the IDs of the next request by kind and forgets all others.
func (p *planned) set(ids map[string]string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ids, p.expected, p.latest = ids, nil, ""
}

// expect plans the IDs of what comes into being along with the request: of a
// full create and of a batch.
func (p *planned) expect(known map[string]string, step Step, rest []Step) {
	path, _, _ := strings.Cut(step.Path, "?")
	makes := step.Method == http.MethodPost && strings.HasSuffix(path, "/loadbalancers") ||
		step.Method == http.MethodPut && strings.HasSuffix(path, "/members")
	if !makes || step.Status >= http.StatusBadRequest {
		return
	}
	var found []recordedObject
	for _, later := range slices.Concat([]Step{step}, rest) {
		var answer any
		if json.Unmarshal([]byte(later.Response), &answer) == nil {
			found = gatherObjects(found, "", "", answer)
		}
	}
	found = slices.DeleteFunc(found, func(object recordedObject) bool { return known[object.id] != "" })
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expected = found
}

// gatherObjects collects every object in an answer that has more fields than its ID.
func gatherObjects(found []recordedObject, kind, within string, value any) []recordedObject {
	switch v := value.(type) {
	case []any:
		for _, element := range v {
			found = gatherObjects(found, strings.TrimSuffix(kind, "s"), within, element)
		}
	case map[string]any:
		id, is := v["id"].(string)
		if is && kind != "" && len(v) > 1 {
			found = append(found, recordedObject{strings.ReplaceAll(kind, "_", ""), id, within, looks(v)})
		}
		for key, inner := range v {
			found = gatherObjects(found, key, id, inner)
		}
	}
	return found
}

// looks are the attributes by which an object is recognised.
func looks(object map[string]any) map[string]string {
	seen := map[string]string{}
	for _, key := range []string{"name", "address", "protocol", "protocol_port"} {
		if value, given := object[key]; given && value != nil {
			seen[key] = fmt.Sprint(value)
		}
	}
	return seen
}

// take is the planned ID of a new object, "" when there is none.
func (p *planned) take(kind string, given map[string]any) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	id := p.ids[kind]
	delete(p.ids, kind)
	if id != "" {
		return id
	}
	wanted := looks(given)
	if len(wanted) == 0 {
		return ""
	}
	fits := func(o recordedObject) bool { return o.kind == kind && alike(o.looks, wanted) }
	// Members of two pools may look the same. A pool's are made right after it.
	at := slices.IndexFunc(p.expected, func(o recordedObject) bool { return fits(o) && o.within == p.latest })
	if at < 0 {
		at = slices.IndexFunc(p.expected, fits)
	}
	if at < 0 {
		return ""
	}
	id = p.expected[at].id
	p.expected = slices.DeleteFunc(p.expected, func(o recordedObject) bool { return o.id == id })
	if kind == "pool" {
		p.latest = id
	}
	return id
}

// alike compares what both tell.
func alike(a, b map[string]string) bool {
	same := 0
	for key, value := range a {
		other, told := b[key]
		if told && other != value {
			return false
		}
		if told {
			same++
		}
	}
	return same > 0
}

// plannedIDs are the IDs of what a POST made: the object itself and, with a
// load balancer, its VIP port.
func plannedIDs(step Step) map[string]string {
	if step.Method != http.MethodPost || step.Status != http.StatusCreated {
		return nil
	}
	var answer map[string]struct {
		ID     string
		PortID string `json:"vip_port_id"`
	}
	if json.Unmarshal([]byte(step.Response), &answer) != nil {
		return nil
	}
	ids := map[string]string{}
	for kind, made := range answer {
		ids[kind], ids["port"] = made.ID, made.PortID
	}
	return ids
}
