package requestlog

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// Total has sums over requests.
type Total struct {
	Count int
	// RequestBytes and Bytes are the sizes of the bodies of requests and answers.
	RequestBytes, Bytes int
}

// Total returns the sums over all requests that pass every filter.
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

// Status selects requests by the status that the client saw; 0 is a closed connection.
func Status(statuses ...int) Filter {
	return func(r Request) bool { return slices.Contains(statuses, r.Status) }
}

// About selects requests about objects with the text, such as a Service's UID, in their name,
// description, tags or the like. It attributes requests to Services: those that create such an
// object, and all later ones about it. The text of a load balancer counts for its parts too.
func About(text string) Filter {
	return func(r Request) bool { return strings.Contains(r.Mentions, text) }
}

// Reloads returns the number of times that the haproxy of a load balancer loaded a new
// configuration: once for each accepted change of a part, even one without an effect. Providers
// other than amphora have none.
func (l *Log) Reloads(loadBalancerID string) int {
	return len(l.Requests(LoadBalancer(loadBalancerID), reload))
}

// ReloadsByLoadBalancer returns the reloads of each load balancer with any.
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

// crowd counts requests in progress.
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

// MaxConcurrent returns the maximum number of concurrent requests of a project; with an empty ID,
// of all projects.
func (l *Log) MaxConcurrent(projectID string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.crowd.most[projectID]
}

// Concurrent returns the number of requests in progress.
func (l *Log) Concurrent() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.crowd.now[""]
}

// enter counts a request as in progress, and returns its project.
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

// mention adds the names in a request to the earlier ones of its object, and returns them together
// with those of its load balancer.
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

// maxNames is the maximum size of the names of an object, in bytes.
const maxNames = 1 << 13

// naming finds names, descriptions and lists of tags in JSON.
const naming = `"(?:name|description)":\s*"((?:[^"\\]|\\.)+)"|"tags":\s*\[([^\]]+)\]`

// names returns the names in a body.
func (l *Log) names(body string) []string {
	var names []string
	for _, match := range l.naming.FindAllStringSubmatch(body, -1) {
		names = append(names, match[1]+match[2])
	}
	return names
}

// lastID returns the last ID in a path, which is the object of a request.
func lastID(path string) string {
	parts := strings.Split(path, "/")
	for _, part := range slices.Backward(parts) {
		if isID(part) {
			return part
		}
	}
	return ""
}

// createdID returns the ID in the answer to a POST.
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
