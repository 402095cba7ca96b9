package requestlog

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// Total sums requests up.
type Total struct {
	Count int
	// RequestBytes and Bytes are the sizes of the bodies of requests and answers.
	RequestBytes, Bytes int
}

// Total sums up all requests that pass every filter.
func (l *Log) Total(filters ...Filter) Total {
	l.mu.Lock()
	defer l.mu.Unlock()
	var total Total
	for _, request := range l.requests {
		if slices.ContainsFunc(filters, func(f Filter) bool { return !f(request) }) {
			continue
		}
		total.Count++
		total.RequestBytes += request.RequestBytes
		total.Bytes += request.Bytes
	}
	return total
}

// Status chooses requests by what their client saw; 0 is a connection that was
// closed instead.
func Status(statuses ...int) Filter {
	return func(r Request) bool { return slices.Contains(statuses, r.Status) }
}

// About chooses requests about objects whose name, description, tags or the
// like hold the text, such as a Service's UID. It attributes requests to
// Services: those that create such an object, and all that name it later. A
// load balancer's text counts for what is below it.
func About(text string) Filter {
	return func(r Request) bool { return strings.Contains(r.Mentions, text) }
}

// Reloads is how often the haproxy of a load balancer had to load a new
// configuration: once for each change of something below it that was accepted,
// whatever it changed. Providers other than amphora have none.
func (l *Log) Reloads(loadBalancerID string) int {
	return len(l.Requests(LoadBalancer(loadBalancerID), reload))
}

// ReloadsByLoadBalancer are the reloads of each that had any.
func (l *Log) ReloadsByLoadBalancer() map[string]int {
	reloads := map[string]int{}
	for _, request := range l.Requests(reload) {
		reloads[request.LoadBalancerID]++
	}
	return reloads
}

func reload(r Request) bool {
	_, below, found := strings.Cut(r.Route, "/lbaas/")
	return found && !strings.HasPrefix(below, "loadbalancers") && r.LoadBalancerID != "" && Writes()(r) &&
		r.Status >= http.StatusOK && r.Status < http.StatusMultipleChoices &&
		(r.Provider == "amphora" || r.Provider == "octavia")
}

// crowd counts requests that are under way.
type crowd struct {
	now, most map[string]int // by project; "" is everybody
}

func newCrowd() crowd { return crowd{now: map[string]int{}, most: map[string]int{}} }

func (c *crowd) reset() {
	c.most = map[string]int{}
	for project, now := range c.now {
		c.most[project] = now
	}
}

func (c *crowd) enter(project string) {
	c.now[project]++
	c.most[project] = max(c.most[project], c.now[project])
}

// MaxConcurrent is how many requests of a project were under way at the same
// time at most; with an empty ID, how many of all.
func (l *Log) MaxConcurrent(projectID string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.crowd.most[projectID]
}

// enter finds out whose request it is and counts it in.
func (l *Log) enter(token string) (project string) {
	l.mu.Lock()
	find := l.facts.Project
	l.mu.Unlock()
	if find != nil && token != "" {
		project = find(token)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.crowd.enter("")
	if project != "" {
		l.crowd.enter(project)
	}
	return project
}

func (l *Log) leave(project string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.crowd.now[""]--
	if project != "" {
		l.crowd.now[project]--
	}
}

func (l *Log) provider(loadBalancerID string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.providers[loadBalancerID]
}

// mention adds what a request says to what its object was called before, and
// returns all of it with what its load balancer is called.
func (l *Log) mention(r *http.Request, in *countingBody, out *recorder, target string) string {
	subject := lastID(r.URL.Path)
	if out.status == http.StatusCreated && subject == "" {
		subject = createdID(out.text.Bytes())
	}
	said := l.names(in.text.String())
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.texts[subject]
	for _, name := range said {
		if !strings.Contains(all, name) && len(all)+len(name) < maxNames {
			all += name + "\n"
		}
	}
	if subject != "" && len(said) > 0 {
		l.texts[subject] = all
	}
	if target != "" && target != subject {
		all += l.texts[target]
	}
	return all
}

// maxNames is how much of what an object is called is kept, in bytes.
const maxNames = 1 << 13

// naming finds names, descriptions and lists of tags in JSON.
const naming = `"(?:name|description)":\s*"((?:[^"\\]|\\.)+)"|"tags":\s*\[([^\]]+)\]`

// names are what a body calls things.
func (l *Log) names(body string) []string {
	var names []string
	for _, match := range l.naming.FindAllStringSubmatch(body, -1) {
		names = append(names, match[1]+match[2])
	}
	return names
}

// lastID is the last ID in a path: the object that a request is about.
func lastID(path string) string {
	parts := strings.Split(path, "/")
	for _, part := range slices.Backward(parts) {
		if isID(part) {
			return part
		}
	}
	return ""
}

// createdID is the ID in the answer to a POST.
func createdID(text []byte) string {
	answer := map[string]struct {
		ID string `json:"id"`
	}{}
	if json.Unmarshal(text, &answer) != nil {
		return ""
	}
	for _, made := range answer {
		return made.ID
	}
	return ""
}
